"""Chat answers → Responses events: text, reasoning, items in order, honest ends, usage, and every cut of the bytes."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.blob import unseal
from bridge.carried import Carried
from bridge.chat.stream import ChatStream
from bridge.chat.text import MarkupWatch, ThinkSplitter
from bridge.errors import BackendError
from bridge.exchange import Exchange
from bridge.jsonvalue import JSON
from bridge.settings import Settings
from tests.support.chat_wire import (
    LAST,
    USAGE,
    called,
    calls_of,
    chat,
    chunk,
    entry,
    judge,
    message,
    streamed,
    text_of,
    whole,
    wire,
)
from tests.support.sse_tools import (
    JSON_TYPE,
    STREAM_TYPE,
    Event,
    chop,
    end_of,
    finished,
    function,
    of,
    parse,
    relayed,
    request,
    warnings,
)

ARGS = '{"input": "a\\n😀"}'
CALL = entry(ARGS, index=0, id="call_1", name="exec")
STOP = chunk("stop")


def end(*chunks: Event | str, opened: Exchange | None = None, done: bool = True) -> Event:
    """The response in the terminal event."""
    response: Event = end_of(streamed(*chunks, opened=opened, done=done))["response"]
    return response


def items(*chunks: Event | str, **options: Any) -> list[Event]:
    """The finished items."""
    return finished(streamed(*chunks, opened=chat(**options)))


def kinds(found: list[Event]) -> list[str]:
    """The types of items."""
    return [item["type"] for item in found]


def spoken(found: list[Event]) -> tuple[list[str], list[str]]:
    """(texts of reasoning, texts of messages)."""
    return text_of(found, "reasoning"), text_of(found)


# Text and reasoning


def test_text_makes_one_message() -> None:
    assert text_of(items(chunk(content="He"), chunk(content=""), chunk(content="llo"), STOP)) == ["Hello"]


def test_every_piece_of_text_leaves_at_once() -> None:
    opened = chat()
    assert b'"delta":"He"' in b"".join(opened.feed(wire(chunk(content="He"), done=False)))


@pytest.mark.parametrize(
    "delta",
    [
        {"content": [{"type": "text", "text": "He"}, {"text": "llo"}]},
        {"content": None, "refusal": "Hello"},
        {"content": "", "refusal": "Hello"},
        {"content": [], "refusal": "Hello"},
        {"content": "Hello", "role": "assistant", "unknown": 1},
    ],
    ids=["parts", "refusal", "refusal-beside-empty", "refusal-beside-no-parts", "unknown-fields"],
)
def test_visible_text_in_any_shape(delta: Event) -> None:
    assert text_of(items(chunk(**delta), STOP)) == ["Hello"]


def test_a_content_part_without_a_place_is_named() -> None:
    opened = chat()
    parts = [{"type": "image_url"}, {"type": "text", "text": "ok"}]
    assert text_of(finished(streamed(chunk(content=parts), STOP, opened=opened))) == ["ok"]
    assert [what for what, _ in warnings(opened, "dropped")] == ["content part image_url"]


def details(text: str, kind: str = "text") -> list[Event]:
    """`reasoning_details` with one entry."""
    return [{"type": f"reasoning.{kind}", kind: text}]


SOURCES: dict[str, Any] = {
    "reasoning_content": lambda text: {"reasoning_content": text},
    "reasoning": lambda text: {"reasoning": text},
    "details": lambda text: {"reasoning_details": details(text)},
    "summary": lambda text: {"reasoning_details": details(text, "summary")},
    "both": lambda text: {"reasoning_content": text, "reasoning": text},
    "all": lambda text: {"reasoning_content": text, "reasoning": text, "reasoning_details": details(text)},
    "details-mirrored": lambda text: {"reasoning": text, "reasoning_details": details(text)},
    "null-beside": lambda text: {"reasoning_content": None, "reasoning": text, "content": None},
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_reasoning_under_any_name_is_one_text(source: Any) -> None:
    found = items(chunk(**source("Pl")), chunk(**source("an")), chunk(content="ok"), STOP)
    assert (kinds(found), spoken(found)) == (["reasoning", "message"], (["Plan"], ["ok"]))


def test_a_mirror_that_comes_in_a_later_chunk_counts_once() -> None:
    assert spoken(items(chunk(reasoning_content="Plan"), chunk(reasoning="Plan"), chunk(content="x"), STOP)) == (
        ["Plan"],
        ["x"],
    )


def test_reasoning_is_carried_in_what_the_client_replays() -> None:
    carried = Carried.unpack(items(chunk(reasoning="Plan"), chunk(content="x"), STOP)[0]["encrypted_content"])
    assert carried == Carried("Plan")


def test_reasoning_details_are_carried_as_they_came() -> None:
    signed: list[JSON] = [{"type": "reasoning.encrypted", "data": "c2ln", "index": 0}]
    found = items(chunk(reasoning="Plan", reasoning_details=signed), chunk(content="x"), STOP)
    assert Carried.unpack(found[0]["encrypted_content"]) == Carried("Plan", tuple(signed))


def test_reasoning_details_that_come_late_are_carried_too() -> None:
    signed: list[JSON] = [{"type": "reasoning.encrypted", "data": "c2ln"}]
    found = items(chunk(reasoning="Plan"), chunk(content="x"), chunk(reasoning_details=signed), STOP)
    assert kinds(found) == ["reasoning", "message", "reasoning"]
    assert Carried.unpack(found[2]["encrypted_content"]) == Carried("", tuple(signed))


EXTRA: dict[str, JSON] = {"google": {"thought_signature": "c2ln"}}


@pytest.mark.parametrize("inside", [False, True], ids=["beside-function", "in-function"])
def test_extra_content_of_a_call_is_carried_and_not_shown(inside: bool) -> None:
    made = entry(ARGS, index=0, id="call_1", name="exec")
    (made["function"] if inside else made)["extra_content"] = EXTRA
    found = items(called(made), STOP)
    assert [item for item in found if "extra_content" in json.dumps(item)] == []
    carried = [Carried.unpack(item["encrypted_content"]) for item in found if item["type"] == "reasoning"]
    assert carried == [Carried(extras={"call_1": EXTRA})]


def test_extra_content_is_carried_by_the_id_that_the_client_sees() -> None:
    made = entry("{}", index=0, id="x" * 80, name="wait", extra_content=EXTRA)
    call, reasoning = items(called(made), STOP)
    assert Carried.unpack(reasoning["encrypted_content"]) == Carried(extras={call["call_id"]: EXTRA})


KEYS = {
    "message": {"type", "id", "role", "status", "content"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
    "function_call": {"type", "id", "call_id", "name", "arguments", "status", "namespace"},
    "custom_tool_call": {"type", "id", "call_id", "name", "input", "status", "namespace"},
}


def test_no_item_has_a_key_that_the_api_does_not_know() -> None:
    odd = {**CALL, "extra_content": EXTRA, "odd": 1, "function": {**CALL["function"], "odd": 1}}
    other = entry("{}", index=1, id="call_2", name="team__spawn", odd=2)
    found = items(chunk(reasoning="a", odd=1), chunk(content="b"), called(odd, other), {**LAST, "odd": 1})
    assert [set(item) - KEYS[item["type"]] for item in found] == [set()] * len(found)


# Think tags

THOUGHT = "<think>\nPlan A\n</think>\n\nAnswer with 1 < 2"


@pytest.mark.parametrize("size", range(1, len(THOUGHT) + 1))
def test_think_tags_are_found_wherever_they_are_split(size: int) -> None:
    found = items(*[chunk(content=piece) for piece in chop(THOUGHT, size)], STOP, think_tags=True)
    reasoning, texts = spoken(found)
    assert ([text.strip() for text in reasoning], texts) == (["Plan A"], ["Answer with 1 < 2"])


def test_think_tags_stay_text_unless_asked_for() -> None:
    assert text_of(items(chunk(content=THOUGHT), STOP)) == [THOUGHT]


@pytest.mark.parametrize("text", ["a <thin", "a </think> b", "1 < 2 <", "<thinking>a</thinking>", "<t<th"])
def test_what_merely_looks_like_a_tag_stays_text(text: str) -> None:
    assert spoken(items(*[chunk(content=piece) for piece in text], STOP, think_tags=True)) == ([], [text])


def test_a_think_tag_that_never_closes_is_reasoning() -> None:
    assert spoken(items(chunk(content="<think>Plan</thi"), STOP, think_tags=True)) == (["Plan</thi"], [])


def test_think_tags_that_mirror_the_reasoning_count_once() -> None:
    first = chunk(content="<think>Plan", reasoning_content="Plan")
    assert spoken(items(first, chunk(content="</think>ok"), STOP, think_tags=True)) == (["Plan"], ["ok"])


def test_think_tags_inside_a_payload_are_payload() -> None:
    payload = "text('<think>no</think>')"
    pieces = chop(json.dumps({"input": payload}), 3)
    entries = [entry(pieces[0], index=0, id="call_1", name="exec"), *[entry(piece, index=0) for piece in pieces[1:]]]
    found = items(*[called(each) for each in entries], STOP, think_tags=True)
    assert calls_of(found) == [("call_1", "exec", payload)]
    assert kinds(found) == ["custom_tool_call"]


@settings(max_examples=100, deadline=None)
@given(
    text=st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "ink>", " ", "a", "\n"]), max_size=8),
    cuts=st.sets(st.integers(0, 40)),
)
def test_think_tags_give_the_same_for_every_cut(text: list[str], cuts: set[int]) -> None:
    joined = "".join(text)
    marks = sorted({0, len(joined), *(cut for cut in cuts if cut < len(joined))})
    split, at_once = ThinkSplitter(), ThinkSplitter()
    pieces = [each for start, stop in pairwise(marks) for each in split.feed(joined[start:stop])] + split.finish()
    expected = at_once.feed(joined) + at_once.finish()
    sides = [
        ["".join(said for inside, said in made if inside is side) for side in (True, False)]
        for made in (pieces, expected)
    ]
    assert sides[0] == sides[1]


# Call markup that leaked

MARKUP = ['<tool_call>{"name": "exec"}', "<function=exec>", "[TOOL_CALLS][{}]", "<|tool_calls_section_begin|>"]


@pytest.mark.parametrize("markup", MARKUP)
def test_leaked_call_markup_stays_text_and_is_named_once(markup: str) -> None:
    opened = chat()
    pieces = ["Now ", *markup, " ", markup]
    found = finished(streamed(*[chunk(content=piece) for piece in pieces], STOP, opened=opened))
    assert (kinds(found), text_of(found)) == (["message"], ["".join(pieces)])
    assert [what for what, _ in warnings(opened, "malformed")] == ["leaked call markup"]


def test_text_without_markup_is_not_named() -> None:
    assert MarkupWatch().sees("a <tool> and a [TOOL] call: <func> <think>") is False


# Order


def test_items_come_in_the_order_in_which_they_began() -> None:
    chunks = [chunk(reasoning="r"), chunk(content="a"), chunk(reasoning="s"), called(CALL), chunk(content="b"), STOP]
    assert kinds(items(*chunks)) == ["reasoning", "message", "reasoning", "custom_tool_call", "message"]


def test_text_amid_a_call_follows_it() -> None:
    half = entry('{"input": ', index=0, id="call_1", name="exec")
    found = items(called(half), chunk(content="a"), chunk(reasoning="r"), called(entry('"x"}', index=0)), STOP)
    assert kinds(found) == ["custom_tool_call", "message", "reasoning"]


def test_text_behind_a_whole_call_leaves_at_once() -> None:
    opened = chat()
    left = b"".join(opened.feed(wire(called(CALL), chunk(content="after"), done=False)))
    assert [item["type"] for item in finished(parse(left))] == ["custom_tool_call"]
    assert b"after" in left


def test_a_message_has_its_whole_life() -> None:
    here = [event for event in streamed(chunk(content="a"), STOP) if event.get("output_index") == 0]
    kind = "response."
    assert [event["type"].removeprefix(kind) for event in here] == [
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ]


def test_a_stream_begins_with_created() -> None:
    assert [event["type"] for event in streamed(STOP, chunk(content="a"))[:2]] == [
        "response.created",
        "response.in_progress",
    ]


def test_the_response_has_one_id_and_the_clients_model() -> None:
    events = streamed(chunk(content="a"), STOP)
    told = {(event["response"]["id"], event["response"]["model"]) for event in events if "response" in event}
    assert len(told) == 1
    assert told.pop()[1] == "demo-model"


# Ends


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "other", "function_call", "eos", None])
def test_a_finished_answer_is_completed(finish: str | None) -> None:
    assert end(chunk(content="a"), called(CALL), chunk(finish), LAST)["status"] == "completed"


@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter",) * 2])
def test_an_answer_cut_by_a_limit_is_incomplete(finish: str, reason: str) -> None:
    response = end(chunk(content="a"), chunk(finish))
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": reason})
    assert text_of(response["output"]) == ["a"]


@pytest.mark.parametrize(
    "chunks",
    [[chunk(content="a"), STOP], [called(CALL)], [chunk(content="a"), LAST]],
    ids=["finish", "whole-call", "usage"],
)
def test_the_done_marker_is_not_needed(chunks: list[Event]) -> None:
    assert end(*chunks, done=False)["status"] == "completed"


def test_the_done_marker_is_an_end_without_a_finish_reason() -> None:
    assert end(chunk(content="a"))["status"] == "completed"


def test_nothing_follows_the_done_marker() -> None:
    left = parse(relayed(wire(chunk(content="a"), STOP) + wire(chunk(content="b")), chat()))
    judge(left)
    assert text_of(finished(left)) == ["a"]


CUTS: dict[str, list[Event | str]] = {
    "text": [chunk(content="a")],
    "reasoning": [chunk(reasoning="a")],
    "half-call": [called(entry('{"input": "a', index=0, id="call_1", name="exec"))],
    "announced-call": [called(entry("", index=0, id="call_1", name="exec"))],
    "second-call-half": [called(CALL, entry('{"a', index=1, id="call_2", name="wait"))],
    "role-only": [chunk(role="assistant", content="")],
    "nothing": [],
}


@pytest.mark.parametrize("chunks", CUTS.values(), ids=CUTS)
def test_a_cut_stream_fails(chunks: list[Event | str]) -> None:
    response = end(*chunks, done=False)
    assert (response["status"], response["error"]["code"]) == ("failed", "server_error")
    assert response["error"]["message"]


@pytest.mark.parametrize("chunks", CUTS.values(), ids=CUTS)
def test_no_call_of_a_cut_stream_that_is_not_whole_is_made(chunks: list[Event | str]) -> None:
    whole_call = [("call_1", "exec", "a\n😀")]
    assert calls_of(finished(streamed(*chunks, done=False))) in ([], whole_call)


@pytest.mark.parametrize(
    "chunks", [[], [{"choices": []}], [LAST], [chunk(role="assistant")]], ids=["none", "no-choices", "usage", "role"]
)
def test_an_answer_that_says_nothing_fails(chunks: list[Event | str]) -> None:
    assert end(*chunks)["status"] == "failed"


def test_a_choice_without_a_delta_does_no_harm() -> None:
    odd = {"choices": [{"index": 0}, "x", {"index": 1, "delta": {"content": "other"}}]}
    assert text_of(items(odd, {"choices": None}, chunk(content="a"), STOP)) == ["a"]


ERRORS: dict[str, tuple[Event, str]] = {
    "object": ({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, "rate_limit_exceeded"),
    "number": ({"error": {"message": "slow down", "code": 429}}, "rate_limit_exceeded"),
    "type": ({"error": {"message": "busy", "type": "overloaded_error"}}, "server_is_overloaded"),
    "context": ({"error": {"message": "maximum context length is 9"}}, "context_length_exceeded"),
    "text": ({"error": "boom"}, "server_error"),
    "object-error": ({"object": "error", "message": "boom", "code": 500}, "server_error"),
    "envelope": ({"code": 500, "msg": "boom", "data": None}, "server_error"),
    "envelope-text": ({"code": "insufficient_quota", "msg": "boom"}, "insufficient_quota"),
    "with-choices": ({"error": {"message": "boom", "code": 502}, "choices": []}, "server_error"),
}
each_error = pytest.mark.parametrize(("error", "code"), ERRORS.values(), ids=ERRORS)


def words(error: Event) -> str:
    """The message in an error of any shape."""
    inner = error.get("error", error)
    text: str = inner if isinstance(inner, str) else inner.get("message") or inner.get("msg")
    return text


@each_error
@pytest.mark.parametrize("before", [[], [chunk(content="a")], [called(CALL)]], ids=["first", "text", "call"])
def test_an_error_in_the_stream_fails_with_its_code_and_message(before: list[Event], error: Event, code: str) -> None:
    response = end(*before, error)
    assert (response["status"], response["error"]) == ("failed", {"code": code, "message": words(error)})


@each_error
def test_an_error_in_place_of_a_stream_fails_the_same(error: Event, code: str) -> None:
    events = parse(chat(mode=JSON_TYPE).whole(json.dumps(error).encode(), JSON_TYPE).body)
    judge(events)
    assert end_of(events)["response"]["error"] == {"code": code, "message": words(error)}


@pytest.mark.parametrize("code", [0, 200, "0", "200", None])
def test_a_code_of_success_is_no_error(code: Any) -> None:
    assert end({**chunk(content="a"), "code": code}, STOP)["status"] == "completed"


@pytest.mark.parametrize("code", [0, 200, "0"])
def test_an_envelope_of_success_is_opened(code: Any) -> None:
    wrapped = {"code": code, "msg": "ok", "data": ANSWER}
    assert whole(wrapped)["output"] == whole(ANSWER)["output"]
    events = streamed(*[{"code": code, "data": each} for each in (chunk(content="a"), STOP)])
    assert text_of(finished(events)) == ["a"]


def test_an_error_without_words_says_so() -> None:
    assert end({"error": {"code": "boom"}})["error"] == {"code": "boom", "message": "The backend gave no reason."}


def test_data_that_is_no_object_is_left_out_and_named() -> None:
    opened = chat()
    events = streamed("data: 7\n\n", chunk(content="a"), STOP, opened=opened)
    assert text_of(finished(events)) == ["a"]
    assert [what for what, _ in warnings(opened, "unknown")] == ["data that is no JSON object"]


def test_a_chunk_that_cannot_be_read_ends_the_answer_since_a_payload_could_lack_it() -> None:
    events = streamed(chunk(content="a"), "data: {oops\n\n", chunk(content="b"), STOP)
    assert events[-1]["type"] == "response.failed"


# Usage

COMPLETE: Event = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 25,
}


def cached(count: int) -> Event:
    """Usage with cached tokens."""
    return {**COMPLETE, "input_tokens_details": {"cached_tokens": count, "cache_write_tokens": 0}}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (USAGE, COMPLETE),
        ({"prompt_tokens": 20, "completion_tokens": 5}, COMPLETE),
        ({**USAGE, "prompt_tokens_details": {"cached_tokens": 7}}, cached(7)),
        ({**USAGE, "prompt_tokens_details": None, "prompt_cache_hit_tokens": 7}, cached(7)),
        (
            {**USAGE, "completion_tokens_details": {"reasoning_tokens": 3}},
            {**COMPLETE, "output_tokens_details": {"reasoning_tokens": 3}},
        ),
        ({"prompt_tokens": 20}, None),
        ({"prompt_tokens": 20.5, "completion_tokens": "5"}, None),
        ({}, None),
        ("many", None),
    ],
    ids=["chat", "no-total", "cached", "cached-beside", "reasoning", "partial", "no-integers", "empty", "no-object"],
)
def test_usage_is_complete_or_there_is_none(usage: Any, expected: Event | None) -> None:
    assert end(chunk(content="a"), chunk("stop", usage))["usage"] == expected


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk(content="a"), STOP, LAST],
        [chunk(usage={**USAGE, "completion_tokens": 1}, content="a"), chunk("stop", USAGE)],
        [chunk(content="a"), chunk("stop", USAGE), {"choices": [], "usage": None}],
    ],
    ids=["own-chunk", "in-every-chunk", "null-later"],
)
def test_the_last_usage_counts(chunks: list[Event]) -> None:
    assert end(*chunks)["usage"] == COMPLETE


def test_no_usage_is_none() -> None:
    assert end(chunk(content="a"), STOP)["usage"] is None


# Bytes

LONG: list[Event] = [
    chunk(role="assistant", content=None, reasoning="Gr\u00fc"),
    chunk(reasoning="\u00dfe \U0001f600"),
    chunk(content="<think>x</th"),
    chunk(content="ink>\u4f60\u597d"),
    called(entry("", index=0, id="call_1", name="exec")),
    called(entry('{"input": "a\\ud83d', index=0), entry('{"a"', index=1, id="call_2", name="wait")),
    called(entry('\\ude00\u00e9"}', index=0), entry(": 1}", index=1)),
    chunk("tool_calls"),
    LAST,
]
DIALECTS: dict[str, bytes] = {
    "plain": wire(*LONG),
    "raw": wire(*LONG, ascii_only=False),
    "crlf": wire(*LONG, end="\r\n", ascii_only=False),
    "no-done": wire(*LONG, done=False),
    "comments": wire(": ping\n\n", *LONG[:4], ": ping\n\n", *LONG[4:]),
    "no-space": wire(*LONG).replace(b"data: ", b"data:"),
    "multiline": "".join(
        "".join(f"data: {line}\n" for line in json.dumps(each, indent=1).splitlines()) + "\n" for each in LONG
    ).encode(),
    "no-last-blank-line": wire(*LONG).rstrip(b"\n"),
}
ANSWER = message(
    "tool_calls",
    reasoning="Gr\u00fc\u00dfe \U0001f600",
    content="\u4f60\u597d",
    tool_calls=[
        entry('{"input": "a\\ud83d\\ude00\u00e9"}', id="call_1", name="exec", type="function"),
        entry('{"a": 1}', id="call_2", name="wait", type="function"),
    ],
)
each_dialect = pytest.mark.parametrize("data", DIALECTS.values(), ids=DIALECTS)


SMALL = request(tools=[{"type": "custom", "name": "exec"}, function("wait")], input="Go.")


def thinking(**fields: Any) -> Exchange:
    """An exchange that looks for think tags."""
    return chat({**SMALL, **fields}, think_tags=True)


def unspaced(data: bytes) -> list[Event]:
    """The events in bytes of the client's."""
    events = parse(data)
    judge(events)
    return events


