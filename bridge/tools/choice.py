"""`tool_choice` → the form that a function-only backend takes."""

from __future__ import annotations

from bridge.jsonvalue import JSON, Object, as_object, as_objects, as_text
from bridge.ledger import Ledger, Rule
from bridge.names import Kind, NameTable, key
from bridge.tools.declarations import kind_of


def lower_choice(body: Object, tools: list[Object], names: NameTable, ledger: Ledger) -> Object:
    """The request with `tools`, and a choice among them; without tools none of the fields that speak of them."""
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        tools, choice = _object_choice(choice, tools, names, ledger)
    if not tools:
        gone = [field for field in ("tools", "tool_choice", "parallel_tool_calls") if field in body]
        for field in gone:
            ledger.add(Rule.CHOICE, f"no tools: {field} left out", field)
        return {field: value for field, value in body.items() if field not in gone}
    changed: Object = {**body, "tools": list[JSON](tools)}
    return changed if choice is None else {**changed, "tool_choice": choice}


def _object_choice(choice: Object, tools: list[Object], names: NameTable, ledger: Ledger) -> tuple[list[Object], JSON]:
    if choice.get("type") != "allowed_tools":
        lowered = _named(choice, tools, names)
        if lowered is None:
            ledger.add(Rule.CHOICE, "auto", "tool_choice", warning="the chosen tool is not sent; the model may choose")
        elif lowered != choice:
            ledger.add(Rule.CHOICE, as_text(lowered.get("name")), "tool_choice")
        return tools, lowered or "auto"
    # Either place of the list is in use: the Responses API has it at the top, Chat Completions inside.
    inner = as_object(choice.get("allowed_tools")) or choice
    references = [_reference_to(entry, tools, names) for entry in as_objects(inner.get("tools"))]
    allowed = [tool for tool in tools if any(_reference(tool) in named for named in references)]
    if not allowed:
        ledger.add(Rule.CHOICE, "auto", "tool_choice", warning="none of the allowed tools is sent; all are allowed")
        return tools, "auto"
    mode = as_text(inner.get("mode")) or "auto"
    ledger.add(Rule.CHOICE, f"{len(allowed)} allowed, {mode}", "tool_choice")
    if mode == "required" and len(allowed) == 1 and allowed[0].get("name"):
        return allowed, _reference(allowed[0])
    return allowed, mode


def _named(choice: Object, tools: list[Object], names: NameTable) -> Object | None:
    """A choice of one tool → the choice that the backend knows; None for a tool that is not sent."""
    return next(iter(_reference_to(choice, tools, names)), None)


def _reference_to(choice: Object, tools: list[Object], names: NameTable) -> list[Object]:
    """What a reference means among the tools that are sent: one tool, a namespace's tools, or none."""
    kind = kind_of(choice)
    if choice.get("type") == "namespace":
        flats = {tool.flat for tool in names.tools if tool.namespace == key(as_text(choice.get("name")), "")[0]}
        return [_reference(tool) for tool in tools if tool.get("name") in flats]
    if kind is None:
        return [_reference(tool) for tool in tools if choice.items() >= _reference(tool).items()][:1]
    name = "tool_search" if kind is Kind.TOOL_SEARCH else as_text(choice.get("name"))
    namespace, _ = key(as_text(choice.get("namespace")), name)
    tool = names.find(namespace, name) if namespace else names.restore(name)
    if namespace and tool is None:
        return []
    flat = tool.flat if tool else name
    return [_reference(sent) for sent in tools if sent.get("name") == flat][:1]


def _reference(tool: Object) -> Object:
    return {key: tool[key] for key in ("type", "name", "server_label") if key in tool}
