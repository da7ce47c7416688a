"""One version of one message: the client's or the backend's, as lines."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.jsonvalue import read
from bridge.merged import Merged, merged
from bridge.views.bodies import Bodies
from bridge.views.text import number, pretty


def client_message(bodies: Bodies, *, response: bool) -> Iterator[str]:
    """What the client sent, or got."""
    body = bodies.said if response else bodies.asked
    yield from _message(body, bodies, "What the client got" if response else "What the client sent", response)


def backend_message(bodies: Bodies, *, response: bool) -> Iterator[str]:
    """What the backend got, or sent."""
    body = bodies.heard if response else bodies.sent
    yield from _message(body, bodies, "What the backend sent" if response else "What the backend got", response)


def _message(body: bytes | None, bodies: Bodies, title: str, response: bool) -> Iterator[str]:
    yield from (f"# {note}" for note in bodies.notes)
    if body is None:
        yield f"# {title}: nothing is here."
        return
    yield f"# {title}: {number(len(body))} bytes"
    yield from answer_lines(merged(body)) if response else _request(body)


def _request(body: bytes) -> Iterator[str]:
    value = read(body)
    if value is None:
        yield "# It is not JSON."
        yield from pretty({"text": body.decode("utf-8", "replace")})
        return
    yield from pretty(value)


def answer_lines(answer: Merged) -> Iterator[str]:
    """What an answer adds up to."""
    yield from (f"# ! {problem}" for problem in answer.problems)
    if answer.streamed:
        yield f"# {number(answer.counts.total())} events"
        yield from (f"#   {count:>6} × {kind}" for kind, count in answer.counts.most_common())
        yield f"# ends with: {answer.end or 'nothing'}"
    yield from pretty(answer.response)
    if answer.items:
        yield from pretty({"message" if is_chat(answer) else "output": [*answer.items]})


def is_chat(answer: Merged) -> bool:
    """Whether the answer is a chat backend's."""
    return any("role" in item and "type" not in item for item in answer.items)
