"""The history of a request: calls, outputs, messages, reasoning, images, compactions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.blob import seal
from bridge.carried import Carried
from bridge.ledger import Rule
from bridge.tools.compaction import SUMMARY_REQUEST, lift_compaction
from bridge.tools.pairing import INTERRUPTED
from tests.support.parts import (
    call,
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
)

PAYLOADS = {
    "empty": "",
    "blanks around": "  \n x \t\r\n",
    "nul to the end": "\0\x1f\x7f\u2028\ufeff\ud7ff\U0010ffff",
    "lone surrogates": "a\ud800b\udfff",
    "a wrapper": '{"input":"x"}',
    "quotes": "\"'\\\\n\\u0041",
    "json": "null",
}
BLOB = "gAAAAAB" + "k3J-_9" * 20


def item(one: Any, **options: Any) -> Any:
    """What becomes of one item; None if it goes."""
    items = lowered(with_input(one), **options).items
    return items[0] if items else None


def said(one: Any) -> str:
    """The text of a message's only part."""
    (part,) = one["content"]
    return str(part["text"])


# --- calls ---


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_the_payload_is_verbatim_under_its_parameter(payload: str) -> None:
    assert json.loads(item(custom_call("c", payload=payload))["arguments"]) == {"input": payload}


def test_a_custom_call_becomes_a_function_call() -> None:
    replayed = custom_call("c", id="ctc_7", status="completed", namespace="functions")
    assert item(replayed) == {
        "type": "function_call",
        "id": "fc_7",
        "status": "completed",
        "call_id": "c",
        "name": "exec",
        "arguments": '{"input":"text(1)"}',
    }


def test_an_item_without_id_gets_none() -> None:
    assert "id" not in item(custom_call("c"))


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "declared no more"])
@pytest.mark.parametrize("entry", ["edit=patch", "ns__edit=patch"], ids=["leaf", "flat name"])
def test_the_parameter_of_the_history_is_that_of_the_tool(entry: str, declared: bool) -> None:
    tools = {"tools": [namespace("ns", custom("edit"))]} if declared else {}
    out = lowered(with_input(custom_call("c", "edit", "p", namespace="ns"), **tools), parameters=[entry])
    assert out.items[0]["arguments"] == '{"patch":"p"}'


@pytest.mark.parametrize("make", [call, custom_call], ids=["function", "custom"])
@pytest.mark.parametrize(
    ("name", "space", "flat"),
    [
        ("exec", None, "exec"),
        ("exec", "functions", "exec"),
        ("functions.exec", None, "exec"),
        ("look", "ns", "ns__look"),
        ("ns.look", None, "ns__look"),
        ("ns__look", None, "ns__look"),
        ("gone", None, "gone"),
        ("gone", "away", "away__gone"),
    ],
)
def test_a_call_folds_to_the_flat_name(make: Any, name: str, space: str | None, flat: str) -> None:
    replayed = make("c", name, **({"namespace": space} if space else {}))
    (first, _) = lowered(with_input(replayed, tools=[custom("exec"), namespace("ns", function("look"))])).items
    assert (first["name"], "namespace" in first) == (flat, False)


def test_a_namespaced_call_has_the_name_of_its_hashed_tool() -> None:
    tools = [namespace("ns.x", custom("y" * 70)), namespace("ns_x", custom("y" * 70))]
    calls = [custom_call("c", "y" * 70, namespace=space) for space in ("ns.x", "ns_x")]
    out = lowered(with_input(*calls, tools=tools))
    assert [each["name"] for each in out.items[:2]] == out.names


def test_a_plain_function_call_leaves_as_it_came() -> None:
    pair = [call("c", arguments='{ "a" : 1 }', id="fc_1", status="completed"), output("c", id="fco_1")]
    out = lowered(with_input(*pair, tools=[function("run")]))
    assert (out.items, list(out.ledger)) == (pair, [])


def test_the_ledger_counts_function_calls_that_were_renamed() -> None:
    calls = [call("a", "look", namespace="ns"), call("b", "run"), call("c", "run", namespace="functions")]
    assert lowered(with_input(*calls)).noted(Rule.REPLAYED) == [("ns__look", 1), ("run", 1)]


