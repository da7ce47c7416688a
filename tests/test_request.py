"""Whole requests: what Codex 0.154 to 0.171 sent (`requests/`, filler in place of prose), and generated ones."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.blob import seal
from bridge.carried import Carried
from bridge.ledger import Ledger, Rule
from bridge.settings import Settings
from bridge.tools.compaction import SUMMARY_REQUEST
from bridge.tools.request import lower
from tests.support.parts import (
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
    text,
    with_input,
    with_tools,
)
from tests.support.strict import refusal

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in (HERE / "requests").glob("*.json"))
GONE = ("client_metadata", "prompt_cache_key", "include")
"""Fields that the default of bridge_strip removes from requests, and below from their items."""
GONE_INSIDE = ("phase", "internal_chat_message_metadata_passthrough")
CALLS = ("function_call", "custom_tool_call")
REPLAYED = (*CALLS, "tool_search_call", "local_shell_call")

whole = pytest.mark.parametrize("name", NAMES)


@functools.cache
def captured(name: str) -> Any:
    """The body of a recorded request."""
    return json.loads((HERE / "requests" / f"{name}.json").read_text(encoding="utf-8"))["body"]


@functools.cache
def sent(name: str) -> Outcome:
    """The same, lowered with the default settings."""
    return lowered(captured(name))


def exact(value: Any) -> str:
    """A value as text, in the order of its keys."""
    return json.dumps(value)


def of_type(items: Any, *kinds: str) -> list[Any]:
    """The items of some types."""
    return [item for item in items if item["type"] in kinds]


def said(item: Any) -> tuple[str, str]:
    """The role and all the text of a message."""
    return item["role"], "".join(part.get("text", "") for part in item["content"])


def replayed(name: str, *kinds: str) -> list[Any]:
    """The items of some types that Codex sent, without the fields that are for OpenAI's servers only."""
    items = of_type(captured(name)["input"], *kinds)
    return [{field: value for field, value in item.items() if field not in GONE_INSIDE} for item in items]


def is_object(arguments: str) -> bool:
    """Whether arguments are the JSON of an object."""
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def detailed(part: Any) -> Any:
    """A part; an image has a detail."""
    return {"detail": "auto", **part} if part["type"] == "input_image" else part


def prose(items: Any) -> list[tuple[str, str]]:
    """What is said in messages, in order."""
    return [said(item) for item in of_type(items, "message") if said(item)[1]]


def texts(content: Any) -> list[str]:
    """The text of an output."""
    return [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]


# --- recorded requests ---


def test_the_recorded_requests_are_there() -> None:
    assert len(NAMES) == 41


@whole
def test_a_strict_backend_takes_it(name: str) -> None:
    assert refusal(sent(name).body) is None


@whole
def test_lowering_twice_is_lowering_once(name: str) -> None:
    assert exact(lowered(sent(name).body).body) == exact(sent(name).body)


@whole
def test_a_deep_copy_is_lowered_to_the_same_text(name: str) -> None:
    assert exact(lowered(copy.deepcopy(captured(name))).body) == exact(sent(name).body)


@whole
def test_the_clients_request_is_left_as_it_was(name: str) -> None:
    body = copy.deepcopy(captured(name))
    lowered(body, body=["input[].x:=1", "tools[].x:=1", "reasoning.x:=1"])
    assert exact(body) == exact(captured(name))


@whole
def test_every_payload_stands_verbatim_under_its_parameter(name: str) -> None:
    calls = {item["call_id"]: item for item in of_type(sent(name).items, "function_call")}
    for item in replayed(name, "custom_tool_call"):
        assert json.loads(calls[item["call_id"]]["arguments"]) == {"input": item["input"]}


