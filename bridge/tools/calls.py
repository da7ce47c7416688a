"""One call or output, both ways: what the client replays ↔ what the backend has seen and sends."""

from __future__ import annotations

from bridge.jsonvalue import JSON, Object, as_object, as_text, dump, parse, without
from bridge.ledger import Ledger, Rule
from bridge.names import Kind, NameTable, Tool
from bridge.payload import wrap
from bridge.settings import CustomTools, Settings
from bridge.tools.declarations import kind_of
from bridge.tools.definitions import parameter_of

REPLAYED_CALLS = ("custom_tool_call", "function_call", "tool_search_call", "local_shell_call")
REPLAYED_OUTPUTS = ("custom_tool_call_output", "function_call_output", "tool_search_output", "local_shell_call_output")

_CALL_PREFIX = {"custom_tool_call": "ctc_", "tool_search_call": "tsc_", "local_shell_call": "lsh_"}
_OUTPUT_PREFIX = {"custom_tool_call_output": "ctco_", "tool_search_output": "tso_", "local_shell_call_output": "lsho_"}


def move_id(item: Object, source: str, target: str) -> Object:
    """The item's id with the prefix of its new type: `ctc_x` ↔ `fc_x`; a missing one stays missing."""
    identity = as_text(item.get("id"))
    return {"id": target + identity.removeprefix(source)} if identity else {}


def lower_call(item: Object, path: str, names: NameTable, settings: Settings, ledger: Ledger) -> Object:
    """A call that the client replays → `function_call` with the flat name."""
    kind = as_text(item.get("type"))
    if kind == "function_call":
        return _lower_function_call(item, path, names, ledger)
    name = as_text(item.get("name"))
    flat = names.flatten(as_text(item.get("namespace")), name or _FIXED_NAMES.get(kind, ""))
    ledger.add(Rule.REPLAYED, flat, path)
    if kind == "custom_tool_call" and settings.custom_tools is CustomTools.PASSTHROUGH:
        return {**without(item, "namespace"), "name": flat}
    lowered = without(item, "namespace", "input", "arguments", "action", "execution", "id")
    return {
        **lowered,
        **move_id(item, _CALL_PREFIX[kind], "fc_"),
        "type": "function_call",
        "name": flat,
        "arguments": _arguments(item, kind, name, flat, settings),
    }


def lift_call(item: Object, tool: Tool, payload: str) -> Object:
    """A `function_call` of a custom tool or of `tool_search` → the client's own call item.

    `payload` is the free-form text for a custom tool, the JSON text of the arguments for a search.
    """
    lifted = without(item, "namespace", "arguments", "id")
    if tool.kind is Kind.TOOL_SEARCH:
        return {
            **without(lifted, "name"),
            **move_id(item, "fc_", "tsc_"),
            "type": "tool_search_call",
            "execution": "client",
            "arguments": search_arguments(payload),
        }
    return {
        **restore_name(lifted, tool),
        **move_id(item, "fc_", "ctc_"),
        "type": "custom_tool_call",
        "input": payload,
    }


def restore_name(item: Object, tool: Tool) -> Object:
    """A call by whatever name the model used → by the name and namespace that the client declared."""
    restored: Object = {**without(item, "namespace"), "name": tool.name}
    return {**restored, "namespace": tool.namespace} if tool.namespace else restored


def lower_output(item: Object, path: str, names: NameTable, settings: Settings, ledger: Ledger) -> Object:
    """An output that the client replays → `function_call_output`."""
    kind = as_text(item.get("type"))
    if kind == "function_call_output":
        return item
    if kind == "custom_tool_call_output" and settings.custom_tools is CustomTools.PASSTHROUGH:
        return item
    ledger.add(Rule.REPLAYED, "outputs", path)
    output = _found(item, names) if kind == "tool_search_output" else item.get("output")
    lowered = without(item, "name", "tools", "execution", "id", "output")
    return {
        **lowered,
        **move_id(item, _OUTPUT_PREFIX[kind], "fco_"),
        "type": "function_call_output",
        "output": output,
    }


def search_arguments(text: str) -> Object:
    """The arguments of a search, which Codex takes as an object only."""
    try:
        return as_object(parse(text)) if text.strip() else {}
    except ValueError:
        return {}


_FIXED_NAMES = {"tool_search_call": "tool_search", "local_shell_call": "local_shell"}


def _lower_function_call(item: Object, path: str, names: NameTable, ledger: Ledger) -> Object:
    lowered = item
    flat = names.flatten(as_text(item.get("namespace")), as_text(item.get("name")))
    if flat != item.get("name") or "namespace" in item:
        ledger.add(Rule.REPLAYED, flat, path)
        lowered = {**without(item, "namespace"), "name": flat}
    arguments = item.get("arguments")
    if not isinstance(arguments, str):
        return {**lowered, "arguments": dump(arguments)}
    if _is_object_text(arguments):
        return lowered
    # llama.cpp answers 500 to a history whose arguments are not JSON, for the rest of the thread.
    ledger.add(Rule.MALFORMED, flat, f"{path}.arguments", warning="a replayed call has arguments that are not JSON")
    return {**lowered, "arguments": wrap(arguments, "arguments") if arguments.strip() else "{}"}


def _is_object_text(text: str) -> bool:
    try:
        return isinstance(parse(text), dict)
    except ValueError:
        return False


def _arguments(item: Object, kind: str, name: str, flat: str, settings: Settings) -> str:
    match kind:
        case "custom_tool_call":
            return wrap(as_text(item.get("input")), parameter_of(settings, name, flat))
        case "local_shell_call":
            return dump(as_object(item.get("action")))
        case _:
            arguments = item.get("arguments")
            if isinstance(arguments, str):
                return arguments if _is_object_text(arguments) else wrap(arguments, "arguments")
            return dump(as_object(arguments))


def _found(item: Object, names: NameTable) -> str:
    """What a search found, by the names under which the tools are now declared."""
    flats: list[JSON] = []
    tools = item.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        entry = as_object(tool)
        if kind_of(entry) is None and entry.get("type") != "namespace":
            flats.append(as_text(entry.get("type")))
        elif entry.get("type") == "namespace":
            inner = entry.get("tools")
            leaves = [as_text(as_object(leaf).get("name")) for leaf in inner] if isinstance(inner, list) else []
            flats += [names.flatten(as_text(entry.get("name")), leaf) for leaf in leaves]
        else:
            flats.append(names.flatten("", as_text(entry.get("name"))))
    return dump({"tools": flats})
