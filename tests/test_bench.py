"""What the benchmark beside the peers reads out of an answer: a mistake there would only be a wrong figure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.bench.backend import DELTAS, TURN, closed, fragments, parameter, payload, stream
from tests.bench.peers import check
from tests.bench.timed import end, events, first_input
from tests.support.sse_tools import Event

SAID = "text(1);"
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
ITEM: Event = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "exec", "input": SAID}
BEGUN: list[Event] = [
    {"type": "response.created", "response": {}},
    {"type": "response.output_item.added", "item": {**ITEM, "input": ""}},
]
ENDED: list[Event] = [
    {"type": "response.output_item.done", "item": ITEM},
    {"type": "response.completed", "response": {}},
]
DELTA: Event = {"type": "response.custom_tool_call_input.delta", "delta": "text"}
OTHER: Event = {"type": "response.function_call_arguments.delta", "delta": '{"'}


def chunked(event: Any) -> bytes:
    frame = f"data: {json.dumps(event)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(frame), frame)


def read(told: Iterable[Event]) -> list[tuple[int, bytes]]:
    """Every byte in a read of its own, at the time that is its place in the answer."""
    whole = HEAD + b"".join(map(chunked, told)) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
    return [(place, whole[place : place + 1]) for place in range(len(whole))]


@pytest.mark.parametrize("delta", [DELTA, OTHER])
def test_an_event_is_timed_by_its_last_byte(delta: Event) -> None:
    told = events(read([*BEGUN, delta, delta, *ENDED]))
    assert [event for _, event in told] == [*BEGUN, delta, delta, *ENDED]
    # The line end after a frame belongs to the chunk, not to the event.
    assert first_input(told, SAID) == len(HEAD + b"".join(map(chunked, [*BEGUN, delta]))) - 3
    assert end(told) == len(HEAD + b"".join(map(chunked, [*BEGUN, delta, delta, *ENDED]))) - 3


def test_without_deltas_the_first_event_with_the_payload_counts() -> None:
    told = events(read([*BEGUN, *ENDED]))
    assert first_input(told, SAID) == next(when for when, event in told if event == ENDED[0])


def test_an_answer_in_one_read() -> None:
    whole = b"".join(data for _, data in read([*BEGUN, DELTA, *ENDED]))
    assert [when for when, _ in events([(7, whole)])] == [7] * 5


@pytest.mark.parametrize("model", ["turn", "call"])
def test_the_backend_alone_is_timed_by_its_first_arguments(model: str) -> None:
    told = events([(1, HEAD), (2, stream("/v1/chat/completions", model, "input"))])
    said = list(enumerate(event for _, event in told))
    assert (first_input(said, SAID), end(said)) == (1, (TURN if model == "turn" else DELTAS) + 2)


@pytest.mark.parametrize(
    "told",
    [
        [],
        BEGUN,
        [*BEGUN, ENDED[0]],
        [*BEGUN, ENDED[1]],
        [*BEGUN, ENDED[0], {"type": "response.failed"}],
        [*BEGUN, {"type": "response.output_item.done", "item": {**ITEM, "input": "text"}}, ENDED[1]],
        [*BEGUN, {"type": "response.output_item.done", "item": {**ITEM, "type": "function_call"}}, ENDED[1]],
    ],
)
def test_what_is_not_the_call_is_an_error(told: list[Event]) -> None:
    check([(0, event) for event in [*BEGUN, *ENDED]], SAID)
    with pytest.raises(RuntimeError, match="not the call"):
        check([(0, event) for event in told], SAID)


def test_the_backend_keeps_to_the_parameter_that_it_is_given() -> None:
    schema = {"type": "object", "properties": {"content": {"type": "string"}}}
    asked = {"tools": [{"type": "function", "function": {"name": "exec", "parameters": schema}}]}
    assert parameter(asked) == "content"
    assert parameter({"tools": [{"type": "custom", "name": "exec"}]}) == parameter({}) == "input"
    said = json.loads("".join(closed(fragments("call", TURN, "content"), "call")))
    assert said == {"content": payload("turn", "content")}
    assert payload("steady", "input").startswith(payload("turn", "content"))
