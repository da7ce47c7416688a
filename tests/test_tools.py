"""Tools: hoisted, flattened, lowered."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.errors import ClientError
from bridge.ledger import Rule
from tests.support.parts import SCHEMA, carrier, custom, function, lowered, message, namespace, with_input, with_tools

GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/s\n"}
WRAPPER = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
EMPTY = {"type": "object", "properties": {}}


# --- hoist ---


def test_the_carrier_goes_and_its_tools_come_to_the_top() -> None:
    out = lowered(with_input(carrier(function("wait")), message("user", "Go.")))
    assert (out.tools, out.items) == ([function("wait")], [message("user", "Go.")])


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_carrier_is_hoisted_from_any_position(position: int) -> None:
    items = [message("user", "One."), message("user", "Two.")]
    items.insert(position, carrier(function("wait")))
    assert lowered(with_input(*items)).names == ["wait"]


def test_top_level_tools_come_first_then_each_carrier_in_turn() -> None:
    request = with_input(carrier(function("b")), carrier(function("c")), tools=[function("a")])
    assert lowered(request).names == ["a", "b", "c"]


def test_the_tools_that_a_search_found_are_hoisted() -> None:
    found = {"type": "tool_search_output", "call_id": "c", "tools": [namespace("cal", function("add"))]}
    assert lowered(with_input(found)).names == ["cal__add"]


def test_a_search_that_found_null_declares_nothing() -> None:
    found = {"type": "tool_search_output", "call_id": "c", "tools": None}
    assert "tools" not in lowered(with_input(found)).body


def test_the_last_definition_wins_and_keeps_its_first_place() -> None:
    later = carrier(function("a", description="new"), function("c"))
    out = lowered(with_input(carrier(function("a"), function("b")), later))
    assert (out.names, out.tools[0]["description"]) == (["a", "b", "c"], "new")


def test_the_kind_of_the_last_definition_wins() -> None:
    out = lowered(with_input(carrier(custom("exec")), carrier(function("exec"))))
    assert out.tools == [function("exec")]


def test_no_namespace_and_functions_are_one() -> None:
    out = lowered(with_input(carrier(namespace("functions", function("a", description="new"))), tools=[function("a")]))
    assert out.tools == [function("a", description="new")]


def test_one_leaf_in_two_namespaces_is_two_tools() -> None:
    assert lowered(with_tools(namespace("a", function("x")), namespace("b", function("x")))).names == ["a__x", "b__x"]


def test_a_hosted_tool_declared_twice_is_sent_once() -> None:
    search = {"type": "web_search"}
    assert lowered(with_input(carrier(search), tools=[search]), hosted_tools="passthrough").tools == [search]


def test_hosted_tools_that_differ_are_two() -> None:
    servers = [{"type": "mcp", "server_label": label} for label in "ab"]
    assert lowered(with_tools(*servers), hosted_tools="passthrough").tools == servers


def test_the_ledger_counts_hoisted_and_flattened_tools() -> None:
    out = lowered(with_input(carrier(namespace("a", function("x"), function("y")), function("z"))))
    assert (out.noted(Rule.HOISTED), out.noted(Rule.FLATTENED)) == ([("", 3)], [("", 2)])


def test_an_empty_carrier_leaves_no_hoisted_entry() -> None:
    assert lowered(with_input(carrier())).noted(Rule.HOISTED) == []


def test_top_level_functions_leave_as_they_came() -> None:
    request = with_tools(function("a", description="d", strict=True), function("b", strict=False))
    out = lowered(request)
    assert (out.body, list(out.ledger)) == (request, [])


# --- clashes ---


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        ([function("x"), custom("x")], "tools[1].name"),
        ([custom("x"), function("x")], "tools[1].name"),
        ([custom("x"), namespace("functions", function("x"))], "tools[1].tools[0].name"),
        ([namespace("n", custom("x"), function("y"), function("x"))], "tools[0].tools[2].name"),
        ([namespace("n", custom("x")), namespace("n", function("x"))], "tools[1].tools[0].name"),
    ],
    ids=["custom after function", "function after custom", "in functions", "in one namespace", "namespace twice"],
)
def test_a_name_of_two_kinds_in_one_list_is_refused(tools: list[Any], path: str) -> None:
    with pytest.raises(ClientError, match="Declare it once") as refused:
        lowered(with_tools(*tools))
    assert (refused.value.status, refused.value.param) == (400, path)


def test_a_clash_in_a_carrier_is_named_by_its_path() -> None:
    with pytest.raises(ClientError) as refused:
        lowered(with_input(message("user", "Go."), carrier(custom("x"), function("x"))))
    assert refused.value.param == "input[1].tools[1].name"


def test_one_name_of_two_kinds_in_two_namespaces_is_no_clash() -> None:
    assert lowered(with_tools(namespace("a", custom("x")), function("x"))).names == ["a__x", "x"]


def test_the_same_kind_twice_in_one_list_is_no_clash() -> None:
    assert lowered(with_tools(custom("x"), custom("x", description="new"))).tools[0]["description"] == "new"


# --- flatten ---


def test_tools_of_functions_keep_their_bare_names() -> None:
    assert lowered(with_tools(namespace("functions", function("wait"), custom("exec")))).names == ["wait", "exec"]


@pytest.mark.parametrize("tool", [function("x"), custom("x")], ids=["function", "custom"])
def test_other_namespaces_join_with_two_underscores(tool: Any) -> None:
    assert lowered(with_tools(namespace("ns", tool))).names == ["ns__x"]


def test_tools_that_would_share_a_flat_name_get_distinct_legal_ones() -> None:
    names = lowered(with_tools(namespace("a", function("b__c")), namespace("a__b", function("c")))).names
    assert len(set(names)) == 2


def test_a_namespace_introduces_its_first_tool_only() -> None:
    tools = lowered(with_tools(namespace("n", function("a", description="A"), function("b"), description="N"))).tools
    assert ([tool.get("description") for tool in tools]) == ["N\n\nA", None]


def test_a_namespace_speaks_for_a_tool_without_description() -> None:
    assert lowered(with_tools(namespace("n", custom("a"), description="N"))).tools[0]["description"] == "N"


def test_a_namespace_declared_twice_introduces_its_tools_once() -> None:
    parts = [namespace("n", function(leaf, description=leaf), description="N") for leaf in "ab"]
    assert [tool["description"] for tool in lowered(with_tools(*parts)).tools] == ["N\n\na", "b"]


def test_the_last_description_of_a_namespace_wins_unless_it_is_empty() -> None:
    parts = [namespace("n", function("a"), description=text) for text in ("old", "new", "")]
    assert lowered(with_tools(*parts)).tools[0]["description"] == "new"


@pytest.mark.parametrize("fields", [{}, {"description": ""}, {"description": None}], ids=["absent", "empty", "null"])
def test_a_namespace_without_description_adds_nothing(fields: Any) -> None:
    assert lowered(with_tools(namespace("functions", function("a"), **fields))).tools == [function("a")]


def test_a_namespace_introduces_the_first_tool_that_is_sent() -> None:
    out = lowered(with_tools(namespace("n", custom("a"), function("b"), description="N")), custom_tools="drop")
    assert out.tools == [function("n__b", description="N")]


# --- lower custom tools ---


def test_a_custom_tool_becomes_a_function_of_one_plain_string() -> None:
    assert lowered(with_tools(custom("exec", description="Run it."))).tools == [
        {"type": "function", "name": "exec", "description": "Run it.", "parameters": WRAPPER, "strict": False}
    ]


@pytest.mark.parametrize("fields", [{}, {"description": ""}, {"description": None}], ids=["absent", "empty", "null"])
def test_no_description_is_made_up(fields: Any) -> None:
    assert "description" not in lowered(with_tools(custom("exec", **fields))).tools[0]


@pytest.mark.parametrize("form", [None, {}, {"type": "text"}, {"type": 7}], ids=["null", "empty", "text", "no word"])
def test_a_free_format_leaves_nothing_to_say(form: Any) -> None:
    out = lowered(with_tools(custom("exec", format=form)))
    assert (out.tools[0]["parameters"], out.warned(), "format" in out.tools[0]) == (WRAPPER, [], False)


def test_a_grammar_stands_in_the_description_of_the_parameter() -> None:
    parameter = lowered(with_tools(custom("exec", format=GRAMMAR))).tools[0]["parameters"]["properties"]["input"]
    assert parameter == {"type": "string", "description": parameter["description"]}
    assert "lark" in parameter["description"]
    assert parameter["description"].endswith("start: /.+/s\n")


def test_a_grammar_can_be_dropped() -> None:
    out = lowered(with_tools(custom("exec", format=GRAMMAR)), grammar="drop")
    assert out.tools == lowered(with_tools(custom("exec"))).tools


@pytest.mark.parametrize("policy", ["describe", "drop"])
def test_each_tool_with_a_grammar_is_warned_of_once(policy: str) -> None:
    tools = [custom("exec", format=GRAMMAR), custom("patch", format=GRAMMAR)]
    out = lowered(with_input(carrier(*tools), tools=tools), grammar=policy)
    assert out.warned() == [(Rule.GRAMMAR, "exec"), (Rule.GRAMMAR, "patch")]


def test_a_format_of_another_kind_is_left_out_with_a_warning() -> None:
    out = lowered(with_tools(custom("exec", format={"type": "regex", "pattern": "x"})))
    assert (out.tools[0]["parameters"], out.warned()) == (WRAPPER, [(Rule.GRAMMAR, "exec")])


@pytest.mark.parametrize("entry", ["exec=code", "ns__exec=code"], ids=["leaf", "flat name"])
def test_the_parameter_can_be_renamed_for_one_tool(entry: str) -> None:
    tools = lowered(with_tools(namespace("ns", custom("exec"), custom("other"))), parameters=[entry]).tools
    assert [tool["parameters"]["required"] for tool in tools] == [["code"], ["input"]]
    assert tools[0]["parameters"] == {**WRAPPER, "properties": {"code": {"type": "string"}}, "required": ["code"]}


def test_unknown_fields_of_a_custom_tool_are_kept() -> None:
    assert lowered(with_tools(custom("exec", cache_control={"type": "x"}))).tools[0]["cache_control"] == {"type": "x"}


def test_the_ledger_names_each_lowered_tool() -> None:
    out = lowered(with_tools(custom("exec"), namespace("n", custom("x")), function("f"), {"type": "tool_search"}))
    assert out.noted(Rule.LOWERED) == [("exec", 1), ("n__x", 1), ("tool_search", 1)]


# --- modes of custom tools ---


def test_passthrough_leaves_a_custom_tool_as_it_is() -> None:
    tool = custom("exec", description="", format=GRAMMAR)
    out = lowered(with_tools(tool), custom_tools="passthrough")
    assert (out.tools, out.warned()) == ([tool], [])


def test_passthrough_hoists_and_flattens_all_the_same() -> None:
    out = lowered(with_input(carrier(namespace("n", custom("x", format=GRAMMAR)))), custom_tools="passthrough")
    assert out.tools == [custom("n__x", format=GRAMMAR)]


def test_drop_removes_custom_tools_only() -> None:
    out = lowered(with_tools(custom("exec"), function("wait"), namespace("n", custom("x"))), custom_tools="drop")
    assert (out.tools, out.warned()) == ([function("wait")], [(Rule.DROPPED, "exec"), (Rule.DROPPED, "x")])


# --- tool_search ---


@pytest.mark.parametrize("fields", [{}, {"execution": "client"}], ids=["no execution", "client"])
def test_a_search_that_the_client_runs_becomes_a_function(fields: Any) -> None:
    tool = {"type": "tool_search", "description": "Find tools.", "parameters": SCHEMA, **fields}
    assert lowered(with_tools(tool)).tools == [
        {
            "type": "function",
            "name": "tool_search",
            "description": "Find tools.",
            "parameters": SCHEMA,
            "strict": False,
        }
    ]


@pytest.mark.parametrize("fields", [{}, {"parameters": None}, {"parameters": {}}], ids=["absent", "null", "empty"])
def test_a_search_without_schema_gets_query_and_limit(fields: Any) -> None:
    schema = lowered(with_tools({"type": "tool_search", **fields})).tools[0]["parameters"]
    assert (set(schema["properties"]), schema["required"]) == ({"query", "limit"}, ["query"])


def test_a_bare_search_in_a_carrier_is_lowered() -> None:
    assert lowered(with_input(carrier({"type": "tool_search"}))).names == ["tool_search"]


def test_a_search_that_the_server_runs_is_hosted() -> None:
    out = lowered(with_tools({"type": "tool_search", "execution": "server"}))
    assert out.warned() == [(Rule.DROPPED, "tool_search")]


# --- hosted tools ---


def test_hosted_tools_are_dropped_with_one_warning_each() -> None:
    out = lowered(with_tools({"type": "web_search"}, function("f"), {"type": "image_generation"}))
    assert out.tools == [function("f")]
    assert out.warned() == [(Rule.DROPPED, "web_search"), (Rule.DROPPED, "image_generation")]


def test_hosted_tools_can_pass_as_they_are() -> None:
    tools = [{"type": "web_search", "external_web_access": True}, function("f")]
    out = lowered(with_tools(*tools), hosted_tools="passthrough")
    assert (out.tools, list(out.ledger)) == (tools, [])


def test_hosted_tools_can_be_refused() -> None:
    with pytest.raises(ClientError, match="bridge_hosted_tools=drop") as refused:
        lowered(with_tools(function("f"), {"type": "web_search"}), hosted_tools="reject")
    assert (refused.value.status, refused.value.param) == (400, "tools[1]")


def test_reject_takes_a_request_without_hosted_tools() -> None:
    assert lowered(with_tools(custom("exec")), hosted_tools="reject").names == ["exec"]


# --- schemas ---


@pytest.mark.parametrize(
    "fields",
    [{}, {"parameters": None}, {"parameters": {}}, {"parameters": {"type": None}}],
    ids=["absent", "null", "empty", "type null"],
)
def test_no_parameters_become_an_empty_object_schema(fields: Any) -> None:
    out = lowered(with_tools({"type": "function", "name": "f", **fields}))
    assert (out.tools[0]["parameters"], out.noted(Rule.CLEANED)) == (EMPTY, [("f", 1)])


def test_a_schema_without_type_keeps_its_properties() -> None:
    parameters = {"properties": {"q": {"type": "string"}}}
    out = lowered(with_tools(function("f", parameters=parameters)))
    assert out.tools[0]["parameters"] == {"type": "object", **parameters}


@pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf", "$ref"])
def test_a_schema_that_needs_no_type_is_left_alone(word: str) -> None:
    parameters: Any = {word: "#/$defs/x" if word == "$ref" else [SCHEMA]}
    assert lowered(with_tools(function("f", parameters=parameters))).tools[0]["parameters"] == parameters


def _nested(schema: Any) -> Any:
    """A schema in every place where JSON Schema takes one."""
    return {
        "type": "object",
        "properties": {"a": schema, "b": {"type": "array", "items": schema, "prefixItems": [schema]}},
        "patternProperties": {"^x": schema},
        "additionalProperties": schema,
        "$defs": {"d": schema},
        "definitions": {"d": schema},
        "dependentSchemas": {"a": schema},
        "anyOf": [schema, {"not": schema}],
        "if": schema,
        "x-list": [1, None, [schema]],
    }


def test_the_keyword_encrypted_goes_wherever_a_schema_stands() -> None:
    out = lowered(with_tools(function("f", parameters=_nested({"type": "string", "encrypted": True}))))
    assert out.tools[0]["parameters"] == _nested({"type": "string"})
    assert out.noted(Rule.CLEANED) == [("f", 1)]


def test_the_keyword_goes_at_the_root_and_in_a_search() -> None:
    marked = {**SCHEMA, "encrypted": True}
    out = lowered(with_tools(function("f", parameters=marked), {"type": "tool_search", "parameters": marked}))
    assert [tool["parameters"] for tool in out.tools] == [SCHEMA, SCHEMA]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"encrypted": {"type": "boolean"}}, "required": ["encrypted"]},
        {"type": "object", "default": {"encrypted": True}},
        {"type": "object", "const": {"encrypted": True}},
        {"type": "object", "enum": [{"encrypted": True}]},
        {"type": "object", "examples": [{"encrypted": True}]},
        {"type": "object", "$defs": {"encrypted": {"type": "string"}}},
        {"type": "object", "properties": ["encrypted"], "x-vendor": {"kept": 1}},
    ],
    ids=["a property", "a default", "a constant", "a choice", "an example", "a definition", "vendor's words"],
)
def test_what_is_only_called_encrypted_stays(schema: Any) -> None:
    out = lowered(with_tools(function("f", parameters=schema)))
    assert (out.tools[0]["parameters"], list(out.ledger)) == (schema, [])
