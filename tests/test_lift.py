"""Whole answers: calls become the client's own, under the client's names, with an honest status."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.support.sse_tools import (
    CARRIER,
    JSON_TYPE,
    TOOLS,
    USER,
    Event,
    assert_valid_response,
    call,
    exchange,
    function,
    request,
    response,
    rules,
    warnings,
    whole,
    wrapped,
)

CUSTOM = {"type": "custom_tool_call", "id": "ctc_0", "call_id": "call_0", "status": "completed"}
FUNCTION = {"type": "function_call", "id": "fc_0", "call_id": "call_0", "status": "completed"}
SEARCH = {"type": "tool_search_call", "id": "tsc_0", "call_id": "call_0", "status": "completed", "execution": "client"}

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n"


def asked(**fields: Any) -> Exchange:
    """An exchange that waits for a whole answer."""
    settings = Settings.from_options(fields.pop("settings", {}))
    return exchange(request(stream=False, **fields), settings, mode=JSON_TYPE)


def item_of(item: Event, opened: Exchange | None = None) -> Event:
    """The one item that the client gets for the backend's."""
    answer = whole(response([item]), opened)
    assert_valid_response(answer)
    (left,) = answer["output"]
    assert isinstance(left, dict)
    return left


# What a call becomes

LIFTED: dict[str, tuple[Event, Event]] = {
    "custom-in-a-carrier": (call("exec", wrapped("x")), {**CUSTOM, "name": "exec", "input": "x"}),
    "custom-at-the-top": (call("apply_patch", wrapped(PATCH)), {**CUSTOM, "name": "apply_patch", "input": PATCH}),
    "custom-in-a-namespace": (
        call("team__memo", wrapped("x")),
        {**CUSTOM, "name": "memo", "namespace": "team", "input": "x"},
    ),
    "function": (call("wait", '{"a": 1}'), {**FUNCTION, "name": "wait", "arguments": '{"a": 1}'}),
    "function-in-a-namespace": (
        call("team__spawn", "{}"),
        {**FUNCTION, "name": "spawn", "namespace": "team", "arguments": "{}"},
    ),
    "search": (call("tool_search", '{"query": "q"}'), {**SEARCH, "arguments": {"query": "q"}}),
    "search-for-nothing": (call("tool_search", ""), {**SEARCH, "arguments": {}}),
    "search-that-is-no-object": (call("tool_search", "[1]"), {**SEARCH, "arguments": {}}),
    "search-that-is-no-json": (call("tool_search", "query: q"), {**SEARCH, "arguments": {}}),
    "custom-with-an-object-for-arguments": (
        call("exec", {"input": "x"}),
        {**CUSTOM, "name": "exec", "input": "x"},
    ),
    "function-with-an-object-for-arguments": (
        call("wait", {"a": 1}),
        {**FUNCTION, "name": "wait", "arguments": '{"a":1}'},
    ),
    "function-with-null-for-arguments": (
        call("wait", None),
        {**FUNCTION, "name": "wait", "arguments": ""},
    ),
    "custom-call-of-a-backend-that-knows-them": (
        {**CUSTOM, "name": "team__memo", "input": "x"},
        {**CUSTOM, "name": "memo", "namespace": "team", "input": "x"},
    ),
}


@pytest.mark.parametrize(("item", "right"), LIFTED.values(), ids=LIFTED)
def test_a_call_becomes_the_client_s_own(item: Event, right: Event) -> None:
    assert item_of(item) == right


REPLAYED: dict[str, Event] = {
    "custom": {**CUSTOM, "name": "exec", "input": 'x\r\n{"input":"y"}\x00\ud800'},
    "custom-in-a-namespace": {**CUSTOM, "name": "memo", "namespace": "team", "input": "x"},
    "function": {**FUNCTION, "name": "wait", "arguments": '{"a": 1}'},
    "function-in-a-namespace": {**FUNCTION, "name": "look", "namespace": "docs", "arguments": "{}"},
    "search": {**SEARCH, "arguments": {"query": "q"}},
}


