"""What a backend leaves out of its events, items and responses, and strict clients need.

llama.cpp's stream has no `sequence_number`, `output_index`, `content_index`, `logprobs`, and a bare `response` object
(2026-10). Codex drops a call without `call_id`, reasoning without `summary` and a message whose content is a string,
all in silence (0.154 to 0.171).
"""

from __future__ import annotations

from bridge import usage
from bridge.jsonvalue import JSON, Object, as_index, as_object, as_objects, as_text, dump, dump_bytes
from bridge.shapes import CALLS
from bridge.tools.context import Context

LIFECYCLE = ("response.created", "response.queued", "response.in_progress")
TERMINAL = ("response.completed", "response.done", "response.incomplete", "response.failed")
ITEM = ("response.output_item.added", "response.output_item.done")

_CONTENT: Object = {"content_index": 0}
_TEXT: Object = {"content_index": 0, "logprobs": []}
_SUMMARY: Object = {"summary_index": 0}
PARTS: dict[str, Object] = {
    "response.content_part.added": _CONTENT,
    "response.content_part.done": _CONTENT,
    "response.output_text.delta": _TEXT,
    "response.output_text.done": _TEXT,
    "response.refusal.delta": _CONTENT,
    "response.refusal.done": _CONTENT,
    "response.reasoning_text.delta": _CONTENT,
    "response.reasoning_text.done": _CONTENT,
    "response.reasoning_summary_part.added": _SUMMARY,
    "response.reasoning_summary_part.done": _SUMMARY,
    "response.reasoning_summary_text.delta": _SUMMARY,
    "response.reasoning_summary_text.done": _SUMMARY,
    "response.function_call_arguments.delta": {},
    "response.function_call_arguments.done": {},
    "response.custom_tool_call_input.delta": {},
    "response.custom_tool_call_input.done": {},
}
_ID_PREFIX = {
    "message": "msg_",
    "reasoning": "rs_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
    "tool_search_call": "tsc_",
}