@each_dialect
@pytest.mark.parametrize("size", [1, 3, 8])
def test_every_cut_of_the_bytes_gives_the_same(data: bytes, size: int) -> None:
    expected = relayed(data, thinking())
    for first in range(1, size + 1):
        assert relayed(data, thinking(), cuts=range(first, len(data), size)) == expected


@pytest.mark.parametrize("chunks", CUTS.values(), ids=CUTS)
def test_a_cut_stream_fails_the_same_at_every_cut(chunks: list[Event | str]) -> None:
    data = wire(*chunks, done=False)
    expected = relayed(data, thinking())
    assert [cut for cut in range(1, len(data), 7) if relayed(data, thinking(), cuts=[cut]) != expected] == []


@each_dialect
def test_every_dialect_and_a_whole_answer_give_the_same_items(data: bytes) -> None:
    expected = whole(ANSWER)["output"]
    assert finished(unspaced(relayed(data, thinking()))) == expected
    assert kinds(expected) == ["reasoning", "message", "custom_tool_call", "function_call"]


@each_dialect
def test_a_stream_for_a_client_that_wants_json_is_made_whole(data: bytes) -> None:
    assert whole(data, thinking(stream=False), mode=STREAM_TYPE)["output"] == whole(ANSWER)["output"]


def test_an_event_stream_of_an_unknown_type_is_seen() -> None:
    assert whole(DIALECTS["plain"], thinking(stream=False))["output"] == whole(ANSWER)["output"]


