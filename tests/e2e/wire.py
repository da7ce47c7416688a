"""The two APIs of function-only backends: turns → events, requests → what they say, and what such backends refuse."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from tests.e2e.turns import Call, Heard, Turn
from tests.support import chat_wire, sse_tools, strict, strict_chat
from tests.support.backend import Asked, Piece, Reply
from tests.support.sse_tools import Event, chop

FRAGMENT = 7
"""Characters of each piece of a text: short, and no divisor of the length of an escape."""


class Wire(ABC):
    """How a backend is spoken to, and how it speaks."""

    name: str
    path: str
    settings: tuple[str, ...] = ()
    """Options of the bridge in front of it."""

    @abstractmethod
    def refusal(self, body: Any) -> str | None:
        """Why such a backend refuses the request."""

    @abstractmethod
    def heard(self, asked: Asked) -> Heard:
        """What a request says."""

    @abstractmethod
    def begin(self) -> list[Event]:
        """The head of an answer."""

    @abstractmethod
    def items(self, turn: Turn, seed: int) -> list[Event]:
        """What the model says, its ids made of the seed."""

    @abstractmethod
    def end(self, turn: Turn, limited: str = "") -> list[Event]:
        """The end of an answer; `limited`: the word of a dialect for the end at an output limit."""

    @abstractmethod
    def failure(self, code: str, message: str) -> list[Event]:
        """An error inside a stream."""

    @abstractmethod
    def _frames(self, events: Iterable[Event | Piece]) -> list[Piece]: ...

    def reply(self, events: Iterable[Event | Piece]) -> Reply:
        """An answer; bytes, waits and cuts among the events stand as they are."""
        return Reply(self._frames(events), headers={"content-type": "text/event-stream"})

    def answer(self, turn: Turn, seed: int) -> Reply:
        """A whole turn."""
        return self.reply([*self.begin(), *self.items(turn, seed), *self.end(turn)])


class ResponsesWire(Wire):
    """The Responses API."""

    name = "responses"
    path = "/v1/responses"

    def refusal(self, body: Any) -> str | None:
        """See `strict`."""
        return strict.refusal(body)

    def heard(self, asked: Asked) -> Heard:
        """Items of the input."""
        body = asked.body
        items = body["input"]
        made = (Call(item["name"], item["arguments"]) for item in items if item["type"] == "function_call")
        given = (_flat(item["output"]) for item in items if item["type"] == "function_call_output")
        tools = (tool["name"] for tool in body.get("tools", []))
        return Heard(
            tuple(made),
            tuple(given),
            tuple(tools),
            json.dumps(items, ensure_ascii=False),
            body,
            asked.headers,
            time.monotonic(),
        )

    def begin(self) -> list[Event]:
        """Two events."""
        begun = sse_tools.response([], status="in_progress", usage=None)
        return [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]

    def items(self, turn: Turn, seed: int) -> list[Event]:
        """Reasoning, message, calls."""
        events: list[Event] = []
        if turn.reasoning:
            events += sse_tools.reasoning_events(chop(turn.reasoning, FRAGMENT), seed * 10)
        if turn.message:
            events += sse_tools.text_events(chop(turn.message, FRAGMENT), seed * 10 + 1)
        for number, call in enumerate(turn.calls, seed * 10 + 2):
            item = sse_tools.call(call.name, call.arguments, number)
            events += sse_tools.call_events(item, chop(call.arguments, FRAGMENT), number)
        return _placed(events)

    def end(self, turn: Turn, limited: str = "") -> list[Event]:
        """Completed, or one of the ways in which backends say that their limit was reached."""
        count = {"input_tokens": turn.tokens, "output_tokens": 5, "total_tokens": turn.tokens + 5}
        usage = {**sse_tools.USAGE, **count}
        status = "incomplete" if limited in ("incomplete", "status") else "completed"
        details = {"reason": "max_output_tokens"} if status == "incomplete" else None
        kind = "response.incomplete" if limited == "incomplete" else "response.completed"
        return [sse_tools.ended([], kind, usage=usage, status=status, incomplete_details=details)]

    def failure(self, code: str, message: str) -> list[Event]:
        """A failed response."""
        return [sse_tools.ended([], "response.failed", status="failed", error={"code": code, "message": message})]

    def _frames(self, events: Iterable[Event | Piece]) -> list[Piece]:
        numbers = iter(range(10_000))
        return [
            sse_tools.frames([{**event, "sequence_number": next(numbers)}]) if isinstance(event, dict) else event
            for event in events
        ]


class ChatWire(Wire):
    """Chat Completions."""

    name = "chat"
    path = "/v1/chat/completions"
    settings = ("--set", "bridge_backend=chat")

    def refusal(self, body: Any) -> str | None:
        """See `strict_chat`."""
        return strict_chat.refusal(body)

    def heard(self, asked: Asked) -> Heard:
        """Calls and outputs among the messages."""
        body = asked.body
        messages = body["messages"]
        made = (call["function"] for message in messages for call in message.get("tool_calls") or [])
        given = tuple(_flat(message["content"]) for message in messages if message["role"] == "tool")
        tools = tuple(tool["function"]["name"] for tool in body.get("tools", []))
        done = tuple(Call(call["name"], call["arguments"]) for call in made)
        return Heard(
            done, given, tools, json.dumps(messages, ensure_ascii=False), body, asked.headers, time.monotonic()
        )

    def begin(self) -> list[Event]:
        """The role."""
        return [chat_wire.chunk(role="assistant", content="")]

    def items(self, turn: Turn, seed: int) -> list[Event]:
        """Reasoning, text, calls."""
        said = [("reasoning_content", turn.reasoning), ("content", turn.message)]
        events = [chat_wire.chunk(**{key: piece}) for key, text in said if text for piece in chop(text, FRAGMENT)]
        for index, call in enumerate(turn.calls):
            head = chat_wire.entry("", name=call.name, index=index, id=f"call_{seed}_{index}", type="function")
            rest = [chat_wire.entry(piece, index=index) for piece in chop(call.arguments, FRAGMENT)]
            events += [chat_wire.called(entry) for entry in (head, *rest)]
        return events

    def end(self, turn: Turn, limited: str = "") -> list[Event]:
        """A finish reason, then the usage."""
        finish = limited or ("tool_calls" if turn.calls else "stop")
        count = {"prompt_tokens": turn.tokens, "completion_tokens": 5, "total_tokens": turn.tokens + 5}
        return [chat_wire.chunk(finish), {**chat_wire.LAST, "usage": count}]

    def failure(self, code: str, message: str) -> list[Event]:
        """An error object in place of a chunk."""
        return [{"error": {"message": message, "type": "server_error", "code": code}}]

    def _frames(self, events: Iterable[Event | Piece]) -> list[Piece]:
        framed: list[Piece] = [chat_wire.wire(one, done=False) if isinstance(one, dict) else one for one in events]
        return [*framed, b"data: [DONE]\n\n"]


WIRES: dict[str, Wire] = {wire.name: wire for wire in (ResponsesWire(), ChatWire())}


def _placed(events: Sequence[Event]) -> list[Event]:
    """Events whose items are counted within their answer."""
    order = {index: place for place, index in enumerate(dict.fromkeys(event["output_index"] for event in events))}
    return [{**event, "output_index": order[event["output_index"]]} for event in events]


def _flat(output: Any) -> str:
    """The text of an output, its parts one after the other."""
    parts = output if isinstance(output, list) else [{"text": output}]
    return "\n".join(part.get("text", "") for part in parts)