def test_arguments_that_came_as_an_object_become_text() -> None:
    assert item(call("c", arguments={"a": ["é"]}))["arguments"] == '{"a":["é"]}'


@pytest.mark.parametrize("broken", ['{"a":', "ls -l", "[1]", '"x"', "NaN"])
def test_arguments_that_are_no_object_are_wrapped_with_a_warning(broken: str) -> None:
    out = lowered(with_input(call("c", arguments=broken), output("c")))
    assert list(json.loads(out.items[0]["arguments"]).values()) == [broken]
    assert out.warned() == [(Rule.MALFORMED, "run")]


@pytest.mark.parametrize("blank", ["", " \n"], ids=["empty", "blank"])
def test_blank_arguments_become_an_empty_object(blank: str) -> None:
    assert item(call("c", arguments=blank))["arguments"] == "{}"


def test_a_search_becomes_a_function_call() -> None:
    search = {"type": "tool_search_call", "id": "tsc_1", "call_id": "c", "execution": "client", "status": "completed"}
    assert item({**search, "arguments": {"query": "é"}}) == {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c",
        "status": "completed",
        "name": "tool_search",
        "arguments": '{"query":"é"}',
    }


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [({"arguments": '{"query": "x"}'}, '{"query": "x"}'), ({"arguments": None}, "{}"), ({}, "{}")],
    ids=["text", "null", "absent"],
)
def test_the_arguments_of_a_search_are_json_text(fields: Any, arguments: str) -> None:
    assert item({"type": "tool_search_call", "call_id": "c", **fields})["arguments"] == arguments


def test_what_a_search_found_is_told_by_the_names_that_are_declared() -> None:
    found = [namespace("cal", function("add"), custom("x.y")), function("ping")]
    search = {"type": "tool_search_call", "call_id": "c", "arguments": {}}
    answer = {"type": "tool_search_output", "id": "tso_1", "call_id": "c", "execution": "client", "tools": found}
    out = lowered(with_input(search, {**answer, "status": "completed"}))
    told = out.items[1].pop("output")
    assert out.items[1] == {"type": "function_call_output", "id": "fco_1", "call_id": "c", "status": "completed"}
    assert json.loads(told) == {"tools": out.names}


@pytest.mark.parametrize("fields", [{}, {"tools": None}, {"tools": []}], ids=["absent", "null", "empty"])
def test_a_search_that_found_nothing_says_so(fields: Any) -> None:
    search = {"type": "tool_search_call", "call_id": "c", "arguments": {}}
    out = lowered(with_input(search, {"type": "tool_search_output", "call_id": "c", **fields}))
    assert json.loads(out.items[1]["output"]) == {"tools": []}