def test_json_for_a_client_that_wants_a_stream_is_streamed() -> None:
    answer = chat(mode=JSON_TYPE).whole(json.dumps(ANSWER).encode(), JSON_TYPE)
    assert answer.content_type.startswith("text/event-stream")
    assert finished(unspaced(answer.body)) == whole(ANSWER)["output"]


def test_comments_pass() -> None:
    assert b": ping\n\n" in relayed(DIALECTS["comments"], thinking())


@pytest.mark.parametrize(
    ("finish", "status"), [("stop", "completed"), (None, "completed"), ("length", "incomplete")], ids=str
)
def test_a_whole_answer_has_its_end(finish: str | None, status: str) -> None:
    body = whole(message(finish, content="a"))
    assert (body["status"], body["usage"], text_of(body["output"])) == (status, COMPLETE, ["a"])


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b"", b'{"choices": []}'])
def test_a_body_that_is_no_answer_fails(body: bytes) -> None:
    assert whole(body)["status"] == "failed"


def test_a_whole_call_that_breaks_off_is_not_made() -> None:
    body = whole(message("tool_calls", tool_calls=[entry('{"input": "a', id="call_1", name="exec")]))
    assert (body["output"], body["status"] != "completed") == ([], True)


def compacting() -> Exchange:
    """An exchange that came to `/responses/compact`."""
    opened = Exchange.open(json.dumps(SMALL).encode(), Settings.model_validate({"backend": "chat"}), compact=True)
    opened.begin(200, JSON_TYPE)
    return opened