@pytest.mark.parametrize("item", REPLAYED.values(), ids=REPLAYED)
def test_what_is_lowered_in_a_history_lifts_to_itself(item: Event) -> None:
    output = {"type": f"{item['type']}_output", "call_id": "call_0", "output": "done", "tools": []}
    opened = asked(input=[CARRIER, USER, item, output])
    sent = json.loads(opened.request)["input"]
    (lowered,) = [each for each in sent if each["type"] == "function_call"]
    assert item_of(lowered, opened) == item


def test_an_item_that_is_no_call_stays_as_it_is() -> None:
    part = {"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part], "extra": 1}
    assert item_of(item) == item


def test_fields_of_a_call_that_no_rule_names_stay() -> None:
    assert item_of(call("exec", wrapped("x"), thought_signature="s"))["thought_signature"] == "s"


def test_a_call_is_lifted_by_its_renamed_parameter() -> None:
    opened = asked(settings={"parameters": ["exec=code"]})
    assert item_of(call("exec", '{"input": "no", "code": "yes"}'), opened)["input"] == "yes"


def test_a_parameter_can_be_renamed_by_flat_name() -> None:
    opened = asked(settings={"parameters": ["team__memo=note"]})
    assert item_of(call("team__memo", '{"note": "x"}'), opened)["input"] == "x"


# Names

NAMES: dict[str, tuple[str, str, str | None]] = {
    "flat": ("team__spawn", "spawn", "team"),
    "dotted": ("team.spawn", "spawn", "team"),
    "leaf-of-one-tool": ("spawn", "spawn", "team"),
    "shared-leaf-with-its-namespace": ("docs.look", "look", "docs"),
    "default-namespace": ("functions.wait", "wait", None),
    "default-namespace-joined": ("functions__wait", "wait", None),
    "bare": ("wait", "wait", None),
}


@pytest.mark.parametrize(("used", "name", "namespace"), NAMES.values(), ids=NAMES)
def test_a_name_is_restored(used: str, name: str, namespace: str | None) -> None:
    item = item_of(call(used, "{}"))
    assert (item["type"], item["name"], item.get("namespace")) == ("function_call", name, namespace)


@pytest.mark.parametrize("used", ["functions.exec", "functions__exec", "exec"])
def test_a_custom_call_is_lifted_under_each_spelling(used: str) -> None:
    item = item_of(call(used, wrapped("x")))
    assert (item["type"], item["name"], item["input"], "namespace" in item) == ("custom_tool_call", "exec", "x", False)


def test_a_namespace_that_the_backend_names_itself_counts() -> None:
    assert item_of(call("look", "{}", namespace="docs"))["namespace"] == "docs"


@pytest.mark.parametrize("used", ["exec", "wait"])
def test_the_default_namespace_is_left_out(used: str) -> None:
    assert "namespace" not in item_of(call(used, wrapped("x"), namespace="functions"))


def test_a_name_that_is_too_long_or_illegal_is_restored() -> None:
    long, odd = "x" * 80, "päth/tool"
    opened = asked(tools=[{"type": "namespace", "name": odd, "description": "", "tools": [function(long)]}])
    (flat,) = [tool["name"] for tool in json.loads(opened.request)["tools"] if tool["name"] != "exec"]
    item = item_of(call(flat, "{}"), opened)
    assert (item["name"], item["namespace"]) == (long, odd)


@pytest.mark.parametrize("used", ["nobody", "look", "team.nobody"])
def test_a_call_of_no_declared_tool_passes_as_it_is_with_a_warning(used: str) -> None:
    opened, item = asked(), call(used, "{}")
    assert item_of(item, opened) == item
    assert [what for what, _ in warnings(opened, "unknown")] == [used]


def test_a_restored_name_stands_in_the_ledger_once() -> None:
    opened = asked()
    item_of(call("team__spawn", "{}"), opened)
    (entry,) = [entry for entry in opened.ledger if entry.rule == "restored"]
    assert (entry.what, entry.count, entry.paths) == ("spawn", 1, ["output[0]"])


def test_a_lifted_call_stands_in_the_ledger_once() -> None:
    opened = asked()
    item_of(call("exec", wrapped("x")), opened)
    (entry,) = [entry for entry in opened.ledger if entry.rule == "lifted"]
    assert (entry.what, entry.count, entry.paths) == ("exec", 1, ["output[0]"])


# Payloads


@pytest.mark.parametrize("arguments", [wrapped(PATCH), json.dumps({"patch": PATCH}), json.dumps(PATCH), PATCH])
def test_a_patch_arrives_however_it_was_wrapped(arguments: str) -> None:
    assert item_of(call("apply_patch", arguments))["input"] == PATCH


PAYLOADS = [
    "",
    " ",
    "\x00",
    "\r\n \t",
    "😀",
    "\ud83d",
    "\udc00\ud83d",
    '{"input": "x"}',
    '"x"',
    "null",
    "\\u0041\\n",
    "\x7f\u2028",
]


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_a_payload_arrives_verbatim(payload: str) -> None:
    assert item_of(call("exec", wrapped(payload)))["input"] == payload


MALFORMED: dict[str, tuple[str, str, str]] = {
    # arguments, payload under `salvage`, payload under `raw`
    "empty": ("", "", ""),
    "blank": (" \n", "", ""),
    "empty-object": ("{}", "", ""),
    "no-json": ("ls -la", "ls -la", "ls -la"),
    "another-key": ('{"cmd": "ls"}', "ls", '{"cmd": "ls"}'),
    "bare-string": ('"ls"', "ls", '"ls"'),
    "number": ('{"input": 123}', "123", '{"input": 123}'),
    "null": ('{"input": null}', "null", '{"input": null}'),
    "list": ('{"input": [1, "a"]}', '[1, "a"]', '{"input": [1, "a"]}'),
    "object": ('{"input": {"a" : 1}}', '{"a" : 1}', '{"input": {"a" : 1}}'),
    "two-strings-and-no-key": ('{"a": "1", "b": "2"}', '{"a": "1", "b": "2"}', '{"a": "1", "b": "2"}'),
    "extra-keys": ('{"a": "1", "input": "ls", "b": 2}', "ls", "ls"),
    "the-same-object-twice": ('{"input": "ls"}{"input": "ls"}', "ls", "ls"),
    "text-behind": ('{"input": "ls"} and more', "ls", "ls"),
}


@pytest.mark.parametrize("policy", ["salvage", "raw"])
@pytest.mark.parametrize(("arguments", "salvaged", "raw"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_arguments_give_a_payload_and_one_warning(
    arguments: str, salvaged: str, raw: str, policy: str
) -> None:
    opened = asked(settings={"malformed": policy})
    assert item_of(call("exec", arguments), opened)["input"] == (salvaged if policy == "salvage" else raw)
    ((what, warning),) = warnings(opened, "malformed")
    assert what == "exec"
    assert "call_0" in warning


def test_control_characters_inside_the_string_are_no_defect() -> None:
    opened = asked()
    assert item_of(call("exec", '{"input": "a\tb\nc\x01"}'), opened)["input"] == "a\tb\nc\x01"
    assert not list(opened.ledger.warnings())


# Honest ends

CUT: dict[str, Event] = {
    "custom": call("exec", '{"input":'),
    "custom-in-its-payload": call("exec", '{"input": "rm -rf /tm'),
    "custom-behind-its-payload": call("exec", '{"input": "rm -rf /tm"'),
    "custom-in-an-escape": call("exec", '{"input": "rm\\'),
    "function": call("wait", '{"a": [1, 2'),
    "function-in-a-namespace": call("team__spawn", "{"),
    "search": call("tool_search", '{"query": "q'),
    "of-no-declared-tool": call("nobody", '{"a"'),
    "custom-that-says-so": call("exec", wrapped("x"), status="incomplete"),
    "function-that-says-so": call("wait", "{}", status="incomplete"),
}


@pytest.mark.parametrize("item", CUT.values(), ids=CUT)
def test_a_truncated_call_is_not_made_and_the_answer_failed(item: Event) -> None:
    opened = asked()
    answer = whole(response([item]), opened)
    assert (answer["output"], answer["status"], answer["error"]["code"]) == ([], "failed", "server_error")
    assert [what for what, _ in warnings(opened, "truncated")] == [item["name"]]
    assert_valid_response(answer)


def test_an_incomplete_answer_stays_incomplete_without_its_truncated_call() -> None:
    details = {"reason": "max_output_tokens"}
    answer = whole(response([CUT["custom"]], status="incomplete", incomplete_details=details))
    assert (answer["output"], answer["status"], answer["incomplete_details"]) == ([], "incomplete", details)


def test_a_failed_answer_keeps_its_own_error() -> None:
    error = {"code": "rate_limit_exceeded", "message": "slow"}
    answer = whole(response([CUT["custom"]], status="failed", error=error))
    assert (answer["output"], answer["status"], answer["error"]) == ([], "failed", error)


def test_finished_calls_beside_a_truncated_one_stay() -> None:
    answer = whole(response([call("exec", wrapped("x")), CUT["function"]]))
    assert [item["type"] for item in answer["output"]] == ["custom_tool_call"]
    assert answer["status"] == "failed"


# What a response repeats of the request


def test_the_client_s_model_tools_and_choice_are_repeated() -> None:
    choice = {"type": "custom", "name": "apply_patch"}
    answer = whole(response([]), asked(tool_choice=choice))
    assert (answer["model"], answer["tools"], answer["tool_choice"]) == ("demo-model", TOOLS, choice)


def test_tools_that_stood_in_a_carrier_only_are_not_repeated() -> None:
    body = request(stream=False)
    del body["tools"]
    assert whole(response([]), exchange(body, mode=JSON_TYPE))["tools"] == []


def test_an_answer_that_needs_no_change_leaves_as_the_bytes_that_came() -> None:
    body = response([], model="demo-model", tools=TOOLS)
    data = json.dumps(body, indent=3).encode()
    opened = asked()
    assert opened.whole(data, JSON_TYPE).body == data
    assert rules(opened) == []


def test_what_a_response_does_not_repeat_is_not_added() -> None:
    body = {"id": "resp_1", "object": "response", "status": "completed", "output": []}
    assert whole(body) == body


# What is missing


def test_a_missing_call_id_and_id_are_minted_once_for_each_call() -> None:
    bare = {"type": "function_call", "name": "exec", "arguments": wrapped("x")}
    opened = asked()
    first, second = whole(response([bare, bare]), opened)["output"]
    assert len({first["call_id"], second["call_id"], first["id"], second["id"]}) == 4
    assert first["call_id"].startswith("call_")
    assert first["id"].startswith("ctc_")


def test_minted_ids_differ_between_exchanges_and_not_within() -> None:
    bare = {"type": "function_call", "name": "wait", "arguments": "{}"}
    minted = [
        whole(response([bare]), exchange(request(stream=False), mode=JSON_TYPE, seed=seed))["output"][0]["call_id"]
        for seed in ("one", "one", "two")
    ]
    assert minted[0] == minted[1] != minted[2]


INCOMPLETE_ITEMS: dict[str, tuple[Event, Event]] = {
    "message-with-text-for-content": (
        {"type": "message", "id": "m", "content": "hi"},
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hi", "annotations": []}],
        },
    ),
    "reasoning-without-summary": (
        {"type": "reasoning", "id": "r", "content": []},
        {"type": "reasoning", "id": "r", "content": [], "summary": []},
    ),
}


@pytest.mark.parametrize(("item", "right"), INCOMPLETE_ITEMS.values(), ids=INCOMPLETE_ITEMS)
def test_an_item_that_codex_would_drop_is_completed(item: Event, right: Event) -> None:
    assert item_of(item) == right


def test_an_empty_call_id_is_replaced() -> None:
    assert item_of(call("wait", "{}", call_id=""))["call_id"].startswith("call_")


def test_a_response_that_needs_nothing_else_is_completed_too() -> None:
    answer = whole({"object": "response", "status": "completed", "output": [{"type": "reasoning", "id": "r"}]})
    assert answer["id"].startswith("resp_")
    assert answer["output"] == [{"type": "reasoning", "id": "r", "summary": []}]
    assert_valid_response(answer)
