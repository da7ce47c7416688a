"""What is new in a request: where its thread stands, and what came since the previous one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from bridge.jsonvalue import Object, read_object, without
from bridge.merged import merged
from bridge.thread import thread_of
from bridge.views.bodies import Bodies, items_of
from bridge.views.message import answer_lines
from bridge.views.text import pretty
from bridge.views.transcript import expanded, is_models


def turn_number(items: Sequence[Object]) -> int:
    """Which turn of its thread a request asks for: one more than the model's in its history."""
    runs = [is_models(item) for item in expanded(items)]
    return 1 + sum(now and not before for before, now in zip([False, *runs], runs, strict=False))


def new_items(request: Object, previous: Object | None) -> tuple[list[Object], str]:
    """(the items that the previous request of the thread did not have, how that was found out)."""
    items = items_of(request)
    if previous:
        known = [without(item, "id") for item in items_of(previous)]
        pairs = zip(items, known, strict=False)
        if len(known) == len(items) and all(
            without(item, "id") == other for item, other in zip(items, known, strict=True)
        ):
            return [], "it repeats the previous request of the thread"
        same = sum(1 for _ in takewhile(lambda pair: without(pair[0], "id") == pair[1], pairs))
        return items[same:], f"{same} items as in the previous request of the thread"
    last = max((index for index, item in enumerate(items) if is_models(item)), default=-1)
    if last < 0:
        return items, "its first request"
    return items[last + 1 :], "the previous request of the thread is not here: what follows the model's last word"


def turn_lines(bodies: Bodies, previous: Object | None) -> Iterator[str]:
    """What the client added, and what it got for it."""
    yield from (f"# {note}" for note in bodies.notes)
    request = read_object(bodies.asked if bodies.asked is not None else bodies.sent)
    items, how = new_items(request, previous)
    yield f"# Turn {turn_number(items_of(request))} of thread {thread_of(request) or '(none named)'}; {how}"
    yield from pretty({"new": [*items]} if items else {"new": []})
    if bodies.said:
        yield "# The answer"
        yield from answer_lines(merged(bodies.said))