def test_a_local_shell_call_becomes_a_function_call_of_its_action() -> None:
    shell = {"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "status": "completed"}
    answer = {"type": "local_shell_call_output", "id": "lsho_1", "call_id": "c", "output": "a"}
    out = lowered(with_input({**shell, "action": {"type": "exec", "command": ["ls"]}}, answer))
    assert out.items == [
        call("c", "local_shell", '{"type":"exec","command":["ls"]}', id="fc_1", status="completed"),
        output("c", "a", id="fco_1"),
    ]


# --- outputs ---


def test_a_custom_output_becomes_a_function_output() -> None:
    out = lowered(with_input(custom_call("c"), custom_output("c", id="ctco_7", name="exec", status="completed")))
    assert out.items[1] == output("c", id="fco_7", status="completed")
    assert out.noted(Rule.REPLAYED) == [("exec", 1), ("outputs", 1)]


@pytest.mark.parametrize("content", ["", "x", [], [text("a"), text("b")]], ids=["empty", "text", "no parts", "parts"])
def test_the_content_of_an_output_stays(content: Any) -> None:
    assert lowered(with_input(custom_call("c"), custom_output("c", content))).items[1]["output"] == content


@pytest.mark.parametrize(
    ("contents", "merged"),
    [
        (["main", "note", "more"], "main\nnote\nmore"),
        ([[text("a"), text("b")], "note"], [text("a"), text("b"), text("note")]),
        (["main", [text("a")]], [text("main"), text("a")]),
    ],
    ids=["texts", "parts and a note", "a text and parts"],
)
def test_the_outputs_of_one_call_merge_into_the_first(contents: list[Any], merged: Any) -> None:
    outputs = [custom_output("c", content, id=f"ctco_{place}") for place, content in enumerate(contents)]
    out = lowered(with_input(custom_call("c"), outputs[0], message("user", "Go on."), *outputs[1:]))
    assert out.items[1:] == [output("c", merged, id="fco_0"), message("user", "Go on.")]
    assert out.noted(Rule.MERGED) == [("outputs", len(contents) - 1)]


# --- pairing ---


def test_parallel_calls_and_their_outputs_keep_their_order() -> None:
    items = [call("a"), call("b"), output("b"), output("a"), message("user", "Go on.")]
    out = lowered(with_input(*items))
    assert (out.items, out.noted(Rule.ORPHAN)) == (items, [])


def test_a_call_without_output_gets_one_behind_the_calls_it_was_made_with() -> None:
    out = lowered(with_input(call("a"), custom_call("b"), call("c"), output("c"), message("user", "Stop.")))
    assert [each.get("call_id") for each in out.items] == ["a", "b", "c", "a", "b", "c", None]
    assert out.items[3:5] == [output("a", INTERRUPTED), output("b", INTERRUPTED)]
    assert (out.noted(Rule.ORPHAN), out.warned()) == (
        [("call without output", 2)],
        [(Rule.ORPHAN, "call without output")],
    )


def test_a_call_at_the_end_gets_its_output_at_the_end() -> None:
    assert lowered(with_input(message("user", "Go."), call("a"))).items[2:] == [output("a", INTERRUPTED)]


@pytest.mark.parametrize("orphan", [output("x"), custom_output("x")], ids=["function", "custom"])
def test_an_output_without_its_call_goes(orphan: Any) -> None:
    out = lowered(with_input(orphan, message("user", "Go on.")))
    assert (out.items, out.warned()) == ([message("user", "Go on.")], [(Rule.ORPHAN, "output without call")])


def test_an_output_before_its_call_is_none_of_its_outputs() -> None:
    assert lowered(with_input(output("a"), call("a"))).items == [call("a"), output("a", INTERRUPTED)]


@pytest.mark.parametrize(
    "stored", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}], ids=lambda fields: next(iter(fields))
)
def test_an_output_whose_call_is_stored_stays(stored: Any) -> None:
    out = lowered(with_input(output("x"), **stored))
    assert (out.items, list(out.ledger)) == ([output("x")], [])


def test_a_call_id_that_comes_again_pairs_with_the_output_after_it() -> None:
    items = [call("a"), output("a", "1"), message("user", "Go on."), call("a"), output("a", "2")]
    out = lowered(with_input(*items))
    assert (out.items, list(out.ledger)) == (items, [])


def test_parallel_calls_with_one_id_have_their_outputs_in_call_order() -> None:
    items = [call("a", "x"), call("a", "y"), output("a", "1"), output("a", "2")]
    out = lowered(with_input(*items))
    assert (out.items, list(out.ledger)) == (items, [])


def test_a_further_output_of_parallel_calls_with_one_id_joins_the_last() -> None:
    calls = [call("a", "x"), call("a", "y")]
    out = lowered(with_input(*calls, output("a", "1"), output("a", "2"), output("a", "note")))
    assert out.items == [*calls, output("a", "1"), output("a", "2\nnote")]


def test_a_call_id_that_comes_again_does_not_answer_the_first_call() -> None:
    out = lowered(with_input(call("a"), message("user", "Again."), call("a"), output("a", "2")))
    assert out.items == [call("a"), output("a", INTERRUPTED), message("user", "Again."), call("a"), output("a", "2")]


# --- passthrough and drop ---


def test_passthrough_leaves_custom_calls_and_outputs_but_for_the_name() -> None:
    pair = [custom_call("c", id="ctc_1", namespace="ns"), custom_output("c", name="exec", id="ctco_1")]
    out = lowered(with_input(*pair), custom_tools="passthrough")
    assert out.items == [custom_call("c", "ns__exec", id="ctc_1"), pair[1]]


def test_passthrough_pairs_custom_calls_all_the_same() -> None:
    items = lowered(with_input(custom_output("x"), custom_call("c")), custom_tools="passthrough").items
    assert items == [custom_call("c"), custom_output("c", INTERRUPTED)]


