"""When the events of an answer came, told from what was read from a socket, and when; nanoseconds all along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import h11

from tests.support.sse_tools import TERMINAL, parse

DELTAS = ("response.custom_tool_call_input.delta", "response.function_call_arguments.delta")
"""What brings a call's input bit by bit. LiteLLM announces a custom call, and then sends events of the other family."""

type Timed = tuple[int, Any]
"""An event, and when the last byte of it came."""


def pieces(reads: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """What was read of an HTTP/1.1 answer → its body, without the lines that chunks have."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    for when, data in reads:
        connection.receive_data(data)
        while (event := connection.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.EndOfMessage):
                return
            if isinstance(event, h11.Data):
                yield when, bytes(event.data)


def events(reads: Iterable[tuple[int, bytes]]) -> list[Timed]:
    """The events of the answer; `[DONE]` and comments are none."""
    told: list[Timed] = []
    rest = b""
    for when, piece in pieces(reads):
        *frames, rest = (rest + piece).split(b"\n\n")
        told += [(when, event) for frame in frames for event in parse(frame + b"\n\n")]
    return told


def first_input(told: Sequence[Timed], payload: str) -> int:
    """When the first delta of a call's input came; if none came, the first event with the item that has the payload."""
    deltas = (when for when, event in told if _delta(event))
    whole = (when for when, event in told if event.get("item", {}).get("input") == payload)
    return next(deltas, None) or next(whole)


def _delta(event: Any) -> str:
    """What an event of either protocol adds to a call's input; empty if nothing."""
    if event.get("type") in DELTAS:
        return str(event["delta"])
    calls = [call for choice in event.get("choices", ()) for call in choice["delta"].get("tool_calls", ())]
    return "".join(call["function"].get("arguments", "") for call in calls)


def end(told: Sequence[Timed]) -> int:
    """When the event came after which the client goes on."""
    return next(when for when, event in told if event.get("type") in TERMINAL or _finished(event))


def _finished(event: Any) -> bool:
    return any(choice["finish_reason"] for choice in event.get("choices", ()))