@whole
def test_fields_that_no_rule_names_are_the_same(name: str) -> None:
    given = {field: value for field, value in captured(name).items() if field not in GONE}
    assert set(sent(name).body) - {"tools"} <= set(given)
    ruled = {"input", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"}
    assert {field: value for field, value in given.items() if field not in ruled} == {
        field: value for field, value in sent(name).body.items() if field not in ruled
    }
    for field, inner in (("reasoning", "context"), ("text", "verbosity")):
        left = {key: value for key, value in given.get(field, {}).items() if key != inner}
        assert sent(name).body.get(field, {}) == left


@whole
def test_tools_stay_wherever_there_are_some_and_only_there(name: str) -> None:
    declared = [*captured(name).get("tools", [])]
    declared += [tool for item in replayed(name, "additional_tools") for tool in item["tools"]]
    speaks = {"tools", "tool_choice", "parallel_tool_calls"}
    assert speaks & set(sent(name).body) == (speaks if declared else set())


@whole
def test_functions_without_namespace_leave_as_they_came(name: str) -> None:
    bare = of_type(captured(name).get("tools", []), "function")
    assert [tool for tool in sent(name).tools if tool in bare] == bare


@whole
def test_what_people_and_the_model_said_is_all_there_in_order(name: str) -> None:
    told = prose(captured(name)["input"])
    assert [words for words in prose(sent(name).items) if words in told] == told


@whole
def test_messages_of_other_roles_leave_as_they_came(name: str) -> None:
    given = [item for item in replayed(name, "message") if item["role"] != "assistant"]
    kept = [{**item, "content": [detailed(part) for part in item["content"]]} for item in given]
    assert [item for item in sent(name).items if item in kept] == kept


@whole
def test_function_calls_without_namespace_leave_as_they_came(name: str) -> None:
    bare = [
        item
        for item in replayed(name, "function_call")
        if "namespace" not in item and "." not in item["name"] and is_object(item["arguments"])
    ]
    assert [item for item in sent(name).items if item in bare] == bare


@whole
def test_calls_keep_their_order_and_their_ids(name: str) -> None:
    given = replayed(name, *CALLS)
    calls = of_type(sent(name).items, "function_call")
    assert [item["call_id"] for item in calls] == [item["call_id"] for item in given]
    assert [item.get("id") for item in calls] == [
        item["id"].replace("ctc_", "fc_") if "id" in item else None for item in given
    ]


@whole
def test_a_namespaced_call_has_the_name_of_a_tool_that_is_sent(name: str) -> None:
    spaced = [item["call_id"] for item in replayed(name, *CALLS) if "namespace" in item]
    calls = {item["call_id"]: item for item in of_type(sent(name).items, "function_call")}
    assert {calls[identity]["name"] for identity in spaced} <= set(sent(name).names)


@whole
def test_every_text_of_an_output_is_there(name: str) -> None:
    given = replayed(name, *(f"{kind}_output" for kind in CALLS))
    outputs = of_type(sent(name).items, "function_call_output")
    for item in given:
        (answer,) = [each for each in outputs if each["call_id"] == item["call_id"]]
        assert all(words in "\n".join(texts(answer["output"])) for words in texts(item["output"]))


@whole
def test_no_blob_leaves(name: str) -> None:
    assert "encrypted_content" not in exact(sent(name).body)


@whole
def test_the_ledger_never_holds_what_was_said(name: str) -> None:
    noted = exact(sent(name).ledger.data())
    assert not any(words in noted for _, words in prose(captured(name)["input"]) if len(words) > 20)


def test_another_process_lowers_every_request_to_the_same_text() -> None:
    code = (
        "import hashlib, json, tests.test_request as t\n"
        "print(hashlib.sha256(''.join(t.exact(t.sent(name).body) for name in t.NAMES).encode()).hexdigest())"
    )
    here = hashlib.sha256("".join(exact(sent(name).body) for name in NAMES).encode()).hexdigest()
    there = subprocess.run(
        [sys.executable, "-c", code],
        cwd=HERE.parent,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.strip() == here


@pytest.mark.parametrize("name", ["0.171.0-incr-sol-goals", "0.171.0-incr-lite-mcp"])
def test_a_second_carrier_on_resume_renews_and_adds_tools(name: str) -> None:
    first, second = (lowered(with_input(item)) for item in replayed(name, "additional_tools"))
    assert sent(name).names == [*first.names, *(new for new in second.names if new not in first.names)]
    assert [tool for tool in sent(name).tools if tool in second.tools] == sorted(
        second.tools, key=lambda tool: sent(name).names.index(tool["name"])
    )


# --- compaction ---


def test_a_compaction_of_the_whole_asks_like_a_trigger() -> None:
    request = with_input(message("user", "Go."), tools=[function("run")], tool_choice="auto", parallel_tool_calls=True)
    triggered = lowered({**request, "input": [*request["input"], {"type": "compaction_trigger"}]})
    compacted = lower(request, Settings(), Ledger(), compact=True)
    assert (compacted.body, compacted.compacts) == (triggered.body, True)


def test_a_text_to_compact_becomes_a_message() -> None:
    body = lower({"input": "Go."}, Settings(), Ledger(), compact=True).body
    assert body == {"input": [message("user", "Go."), message("user", SUMMARY_REQUEST)]}


@pytest.mark.parametrize(("items", "compacts"), [([], False), ([{"type": "compaction_trigger"}], True)])
def test_the_way_back_is_told_whether_a_compaction_was_asked_for(items: list[Any], compacts: bool) -> None:
    assert lower(with_input(*items), Settings(), Ledger()).compacts is compacts


def test_the_way_back_has_the_table_of_all_that_was_declared() -> None:
    request = with_tools(namespace("n", custom("x")), function("f"), {"type": "tool_search"}, {"type": "web_search"})
    names = lower(request, Settings(), Ledger()).names
    assert names.data() == [["custom", "n", "x"], ["function", "", "f"], ["tool_search", "", "tool_search"]]


def test_rules_fire_in_the_order_of_the_issue() -> None:
    request = with_input(
        carrier(namespace("n", custom("x"))), custom_call("c", "x", namespace="n"), include=[], tool_choice="auto"
    )
    assert lowered(request, body=["max_output_tokens=9"]).ledger.rules() == [
        Rule.HOISTED, Rule.FLATTENED, Rule.LOWERED, Rule.REPLAYED, Rule.ORPHAN, Rule.STRIPPED, Rule.SET,
    ]  # fmt: skip


# --- generated requests ---

WORDS = st.text(alphabet='ab "\\\n\0\u2028\ud800\U0001f600{}:', max_size=8)
LEAVES = st.sampled_from(["exec", "wait", "b__c", "c", "look.up", "é", "x" * 70, "exec_1", "tool_search"])
SPACES = st.sampled_from(["", "functions", "a", "a__b", "mcp.lab", "mcp__docs__", "n" * 60])
IDS = st.integers(0, 5).map(lambda number: f"c{number}")
FORMATS: list[Any] = [None, {"type": "text"}, {"type": "grammar", "syntax": "lark", "definition": "start: x"}]
SCHEMAS: list[Any] = [None, {}, {"type": None}, {"type": "object", "properties": {"encrypted": {"encrypted": True}}}]
HOSTED: list[Any] = [{"type": "web_search"}, {"type": "tool_search", "execution": "server"}]


def _tool(key: tuple[str, str], fields: tuple[bool, Any, Any, Any]) -> Any:
    (space, leaf), (is_custom, form, schema, described) = key, fields
    made = custom(leaf, format=form) if is_custom else function(leaf, parameters=schema)
    made = {**made, **described}
    if leaf == "tool_search" and space in ("", "functions"):
        made = {"type": "tool_search", "parameters": schema, **described}
    return namespace(space, made, description=space) if space else made


def _identity(key: tuple[str, str]) -> tuple[str, str]:
    return ("" if key[0] == "functions" else key[0], key[1])


@st.composite
def tool_lists(draw: st.DrawFn) -> list[Any]:
    """A list of tools without clashes, some hosted."""
    described = st.sampled_from([{}, {"description": "d"}, {"description": ""}, {"defer_loading": True}])
    fields = st.tuples(st.booleans(), st.sampled_from(FORMATS), st.sampled_from(SCHEMAS), described)
    keys = draw(st.lists(st.tuples(SPACES, LEAVES), max_size=5, unique_by=_identity))
    tools = [_tool(key, draw(fields)) for key in keys]
    return tools + draw(st.lists(st.sampled_from(HOSTED), max_size=1))


def _named(make: Any) -> Any:
    space = SPACES.map(lambda name: {"namespace": name} if name else {})
    return st.builds(lambda identity, leaf, fields: make(identity, leaf, **fields), IDS, LEAVES, space)


PARTS = st.sampled_from([text("t"), text(""), image(), image(detail="low")])
CONTENTS = st.one_of(WORDS, st.lists(PARTS, max_size=3))
ITEMS: st.SearchStrategy[Any] = st.one_of(
    _named(call),
    _named(custom_call),
    st.builds(custom_call, IDS, LEAVES, WORDS),
    st.builds(call, IDS, LEAVES, st.sampled_from(["", "{", '{"a": 1}', "[]", "no"])),
    st.builds(output, IDS, CONTENTS),
    st.builds(custom_output, IDS, CONTENTS),
    st.builds(message, st.sampled_from(["user", "developer"]), PARTS),
    st.builds(message, st.just("assistant"), WORDS, WORDS),
    st.builds(lambda found: {"type": "tool_search_output", "call_id": "c1", "tools": found}, tool_lists()),
    tool_lists().map(lambda tools: carrier(*tools)),
    st.sampled_from(
        [
            {"type": "tool_search_call", "call_id": "c1", "arguments": {"query": "q"}},
            {"type": "local_shell_call", "call_id": "c2", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "call_id": "c2", "output": "a"},
            {"type": "web_search_call", "id": "ws_1", "action": {"type": "search"}},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "b"},
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "r"}]},
            {"type": "reasoning", "summary": []},
            {"type": "reasoning", "summary": [], "content": None, "encrypted_content": Carried(text="own").pack()},
            {"type": "compaction", "encrypted_content": seal("s")},
            {"type": "compaction", "encrypted_content": "gAAAAB"},
            {"type": "compaction_trigger"},
            {"type": "agent_message", "content": [text("t"), {"type": "encrypted_content", "encrypted_content": "p"}]},
        ]
    ),
)
CHOICES: list[Any] = [
    "auto",
    "required",
    {"type": "custom", "name": "exec"},
    {"type": "function", "namespace": "a", "name": "c"},
    {
        "type": "allowed_tools",
        "mode": "required",
        "tools": [{"type": "custom", "name": "exec"}, {"type": "tool_search"}],
    },
    {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "namespace", "name": "a"}]},
]