def test_a_compaction_answers_with_the_summary_alone() -> None:
    body = json.loads(compacting().whole(json.dumps(message(reasoning="r", content="Sum.")).encode(), JSON_TYPE).body)
    (item,) = body["output"]
    assert (item["type"], "Sum." in (unseal(item["encrypted_content"]) or "")) == ("compaction", True)


def test_a_compaction_that_fails_is_an_error_with_its_reason() -> None:
    with pytest.raises(BackendError, match="boom"):
        compacting().whole(b'{"error": {"message": "boom"}}', JSON_TYPE)


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/compact"])
def test_the_request_goes_to_the_sibling_path(path: str) -> None:
    assert chat().path(path) == "/v1/chat/completions"


def test_an_error_answer_is_in_the_shape_that_the_client_knows() -> None:
    opened = chat()
    opened.begin(429, JSON_TYPE, retry_after="3")
    answer = opened.passed(b'{"detail": "slow down"}', JSON_TYPE)
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["code"]) == (429, "rate_limit_exceeded")
    assert "try again in 3s" in error["message"]


def test_a_fault_of_the_bridge_fails_the_stream_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = chat()
    left = opened.feed(wire(chunk(content="a"), done=False))
    with monkeypatch.context() as patched:
        patched.setattr(ChatStream, "feed", lambda *_: 1 / 0)
        left += opened.feed(wire(chunk(content="b"), done=False))
    left += opened.feed(wire(STOP)) + opened.close()
    assert end_of(unspaced(b"".join(left)))["response"]["error"]["code"] == "server_error"


