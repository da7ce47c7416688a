"""One declared tool → the function tool that the backend sees."""

from __future__ import annotations

from bridge.errors import ClientError
from bridge.jsonvalue import JSON, Object, as_object, as_text, without
from bridge.ledger import Ledger, Rule
from bridge.names import Kind, NameTable, Tool
from bridge.payload import DEFAULT_PARAMETER
from bridge.settings import CustomTools, Grammar, HostedTools, Settings
from bridge.tools.declarations import Declaration, Declared

NOT_JSON_SCHEMA = frozenset({"encrypted"})
"""Keywords that Codex puts into schemas and that strict backends refuse (`spawn_agent.message`, 0.154 to 0.171)."""

_SCHEMA_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"enum", "const", "default", "examples", "required", "dependentRequired"})
_SEARCH_SCHEMA: Object = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "number"}},
    "required": ["query"],
    "additionalProperties": False,
}


def parameter_of(settings: Settings, name: str, flat: str) -> str:
    """The name of the one parameter that a custom tool is lowered to."""
    return settings.parameters.get(flat) or settings.parameters.get(name) or DEFAULT_PARAMETER


def lower_tools(declared: Declared, names: NameTable, settings: Settings, ledger: Ledger) -> list[Object]:
    """All declarations → the `tools` of the backend, in order; a namespace's description goes to its first tool."""
    tools = []
    pending = dict(declared.namespaces)
    for declaration in declared.tools:
        if declaration.kind is None:
            tools += _hosted(declaration, settings, ledger)
            continue
        if declaration.kind is Kind.CUSTOM and settings.custom_tools is CustomTools.DROP:
            ledger.add(Rule.DROPPED, declaration.name, declaration.path, warning="custom tools are switched off")
            continue
        tool = names.find(declaration.namespace, declaration.name)
        assert tool is not None
        tools.append(
            _introduced(lower_tool(declaration, tool, settings, ledger), pending.pop(declaration.namespace, ""))
        )
    return tools


def lower_tool(declaration: Declaration, tool: Tool, settings: Settings, ledger: Ledger) -> Object:
    """A callable declaration → a function tool with the flat name."""
    match declaration.kind:
        case Kind.CUSTOM if settings.custom_tools is CustomTools.PASSTHROUGH:
            return {**declaration.tool, "name": tool.flat}
        case Kind.CUSTOM:
            ledger.add(Rule.LOWERED, tool.flat, declaration.path)
            return _lower_custom(declaration, tool, settings, ledger)
        case Kind.TOOL_SEARCH:
            ledger.add(Rule.LOWERED, tool.flat, declaration.path)
            rest = without(declaration.tool, "execution", "parameters")
            schema = _parameters(declaration, ledger) if declaration.tool.get("parameters") else _SEARCH_SCHEMA
            return {**rest, "type": "function", "name": tool.flat, "parameters": schema, "strict": False}
        case _:
            return {**declaration.tool, "name": tool.flat, "parameters": _parameters(declaration, ledger)}


def _lower_custom(declaration: Declaration, tool: Tool, settings: Settings, ledger: Ledger) -> Object:
    parameter = parameter_of(settings, tool.name, tool.flat)
    schema: Object = {"type": "string"}
    if grammar := _grammar(declaration, settings, ledger):
        schema["description"] = grammar
    lowered: Object = without(declaration.tool, "format")
    if not lowered.get("description"):
        lowered = without(lowered, "description")
    return {
        **lowered,
        "type": "function",
        "name": tool.flat,
        "parameters": {
            "type": "object",
            "properties": {parameter: schema},
            "required": [parameter],
            "additionalProperties": False,
        },
        "strict": False,
    }


def _grammar(declaration: Declaration, settings: Settings, ledger: Ledger) -> str:
    """The format of a custom tool → a description of its parameter."""
    form = as_object(declaration.tool.get("format"))
    kind = as_text(form.get("type"))
    if kind in ("", "text"):
        return ""
    if kind == "grammar" and settings.grammar is Grammar.DESCRIBE:
        warning = "a function call cannot enforce the grammar; it stands in the parameter's description"
        ledger.add(Rule.GRAMMAR, declaration.name, f"{declaration.path}.format", warning=warning)
        return f"Must match this {as_text(form.get('syntax'))} grammar:\n{as_text(form.get('definition'))}"
    warning = f"a function call cannot enforce the format {kind!r}; it is left out"
    ledger.add(Rule.GRAMMAR, declaration.name, f"{declaration.path}.format", warning=warning)
    return ""


def _hosted(declaration: Declaration, settings: Settings, ledger: Ledger) -> list[Object]:
    kind = as_text(declaration.tool.get("type"))
    if settings.hosted_tools is HostedTools.PASSTHROUGH:
        return [declaration.tool]
    if settings.hosted_tools is HostedTools.REJECT:
        raise ClientError(
            f"{declaration.path}: the backend cannot run the hosted tool {kind!r}. Switch it off in the client, or set "
            f"bridge_hosted_tools=drop.",
            declaration.path,
        )
    warning = "a hosted tool that the backend cannot run (bridge_hosted_tools=passthrough sends it)"
    ledger.add(Rule.DROPPED, kind, declaration.path, warning=warning)
    return []


def _introduced(tool: Object, namespace: str) -> Object:
    """The first tool of a namespace speaks for it."""
    if not namespace:
        return tool
    own = as_text(tool.get("description"))
    return {**tool, "description": f"{namespace}\n\n{own}" if own else namespace}


def _parameters(declaration: Declaration, ledger: Ledger) -> JSON:
    """A function's schema, made one that strict backends take."""
    given = as_object(declaration.tool.get("parameters"))
    schema = as_object(_clean(given))
    if schema.get("type") is None and not any(word in schema for word in ("anyOf", "oneOf", "allOf", "$ref")):
        schema = {**schema, "type": "object", "properties": schema.get("properties") or {}}
    if schema != declaration.tool.get("parameters"):
        ledger.add(Rule.CLEANED, declaration.name, f"{declaration.path}.parameters")
    return schema


def _clean(schema: JSON) -> JSON:
    """A schema without the keywords that are none; a property of that name stays."""
    if isinstance(schema, list):
        return [_clean(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    return {word: _clean_value(word, value) for word, value in schema.items() if word not in NOT_JSON_SCHEMA}


def _clean_value(word: str, value: JSON) -> JSON:
    if word in _DATA:
        return value
    if word in _SCHEMA_MAPS and isinstance(value, dict):
        return {name: _clean(schema) for name, schema in value.items()}
    return _clean(value)
