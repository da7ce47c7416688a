"""The items of a thread → chat messages: who says what, in which order, with which reasoning."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.blob import seal
from bridge.carried import Carried
from bridge.chat.content import joined
from bridge.ledger import Rule
from tests.support.chat_request import Asked, asked, fit_the_sdk, thought
from tests.support.parts import call, custom_call, custom_output, image, message, output, text, with_input
from tests.support.strict_chat import refusal

USER = message("user", "Go.")
SAID = {"role": "user", "content": "Go."}
PNG = "data:image/png;base64,AAAA"


def taken(*items: Any, options: Any = None, **fields: Any) -> Asked:
    """A history that a strict chat backend takes, and the SDK as well."""
    out = asked(with_input(*items, **fields), **(options or {}))
    assert refusal(out.body) is None
    fit_the_sdk(out.body)
    return out


def tool(identity: str, content: Any = "done") -> Any:
    """A tool message."""
    return {"role": "tool", "tool_call_id": identity, "content": content}


def ids(turn: Any) -> list[str]:
    """The ids of the calls of an assistant message."""
    return [each["id"] for each in turn["tool_calls"]]


# The system message and later developers


def test_instructions_and_what_leads_are_one_system_message() -> None:
    # B012, BerriAI/litellm#39282
    out = taken(message("developer", "Read only."), message("system", "Be brief."), USER, instructions="You code.")
    assert out.messages == [{"role": "system", "content": "You code.\n\nRead only.\n\nBe brief."}, SAID]


@pytest.mark.parametrize("instructions", [None, "", "You code."], ids=["null", "empty", "text"])
def test_instructions_alone_are_the_system_message_or_none_is_sent(instructions: Any) -> None:
    leading = [{"role": "system", "content": instructions}] if instructions else []
    assert taken(USER, instructions=instructions).messages == [*leading, SAID]


def test_only_empty_instructions_and_developers_make_no_system_message() -> None:
    # B089, BigStrongSun/ccswitchmulti-fork-archive#28
    assert taken(message("developer", ""), message("developer"), USER, instructions="").messages == [SAID]


def test_a_thread_of_developers_only_is_a_system_message() -> None:
    assert taken(message("developer", "Go.")).messages == [{"role": "system", "content": "Go."}]


def test_an_input_that_is_a_string_is_said_by_the_user() -> None:
    assert asked({"model": "m", "input": "Go."}).messages == [SAID]


@pytest.mark.parametrize("role", ["user", "system", "developer"])
@pytest.mark.parametrize("told", ["developer", "system"])
def test_a_later_developer_message_stays_in_place_under_the_role_that_is_set(told: str, role: str) -> None:
    out = asked(with_input(USER, message("assistant", "Yes."), message(told, "Write now."), USER), developer_role=role)
    assert out.messages[2:] == [{"role": role, "content": "Write now."}, SAID]
    assert out.whats(Rule.CONVERTED) == [f"later developer message to {role}"]


def test_a_later_developer_message_is_the_users_by_default() -> None:
    assert taken(USER, message("developer", "Write now.")).roles == ["user", "user"]


# One assistant message a turn


def test_text_reasoning_and_parallel_calls_are_one_message_and_outputs_follow_in_call_order() -> None:
    # B020, vllm-project/vllm#40981
    turn = [thought("Two calls."), message("assistant", "On it."), call("c1", "run"), custom_call("c2", "exec", "a\nb")]
    out = taken(USER, *turn, custom_output("c2", "B"), output("c1", "A"))
    assert out.messages == [
        SAID,
        {
            "role": "assistant",
            "content": "On it.",
            "reasoning_content": "Two calls.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "exec", "arguments": '{"input":"a\\nb"}'}},
            ],
        },
        tool("c1", "A"),
        tool("c2", "B"),
    ]


def test_a_turn_of_calls_only_says_null() -> None:
    assert taken(USER, message("assistant", ""), call("c1"), output("c1")).turns()[0]["content"] is None


def test_the_texts_of_a_turn_stay_apart() -> None:
    out = taken(USER, message("assistant", "One."), call("c1"), message("assistant", "Two."), output("c1"))
    assert out.turns() == [{"role": "assistant", "content": "One.\nTwo.", "tool_calls": out.calls}]


def test_calls_behind_an_output_are_the_next_turn() -> None:
    out = taken(USER, call("c1"), output("c1"), call("c2"), call("c3"), output("c2"), output("c3"))
    assert [ids(turn) for turn in out.turns()] == [["c1"], ["c2", "c3"]]


def test_the_last_turn_of_a_thread_is_sent() -> None:
    assert taken(USER, message("assistant", "Yes.")).messages[-1] == {"role": "assistant", "content": "Yes."}


def test_messages_between_a_call_and_its_output_follow_the_output() -> None:
    # B061, farion1231/cc-switch#3047
    between = [message("developer", "Budget low."), message("user", "Be quick.")]
    out = taken(USER, call("c1"), *between, output("c1", "A"), message("assistant", "ok"), USER)
    assert [each["content"] for each in out.messages] == ["Go.", None, "A", "Budget low.", "Be quick.", "ok", "Go."]


def test_a_message_between_parallel_outputs_follows_them_all() -> None:
    out = taken(USER, call("c1"), call("c2"), output("c1", "A"), message("user", "Quick."), output("c2", "B"))
    assert [each["content"] for each in out.messages[2:]] == ["A", "B", "Quick."]


def test_several_outputs_of_a_call_are_one_tool_message() -> None:
    outputs = [custom_output("c1", "main"), custom_output("c1", "note", name="exec")]
    assert taken(USER, custom_call("c1"), *outputs).messages[2:] == [tool("c1", "main\nnote")]


def test_a_call_that_was_interrupted_is_answered_behind_its_turn() -> None:
    # B019, farion1231/cc-switch#7509
    out = taken(USER, call("c1"), custom_call("c2"), custom_output("c2", "ok"), message("user", "Stop."))
    assert [ids(turn) for turn in out.turns()] == [["c1", "c2"]]
    assert ("interrupted" in out.messages[2]["content"], out.messages[3:]) == (
        True,
        [tool("c2", "ok"), {"role": "user", "content": "Stop."}],
    )


def test_an_output_without_a_call_is_not_sent() -> None:
    assert taken(USER, output("c9"), message("assistant", "Yes.")).roles == ["user", "assistant"]


@pytest.mark.parametrize("content", ["", []], ids=["string", "list"])
def test_an_empty_output_is_still_an_answer(content: Any) -> None:
    assert taken(USER, call("c1"), output("c1", content)).messages[-1] == tool("c1", "")


# Ids


def test_ids_that_repeat_across_turns_become_unique_and_the_first_stays() -> None:
    # B063, vllm-project/vllm#50295
    turns = [each for word in "abc" for each in (call("run:0", "run", f'{{"q":"{word}"}}'), output("run:0", word))]
    out = taken(USER, *turns)
    sent = [
        (turn["tool_calls"][0], answer) for turn, answer in zip(out.messages[1::2], out.messages[2::2], strict=True)
    ]
    assert [(json.loads(made["function"]["arguments"])["q"], answer["content"]) for made, answer in sent] == [
        (word, word) for word in "abc"
    ]
    assert all(made["id"] == answer["tool_call_id"] for made, answer in sent)
    assert (sent[0][0]["id"], len({made["id"] for made, _ in sent})) == ("run:0", 3)
    assert out.whats(Rule.CONVERTED) == ["call ids made unique"]


def test_an_id_that_is_made_is_no_id_that_was_there() -> None:
    turns = [each for identity in ("x_2", "x", "x") for each in (call(identity), output(identity))]
    sent = [each["id"] for each in taken(USER, *turns).calls]
    assert (sent[:2], len(set(sent))) == (["x_2", "x"], 3)


KINDS: dict[str, Callable[[str], Any]] = {
    "user": lambda _: message("user", "Hi."),
    "developer": lambda _: message("developer", "Note."),
    "say": lambda _: message("assistant", "Yes."),
    "think": lambda _: thought("Hm."),
    "call": call,
    "output": output,
}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(KINDS)), st.sampled_from(["a", "b", "a_2"])), max_size=12))
def test_whatever_the_order_of_the_items_the_thread_is_well_formed(drawn: list[tuple[str, str]]) -> None:
    items: list[Any] = [USER]
    parallel: set[str] = set()  # one turn does not use an id twice
    for kind, identity in drawn:
        if kind != "call":
            parallel = set()
        elif identity in parallel:
            continue
        else:
            parallel.add(identity)
        items.append(KINDS[kind](identity))
    taken(*items)


# Empty messages


@pytest.mark.parametrize(
    "item",
    [message("user", ""), message("user"), message("developer", ""), message("assistant", ""), message("assistant")],
    ids=["user text", "user", "developer", "assistant text", "assistant"],
)
def test_a_message_that_says_nothing_goes_and_the_ledger_names_it(item: Any) -> None:
    out = taken(USER, item, message("user", "On."))
    assert out.messages == [SAID, {"role": "user", "content": "On."}]
    assert [entry.paths for entry in out.ledger if entry.rule is Rule.DROPPED] in (
        [["lowered.input[1]"]],
        [["input[1]"]],
    )


# Content parts


@pytest.mark.parametrize(
    ("parts", "content"),
    [
        (["One."], "One."),
        (["One.", "Two."], "One.\nTwo."),
        (["One.\n", "Two."], "One.\nTwo."),
        (["", "Two.", ""], "Two."),
        ([image()], [{"type": "image_url", "image_url": {"url": PNG, "detail": "auto"}}]),
        ([image(detail="original")], [{"type": "image_url", "image_url": {"url": PNG, "detail": "high"}}]),
        ([image(detail="low")], [{"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}]),
        (
            ["See:", image()],
            [{"type": "text", "text": "See:"}, {"type": "image_url", "image_url": {"url": PNG, "detail": "auto"}}],
        ),
        (
            [{"type": "input_file", "file_data": "data:text/plain;base64,QQ==", "filename": "a.txt"}],
            [{"type": "file", "file": {"file_data": "data:text/plain;base64,QQ==", "filename": "a.txt"}}],
        ),
        ([{"type": "input_file", "file_id": "file_1"}], [{"type": "file", "file": {"file_id": "file_1"}}]),
        (
            [{"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}}],
            [{"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}}],
        ),
    ],
    ids=[
        "text", "two texts", "line ends", "empty texts", "image", "detail original", "detail low", "text and image",
        "file data", "file id", "audio",
    ],
)  # fmt: skip
def test_a_part_becomes_the_part_that_chat_has(parts: Any, content: Any) -> None:
    assert taken(message("user", *parts)).messages == [{"role": "user", "content": content}]


def test_a_content_that_is_a_string_stays_one() -> None:
    assert taken({"type": "message", "role": "user", "content": "Go."}).messages == [SAID]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        {"type": "input_image", "file_id": "file_1"},
        {"type": "hologram", "beam": "x" * 500},
    ],
    ids=["file by url", "image by id", "unknown"],
)
def test_a_part_that_chat_cannot_carry_leaves_a_short_note_and_a_warning(part: Any) -> None:
    out = taken(message("user", "See:", part))
    note = out.messages[0]["content"].removeprefix("See:\n")
    assert (note.startswith(f"[{part['type']}: "), len(note) < 250) == (True, True)
    assert [(entry.rule, entry.paths) for entry in out.ledger.warnings()] == [(Rule.NOTED, ["lowered.input[0]"])]


def test_a_refusal_of_the_model_is_its_text() -> None:
    assert taken(USER, message("assistant", {"type": "refusal", "refusal": "No."})).turns()[0]["content"] == "No."


def test_a_list_of_texts_in_an_output_is_one_text() -> None:
    assert taken(USER, call("c1"), output("c1", [text("a"), text("b")])).messages[-1] == tool("c1", "a\nb")


def test_images_of_outputs_follow_all_tool_messages_of_the_turn_as_one_user_message() -> None:
    shown = [output("c1", [text("A"), image()]), output("c2", [image(detail="original")])]
    out = taken(USER, call("c1"), call("c2"), *shown, message("assistant", "Seen."), options={"images": "user"})
    assert out.roles == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert [part["image_url"] for part in out.messages[4]["content"]] == [
        {"url": PNG, "detail": "auto"},
        {"url": PNG, "detail": "high"},
    ]
    assert "image" in out.messages[3]["content"]


def test_an_image_of_an_output_is_a_part_of_the_tool_message_where_it_shall_stay() -> None:
    out = asked(with_input(USER, call("c1"), output("c1", [text("A"), image()])), images="inline")
    parts = [{"type": "text", "text": "A"}, {"type": "image_url", "image_url": {"url": PNG, "detail": "auto"}}]
    assert out.messages[-1] == tool("c1", parts)


@given(st.lists(st.text(alphabet="a\n", max_size=3), max_size=4))
def test_joined_texts_keep_every_letter_in_order_and_add_only_line_ends(texts: list[str]) -> None:
    assert joined(texts).replace("\n", "") == "".join(texts).replace("\n", "")
    assert len(joined(texts)) - len("".join(texts)) < max(len(texts), 1)


# Reasoning


@pytest.mark.parametrize(
    ("mode", "turn"),
    [
        ("reasoning_content", {"content": "Yes.", "reasoning_content": "Hm."}),
        ("reasoning", {"content": "Yes.", "reasoning": "Hm."}),
        ("think", {"content": "<think>\nHm.\n</think>\n\nYes."}),
        ("drop", {"content": "Yes."}),
    ],
)
def test_reasoning_goes_back_where_it_shall(mode: str, turn: Any) -> None:
    out = taken(USER, thought("Hm."), message("assistant", "Yes."), options={"reasoning": mode})
    assert out.turns() == [{"role": "assistant", **turn}]


def test_reasoning_in_tags_stands_in_a_turn_of_calls_only() -> None:
    (turn,) = taken(USER, thought("Hm."), call("c1"), output("c1"), options={"reasoning": "think"}).turns()
    assert (turn["content"].strip(), ids(turn)) == ("<think>\nHm.\n</think>", ["c1"])


def test_tags_are_not_made_without_reasoning() -> None:
    out = taken(USER, message("assistant", "Yes."), options={"reasoning": "think"})
    assert out.turns()[0]["content"] == "Yes."


def test_reasoning_belongs_to_the_call_that_it_led_to() -> None:
    # B013, Wei-Shaw/sub2api#5520
    out = taken(USER, thought("One."), call("c1"), output("c1"), thought("Two."), call("c2"), output("c2"))
    assert [(turn["reasoning_content"], ids(turn)) for turn in out.turns()] == [("One.", ["c1"]), ("Two.", ["c2"])]


@pytest.mark.parametrize(
    "fields",
    [
        {"summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"summary": [{"type": "summary_text", "text": "Hm."}], "content": None},
        {"summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "gAAAAforeign"},
        {
            "summary": [{"type": "summary_text", "text": "short"}],
            "content": [{"type": "reasoning_text", "text": "Hm."}],
        },
        {"summary": [{"type": "summary_text", "text": "short"}], "encrypted_content": Carried("Hm.").pack()},
    ],
    ids=["content", "summary", "beside a foreign blob", "content before summary", "own blob before summary"],
)
def test_the_fullest_text_that_can_be_read_is_the_reasoning(fields: Any) -> None:
    out = taken(USER, {"type": "reasoning", "id": "rs_1", **fields}, message("assistant", "Yes."))
    assert out.turns()[0]["reasoning_content"] == "Hm."


@pytest.mark.parametrize(
    "blob", ["gAAAAforeign", "bridge.v1.damaged", seal("no JSON")], ids=["foreign", "damaged", "text"]
)
def test_a_foreign_blob_is_dropped_and_named(blob: str) -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": blob}
    out = taken(USER, item, message("assistant", "Yes."))
    assert out.turns() == [{"role": "assistant", "content": "Yes."}]
    assert "encrypted reasoning" in out.whats(Rule.DROPPED)


def test_details_come_back_on_the_message_of_their_turn() -> None:
    details = [{"type": "reasoning.text", "text": "a", "signature": "s"}, {"type": "reasoning.encrypted", "data": "b"}]
    out = taken(USER, thought("a", (details[0],)), thought("", (details[1],)), call("c1"), output("c1"))
    assert (out.turns()[0]["reasoning_details"], out.turns()[0]["reasoning_content"]) == (details, "a")


def test_details_do_not_come_back_where_reasoning_is_dropped() -> None:
    out = taken(USER, thought("a", ({"x": 1},)), message("assistant", "Yes."), options={"reasoning": "drop"})
    assert out.turns() == [{"role": "assistant", "content": "Yes."}]


def test_extra_content_comes_back_on_the_call_that_it_came_with() -> None:
    # B086, tinyhumansai/openhuman#3548
    extra = {"google": {"thought_signature": "c2ln"}}
    calls = [call("c1"), call("c2"), custom_call("c3")]
    blob = thought("Hm.", extras={"c2": extra, "c3": {"n": 3}})
    out = taken(USER, blob, *calls, output("c1"), output("c2"), custom_output("c3"))
    assert [each.get("extra_content") for each in out.calls] == [None, extra, {"n": 3}]


def test_extra_content_of_one_turn_is_not_put_on_the_next_call_with_that_id() -> None:
    out = taken(USER, thought(extras={"c1": {"n": 1}}), call("c1"), output("c1"), call("c1"), output("c1"))
    assert [each.get("extra_content") for each in out.calls] == [{"n": 1}, None]


@pytest.mark.parametrize(
    ("context", "earlier"), [("all_turns", "One."), ("auto", "One."), (None, "One."), ("current_turn", None)]
)
def test_reasoning_of_earlier_turns_is_left_out_only_where_the_client_wants_the_current_turn(
    context: Any, earlier: Any
) -> None:
    first = [USER, thought("One."), call("c1"), output("c1"), message("assistant", "Yes.")]
    second = [USER, thought("Two."), call("c2"), output("c2"), thought("Three."), call("c3"), output("c3")]
    out = taken(*first, *second, reasoning={"context": context})
    assert [turn.get("reasoning_content") for turn in out.turns() if "tool_calls" in turn] == [
        earlier,
        "Two.",
        "Three.",
    ]
    assert ("reasoning of earlier turns" in out.whats(Rule.DROPPED)) is (earlier is None)


# What is carried


@pytest.mark.parametrize(
    "carried",
    [
        Carried(),
        Carried('Hm. é 😀 "\\'),
        Carried("\ud83d"),
        Carried("", ({"type": "reasoning.encrypted", "data": "x"}, "y", None)),
        Carried("Hm.", ({"a": 1},), {"c1": {"google": {"thought_signature": "c2ln"}}}),
    ],
    ids=["nothing", "text", "lone surrogate", "details", "all"],
)
def test_what_is_packed_is_unpacked(carried: Carried) -> None:
    assert Carried.unpack(carried.pack()) == carried


@pytest.mark.parametrize(
    "blob", ["", "gAAAAforeign", "bridge.v1.!", seal("no JSON")], ids=["empty", "foreign", "bad", "text"]
)
def test_a_blob_that_carries_nothing_of_ours_is_none(blob: str) -> None:
    assert Carried.unpack(blob) is None


@pytest.mark.parametrize(
    ("carried", "anything"),
    [(Carried(), False), (Carried("a"), True), (Carried(details=(1,)), True), (Carried(extras={"c": 1}), True)],
)
def test_whether_there_is_anything_to_carry(carried: Carried, anything: bool) -> None:
    assert bool(carried) is anything
