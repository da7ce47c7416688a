"""The items of a request or an answer as a numbered transcript, calls paired with their outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bridge.jsonvalue import JSON, Object, as_object, as_objects, as_text, dump
from bridge.tools.declarations import CARRIERS
from bridge.views.text import fold, number

KINDS = {"function_call": "function", "custom_tool_call": "custom", "tool_search_call": "tool_search"}
"""Item types of calls → the words that they are counted by."""


def expanded(items: Sequence[Object]) -> list[Object]:
    """Items or chat messages → items, a chat message's reasoning and calls each one of their own."""
    return [part for item in items for part in _parts(item)]


def transcript(items: Sequence[Object], start: int = 1, *, is_answer: bool = False) -> Iterator[str]:
    """One line an item; an output says which call it answers, and what has no partner is flagged.

    The calls of an answer have no outputs yet.
    """
    shown = expanded(items)
    calls = {_call_id(item): index for index, item in enumerate(shown, start) if is_call(item)}
    answered = {_call_id(item) for item in shown if is_output(item) or is_answer}
    for index, item in enumerate(shown, start):
        yield f"{index:>4}  {_line(item, calls, answered)}"


def call_counts(items: Sequence[Object]) -> Counter[str]:
    """Calls by kind."""
    return Counter(_kind(item) for item in expanded(items) if is_call(item))


def is_call(item: Object) -> bool:
    """Whether an item is a call of any kind."""
    return as_text(item.get("type")).endswith("_call")


def is_output(item: Object) -> bool:
    """Whether an item is what a call came to."""
    return as_text(item.get("type")).endswith("_output")


def is_models(item: Object) -> bool:
    """Whether an item is of a model's making."""
    return is_call(item) or item.get("role") == "assistant" or item.get("type") == "reasoning"


def _parts(item: Object) -> Iterator[Object]:
    if "type" in item or "role" not in item:
        yield item
        return
    for key in ("reasoning_content", "reasoning"):
        if text := as_text(item.get(key)):
            yield {"type": "reasoning", "content": text}
    if item.get("role") == "tool":
        yield {"type": "function_call_output", "call_id": item.get("tool_call_id"), "output": item.get("content")}
    elif item.get("content") or not item.get("tool_calls"):
        yield {"type": "message", "role": item.get("role"), "content": item.get("content")}
    for call in as_objects(item.get("tool_calls")):
        function, custom = as_object(call.get("function")), as_object(call.get("custom"))
        kind = "custom_tool_call" if custom else "function_call"
        yield {"type": kind, "call_id": call.get("id"), **function, **custom}


def _kind(item: Object) -> str:
    kind = as_text(item.get("type"))
    return KINDS.get(kind, kind)


def _call_id(item: Object) -> str:
    return as_text(item.get("call_id")) or as_text(item.get("id"))


def _line(item: Object, calls: dict[str, int], answered: set[str]) -> str:
    kind = as_text(item.get("type"))
    if is_call(item):
        name = ".".join(filter(None, (as_text(item.get("namespace")), as_text(item.get("name")))))
        orphan = "" if _call_id(item) in answered or kind not in KINDS else "! without an output: "
        half = "! not finished: " if item.get("status") in ("in_progress", "incomplete") else orphan
        named = f"{_kind(item)} call {name}".rstrip()
        return f"{half}{named} {_call_id(item)}: {fold(_said(item))}"
    if is_output(item):
        call = calls.get(_call_id(item))
        of = f"output of {call}" if call else f"! output without a call {_call_id(item)}"
        return f"{of}: {fold(_said(item))}" + (_carried(item) if kind in CARRIERS else "")
    if kind in CARRIERS:
        return f"carrier{_carried(item)}"
    if kind == "reasoning":
        return f"reasoning: {fold(_said(item)) or _sealed(item)}"
    who = as_text(item.get("role")) or kind or "item without a type"
    return f"{who}: {fold(_said(item)) or _sealed(item)}"


def _carried(item: Object) -> str:
    tools = as_objects(item.get("tools"))
    inner = sum(len(as_objects(tool.get("tools"))) or 1 for tool in tools)
    return f" of {inner} tools in {', '.join(as_text(tool.get('name') or tool.get('type')) for tool in tools)}"


def _sealed(item: Object) -> str:
    sealed = as_text(item.get("encrypted_content"))
    return f"(encrypted, {number(len(sealed))} characters)" if sealed else ""


def _said(item: Object) -> str:
    """The text in an item: of a call its payload, of an output what it says, of a message its parts."""
    for key in ("input", "arguments", "output", "content", "summary", "text"):
        if text := _text(item.get(key)):
            return text
    return ""


def _text(value: JSON) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return dump(value)
    return " ".join(_part(part) for part in as_objects(value))


def _part(part: Object) -> str:
    text = as_text(part.get("text")) or as_text(part.get("refusal"))
    return text or f"[{as_text(part.get('type')) or 'part'}]"
