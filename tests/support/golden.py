"""What the views show of the recordings, looked at once; `python -m tests.support.golden` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mitmproxy import contentviews
from mitmproxy.http import HTTPFlow

from bridge.jsonvalue import Object, read_object
from bridge.views.bodies import bodies_of
from bridge.views.contentviews import views
from tests.support.recordings import FOLDER, load

GOLDEN = Path(__file__).parents[1] / "golden"
OF_ALL = ("Bridge Summary", "Bridge Ledger")
"""Views that are looked at of every turn; the others, of the second."""
SIDED = ("Bridge Client", "Bridge Backend", "Bridge Diff")
LONG = ("codex-0.154.0-parallel", "codex-0.154.0-parallel-chat")
"""Recordings whose requests are shown whole; those of the others repeat one another."""


def text_of(path: Path) -> str:
    """What the views show of a recording."""
    recorded = load(path)
    requests = [None, *(read_object(bodies_of(flow).asked) for flow in recorded)]
    shown = []
    for number, (flow, before) in enumerate(zip(recorded, requests, strict=False), 1):
        for name, text in _shown(flow, before, with_requests=path.stem in LONG):
            if number == 2 or name in OF_ALL:
                shown.append(f"==== turn {number}, {name} ====\n{text}\n")
    return "\n".join(shown)


def _shown(flow: HTTPFlow, before: Object | None, *, with_requests: bool) -> Iterator[tuple[str, str]]:
    """(view, what it shows of a flow)."""
    for view in views(lambda _: None, lambda _: before):
        if view.name not in SIDED:
            yield view.name, view.prettify(b"", contentviews.Metadata(flow=flow, http_message=flow.request))
            continue
        if with_requests:
            asked = contentviews.Metadata(flow=flow, http_message=flow.request)
            yield f"{view.name} of the request", view.prettify(b"", asked)
        yield (
            f"{view.name} of the response",
            view.prettify(b"", contentviews.Metadata(flow=flow, http_message=flow.response)),
        )


def golden_of(path: Path) -> Path:
    """Where it stands."""
    return GOLDEN / f"{path.stem}.txt"


if __name__ == "__main__":
    for recording in sorted(FOLDER.glob("*.mitm")):
        golden_of(recording).write_text(text_of(recording))
