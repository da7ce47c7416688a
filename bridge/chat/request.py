"""A function-only Responses request → a Chat Completions request."""

from __future__ import annotations

from bridge.chat.messages import converse
from bridge.errors import ClientError
from bridge.jsonvalue import JSON, Object, as_object, as_objects, as_text, without
from bridge.ledger import Ledger, Rule
from bridge.settings import Settings

_CONVERTED = ("input", "instructions", "tools", "text", "reasoning", "max_output_tokens", "stream_options")
_RESPONSES_ONLY = frozenset(
    {
        "background",
        "client_metadata",
        "context_management",
        "conversation",
        "include",
        "max_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_retention",
        "store",
        "truncation",
    }
)


def lower_request(body: Object, settings: Settings, ledger: Ledger) -> Object:
    """The chat body; fields that neither API is known for pass. Raises `ClientError`."""
    for field in ("previous_response_id", "conversation"):
        if body.get(field):
            message = f"{field}: nothing is stored behind this bridge. Send the whole input."
            raise ClientError(message, field, code="previous_response_not_found")
    reasoning = as_object(body.get("reasoning"))
    recent = reasoning.get("context") == "current_turn"
    messages = converse(body.get("instructions"), body.get("input"), settings, ledger, recent_reasoning=recent)
    passed = without(body, *_CONVERTED, *_RESPONSES_ONLY)
    for field in (field for field in body if field in _RESPONSES_ONLY):
        ledger.add(Rule.DROPPED, field, field)
    chat: Object = {**without(passed, "tool_choice"), "messages": messages}
    if body.get("tools"):
        chat["tools"] = [_tool(tool) for tool in as_objects(body.get("tools"))]
    if body.get("tool_choice") is not None:
        chat["tool_choice"] = _choice(body.get("tool_choice"))
    if body.get("max_output_tokens") is not None:
        chat["max_tokens"] = body["max_output_tokens"]
    if body.get("stream"):
        chat["stream_options"] = {"include_usage": True}
    return {**chat, **_effort(reasoning, settings, ledger), **_format(as_object(body.get("text")), ledger)}


def tool_names(chat: Object) -> list[str]:
    """The names of the tools that a chat request offers."""
    tools = as_objects(chat.get("tools"))
    return [as_text(as_object(tool.get(as_text(tool.get("type")))).get("name")) for tool in tools]


def _tool(tool: Object) -> JSON:
    kind = tool.get("type")
    if kind == "custom":
        return {"type": "custom", "custom": {**without(tool, "type", "format"), **_custom_format(tool)}}
    return {"type": "function", "function": without(tool, "type")} if kind == "function" else tool


def _custom_format(tool: Object) -> Object:
    form = as_object(tool.get("format"))
    if form.get("type") == "grammar":
        return {"format": {"type": "grammar", "grammar": without(form, "type")}}
    return {"format": form} if form else {}


def _choice(choice: JSON) -> JSON:
    kind = as_text(as_object(choice).get("type"))
    if kind in ("function", "custom"):
        return {"type": kind, kind: {"name": as_object(choice).get("name")}}
    return choice


def _effort(reasoning: Object, settings: Settings, ledger: Ledger) -> Object:
    for field in (field for field in reasoning if field != "effort"):
        ledger.add(Rule.DROPPED, f"reasoning.{field}", f"reasoning.{field}")
    effort = as_text(reasoning.get("effort"))
    return {"reasoning_effort": settings.effort.get(effort, effort)} if effort else {}


def _format(text: Object, ledger: Ledger) -> Object:
    form = as_object(text.get("format"))
    if "verbosity" in text:
        ledger.add(Rule.DROPPED, "text.verbosity", "text.verbosity")
    match form.get("type"):
        case "json_schema":
            return {"response_format": {"type": "json_schema", "json_schema": without(form, "type")}}
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case _:
            return {}