# Keepalive and fail


def test_a_keepalive_before_the_first_chunk_says_that_the_response_is_on_its_way() -> None:
    opened = chat()
    left = opened.tick() + opened.tick() + opened.feed(wire(chunk(content="a"), STOP)) + opened.close()
    events = unspaced(b"".join(left))
    assert [event["type"] for event in events[:3]] == ["response.created", *["response.in_progress"] * 2]
    assert len(of(events, "created")) == 1


def test_a_keepalive_amid_an_item_disturbs_nothing() -> None:
    opened = chat()
    data = wire(chunk(content="a"), called(CALL), STOP)
    left = [
        piece for start in range(0, len(data), 40) for piece in opened.feed(data[start : start + 40]) + opened.tick()
    ]
    events = unspaced(b"".join(left + opened.close()))
    assert finished(events) == items(chunk(content="a"), called(CALL), STOP)


def test_no_keepalive_follows_the_end() -> None:
    opened = chat()
    opened.feed(wire(chunk(content="a"), STOP))
    assert opened.tick() == []


@pytest.mark.parametrize("chunks", CUTS.values(), ids=CUTS)
def test_a_lost_backend_fails_the_stream_once(chunks: list[Event | str]) -> None:
    opened = chat()
    left = opened.feed(wire(*chunks, done=False)) + opened.fail("gone") + opened.fail("gone") + opened.close()
    response = end_of(unspaced(b"".join(left)))["response"]
    assert (response["status"], response["error"]["code"]) == ("failed", "server_error")
    assert "gone" in response["error"]["message"]