def test_passthrough_lowers_a_search_all_the_same() -> None:
    search = {"type": "tool_search_call", "call_id": "c", "arguments": {}}
    assert item(search, custom_tools="passthrough") == call("c", "tool_search")


def test_the_kill_switch_lowers_the_history_all_the_same() -> None:
    out = lowered(with_input(custom_call("c"), custom_output("c"), tools=[custom("exec")]), custom_tools="drop")
    assert out.items == [call("c", "exec", '{"input":"text(1)"}'), output("c")]


# --- images ---

MODES = ["none", "placeholder", "user", "inline"]
DETAILED = image(detail="auto")


@pytest.mark.parametrize(
    ("mode", "kept"), [("none", False), ("placeholder", True), ("user", True), ("inline", True)], ids=MODES
)
@pytest.mark.parametrize("role", ["user", "developer"])
def test_an_image_in_a_message(mode: str, kept: bool, role: str) -> None:
    out = lowered(with_input(message(role, "See.", image(), "There.")), images=mode)
    first, shown, last = out.items[0]["content"]
    assert (first, last) == (text("See."), text("There."))
    assert shown == DETAILED if kept else shown["type"] == "input_text"
    assert [rule for rule, _ in out.warned()] == ([] if kept else [Rule.IMAGES])


@pytest.mark.parametrize(
    ("mode", "kept"), [("none", False), ("placeholder", False), ("user", False), ("inline", True)], ids=MODES
)
@pytest.mark.parametrize("made", [(call, output), (custom_call, custom_output)], ids=["function", "custom"])
def test_an_image_in_an_output(mode: str, kept: bool, made: Any) -> None:
    replay, answer = made
    items = lowered(with_input(replay("c"), answer("c", [text("a"), image(), text("b")])), images=mode).items
    first, shown, last = items[1]["output"]
    assert (first, last) == (text("a"), text("b"))
    assert shown == DETAILED if kept else (shown["type"], "image" in shown["text"]) == ("input_text", True)
    assert items[2:] == ([message("user", DETAILED)] if mode == "user" else [])


@pytest.mark.parametrize("mode", ["none", "placeholder"])
def test_a_replaced_image_is_named_once_with_the_option_that_keeps_it(mode: str) -> None:
    outputs = [output("a", [image()]), output("b", [image(), image()])]
    (entry,) = lowered(with_input(call("a"), call("b"), *outputs), images=mode).ledger.warnings()
    assert (entry.rule, "bridge_images=" in entry.warning) == (Rule.IMAGES, True)


def test_moved_images_stand_behind_the_outputs_in_one_message() -> None:
    outputs = [output("a", [image(n=1)]), custom_output("b", [image(n=2), image(n=3)])]
    out = lowered(with_input(call("a"), custom_call("b"), *outputs, message("user", "Go on.")), images="user")
    moved = message("user", *(image(n=place, detail="auto") for place in (1, 2, 3)))
    assert out.items[4:] == [moved, message("user", "Go on.")]
    assert (out.noted(Rule.IMAGES), out.warned()) == ([("moved behind the outputs", 2)], [])


def test_images_of_two_turns_stay_in_their_turns() -> None:
    turns = [[call(turn), output(turn, [image(n=turn)])] for turn in "ab"]
    items = lowered(with_input(*turns[0], *turns[1]), images="user").items
    assert [each["type"] for each in items] == ["function_call", "function_call_output", "message"] * 2
    assert [each["content"][0]["n"] for each in items[2::3]] == ["a", "b"]


@pytest.mark.parametrize("mode", MODES)
def test_a_detail_that_was_given_stays(mode: str) -> None:
    content = [image(detail="original")]
    items = lowered(with_input(message("user", *content), call("c"), output("c", content)), images=mode).items
    assert [part for each in items for part in each.get("content", []) if part["type"] == "input_image"] == (
        [] if mode == "none" else content * (2 if mode == "user" else 1)
    )


def test_a_null_detail_is_none() -> None:
    assert item(message("user", image(detail=None)))["content"] == [DETAILED]


@pytest.mark.parametrize("mode", MODES)
def test_content_without_images_leaves_as_it_came(mode: str) -> None:
    items = [message("user", "a", {"type": "input_file", "file_id": "f"}), call("c"), output("c", [text("b")])]
    out = lowered(with_input(*items), images=mode)
    assert (out.items, list(out.ledger)) == (items, [])


