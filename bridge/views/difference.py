"""What differs between the client's and the backend's version of a message, by path."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from bridge.diff import MISSING, Change, changes
from bridge.jsonvalue import JSON, as_object, as_objects, dump, read, without
from bridge.merged import merged
from bridge.settings import Backend
from bridge.views.bodies import Bodies
from bridge.views.text import entry
from bridge.views.transcript import expanded

MOST, MOST_LINES = 400, 40
"""Changes that are shown, and lines of each side of one."""


def difference_lines(bodies: Bodies, *, response: bool) -> Iterator[str]:
    """Client → backend for a request, backend → client for a response."""
    yield from (f"# {note}" for note in bodies.notes)
    old, new = (
        (answer_value(bodies.heard), answer_value(bodies.said))
        if response
        else (value_of(bodies.asked), in_items(value_of(bodies.sent)))
    )
    if old is None or new is None:
        yield "# One of the two versions is not here."
        return
    yield f"# {'-'} {'backend' if response else 'client'}   + {'client' if response else 'backend'}"
    yield from change_lines(old, new)


def change_lines(old: JSON, new: JSON) -> Iterator[str]:
    """All that differs, and how much does not."""
    count = 0
    for change in changes(old, new):
        count += 1
        if count <= MOST:
            yield from _change(change)
    if count > MOST:
        yield f"… {count - MOST} more changes"
    yield f"= {_unchanged(old, new)}" if count else "= nothing differs"


def value_of(body: bytes | None) -> JSON:
    """A request as a value; the text of what is no JSON."""
    value = read(body)
    return body.decode("utf-8", "replace") if value is None and body else value


def answer_value(body: bytes | None) -> JSON:
    """An answer as a value: what a stream adds up to."""
    if body is None:
        return None
    answer = merged(body)
    return {**answer.response, "output": [*expanded(answer.items)]}


def in_items(request: JSON) -> JSON:
    """A chat request in the words of the Responses API, so that it can be compared; any other as it is."""
    if not isinstance(request, dict) or Backend.of(request) is Backend.RESPONSES:
        return request
    tools: list[JSON] = [
        {"type": tool.get("type"), **as_object(tool.get("function"))} for tool in as_objects(request.get("tools"))
    ]
    items: list[JSON] = [*expanded(as_objects(request["messages"]))]
    others = without(request, "messages", "tools")
    return {**others, "input": items} | ({"tools": tools} if "tools" in request else {})


def _change(change: Change) -> Iterator[str]:
    old, new = change.old, change.new
    if isinstance(old, str) and isinstance(new, str) and len(old) < 60 and len(new) < 60:
        yield f"~ {change.path}: {dump(old)} → {dump(new)}"
        return
    if old is not MISSING:
        yield from _side("-", change.path, old)
    if new is not MISSING:
        yield from _side("+", change.path, new)


def _side(sign: str, path: str, value: JSON) -> list[str]:
    key = path.rpartition(".")[2]
    lines = list(islice(entry(path, value, key), MOST_LINES + 1))
    more = ["  … (more lines)"] if len(lines) > MOST_LINES else []
    return [f"{sign} {line}" for line in lines[:MOST_LINES] + more]


def _unchanged(old: JSON, new: JSON) -> str:
    """How many fields and items are the same."""
    one, other = as_object(old), as_object(new)
    fields = [key for key in one if key in other and one[key] == other[key]]
    items = {dump(item) for item in as_objects(other.get("input") or other.get("output"))}
    listed = as_objects(one.get("input") or one.get("output"))
    same = sum(dump(item) in items for item in listed)
    return f"unchanged: {', '.join(fields) or 'no field'}" + (f"; {same} of {len(listed)} items" if listed else "")