class Completer:
    """Completes event after event; it knows which item each belongs to, however the backend says so."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._index_of: dict[str, int] = {}
        self._id_of: dict[int, str] = {}
        self._call_of: dict[str, str] = {}
        self._last = -1
        self._finished = -1

    def complete(self, event: Object) -> Object:
        """The event with nothing missing; what it has is kept, and one that has all is the same object."""
        kind = as_text(event.get("type"))
        if kind in PARTS:
            return self._part(event, PARTS[kind])
        if kind in LIFECYCLE or kind in TERMINAL:
            dump_bytes(event)  # A client that cannot read it would wait for an end in vain.
            return {**event, "response": complete_response(as_object(event.get("response")), self._context)}
        if kind in ITEM:
            return self._item(event, announced=kind == ITEM[0])
        return event

    def _part(self, event: Object, defaults: Object) -> Object:
        if _is_whole(event, defaults):
            return event
        identity = as_text(event.get("item_id"))
        index = self._index(event, identity)
        completed: Object = {**event, **{key: value for key, value in defaults.items() if event.get(key) is None}}
        completed |= {"output_index": index, "item_id": identity or self._id_of.get(index, "")}
        if isinstance(part := event.get("part"), dict):
            completed["part"] = _complete_part(part)
        for key in ("arguments", "delta"):
            if isinstance(value := event.get(key), dict):
                completed[key] = dump(value)
        return completed

    def _item(self, event: Object, *, announced: bool) -> Object:
        item = as_object(event.get("item"))
        identity = as_text(item.get("id"))
        index = self._item_index(event, identity, announced=announced)
        self._last = max(self._last, index)
        if not identity and index in self._id_of:
            item = {**item, "id": self._id_of[index]}
        if not announced and not as_text(item.get("call_id")) and as_text(item.get("id")) in self._call_of:
            item = {**item, "call_id": self._call_of[as_text(item.get("id"))]}
        completed = complete_item(item, index, self._context, status="in_progress" if announced else "completed")
        made = as_text(completed.get("id"))
        self._id_of[index] = made
        self._index_of[made] = index
        if call_id := as_text(completed.get("call_id")):
            self._call_of[made] = call_id
        if not announced:
            self._finished = max(self._finished, index)
        return {**event, "output_index": index, "item": completed}

    def _item_index(self, event: Object, identity: str, *, announced: bool) -> int:
        """Its own, that of its id, that of the last item if that can end here, or the next."""
        index = as_index(event.get("output_index"))
        if index is None and identity in self._index_of:
            return self._index_of[identity]
        if index is None and not announced and not identity and self._last > self._finished:
            return self._last
        return self._last + 1 if index is None else index

    def _index(self, event: Object, identity: str) -> int:
        index = as_index(event.get("output_index"))
        if index is None:
            index = self._index_of.get(identity, max(self._last, 0))
        return index


def _is_whole(event: Object, defaults: Object) -> bool:
    """Whether nothing is missing in what tells of a part, as in nearly all of a stream."""
    return (
        type(event.get("output_index")) is int
        and type(event.get("item_id")) is str
        and type(event.get("delta", "")) is str
        and type(event.get("arguments", "")) is str
        and "part" not in event
        and None not in map(event.get, defaults)
    )


def lacks(event: Object) -> bool:
    """Whether an event lacks what Codex cannot do without, so that it may not leave as it came."""
    kind = as_text(event.get("type"))
    if (kind in ITEM or kind in PARTS) and as_index(event.get("output_index")) is None:
        return True
    if kind in ITEM:
        return item_lacks(as_object(event.get("item")))
    return kind in TERMINAL and response_lacks(as_object(event.get("response")))


def response_lacks(response: Object) -> bool:
    """Whether Codex could not read the response."""
    items = as_objects(response.get("output"))
    return not (as_text(response.get("id")) and usage.is_readable(response.get("usage"))) or any(map(item_lacks, items))


def item_lacks(item: Object) -> bool:
    """Whether Codex would drop the item, or do the wrong thing with it."""
    kind = item.get("type")
    return (
        (kind in CALLS and not as_text(item.get("call_id")))
        or (kind == "function_call" and not isinstance(item.get("arguments"), str))
        or (kind == "reasoning" and not isinstance(item.get("summary"), list))
        or (kind == "message" and not isinstance(item.get("content"), list))
    )


def complete_item(item: Object, index: int, context: Context, status: str = "completed") -> Object:
    """An output item with the fields that its type needs."""
    kind = as_text(item.get("type"))
    completed: Object = {**item}
    if prefix := _ID_PREFIX.get(kind):
        completed["id"] = as_text(item.get("id")) or context.mint(prefix, index)
    if kind in CALLS:
        completed["call_id"] = as_text(item.get("call_id")) or context.mint("call_", index)
    if kind == "function_call":
        completed["arguments"] = arguments_text(item.get("arguments"))
    if (kind in CALLS or kind == "message") and item.get("status") is None:
        completed["status"] = status
    if kind == "message":
        content = item.get("content")
        text: Object = {"type": "output_text", "text": content}
        parts = [text] if isinstance(content, str) else as_objects(content)
        completed["role"] = item.get("role") or "assistant"
        completed["content"] = [_complete_part(part) for part in parts]
    if kind == "reasoning" and not isinstance(item.get("summary"), list):
        completed["summary"] = []
    return completed


def complete_response(response: Object, context: Context) -> Object:
    """A response object with the fields that its type needs; what the client asked stands in for what is missing."""
    client = context.client
    defaults: Object = {
        "id": context.mint("resp_"),
        "object": "response",
        "created_at": context.now,
        "model": client.get("model") or "",
        "output": [],
        "parallel_tool_calls": bool(client.get("parallel_tool_calls", True)),
        "tool_choice": client.get("tool_choice") or "auto",
        "tools": [],
    }
    completed: Object = {**response, **{key: value for key, value in defaults.items() if response.get(key) is None}}
    completed["id"] = str(completed["id"])
    if response.get("usage") is not None:
        completed["usage"] = usage.complete(response.get("usage"))
    completed["output"] = [
        complete_item(item, index, context) for index, item in enumerate(as_objects(completed.get("output")))
    ]
    return completed


def arguments_text(arguments: JSON) -> str:
    """The arguments of a call as text; some backends send an object."""
    return dump(arguments) if isinstance(arguments, dict) else as_text(arguments)


def _complete_part(part: JSON) -> JSON:
    if isinstance(part, dict) and part.get("type") == "output_text" and not isinstance(part.get("annotations"), list):
        return {**part, "annotations": []}
    return part
