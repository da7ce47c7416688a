"""Faults that users of other bridges reported, as requests: one section a report."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bridge.blob import seal
from bridge.ledger import Rule
from tests.support.parts import (
    SCHEMA,
    Outcome,
    call,
    carrier,
    custom,
    custom_call,
    custom_output,
    function,
    image,
    lowered,
    message,
    namespace,
    output,
    with_input,
    with_tools,
)
from tests.support.strict import refusal

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
PATCH = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n"
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": 'start: "*** Begin Patch" LF line+\nline: /.+/\n'}
RUN = function("exec_command")


def taken(request: Any, **options: Any) -> Outcome:
    """A request, lowered, that a strict backend takes."""
    out = lowered(request, **options)
    assert refusal(out.body) is None
    return out


# B003, ggml-org/llama.cpp#20156: 'type' of tool must be 'function'


def test_every_tool_that_the_client_runs_is_sent_as_a_function() -> None:
    request = with_tools(
        RUN,
        custom("apply_patch", description="Edit files.", format=GRAMMAR),
        {"type": "web_search", "external_web_access": True},
        {"type": "tool_search", "execution": "client", "description": "Find tools.", "parameters": SCHEMA},
        namespace("mcp__docs__", function("lookup"), description="Documents."),
        {"type": "image_generation", "output_format": "png"},
    )
    out = taken(request)
    assert out.names == ["exec_command", "apply_patch", "tool_search", "mcp__docs____lookup"]
    assert {tool["type"] for tool in out.tools} == {"function"}


# B005, Wei-Shaw/sub2api#7241: a custom tool inside the functions namespace of a carrier was lost


def test_exec_inside_the_functions_namespace_of_a_carrier_is_offered() -> None:
    inside = namespace("functions", custom("exec", format={"type": "text"}), function("wait"), description="Tools.")
    out = taken(with_input(carrier(inside), message("user", "Show the date."), tool_choice="auto"))
    assert out.names == ["exec", "wait"]
    assert out.tools[0]["parameters"]["properties"] == {"input": {"type": "string"}}


# B006, jundot/omlx#3371: the tools of an MCP server never reached the model


def test_each_tool_of_a_server_is_a_function_and_the_servers_description_is_told() -> None:
    listing = function("_list", parameters={"type": "object", "properties": {}, "required": []})
    server = namespace("mcp__docs__", function("lookup", description="Look up."), listing, description="Documents.")
    out = taken(with_tools(RUN, server))
    assert len(set(out.names)) == 3
    assert [tool["parameters"] for tool in out.tools[1:]] == [SCHEMA, listing["parameters"]]
    assert out.tools[1]["description"] == "Documents.\n\nLook up."


# B015, BigPizzaV3/CodexPlusPlus#574: one image broke a thread on a text-only model for ever


@pytest.mark.parametrize(("mode", "kept"), [("none", False), ("placeholder", True), ("user", True), ("inline", True)])
def test_an_image_of_the_users_goes_only_where_no_image_is_wanted(mode: str, kept: bool) -> None:
    seen = message("assistant", "Seen.", id="msg_1", status="completed")
    items = taken(with_input(message("user", "See this.", image()), seen, message("user", "Go on.")), images=mode).items
    assert ("image_url" in json.dumps(items)) is kept
    assert [each["content"][0]["text"] for each in items] == ["See this.", "Seen.", "Go on."]
    assert len(items[0]["content"]) == 2


# B019, farion1231/cc-switch#7509: a turn that was interrupted left a call without an output


def test_every_call_of_an_interrupted_turn_is_answered() -> None:
    items = [message("user", "Run."), call("c1", "exec_command"), custom_call("c2", "apply_patch", PATCH)]
    stop = message("user", "Stop, do something else.")
    out = taken(with_input(*items, custom_output("c2", "ok"), stop, tools=[RUN, custom("apply_patch")]))
    answers = {each["call_id"]: each["output"] for each in out.items if each["type"] == "function_call_output"}
    assert ("interrupted" in answers["c1"], answers["c2"], out.items[-1]) == (True, "ok", stop)


# B026, Soju06/codex-lb#971: a compaction trigger went unanswered


def test_a_compaction_trigger_asks_for_a_summary_and_allows_no_call() -> None:
    talk = [message("user", "Old talk."), call("c1", "exec_command"), output("c1", "a")]
    out = taken(with_input(*talk, {"type": "compaction_trigger"}, tools=[RUN], tool_choice="auto"))
    assert (out.items[:-1], out.body["tool_choice"]) == (talk, "none")
    assert (out.items[-1]["role"], "ummar" in out.items[-1]["content"][0]["text"]) == ("user", True)


# B028, openai/codex#45401: a compaction item of another service was replayed


def test_a_foreign_compaction_leaves_a_note_and_no_ciphertext() -> None:
    foreign = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAAforeign"}
    out = taken(with_input(foreign, message("user", "Go on.")))
    assert "gAAAAA" not in json.dumps(out.body)
    assert ("not available" in json.dumps(out.items[0]), out.items[1]) == (True, message("user", "Go on."))


def test_a_compaction_of_our_own_is_told_to_the_model() -> None:
    own = {"type": "compaction", "id": "cmp_1", "encrypted_content": seal("It did ls.")}
    assert "It did ls." in taken(with_input(own)).items[0]["content"][0]["text"]


# B034, openai/codex#46188: names of MCP tools may have 128 characters, the backend takes 64


def test_two_long_names_that_begin_alike_get_short_distinct_ones() -> None:
    space = "mcp__4e9e25f1_b480_40f3_ba8d_a792f8f6ff07__"
    leaves = [f"update_project_deployment_protection_settings_{end}" for end in ("one", "two")]
    out = taken(with_tools(namespace(space, *(function(leaf) for leaf in leaves))))
    alone = [lowered(with_tools(namespace(space, function(leaf)))).names[0] for leaf in reversed(leaves)]
    assert len(set(out.names)) == 2
    assert out.names == alone[::-1]


# B048, Wei-Shaw/sub2api#3989: tool_search lowered


def test_tool_search_is_a_function_with_its_own_schema() -> None:
    schema = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "number"}}}
    out = taken(with_tools(RUN, {"type": "tool_search", "execution": "client", "parameters": schema}))
    assert (out.names, out.tools[1]["parameters"]) == (["exec_command", "tool_search"], schema)


# B049, openai/codex#45585: tools that a search found


def test_tools_that_a_search_found_can_be_called_and_are_named_in_the_history() -> None:
    add = function("add", defer_loading=True)
    ping = {"type": "function", "name": "ping", "parameters": None, "defer_loading": True}
    search = {"call_id": "c1", "execution": "client", "status": "completed"}
    asked = {"type": "tool_search_call", "arguments": {"query": "calendar"}, **search}
    found = {"type": "tool_search_output", "tools": [namespace("mcp__cal__", add), ping], **search}
    out = taken(with_input(asked, found, tools=[RUN, {"type": "tool_search", "execution": "client"}]))
    assert out.names == ["exec_command", "tool_search", "mcp__cal____add", "ping"]
    assert "defer_loading" not in json.dumps(out.body)
    assert (out.items[0]["name"], json.loads(out.items[0]["arguments"])) == ("tool_search", {"query": "calendar"})
    assert all(name in out.items[1]["output"] for name in out.names[2:])


# B052, Wei-Shaw/sub2api#7286: the history showed other names than the tools


def test_the_history_has_the_names_of_the_tools() -> None:
    tools = [namespace("mcp__docs__", function("lookup")), namespace("functions", custom("exec"))]
    calls = [call("c1", "lookup", '{"q": "a"}', namespace="mcp__docs__"), custom_call("c2", namespace="functions")]
    out = taken(with_input(calls[0], output("c1"), calls[1], custom_output("c2"), tools=tools))
    assert [each["name"] for each in out.items[::2]] == out.names


# B053, decolua/9router#1758: parameters that are declared as encrypted


def test_the_marker_encrypted_goes_and_properties_stay() -> None:
    properties = {"message": {"type": "string", "encrypted": True}, "encrypted": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties, "required": ["message", "encrypted"]}
    out = taken(with_tools(namespace("collaboration", function("spawn_agent", parameters=schema))))
    kept = {"message": {"type": "string"}, "encrypted": {"type": "boolean"}}
    assert out.tools[0]["parameters"] == {**schema, "properties": kept}


# B055, looplj/axonhub#2105: the grammar of a custom tool was lost


def test_the_grammar_reaches_the_model() -> None:
    (tool,) = taken(with_tools(custom("apply_patch", description="Edit files.", format=GRAMMAR))).tools
    assert (tool["description"], "format" in tool) == ("Edit files.", False)
    assert GRAMMAR["definition"] in tool["parameters"]["properties"]["input"]["description"]


# B057, lidge-jun/opencodex#3038: a strict server refuses Codex-only fields


def test_no_field_that_only_codex_knows_is_sent() -> None:
    hidden: Any = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["x"]}}
    said = message("assistant", "Hello.", id="msg_2", phase="commentary", status="completed")
    request = with_input(
        message("user", "Hi.", id="msg_1", **hidden),
        said,
        tools=[RUN],
        client_metadata={"a": "b"},
        prompt_cache_key="k",
        service_tier="priority",
        include=["reasoning.encrypted_content"],
        text={"verbosity": "low"},
    )
    out = taken(request)
    assert set(out.body) == {"model", "input", "tools", "service_tier"}
    assert [set(each) for each in out.items] == [{"type", "id", "role", "content"}, set(said) - {"phase"}]


# B060, decolua/9router#2928: outputs whose call was compacted away


def test_stale_outputs_go_and_a_second_output_joins_the_first() -> None:
    stale = [output("c0", "stale"), custom_output("cx", "stale")]
    pair = [call("c1", "exec_command"), output("c1", "a"), output("c1", "a again")]
    out = taken(with_input(*stale, message("user", "Hi."), *pair, message("user", "Next."), tools=[RUN]))
    assert out.items == [message("user", "Hi."), pair[0], output("c1", "a\na again"), message("user", "Next.")]
    assert out.noted(Rule.ORPHAN) == [("output without call", 2)]


# B064, coder/coder#26325: one name with a dot failed the whole request


def test_illegal_names_become_legal_and_stay_apart() -> None:
    out = taken(with_tools(namespace("mcp__lab.docs__", function("read:page"), function("read.page"))))
    assert len(set(out.names)) == 2


# B075, lidge-jun/opencodex#2310: allowed_tools with references to custom tools


def test_only_the_allowed_tools_are_sent() -> None:
    choice = {"type": "allowed_tools", "mode": "required", "tools": [function("update_plan"), custom("apply_patch")]}
    out = taken(with_tools(RUN, custom("apply_patch"), function("update_plan"), tool_choice=choice))
    assert (set(out.names), out.body["tool_choice"]) == ({"apply_patch", "update_plan"}, "required")


# B076, vllm-project/agentic-api#190: parallel_tool_calls and tool_choice without tools


def test_nothing_speaks_of_tools_where_none_is_left() -> None:
    out = taken(with_tools({"type": "web_search"}, tool_choice="auto", parallel_tool_calls=True))
    assert out.body == {"model": "m", "input": "Go."}


# B077, makecindy/cindy#4773: a session that was resumed without the tools of its history


def test_the_history_of_tools_that_are_gone_is_lowered_by_the_same_rule() -> None:
    shell = {"type": "local_shell_call", "call_id": "c3", "status": "completed", "action": {"command": ["ls"]}}
    items = [
        custom_call("c1", "old_tool", "raw text"),
        custom_output("c1"),
        call("c2", "x", '{"a": 1}', namespace="mcp__gone__"),
        output("c2"),
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        shell,
        output("c3", "a"),
    ]
    out = taken(with_input(*items, tools=[RUN]))
    assert [(each.get("call_id"), each.get("name")) for each in out.items] == [
        ("c1", "old_tool"),
        ("c1", None),
        ("c2", "mcp__gone____x"),
        ("c2", None),
        (None, None),
        ("c3", "local_shell"),
        ("c3", None),
    ]
    assert [json.loads(out.items[place]["arguments"]) for place in (0, 2, 5)] == [
        {"input": "raw text"},
        {"a": 1},
        {"command": ["ls"]},
    ]


# B087, openai/codex#44710: one namespace declared once per tool


def test_a_tool_that_is_declared_in_many_places_is_sent_once() -> None:
    parts = [namespace("codex_app", function(leaf), description="App.") for leaf in "ab"]
    out = taken(with_input(carrier(*parts, RUN), message("user", "Hi."), tools=[RUN, parts[0]]))
    assert out.names == ["exec_command", "codex_app__a", "codex_app__b"]


# B089, BigStrongSun/ccswitchmulti-fork-archive#28: empty messages


def test_an_empty_assistant_message_before_a_call_goes() -> None:
    pair = [call("c1", "exec_command"), output("c1", "a")]
    out = taken(with_input(message("user", "Go."), message("assistant", ""), *pair, tools=[RUN]))
    assert out.items == [message("user", "Go."), *pair]


# B098, maximhq/bifrost#7039: a namespace called web, a tool called python


def test_a_namespace_with_a_hosted_name_is_flattened_like_any_other() -> None:
    out = taken(with_tools(namespace("web", function("run")), custom("python")))
    assert (out.names, all(LEGAL.fullmatch(name) for name in out.names)) == (["web__run", "python"], True)
