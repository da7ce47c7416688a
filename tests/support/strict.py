"""What function-only backends refuse, gathered from vLLM 0.16 to 0.32 and llama.cpp: one strict judge of requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
FIELDS = {
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text", "store",
    "stream", "max_output_tokens", "temperature", "top_p", "metadata", "service_tier", "previous_response_id", "user",
}  # fmt: skip
ITEM_FIELDS = {
    "message": {"type", "id", "role", "status", "content"},
    "reasoning": {"type", "id", "summary", "content", "status"},
    "function_call": {"type", "id", "call_id", "name", "arguments", "status"},
    "function_call_output": {"type", "id", "call_id", "output", "status"},
}
TOOL_FIELDS = {"type", "name", "description", "parameters", "strict"}


def refusal(body: Any) -> str | None:
    """Why a strict backend answers 400 to this request; None if it takes it."""
    return next(_refusals(body), None)


def _refusals(body: Any) -> Iterator[str]:
    if unknown := set(body) - FIELDS:
        yield f"unknown fields {sorted(unknown)}"
    yield from _tools(body)
    if "context" in (body.get("reasoning") or {}):
        yield "reasoning.context is unknown"
    if "verbosity" in (body.get("text") or {}):
        yield "text.verbosity is unknown"
    items = body.get("input")
    if isinstance(items, list):
        for index, item in enumerate(items):
            for reason in _item(item):
                yield f"input[{index}]: {reason}"
        yield from _pairs(items, stored=bool(body.get("previous_response_id")))


def _tools(body: Any) -> Iterator[str]:
    if "tools" not in body:
        if "tool_choice" in body or "parallel_tool_calls" in body:
            yield "tool_choice or parallel_tool_calls without tools"
        return
    if not body["tools"]:
        yield "tools is empty"
    names = [tool.get("name") for tool in body["tools"]]
    if len(set(names)) != len(names):
        yield f"names are not unique: {names}"
    for tool in body["tools"]:
        if tool.get("type") != "function":
            yield f"'type' of tool must be 'function', not {tool.get('type')}"
        elif not LEGAL_NAME.fullmatch(tool.get("name", "")):
            yield f"illegal name {tool.get('name')!r}"
        elif unknown := set(tool) - TOOL_FIELDS:
            yield f"unknown tool fields {sorted(unknown)}"
        elif not isinstance(tool.get("parameters"), dict) or tool["parameters"].get("type") != "object":
            yield f"parameters of {tool['name']} are no object schema"
        elif '"encrypted": true' in json.dumps(tool["parameters"]):
            yield "unknown keyword encrypted"
    yield from _choice(body.get("tool_choice", "auto"), names)


def _choice(choice: Any, names: list[Any]) -> Iterator[str]:
    if isinstance(choice, dict):
        if set(choice) != {"type", "name"} or choice["type"] != "function" or choice["name"] not in names:
            yield f"tool_choice {choice} is unknown"
    elif choice not in ("auto", "none", "required"):
        yield f"tool_choice {choice!r} is unknown"


def _item(item: Any) -> Iterator[str]:
    kind = item.get("type")
    if kind not in ITEM_FIELDS:
        yield f"Cannot determine type of 'item': {kind}"
        return
    if unknown := set(item) - ITEM_FIELDS[kind]:
        yield f"unknown fields {sorted(unknown)} of {kind}"
    if kind == "reasoning" and not isinstance(item.get("content"), list):
        yield "reasoning without content"
    if kind == "function_call":
        yield from _call(item)
    if kind == "function_call_output" and not isinstance(item.get("output"), str | list):
        yield "output is neither a string nor a list"
    if kind == "message" and item.get("role") == "assistant":
        yield from _assistant(item)
    for part in item.get("output") if isinstance(item.get("output"), list) else []:
        if part.get("type") == "input_image" and "detail" not in part:
            yield "an image without detail in an output"


def _call(item: Any) -> Iterator[str]:
    if not LEGAL_NAME.fullmatch(item.get("name", "")):
        yield f"illegal name {item.get('name')!r}"
    try:
        json.loads(item["arguments"])
    except (ValueError, TypeError):
        yield "arguments are not JSON"


def _assistant(item: Any) -> Iterator[str]:
    if not item.get("id") or not item.get("status") or not isinstance(item.get("content"), list):
        yield "an assistant message without id, status or content"
    elif any("annotations" not in part for part in item["content"] if part.get("type") == "output_text"):
        yield "output_text without annotations"
    elif len(item["content"]) > 1:
        yield "a second content part would be lost"


def _pairs(items: list[Any], *, stored: bool) -> Iterator[str]:
    open_calls: list[str] = []
    for item in items:
        if item.get("type") == "function_call":
            open_calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] in open_calls:
                open_calls.remove(item["call_id"])
            elif not stored:
                yield f"an output without call: {item['call_id']}"
    if open_calls:
        yield f"calls without output: {open_calls}"
