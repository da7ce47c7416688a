"""What the views show of the recordings, looked at once; `python -m tests.support.golden` writes it anew."""

from __future__ import annotations

from pathlib import Path

from mitmproxy import contentviews
from mitmproxy.http import HTTPFlow

from bridge.jsonvalue import read_object
from bridge.views.bodies import bodies_of
from bridge.views.contentviews import views
from tests.support.recordings import FOLDER, load

GOLDEN = Path(__file__).parents[1] / "golden"
SIDED = ("Bridge Client", "Bridge Backend", "Bridge Diff")
LONG = ("codex-0.154.0-parallel", "codex-0.154.0-parallel-chat")
"""Recordings whose requests are shown whole; those of the others repeat one another."""


def turn_of(path: Path) -> tuple[int, list[HTTPFlow]]:
    """The number of the turn that is looked at, the second, and all turns."""
    recorded = load(path)
    return min(2, len(recorded)), recorded


def text_of(path: Path) -> str:
    """What every view shows of that turn."""
    number, recorded = turn_of(path)
    flow = recorded[number - 1]
    before = None if number == 1 else read_object(bodies_of(recorded[number - 2]).asked)
    parts = []
    for view in views(lambda _: None, lambda _: before):
        sides = (flow.request, flow.response) if view.name in SIDED else (flow.request,)
        for message in sides:
            is_request = message is flow.request
            if view.name in SIDED and is_request and path.stem not in LONG:
                continue
            shown = view.prettify(b"", contentviews.Metadata(flow=flow, http_message=message))
            side = "" if view.name not in SIDED else " of the request" if is_request else " of the response"
            parts.append(f"==== {view.name}{side} ====\n{shown}\n")
    return "\n".join(parts)


def golden_of(path: Path) -> Path:
    """Where it stands."""
    return GOLDEN / f"{path.stem}.txt"


if __name__ == "__main__":
    for recording in sorted(FOLDER.glob("*.mitm")):
        golden_of(recording).write_text(text_of(recording))