# --- messages ---


@pytest.mark.parametrize("role", ["user", "developer", "system"])
@pytest.mark.parametrize("content", ["plain", [], [text("")], None], ids=["string", "no parts", "empty", "null"])
def test_a_message_of_another_role_leaves_as_it_came(role: str, content: Any) -> None:
    replayed = {"type": "message", "role": role, "content": content, "id": "msg_x"}
    assert item(replayed) == replayed


def test_a_message_without_type_is_a_message() -> None:
    assert item({"role": "user", "content": "Hi."}) == {"role": "user", "content": "Hi."}


def test_an_assistant_message_gets_what_older_servers_demand() -> None:
    replayed = item(message("assistant", "Hello."))
    identity = replayed.pop("id")
    assert identity.startswith("msg_")
    part = {"type": "output_text", "text": "Hello.", "annotations": []}
    assert replayed == {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def test_the_ledger_counts_completed_messages() -> None:
    out = lowered(with_input(message("assistant", "One."), message("assistant", "Two.")))
    assert out.noted(Rule.COMPLETED) == [("assistant message", 2)]


def test_the_ids_of_assistant_messages_differ() -> None:
    first, second = lowered(with_input(message("assistant", "One."), message("assistant", "Two."))).items
    assert first["id"] != second["id"]


def test_an_assistant_message_keeps_what_it_has() -> None:
    part = {"type": "output_text", "text": "Hello.", "annotations": [{"type": "url_citation"}], "logprobs": []}
    replayed = message("assistant", part, id="msg_a", status="incomplete")
    out = lowered(with_input(replayed))
    assert (out.items, list(out.ledger)) == ([replayed], [])


@pytest.mark.parametrize("content", ["Hello.", [{"type": "output_text", "text": "Hello."}]], ids=["string", "parts"])
def test_an_assistants_words_are_one_part(content: Any) -> None:
    assert said(item({"role": "assistant", "content": content})) == "Hello."


def test_text_parts_of_an_assistant_join() -> None:
    assert said(item(message("assistant", "Hel", "", "lo."))) == "Hello."


def test_other_parts_of_an_assistant_stay() -> None:
    refusal = {"type": "refusal", "refusal": "No."}
    assert item(message("assistant", refusal, "Sorry."))["content"] == [
        refusal,
        {"type": "output_text", "text": "Sorry.", "annotations": []},
    ]


@pytest.mark.parametrize(
    "content",
    ["", [], None, [{"type": "output_text", "text": ""}], [{"type": "refusal", "refusal": ""}]],
    ids=["empty string", "no parts", "null", "empty part", "empty refusal"],
)
def test_an_empty_assistant_message_is_left_out(content: Any) -> None:
    out = lowered(with_input({"type": "message", "role": "assistant", "content": content}))
    assert (out.items, out.noted(Rule.DROPPED)) == ([], [("empty assistant message", 1)])


def test_an_assistant_message_of_another_kind_of_part_is_not_empty() -> None:
    part = {"type": "output_audio", "data": "x"}
    assert item(message("assistant", part))["content"] == [part]


# --- reasoning ---

SUMMARY = [{"type": "summary_text", "text": "thought"}]
CONTENT = [{"type": "reasoning_text", "text": "raw thought"}]


def reasoning(**fields: Any) -> Any:
    """A replayed reasoning item."""
    return {"type": "reasoning", "id": "rs_1", **fields}


@pytest.mark.parametrize(
    "blob", [{}, {"encrypted_content": None}, {"encrypted_content": BLOB}], ids=["no", "null", "a"]
)
@pytest.mark.parametrize("content", [CONTENT, [*CONTENT, *CONTENT]], ids=["one", "two"])
def test_reasoning_loses_its_blob_and_keeps_its_text(blob: Any, content: Any) -> None:
    out = lowered(with_input(reasoning(summary=SUMMARY, content=content, **blob)))
    assert out.items == [reasoning(summary=SUMMARY, content=content)]
    assert out.noted(Rule.DROPPED) == ([("encrypted reasoning", 1)] if blob.get("encrypted_content") else [])


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": []}], ids=["absent", "null", "empty"])
def test_where_only_the_summary_can_be_read_it_is_the_content_too(content: Any) -> None:
    two = [*SUMMARY, {"type": "summary_text", "text": "more"}]
    replayed = item(reasoning(summary=two, encrypted_content=BLOB, **content))
    assert replayed == reasoning(summary=two, content=[{"type": "reasoning_text", "text": "thought\n\nmore"}])


def test_reasoning_without_summary_gets_an_empty_one() -> None:
    assert item(reasoning(content=CONTENT)) == reasoning(summary=[], content=CONTENT)


@pytest.mark.parametrize(
    "fields",
    [
        {"encrypted_content": BLOB},
        {"summary": [], "content": []},
        {"summary": [{"type": "summary_text", "text": " \n"}], "content": None},
        {},
    ],
    ids=["a blob only", "empty lists", "blanks", "nothing"],
)
def test_reasoning_that_nobody_can_read_goes(fields: Any) -> None:
    out = lowered(with_input(reasoning(**fields)))
    assert (out.items, ("empty reasoning", 1) in out.noted(Rule.DROPPED)) == ([], True)


OWN = Carried(text="kept thought").pack()


@pytest.mark.parametrize("summary", [[], SUMMARY], ids=["no summary", "a summary"])
def test_a_blob_of_our_own_is_read_for_a_backend_without_blobs(summary: Any) -> None:
    out = lowered(with_input(reasoning(summary=summary, content=None, encrypted_content=OWN)))
    content = [{"type": "reasoning_text", "text": "kept thought"}]
    assert out.items == [reasoning(summary=summary, content=content)]
    assert out.noted(Rule.DROPPED) == []


def test_a_blob_of_our_own_without_text_leaves_the_summary() -> None:
    carried = Carried(extras={"c": {"signature": "x"}}).pack()
    replayed = item(reasoning(summary=SUMMARY, encrypted_content=carried))
    assert replayed == reasoning(summary=SUMMARY, content=[{"type": "reasoning_text", "text": "thought"}])


def test_a_blob_of_our_own_stays_for_the_chat_dialect_that_made_it() -> None:
    carrying = reasoning(summary=[], content=None, encrypted_content=OWN)
    assert item(carrying, backend="chat") == carrying


def test_a_foreign_blob_goes_before_the_chat_dialect_too() -> None:
    replayed = item(reasoning(summary=[], content=CONTENT, encrypted_content=BLOB), backend="chat")
    assert replayed == reasoning(summary=[], content=CONTENT)


# --- agents ---


def agent(*parts: Any) -> Any:
    """What another agent said."""
    return {"type": "agent_message", "id": "amsg_1", "author": "/root", "recipient": "/root/kid", "content": [*parts]}


def sealed(content: str) -> Any:
    """An encrypted part."""
    return {"type": "encrypted_content", "encrypted_content": content}


def test_what_an_agent_said_becomes_a_users_message() -> None:
    out = lowered(with_input(agent(text("From: /root"), sealed("list the files, please"))))
    assert out.items == [message("user", "From: /root\nlist the files, please")]
    assert out.noted(Rule.NOTED) == [("agent_message", 1)]


@pytest.mark.parametrize("blob", [BLOB, "gAAAAA", "QUJD" * 20 + "=="], ids=["Fernet", "short Fernet", "base64"])
def test_ciphertext_becomes_a_short_note(blob: str) -> None:
    told = said(item(agent(text("From: /root"), sealed(blob))))
    first, note = told.split("\n")
    assert (first, blob in note, 0 < len(note) < 80) == ("From: /root", False, True)


def test_a_part_in_the_clear_is_never_taken_for_ciphertext() -> None:
    assert said(item(agent(text("A" * 80)))) == "A" * 80


@pytest.mark.parametrize("parts", [[], [text("")], [sealed("")]], ids=["no parts", "empty text", "empty blob"])
def test_an_agent_that_said_nothing_goes(parts: Any) -> None:
    assert item(agent(*parts)) is None


# --- hosted calls ---


def test_a_hosted_call_becomes_a_short_note_of_the_assistant() -> None:
    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x y"},
    }
    out = lowered(with_input(search))
    assert (out.items[0]["role"], out.noted(Rule.NOTED)) == ("assistant", [("web_search_call", 1)])
    assert "web_search_call" in said(out.items[0])
    assert "x y" in said(out.items[0])
    assert "ws_1" not in said(out.items[0])


