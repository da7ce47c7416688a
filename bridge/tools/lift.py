"""Whole items and responses, lifted: function calls become the client's own calls, under the client's own names."""

from __future__ import annotations

from dataclasses import dataclass

from bridge.errors import as_error, code_of
from bridge.jsonvalue import JSON, Object, as_objects, as_text
from bridge.ledger import Rule
from bridge.names import Kind, Tool
from bridge.payload import breaks_off, unwrap
from bridge.shapes import CALLS
from bridge.tools.calls import lift_call, restore_name, search_arguments
from bridge.tools.complete import arguments_text
from bridge.tools.context import Context
from bridge.tools.definitions import parameter_of

ECHOED = ("model", "tools", "tool_choice")


@dataclass(frozen=True)
class Call:
    """A call as the backend sent it, and the tool that it means."""

    item: Object
    tool: Tool | None

    @property
    def name(self) -> str:
        """The name that the backend used."""
        return as_text(self.item.get("name"))

    @property
    def is_custom(self) -> bool:
        """Whether it leaves as `custom_tool_call`, with a payload."""
        return self.tool is not None and self.tool.kind is Kind.CUSTOM

    @property
    def is_lifted(self) -> bool:
        """Whether it leaves as another type of item."""
        return self.tool is not None and self.tool.kind is not Kind.FUNCTION


def identify(item: Object, context: Context) -> Call:
    """A `function_call` or `custom_tool_call` of the backend's → the call that it means."""
    return Call(item, context.names.restore(as_text(item.get("name")), as_text(item.get("namespace"))))


def arguments_of(item: Object) -> str:
    """The arguments of a call or of its event as text."""
    return arguments_text(item.get("arguments"))


def is_cut(item: Object, arguments: str) -> bool:
    """Whether a call is not finished, whatever the backend calls it.

    llama.cpp marks a call that the output limit cut as `completed`; only the JSON itself tells (2026-10).
    """
    return item.get("status") == "incomplete" or breaks_off(arguments)


def lift_item(item: Object, path: str, context: Context) -> Object | None:
    """An output item → the client's; None for a call that is not finished."""
    if item.get("type") not in CALLS:
        return item
    call, arguments = identify(item, context), arguments_of(item)
    if is_cut(item, arguments):
        context.ledger.add(Rule.TRUNCATED, call.name, path, warning="a call breaks off; it is not made")
        return None
    if item.get("type") == "custom_tool_call":
        return restore_item(call, path, context)
    return finish_call(call, arguments, path, context)


def finish_call(call: Call, arguments: str, path: str, context: Context) -> Object:
    """A call that is all there → the client's item."""
    if call.tool is None or not call.is_lifted:
        return restore_item(Call({**call.item, "arguments": arguments}, call.tool), path, context)
    context.ledger.add(Rule.LIFTED, call.tool.name, path)
    if not call.is_custom:
        if arguments.strip() and not search_arguments(arguments):
            warning = "the arguments of a search are no object; it is made without any"
            context.ledger.add(Rule.MALFORMED, call.tool.name, path, warning=warning)
        return lift_call(call.item, call.tool, arguments)
    parameter = parameter_of(context.settings, call.tool.name, call.tool.flat)
    unwrapped = unwrap(arguments, parameter, context.settings.malformed)
    if unwrapped.defect:
        identity = as_text(call.item.get("call_id"))
        context.ledger.add(Rule.MALFORMED, call.tool.name, path, warning=f"call {identity}: {unwrapped.defect}")
    return lift_call(call.item, call.tool, unwrapped.payload)


def restore_item(call: Call, path: str, context: Context) -> Object:
    """A call that keeps its type → the same under the client's name; of an unknown tool as it is."""
    if call.tool is None:
        context.ledger.add(Rule.UNKNOWN, call.name, path, warning="a call of a tool that the client did not declare")
        return call.item
    restored = restore_name(call.item, call.tool)
    if restored == call.item:
        return call.item
    context.ledger.add(Rule.RESTORED, call.tool.name, path)
    return restored


def lift_response(response: Object, context: Context) -> Object:
    """A whole response → the client's: items lifted, the client's own fields echoed, an honest status."""
    items = response.get("output")
    lifted = [lift_item(item, f"output[{index}]", context) for index, item in enumerate(as_objects(items))]
    kept: list[JSON] = [item for item in lifted if item is not None]
    answer = echo({**response, "output": kept} if isinstance(items, list) else response, context)
    if None in lifted and answer.get("status") not in ("incomplete", "failed"):
        answer = {**answer, "status": "failed", "error": broken_off()}
    if answer.get("error"):
        answer = {**answer, "error": string_code(answer["error"])}
    return answer


def echo(response: Object, context: Context) -> Object:
    """What a response repeats of the request is what the client sent; what it does not repeat stays out."""
    echoed: Object = {key: context.client.get(key, [] if key == "tools" else response.get(key)) for key in ECHOED}
    changed = {key: value for key, value in echoed.items() if response.get(key) and response[key] != value}
    return {**response, **changed} if changed else response


def broken_off() -> Object:
    """The error of a turn whose call broke off."""
    message = (
        "The backend's answer broke off inside the arguments of a tool call, which was not made. If this repeats, "
        "raise the backend's output limit (bridge_body=max_output_tokens=…, before a chat backend max_tokens=…)."
    )
    return {"code": "server_error", "message": message}


def string_code(error: JSON) -> Object:
    """An error whose code is the string that Codex classifies it by."""
    given = as_error(error)
    return {**given, "message": as_text(given.get("message")) or "The backend gave no reason.", "code": code_of(given)}
