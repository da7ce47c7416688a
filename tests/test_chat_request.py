"""A request for a chat backend: its fields, tools, formats and refusals, and the captured requests of Codex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bridge.chat.request import tool_names
from bridge.errors import ClientError
from bridge.ledger import Rule
from tests.support.chat_request import Asked, asked, fit_the_sdk
from tests.support.parts import (
    SCHEMA,
    call,
    custom,
    custom_call,
    custom_output,
    function,
    image,
    message,
    namespace,
    output,
    with_input,
    with_tools,
)
from tests.support.strict_chat import refusal

RUN = function("exec_command")
SENT_RUN = {"type": "function", "function": {"name": "exec_command", "parameters": SCHEMA}}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
PATCH = '*** Begin Patch\n*** Add File: a.txt\n+"één"\t\\n\r\n*** End Patch\n'


def taken(request: Any, **options: Any) -> Asked:
    """A request that a strict chat backend takes, and the SDK as well."""
    out = asked(request, **options)
    assert refusal(out.body) is None
    fit_the_sdk(out.body)
    return out


# Fields


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        pytest.param({"temperature": 0.5}, {"temperature": 0.5}, id="temperature"),
        pytest.param({"top_p": 0.9}, {"top_p": 0.9}, id="top_p"),
        pytest.param({"user": "u"}, {"user": "u"}, id="user"),
        pytest.param({"metadata": {"a": "b"}}, {"metadata": {"a": "b"}}, id="metadata"),
        pytest.param({"max_output_tokens": 9}, {"max_tokens": 9}, id="max_output_tokens"),
        pytest.param({"max_output_tokens": None}, {}, id="max_output_tokens null"),
        pytest.param({"stream": False}, {"stream": False}, id="no stream, no stream_options"),
        pytest.param({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}, id="stream"),
        pytest.param({"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}, id="effort"),
        pytest.param({"reasoning": {"effort": None}}, {}, id="effort null"),
        pytest.param({"reasoning": {"summary": "auto"}}, {}, id="reasoning without effort"),
        pytest.param({"reasoning": None}, {}, id="reasoning null"),
        pytest.param({"text": {"format": {"type": "text"}}}, {}, id="format text"),
        pytest.param(
            {"text": {"format": {"type": "json_object"}}},
            {"response_format": {"type": "json_object"}},
            id="format json_object",
        ),
        pytest.param(
            {"text": {"format": {"type": "json_schema", "name": "out", "strict": True, "schema": SCHEMA}}},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "out", "strict": True, "schema": SCHEMA},
                }
            },
            id="format json_schema",
        ),
    ],
)
def test_a_field_is_sent_as_chat_has_it(fields: Any, sent: Any) -> None:
    out = taken({"model": "m", "input": "Go.", **fields})
    assert out.body == {"model": "m", "messages": [{"role": "user", "content": "Go."}], **sent}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("background", False),
        ("client_metadata", {"a": "b"}),
        ("include", ["reasoning.encrypted_content"]),
        ("max_tool_calls", 3),
        ("prompt_cache_key", "k"),
        ("prompt_cache_retention", "24h"),
        ("store", False),
        ("truncation", "auto"),
        ("previous_response_id", None),
    ],
)
def test_a_field_that_only_the_responses_api_has_is_dropped_and_named(field: str, value: Any) -> None:
    out = taken({"model": "m", "input": "Go.", field: value})
    assert (set(out.body), out.whats(Rule.DROPPED)) == ({"model", "messages"}, [field])


def test_verbosity_is_dropped_and_named() -> None:
    out = taken({"model": "m", "input": "Go.", "text": {"verbosity": "low"}})
    assert (set(out.body), out.whats(Rule.DROPPED)) == ({"model", "messages"}, ["text.verbosity"])


@pytest.mark.parametrize("field", ["previous_response_id", "conversation"])
def test_what_would_need_a_store_is_refused_so_that_the_client_sends_all(field: str) -> None:
    with pytest.raises(ClientError) as refused:
        asked({"model": "m", "input": "Go.", field: "x_1"})
    error: Any = refused.value.body()["error"]
    assert (refused.value.status, error["code"], error["param"]) == (400, "previous_response_not_found", field)


# Tools


def test_a_function_tool_moves_into_its_envelope_with_strict_and_description() -> None:
    tool = function("exec_command", description="Run.", strict=False)
    inner = {"name": "exec_command", "parameters": SCHEMA, "description": "Run.", "strict": False}
    assert taken(with_tools(tool)).body["tools"] == [{"type": "function", "function": inner}]


@pytest.mark.parametrize("tools", [[], None, [{"type": "web_search"}]], ids=["empty", "null", "only hosted"])
def test_without_tools_nothing_speaks_of_tools(tools: Any) -> None:
    # B076, vllm-project/agentic-api#190
    out = taken({"model": "m", "input": "Go.", "tools": tools, "tool_choice": "auto", "parallel_tool_calls": True})
    assert set(out.body) == {"model", "messages"}


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "exec_command"}, {"type": "function", "function": {"name": "exec_command"}}),
        ({"type": "custom", "name": "apply_patch"}, {"type": "function", "function": {"name": "apply_patch"}}),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "apply_patch"}]},
            {"type": "function", "function": {"name": "apply_patch"}},
        ),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "exec_command"}]}, "auto"),
        ({"type": "web_search"}, "auto"),
    ],
    ids=["auto", "none", "required", "function", "custom", "one required", "allowed auto", "hosted"],
)
def test_a_tool_choice_has_one_of_the_forms_that_vllm_takes(choice: Any, sent: Any) -> None:
    assert taken(with_tools(RUN, custom("apply_patch"), tool_choice=choice)).body["tool_choice"] == sent


def test_a_null_tool_choice_is_not_sent() -> None:
    assert set(taken(with_tools(RUN, tool_choice=None)).body) == {"model", "messages", "tools"}


@pytest.mark.parametrize("parallel", [True, False])
def test_parallel_tool_calls_pass_on(parallel: bool) -> None:
    # B095, vllm-project/vllm#9451
    assert taken(with_tools(RUN, parallel_tool_calls=parallel)).body["parallel_tool_calls"] is parallel


def test_a_hosted_tool_that_shall_pass_is_sent_as_it_is() -> None:
    hosted = {"type": "web_search", "external_web_access": True}
    assert asked(with_tools(RUN, hosted), hosted_tools="passthrough").body["tools"] == [SENT_RUN, hosted]


def test_the_grammar_reaches_the_model_and_format_is_no_key_of_the_tool() -> None:
    # B055, looplj/axonhub#2105
    (tool,) = taken(with_tools(custom("apply_patch", description="Edit files.", format=GRAMMAR))).body["tools"]
    inner = tool["function"]
    assert (inner["description"], "format" in tool, "format" in inner) == ("Edit files.", False, False)
    assert "start: /.+/" in inner["parameters"]["properties"]["input"]["description"]


def test_the_names_of_the_tools_offered() -> None:
    chat = asked(with_tools(RUN, custom("exec")), custom_tools="passthrough").body
    assert (tool_names(chat), tool_names({})) == (["exec_command", "exec"], [])


# Custom tools in their native chat form


@pytest.mark.parametrize(
    ("declared", "sent"),
    [
        ({}, {}),
        ({"description": "Edit."}, {"description": "Edit."}),
        ({"format": {"type": "text"}}, {"format": {"type": "text"}}),
        (
            {"format": GRAMMAR},
            {"format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /.+/"}}},
        ),
    ],
    ids=["bare", "description", "text", "grammar"],
)
def test_a_native_custom_tool_has_chats_own_form(declared: Any, sent: Any) -> None:
    out = asked(with_tools(custom("exec", **declared)), custom_tools="passthrough")
    fit_the_sdk(out.body)
    assert out.body["tools"] == [{"type": "custom", "custom": {"name": "exec", **sent}}]


def test_a_native_custom_tool_in_a_namespace_has_its_flat_name() -> None:
    request = with_tools(
        namespace("lab", custom("exec")), tool_choice={"type": "custom", "name": "exec", "namespace": "lab"}
    )
    out = asked(request, custom_tools="passthrough")
    fit_the_sdk(out.body)
    assert out.body["tools"] == [{"type": "custom", "custom": {"name": "lab__exec"}}]
    assert out.body["tool_choice"] == {"type": "custom", "custom": {"name": "lab__exec"}}


def test_a_native_custom_call_and_its_output_keep_the_payload() -> None:
    items = [message("user", "Go."), custom_call("c1", payload=PATCH), custom_output("c1", "ok")]
    out = asked(with_input(*items, tools=[custom("exec")]), custom_tools="passthrough")
    fit_the_sdk(out.body)
    made = {"id": "c1", "type": "custom", "custom": {"name": "exec", "input": PATCH}}
    assert out.messages[1:] == [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]


# Efforts, added and removed fields


@pytest.mark.parametrize(
    ("effort", "sent"), [("xhigh", "high"), ("max", "max"), ("none", "none"), ("wild", "wild"), ("minimal", "low")]
)
def test_an_effort_passes_verbatim_unless_it_is_mapped(effort: str, sent: str) -> None:
    # B056, Soju06/codex-lb#493
    out = asked({"model": "m", "input": "Go.", "reasoning": {"effort": effort}}, effort=["xhigh=high", "minimal=low"])
    assert out.body["reasoning_effort"] == sent


@pytest.mark.parametrize(
    ("entry", "field", "sent"),
    [
        ("max_tokens=7", "max_tokens", 9),
        ("max_tokens:=7", "max_tokens", 7),
        ("chat_template_kwargs.enable_thinking=true", "chat_template_kwargs", {"enable_thinking": True}),
        ("stream_options.include_usage:=false", "stream_options", {"include_usage": False}),
    ],
)
def test_bridge_body_speaks_of_the_chat_body(entry: str, field: str, sent: Any) -> None:
    request = {"model": "m", "input": "Go.", "stream": True, "max_output_tokens": 9}
    assert asked(request, body=[entry]).body[field] == sent


@pytest.mark.parametrize("path", ["stream_options", "reasoning_effort", "tools[].function.strict"])
def test_bridge_strip_speaks_of_the_chat_body(path: str) -> None:
    request = with_tools(function("run", strict=True), stream=True, reasoning={"effort": "low"})
    words = path.removeprefix("tools[].function.")
    assert words in json.dumps(asked(request, strip=[]).body)
    assert words not in json.dumps(asked(request, strip=[path]).body)


def test_bridge_model_names_the_model_of_the_chat_body() -> None:
    assert asked({"model": "m", "input": "Go."}, model="served").body["model"] == "served"


# Requests that Codex made

CAPTURED = sorted((Path(__file__).parent / "requests").glob("*.json"))
each_captured = pytest.mark.parametrize("path", CAPTURED, ids=[path.stem for path in CAPTURED])


def captured(path: Path) -> Any:
    """The body of a captured request."""
    return json.loads(path.read_text("utf-8"))["body"]


@pytest.mark.parametrize("images", ["placeholder", "user"])
@each_captured
def test_a_strict_chat_backend_and_the_sdk_take_what_codex_sent(path: Path, images: str) -> None:
    taken(captured(path), images=images)


@each_captured
def test_a_strict_chat_backend_takes_it_with_other_options(path: Path) -> None:
    taken(captured(path), reasoning="think", developer_role="developer", images="none")


@each_captured
def test_the_sdk_takes_native_custom_tools_and_calls(path: Path) -> None:
    fit_the_sdk(asked(captured(path), custom_tools="passthrough").body)


@each_captured
def test_the_same_request_gives_the_same_bytes(path: Path) -> None:
    assert json.dumps(asked(captured(path)).body) == json.dumps(asked(captured(path)).body)


@each_captured
def test_every_custom_payload_of_the_history_is_sent_byte_for_byte(path: Path) -> None:
    request = captured(path)
    items = [item for item in request["input"] if item["type"] in ("function_call", "custom_tool_call")]
    pairs = [
        (item["input"], json.loads(made["function"]["arguments"]))
        for item, made in zip(items, asked(request).calls, strict=True)
        if item["type"] == "custom_tool_call"
    ]
    assert [{"input": payload} for payload, _ in pairs] == [arguments for _, arguments in pairs]


# Whether the judge can say no


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"type": "custom", "name": "exec"}]},
        {"messages": [{"role": "tool", "content": "no id"}]},
        {"messages": [{"role": "user", "content": [{"type": "input_text", "text": "Hi."}]}]},
        {"messages": [{"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]}]},
    ],
    ids=["tool", "message", "part", "call"],
)
def test_the_sdk_refuses_what_is_not_chat(fields: Any) -> None:
    with pytest.raises(ValidationError):
        fit_the_sdk({"model": "m", "messages": [], **fields})


# Faults that users of other bridges reported: one test a report


def test_history_and_tools_have_the_same_names() -> None:
    # B052, Wei-Shaw/sub2api#7286
    tools = [namespace("mcp__docs__", function("lookup")), namespace("functions", custom("exec"))]
    calls = [call("c1", "lookup", '{"q": "a"}', namespace="mcp__docs__"), custom_call("c2", namespace="functions")]
    out = taken(with_input(calls[0], output("c1"), calls[1], custom_output("c2"), tools=tools))
    assert [each["function"]["name"] for each in out.calls] == tool_names(out.body)


def test_the_history_of_tools_that_are_gone_stays_paired() -> None:
    # B077, makecindy/cindy#4773
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}}
    shell = {"type": "local_shell_call", "call_id": "c3", "status": "completed", "action": {"command": ["ls"]}}
    items = [custom_call("c1", "old", "raw"), custom_output("c1"), call("c2", "x", namespace="gone"), output("c2")]
    out = taken(with_input(*items, search, shell, output("c3", "a"), message("user", "Next."), tools=[RUN]))
    assert out.roles == ["assistant", "tool", "assistant", "tool", "assistant", "tool", "user"]
    assert [(each["id"], each["function"]["name"]) for each in out.calls] == [
        ("c1", "old"),
        ("c2", "gone__x"),
        ("c3", "local_shell"),
    ]


@pytest.mark.parametrize(("mode", "kept"), [("none", False), ("placeholder", True), ("user", True), ("inline", True)])
def test_an_image_of_the_users_goes_only_where_no_image_is_wanted(mode: str, kept: bool) -> None:
    # B015, BigPizzaV3/CodexPlusPlus#574
    items = [message("user", "See this.", image()), message("assistant", "Seen."), message("user", "Go on.")]
    out = taken(with_input(*items), images=mode)
    assert ("image_url" in json.dumps(out.messages), out.messages[1:]) == (
        kept,
        [{"role": "assistant", "content": "Seen."}, {"role": "user", "content": "Go on."}],
    )
    assert "See this." in json.dumps(out.messages[0])


def test_a_compaction_trigger_ends_the_messages_with_a_demand_for_a_summary() -> None:
    # B026, Soju06/codex-lb#971
    talk = [message("user", "Old talk."), message("assistant", "Old reply."), call("c1", "exec_command"), output("c1")]
    out = taken(with_input(*talk, {"type": "compaction_trigger"}, tools=[RUN], tool_choice="auto"))
    assert (out.roles, out.body["tool_choice"]) == (["user", "assistant", "tool", "user"], "none")
    assert "ummar" in out.messages[-1]["content"]


def test_a_foreign_compaction_leaves_a_note_and_no_ciphertext() -> None:
    # B028, openai/codex#45401
    foreign = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAAforeign"}
    out = taken(with_input(foreign, message("user", "Go on.")))
    assert ("gAAAAA" in json.dumps(out.body), "not available" in out.messages[0]["content"]) == (False, True)
    assert out.messages[-1] == {"role": "user", "content": "Go on."}