def test_a_note_stays_short() -> None:
    assert len(said(item({"type": "code_interpreter_call", "id": "ci_1", "code": "x" * 5000}))) < 300


def test_a_hosted_call_that_tells_nothing_is_named() -> None:
    assert said(item({"type": "image_generation_call", "id": "ig_1"})) == "[image_generation_call]"


@pytest.mark.parametrize(
    "kind",
    ["tool_search_call", "tool_search_output", "local_shell_call", "local_shell_call_output", "computer_call_output"],
)
@pytest.mark.parametrize("fields", [{}, {"call_id": None}], ids=["no call_id", "null"])
def test_a_call_that_nothing_can_answer_is_hosted(kind: str, fields: Any) -> None:
    if kind == "computer_call_output":
        fields = {"call_id": "c"}
    replayed = item({"type": kind, **fields})
    assert (replayed["role"], said(replayed)) == ("assistant", f"[{kind}]")


def test_a_hosted_call_between_two_pairs_leaves_them_whole() -> None:
    pairs = [[call(name), output(name)] for name in "ab"]
    out = lowered(with_input(*pairs[0], {"type": "web_search_call", "id": "ws_1"}, *pairs[1]))
    assert [*out.items[:2], *out.items[3:]] == [*pairs[0], *pairs[1]]
    assert out.noted(Rule.ORPHAN) == []


