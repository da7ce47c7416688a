"""What chat backends refuse, gathered from vLLM, llama.cpp, DeepSeek and common chat templates: one strict judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.strict import LEGAL_NAME

FIELDS = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "max_tokens",
    "service_tier", "temperature", "top_p", "user", "metadata", "response_format", "reasoning_effort",
}  # fmt: skip
MESSAGE_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "developer": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "reasoning_content", "reasoning", "reasoning_details"},
    "tool": {"role", "content", "tool_call_id"},
}
PARTS = {"text", "image_url", "file", "input_audio"}


def refusal(body: Any) -> str | None:
    """Why a strict backend answers 400 to this request; None if it takes it."""
    return next(_refusals(body), None)


def _refusals(body: Any) -> Iterator[str]:
    if unknown := set(body) - FIELDS:
        yield f"unknown fields {sorted(unknown)}"
    yield from _tools(body)
    messages = body.get("messages") or []
    if not messages:
        yield "no messages"
    for index, message in enumerate(messages):
        for reason in _message(message, index):
            yield f"messages[{index}]: {reason}"
    yield from _answered(messages)


def _tools(body: Any) -> Iterator[str]:
    if "tools" not in body:
        if "tool_choice" in body or "parallel_tool_calls" in body:
            yield "tool_choice or parallel_tool_calls without tools"
        return
    names = [tool.get("function", {}).get("name", "") for tool in body["tools"]]
    if not names or len(set(names)) != len(names):
        yield f"tools are empty or not unique: {names}"
    for tool in body["tools"]:
        function = tool.get("function", {})
        if set(tool) != {"type", "function"} or tool["type"] != "function":
            yield f"Unsupported tool type: {tool.get('type')}"
        elif not LEGAL_NAME.fullmatch(function.get("name", "")) or "parameters" not in function:
            yield f"a tool without legal name and parameters: {function.get('name')!r}"
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, dict):
        if choice.get("type") != "function" or choice.get("function", {}).get("name") not in names:
            yield f"tool_choice {choice}"
    elif choice not in ("auto", "none", "required"):
        yield f"tool_choice {choice}"


def _message(message: Any, index: int) -> Iterator[str]:
    role = message.get("role")
    if role not in MESSAGE_FIELDS:
        yield f"unknown role {role}"
        return
    if unknown := set(message) - MESSAGE_FIELDS[role]:
        yield f"unknown fields {sorted(unknown)}"
    if role == "system" and index:
        yield "System message must be at the beginning"
    if "content" not in message:
        yield "no content"
    if not message.get("content") and role != "tool" and not message.get("tool_calls"):
        yield "empty content"
    for part in message["content"] if isinstance(message.get("content"), list) else []:
        if part.get("type") not in PARTS or (role == "tool" and part["type"] != "text"):
            yield f"unknown part {part.get('type')}"
    for call in message.get("tool_calls") or []:
        yield from _call(call)


def _call(call: Any) -> Iterator[str]:
    if set(call) - {"id", "type", "function", "extra_content"} or call.get("type") != "function":
        yield f"a call of type {call.get('type')}"
        return
    if not LEGAL_NAME.fullmatch(call["function"]["name"]):
        yield f"illegal name {call['function']['name']!r}"
    try:
        json.loads(call["function"]["arguments"])
    except ValueError:
        yield "arguments are not JSON"


def _answered(messages: list[Any]) -> Iterator[str]:
    """Every call is answered, in order, right behind the message that makes it; nothing else is."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message.get("role") == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                yield f"a tool message out of place: {message['tool_call_id']}"
                return
            continue
        if waiting:
            yield f"calls without output: {waiting}"
            return
        waiting = [call["id"] for call in message.get("tool_calls") or []]
        if seen & set(waiting) or len(set(waiting)) != len(waiting):
            yield f"ids that repeat: {waiting}"
        seen |= set(waiting)
    if waiting:
        yield f"calls without output: {waiting}"