def test_a_lost_backend_after_the_end_changes_nothing() -> None:
    opened = chat()
    opened.feed(wire(chunk(content="a"), STOP))
    assert opened.fail("gone") == opened.close() == []


# Any answer at all

TEXTS = st.text(st.characters(exclude_categories=()), min_size=1, max_size=12)
PARTS = st.lists(
    st.one_of(
        st.tuples(st.just("content"), TEXTS),
        st.tuples(st.just("reasoning_content"), TEXTS),
        st.tuples(st.just("exec"), TEXTS),
        st.tuples(st.just("wait"), TEXTS),
    ),
    min_size=1,
    max_size=5,
)


def chunks_of(parts: list[tuple[str, str]], size: int) -> list[Event]:
    """Chunks that stream parts in pieces."""
    made = []
    for number, (kind, text) in enumerate(parts):
        if kind in ("content", "reasoning_content"):
            made += [chunk(**{kind: piece}) for piece in chop(text, size)]
            continue
        made.append(called(entry("", index=number, id=f"call_{number}", name=kind)))
        made += [called(entry(piece, index=number)) for piece in chop(json.dumps({"input": text}), size)]
    return made


@settings(max_examples=40, deadline=None)
@given(parts=PARTS, size=st.integers(1, 9), cuts=st.lists(st.integers(0, 5000), max_size=4))
def test_any_answer_arrives_whole_in_order_and_at_every_cut(
    parts: list[tuple[str, str]], size: int, cuts: list[int]
) -> None:
    data = wire(*chunks_of(parts, size), STOP, LAST)
    left = relayed(data, chat(), cuts=[cut % len(data) for cut in cuts])
    assert left == relayed(data, chat())
    found = finished(unspaced(left))
    said = [(kind, text) for kind, text in parts if kind in ("exec", "wait")]
    given_back = [(name, text if name == "exec" else json.loads(text)["input"]) for _, name, text in calls_of(found)]
    assert given_back == said
    for side, kind in (("reasoning", "reasoning_content"), ("message", "content")):
        assert "".join(text_of(found, side)) == "".join(text for name, text in parts if name == kind)


@settings(max_examples=40, deadline=None)
@given(
    reasoning=st.none() | TEXTS,
    content=st.none() | TEXTS,
    payloads=st.lists(TEXTS, max_size=3),
    finish=st.sampled_from(["stop", "tool_calls", "length", "content_filter", None]),
    size=st.integers(1, 9),
)
def test_streamed_and_whole_answers_of_one_backend_give_the_same_response(
    reasoning: str | None, content: str | None, payloads: list[str], finish: str | None, size: int
) -> None:
    said = {"reasoning": reasoning, "content": content}
    calls = [entry(json.dumps({"input": text}), id=f"call_{at}", name="exec") for at, text in enumerate(payloads)]
    body = whole(message(finish, **said, tool_calls=calls))
    made = [chunk(**{kind: piece}) for kind, text in said.items() for piece in chop(text or "", size)]
    for number, payload in enumerate(payloads):
        made.append(called(entry("", index=number, id=f"call_{number}", name="exec")))
        made += [called(entry(piece, index=number)) for piece in chop(json.dumps({"input": payload}), size)]
    response = end(*made, chunk(finish), LAST)
    for field in ("status", "output", "usage", "incomplete_details", "error", "model"):
        assert body.get(field) == response.get(field), field