def _numbered(items: list[Any]) -> list[Any]:
    """Calls numbered as they come, round and round; outputs answer some, several times, too early, or none."""
    places = iter(range(len(items)))
    return [
        {**item, "call_id": f"c{next(places) % 4}"} if item["type"] in REPLAYED and "call_id" in item else item
        for item in items
    ]


REQUESTS = st.builds(
    lambda items, fields, choice: with_input(*items, **fields, tool_choice=choice, parallel_tool_calls=True),
    st.lists(ITEMS, max_size=10).map(_numbered),
    st.one_of(st.just({}), tool_lists().map(lambda tools: {"tools": tools})),
    st.sampled_from(CHOICES),
)
MODES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "custom_tools": st.sampled_from(["function_bridge", "passthrough", "drop"]),
        "images": st.sampled_from(["none", "placeholder", "user", "inline"]),
        "hosted_tools": st.sampled_from(["drop", "passthrough"]),
    }
)


@given(REQUESTS, MODES)
@settings(max_examples=200, deadline=None)
def test_any_request_is_lowered_once_and_the_same_every_time(request: Any, modes: dict[str, Any]) -> None:
    before = copy.deepcopy(request)
    first = lowered(request, **modes)
    assert exact(request) == exact(before)
    assert exact(lowered(before, **modes).body) == exact(first.body)
    assert exact(lowered(first.body, **modes).body) == exact(first.body)


@given(REQUESTS, MODES)
@settings(max_examples=200, deadline=None)
def test_a_strict_backend_takes_any_request_with_its_payloads(request: Any, modes: dict[str, Any]) -> None:
    custom_tools = "drop" if modes["custom_tools"] == "drop" else "function_bridge"
    out = lowered(request, images=modes["images"], custom_tools=custom_tools)
    assert refusal(out.body) is None
    given_ = of_type(request["input"], *REPLAYED)
    for before, after in zip(given_, of_type(out.items, "function_call"), strict=True):
        if before["type"] == "custom_tool_call":
            assert json.loads(after["arguments"]) == {"input": before["input"]}
