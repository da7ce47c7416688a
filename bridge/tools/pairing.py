"""Calls and their outputs in a history: each call has one output, each output its call."""

from __future__ import annotations

from collections import deque

from bridge.jsonvalue import JSON, Object, as_text
from bridge.ledger import Ledger, Rule
from bridge.shapes import CALLS, OUTPUTS

INTERRUPTED = "[no output: the call was interrupted]"

type Placed = tuple[Object, str]
"""An item and its path in the client's request."""


def pair(items: list[Placed], ledger: Ledger, *, keep_orphans: bool) -> list[Object]:
    """A history → one in which calls and outputs pair.

    Further outputs of a call merge into its first (Codex's `notify()` makes them), a call without an output gets one
    behind the calls that it was made with, an output without its call goes, unless `keep_orphans`: the call may stand
    in a stored response.
    """
    answers, gone = _match(items, ledger, keep_orphans=keep_orphans)
    several = ((first, found) for first, found in answers.values() if len(found) > 1)
    merged = {first: _merge([items[position][0] for position in found]) for first, found in several}
    paired: list[Object] = []
    interrupted: list[Object] = []
    for position, (item, path) in enumerate(items):
        is_call = item.get("type") in CALLS
        if interrupted and not is_call:
            paired += interrupted
            interrupted = []
        if position not in gone:
            paired.append(merged.get(position, item))
        if is_call and position not in answers:
            ledger.add(Rule.ORPHAN, "call without output", path, warning="a call has no output; one was added")
            interrupted.append(_interrupted(item))
    return paired + interrupted


def _match(
    items: list[Placed], ledger: Ledger, *, keep_orphans: bool
) -> tuple[dict[int, tuple[int, list[int]]], set[int]]:
    """Position of each answered call → (position of its first output, positions of all); outputs that go."""
    waiting: dict[str, tuple[int, deque[int]]] = {}
    latest: dict[str, int] = {}
    answers: dict[int, tuple[int, list[int]]] = {}
    gone: set[int] = set()
    run = 0
    for position, (item, path) in enumerate(items):
        kind = item.get("type")
        if kind not in CALLS and kind not in OUTPUTS:
            run = position + 1
            continue
        identity = as_text(item.get("call_id"))
        if kind in CALLS:
            # Parallel calls can have one id; then the outputs come in call order. Else an id means its latest call.
            if waiting.get(identity, (-1,))[0] != run:
                waiting[identity] = (run, deque())
            waiting[identity][1].append(position)
            latest[identity] = position
            continue
        run = position + 1
        _, calls = waiting.get(identity, (run, deque[int]()))
        call = calls.popleft() if calls else latest.get(identity)
        if call is None and not keep_orphans:
            ledger.add(Rule.ORPHAN, "output without call", path, warning="an output has no call; it was left out")
            gone.add(position)
        elif call is not None and call in answers:
            ledger.add(Rule.MERGED, "outputs", path)
            answers[call][1].append(position)
            gone.add(position)
        elif call is not None:
            answers[call] = (position, [position])
    return answers, gone


def _merge(outputs: list[Object]) -> Object:
    """The outputs of one call → the first, with the text or the parts of all."""
    contents = [output.get("output") for output in outputs]
    if all(isinstance(content, str) for content in contents):
        return {**outputs[0], "output": "\n".join(as_text(content) for content in contents)}
    parts: list[JSON] = []
    for content in contents:
        parts += content if isinstance(content, list) else [{"type": "input_text", "text": as_text(content)}]
    return {**outputs[0], "output": parts}


def _interrupted(call: Object) -> Object:
    return {"type": f"{call['type']}_output", "call_id": call.get("call_id"), "output": INTERRUPTED}
