"""An event stream of either wire → what it adds up to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bridge.jsonvalue import JSON, Object, as_index, as_object, as_objects, as_text, read, without
from bridge.sse import END_MARK, Frame, Reader, frames_of, looks_like_sse
from bridge.tools.complete import ITEM, LIFECYCLE, PARTS, TERMINAL

CHAT = "chat chunk"
_OTHERS = ("error", "response.output_text.annotation.added", "response.metadata")
_KNOWN = frozenset((*LIFECYCLE, *TERMINAL, *ITEM, *PARTS, *_OTHERS))
_TEXT_OF_DELTA = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "summary",
}
_PIECE = 1 << 16
_CALLED = {"function": "arguments", "custom": "input"}
_CHAT_TEXTS = ("reasoning_content", "reasoning", "content", "refusal")


@dataclass
class Merged:
    """What an answer says, whole or streamed."""

    streamed: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    """Events by type."""
    items: list[Object] = field(default_factory=list)
    """Output items of a Responses answer, or the one message of a chat answer."""
    response: Object = field(default_factory=dict)
    """The rest of the last response object, or of the last chunk."""
    end: str = ""
    """The type of the terminal event, or the finish reason."""
    problems: list[str] = field(default_factory=list)
    """What is wrong with the stream, in words."""

    @property
    def usage(self) -> Object:
        """The counts of tokens."""
        return as_object(self.response.get("usage"))


def merged(body: bytes) -> Merged:
    """An answer → what it says; never raises."""
    if looks_like_sse(body):
        return _Merger(body).result
    value = read(body)
    if not isinstance(value, dict):
        problem = "It is not JSON." if body.strip() else "It is empty."
        return Merged(problems=[problem], response={"text": body.decode("utf-8", "replace")} if body else {})
    if isinstance(value.get("choices"), list):
        messages = [as_object(choice.get("message")) for choice in as_objects(value["choices"])]
        finish = [as_text(choice.get("finish_reason")) for choice in as_objects(value["choices"])]
        return Merged(items=messages, response=without(value, "choices"), end="".join(finish[:1]))
    items = as_objects(value.get("output"))
    return Merged(items=items, response=without(value, "output"), end=as_text(value.get("status")))


def first_output(body: bytes) -> int | None:
    """Bytes up to the end of the first event that says anything, lifecycle aside; None if there is none."""
    reader, size = Reader(), 0
    for start in range(0, len(body), _PIECE):
        for frame in reader.feed(body[start : start + _PIECE]):
            size += len(frame.raw)
            if frame.event and as_text(frame.event.get("type")) not in LIFECYCLE and _says_something(frame.event):
                return size
    return None


def _says_something(event: Object) -> bool:
    """Whether a chat chunk holds more than a role; any other event does."""
    message = _ChatMessage()
    message.take(event)
    return "choices" not in event or message.said


class _Merger:
    """Takes in one stream."""

    def __init__(self, body: bytes) -> None:
        self.result = Merged(streamed=True)
        self._number = 0
        self._items: dict[JSON, Object] = {}
        self._deltas: dict[JSON, dict[str, list[str]]] = {}
        self._chat: _ChatMessage | None = None
        for frame in frames_of(body):
            self._number += 1
            self._take(frame)
        self._finish()

    def _take(self, frame: Frame) -> None:
        result, event = self.result, frame.event
        if event is None:
            self._odd(frame)
            return
        kind = as_text(event.get("type"))
        if "choices" in event and not kind:
            self._chat = self._chat or _ChatMessage()
            self._chat.take(event)
            kind = CHAT
        result.counts[kind or "no type"] += 1
        if part := _TEXT_OF_DELTA.get(kind):
            parts = self._deltas.setdefault(as_index(event.get("output_index")), {})
            parts.setdefault(part, []).append(as_text(event.get("delta")))
        elif kind in ITEM:
            index = as_index(event.get("output_index"))
            self._items[len(self._items) if index is None else index] = as_object(event.get("item"))
        elif kind in TERMINAL:
            self._end(event, kind)
        elif kind == "error":
            result.problems.append(f"An error event: {as_text(event.get('message') or str(event.get('error')))}")
        if "response" in event:
            result.response = without(as_object(event["response"]), "output")

    def _odd(self, frame: Frame) -> None:
        if frame.is_end_mark:
            self.result.counts[END_MARK] += 1
        elif frame.has_data:
            self.result.counts["unreadable"] += 1
            self.result.problems.append(f"Event {self._number} is no JSON object: {(frame.data or 'not UTF-8')[:60]!r}")
        elif frame.raw.strip():
            self.result.counts["comment"] += 1

    def _end(self, event: Object, kind: str) -> None:
        if self.result.end:
            self.result.problems.append(f"It ends twice: {self.result.end}, then {kind}.")
        self.result.end = kind
        if not self._items:
            output = as_objects(as_object(event.get("response")).get("output"))
            self._items.update(enumerate(output))

    def _finish(self) -> None:
        result = self.result
        if self._chat:
            result.items, result.response, result.end = [self._chat.message()], self._chat.rest, self._chat.finish
            if not self._chat.finish and not result.counts[END_MARK]:
                result.problems.append("It has no finish_reason: it broke off.")
            return
        result.items = [self._item(index) for index in self._indices()]
        unknown = [kind for kind in result.counts if kind.startswith("response.") and kind not in _KNOWN]
        result.problems += [f"Unknown event type: {kind}" for kind in unknown]
        if not result.end:
            result.problems.append("It has no terminal event: it broke off.")

    def _indices(self) -> list[JSON]:
        return list(dict.fromkeys([*self._items, *self._deltas]))

    def _item(self, index: JSON) -> Object:
        """The item as it was finished, or as far as it came."""
        item = self._items.get(index, {})
        if item.get("status") != "in_progress" and item:
            return item
        return {**item, **{part: "".join(pieces) for part, pieces in self._deltas.get(index, {}).items()}}


class _ChatMessage:
    """The message that chat chunks add up to; the first choice, as Codex asks for one."""

    def __init__(self) -> None:
        self.said = False
        self.finish = ""
        self.rest: Object = {}
        self._texts: dict[str, list[str]] = {}
        self._others: Object = {}
        self._calls: dict[JSON, Object] = {}
        self._payloads: dict[tuple[JSON, str], list[str]] = {}

    def take(self, chunk: Object) -> None:
        """One chunk."""
        self.rest |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        for choice in as_objects(chunk.get("choices"))[:1]:
            self.finish = as_text(choice.get("finish_reason")) or self.finish
            for key, value in as_object(choice.get("delta")).items():
                self._part(key, value)

    def message(self) -> Object:
        """All of it."""
        message: Object = {"role": "assistant", **self._others}
        message |= {key: "".join(pieces) for key, pieces in self._texts.items()}
        for (index, kind), pieces in self._payloads.items():
            body = as_object(self._calls[index].get(kind))
            self._calls[index][kind] = {**body, _CALLED[kind]: "".join(pieces)}
        calls: list[JSON] = [without(call, "index") for call in self._calls.values()]
        return {**message, "tool_calls": calls} if calls else message

    def _part(self, key: str, value: JSON) -> None:
        if key in _CHAT_TEXTS and isinstance(value, str):
            self._texts.setdefault(key, []).append(value)
            self.said |= bool(value)
        elif key == "tool_calls":
            self.said = True
            for call in as_objects(value):
                self._call(call)
        elif value is not None and key != "role":
            self._others[key] = value

    def _call(self, call: Object) -> None:
        index = as_index(call.get("index")) or 0
        known = self._calls.setdefault(index, {})
        for key, value in call.items():
            if key in _CALLED:
                body = as_object(value)
                kept = {name: entry for name, entry in body.items() if name != _CALLED[key] and entry}
                known[key] = {**as_object(known.get(key)), **kept}
                self._payloads.setdefault((index, key), []).append(as_text(body.get(_CALLED[key])))
            elif value:
                known[key] = value