@pytest.mark.parametrize("unknown", [{"type": "item_reference", "id": "x"}, {"kept": 1}], ids=["a new type", "no type"])
def test_an_unknown_item_passes_with_a_warning(unknown: Any) -> None:
    out = lowered(with_input(unknown))
    assert (out.items, [rule for rule, _ in out.warned()]) == ([unknown], [Rule.UNKNOWN])


# --- compaction ---


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary", "context_compaction"])
def test_the_bridges_own_summary_is_told_to_the_model(kind: str) -> None:
    out = lowered(with_input({"type": kind, "id": "cmp_1", "encrypted_content": seal("did ls\n\ud800")}))
    assert (out.items[0]["role"], out.noted(Rule.COMPACTED), out.warned()) == ("user", [("summary restored", 1)], [])
    assert said(out.items[0]).endswith("did ls\n\ud800")


def test_a_summary_comes_back_from_the_item_that_carried_it() -> None:
    assert said(item(lift_compaction("cmp_1", "did ls"))).endswith("did ls")


@pytest.mark.parametrize(
    "fields",
    [{"encrypted_content": BLOB}, {"encrypted_content": "bridge.v1.AAAA"}, {"encrypted_content": None}, {}],
    ids=["foreign", "damaged", "null", "absent"],
)
def test_a_foreign_compaction_becomes_a_note_of_one_line(fields: Any) -> None:
    out = lowered(with_input({"type": "compaction", "id": "cmp_1", **fields}))
    told = said(out.items[0])
    assert ("not available" in told, "\n" in told, BLOB in told) == (True, False, False)
    assert out.warned() == [(Rule.NOTED, "foreign compaction")]


def test_a_trigger_asks_for_a_summary_at_the_end() -> None:
    trigger = {"type": "compaction_trigger"}
    out = lowered(with_input(message("user", "Go."), call("c"), trigger, tools=[function("run")], tool_choice="auto"))
    assert out.items == [message("user", "Go."), call("c"), output("c", INTERRUPTED), message("user", SUMMARY_REQUEST)]
    assert (out.names, out.body["tool_choice"]) == (["run"], "none")
    assert out.noted(Rule.COMPACTED) == [("summary asked for", 1)]


def test_a_trigger_without_tools_makes_no_choice() -> None:
    assert "tool_choice" not in lowered(with_input({"type": "compaction_trigger"}, tool_choice="auto")).body


# --- the input as a whole ---


@pytest.mark.parametrize("words", ["Go.", "", None], ids=["text", "empty", "null"])
def test_an_input_that_is_no_list_stays(words: Any) -> None:
    assert lowered({"model": "m", "input": words}).body == {"model": "m", "input": words}


def test_no_input_stays_none() -> None:
    assert lowered({"model": "m", "previous_response_id": "r"}).body == {"model": "m", "previous_response_id": "r"}
