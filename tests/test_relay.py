"""Bytes to bytes: every cut gives the same, untouched frames stay, what is missing is completed, numbers are dense."""

from __future__ import annotations

import gc
import json
import re
import time
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ByteSize

from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.support.sse_tools import (
    CARRIER,
    DIALECTS,
    STREAM_TYPE,
    TOOLS,
    USER,
    Event,
    added,
    assert_adds_up,
    assert_dense,
    assert_valid,
    call,
    call_events,
    done,
    end_of,
    ended,
    exchange,
    finished,
    frames,
    lifted,
    llama_call,
    llama_text,
    numbered,
    of,
    parse,
    reasoning_events,
    relayed,
    request,
    rules,
    stream,
    text_events,
    wrapped,
)

PLAIN_REQUEST = {"model": "small", "stream": True, "input": [USER]}
SCENARIOS: dict[str, list[Event]] = {
    "text": stream(text_events(["Hé", "l😀", ""])),
    "reasoning": stream(reasoning_events(["Hm", "…"]), text_events(["ok"], 1)),
    "calls": stream(
        call_events(call("exec", wrapped('a\r\n😀"\x00'), 0)),
        call_events(call("team__spawn", '{"a": 1}', 1), None, 1),
        call_events(call("tool_search", '{"query": "q"}', 2), None, 2),
        text_events(["bye"], 3),
    ),
    "malformed": stream(call_events(call("exec", '{"cmd": "ls"}')), call_events(call("nobody", "{}", 1), None, 1)),
    "cut": stream(text_events(["hi"]), call_events(call("exec", '{"input": "a', 1), None, 1)),
    "announced": [*stream()[:2], call_events(call("exec", ""))[0], ended([])],
    "without-end": stream(text_events(["hi"]))[:-1],
    "done": stream(text_events(["hi"]), end="response.done"),
    "incomplete": stream(text_events(["hi"]), status="incomplete"),
}
STREAMS = {f"{name}-{dialect}": DIALECTS[dialect](SCENARIOS[name]) for name in SCENARIOS for dialect in DIALECTS}
each_stream = pytest.mark.parametrize("data", STREAMS.values(), ids=STREAMS)

LLAMA = {
    "call": llama_call("{", '"', "input", '":', ' "', "hello", ' \\"', "w", '\\"', "\\n", '"', "}"),
    "cut-call": llama_call("{", '"', "input", '":'),
    "text": llama_text("Hello", "!", " I", "'m"),
}


def plain() -> Exchange:
    """An exchange whose request gives no rule anything to do on the way back."""
    return exchange(PLAIN_REQUEST)


def untouched(*parts: list[Event]) -> list[Event]:
    """A stream in which no rule finds anything to do."""
    events = stream(*parts)
    for event in events:
        if "response" in event:
            event["response"] = {key: value for key, value in event["response"].items() if key != "tools"}
    return events


# Cuts


@each_stream
def test_a_stream_gives_the_same_byte_by_byte(data: bytes) -> None:
    assert relayed(data, cuts=range(1, len(data))) == relayed(data)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_stream_gives_the_same_at_every_cut(end: str) -> None:
    item = {"type": "function_call", "id": "f", "call_id": "c", "name": "exec", "arguments": wrapped("é😀")}
    events = [
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r"}},
    ]
    data = frames(events, end=end, ascii_only=False)
    body = {**PLAIN_REQUEST, "input": [CARRIER]}
    right = relayed(data, exchange(body))
    assert_adds_up(parse(right), "é😀")
    for cut in range(1, len(data)):
        assert relayed(data, exchange(body), cuts=[cut]) == right, cut


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.lists(st.integers(0, 10_000), max_size=6))
def test_a_stream_gives_the_same_in_any_pieces(name: str, cuts: list[int]) -> None:
    data = STREAMS[name]
    assert relayed(data, cuts=[cut % len(data) for cut in cuts]) == relayed(data)


# Once and again


@each_stream
def test_lifting_twice_is_lifting_once(data: bytes) -> None:
    once = relayed(data)
    assert relayed(once) == once


@each_stream
def test_the_same_stream_gives_the_same_anywhere(data: bytes) -> None:
    assert relayed(data, exchange(seed="one")) == relayed(data, exchange(seed="one"))


# Every dialect means the same

MEANING = [dialect for dialect in DIALECTS if dialect != "complete"]


@pytest.mark.parametrize("dialect", MEANING)
@pytest.mark.parametrize("events", SCENARIOS.values(), ids=SCENARIOS)
def test_every_dialect_gives_the_same_items_and_the_same_end(events: list[Event], dialect: str) -> None:
    right, left = (parse(relayed(DIALECTS[each](events))) for each in ("complete", dialect))
    assert finished(left) == finished(right)
    assert end_of(left)["type"] == end_of(right)["type"]
    payloads = [
        ["".join(event["delta"] for event in of(each, "custom_tool_call_input.delta"))] for each in (left, right)
    ]
    assert payloads[0] == payloads[1]


@each_stream
def test_custom_calls_add_up_in_every_dialect(data: bytes) -> None:
    left = parse(relayed(data))
    calls = {item["id"]: item["input"] for item in finished(left) if item["type"] == "custom_tool_call"}
    said = dict.fromkeys(calls, "")
    for event in of(left, "custom_tool_call_input.delta"):
        if event["item_id"] in said:
            said[event["item_id"]] += event["delta"]
    assert said == calls
    assert {event["item_id"]: event["input"] for event in of(left, "custom_tool_call_input.done")} == calls


# What is missing

COMPLETED = ("complete", "unnamed", "crlf", "multiline", "no-number", "no-done", "thin")


@pytest.mark.parametrize("dialect", COMPLETED)
@pytest.mark.parametrize("events", SCENARIOS.values(), ids=SCENARIOS)
def test_what_leaves_is_valid_and_densely_numbered(events: list[Event], dialect: str) -> None:
    left = parse(relayed(DIALECTS[dialect](events)))
    assert_valid(left)
    assert_dense(left)


@pytest.mark.parametrize("data", LLAMA.values(), ids=LLAMA)
def test_what_llama_cpp_streams_leaves_valid_and_densely_numbered(data: bytes) -> None:
    left = parse(relayed(data))
    assert_valid(left)
    assert_dense(left)


def test_a_call_of_llama_cpp_is_lifted() -> None:
    left = parse(relayed(LLAMA["call"]))
    assert_adds_up(left, 'hello "w"\n')
    assert finished(left) == [
        {
            "type": "custom_tool_call",
            "id": "ctc_0z8",
            "call_id": "call_0z8",
            "name": "exec",
            "status": "completed",
            "input": 'hello "w"\n',
        }
    ]


def test_a_thin_response_says_what_the_client_asked() -> None:
    body = request(parallel_tool_calls=False, tool_choice="required")
    left = parse(relayed(LLAMA["text"], exchange(body)))
    for event in (left[0], left[1], left[-1]):
        echoed = {key: event["response"][key] for key in ("tool_choice", "parallel_tool_calls", "model")}
        assert echoed == {key: body[key] for key in echoed}


def test_a_thin_stream_is_noted_once() -> None:
    opened = exchange()
    relayed(LLAMA["text"], opened)
    assert [(entry.what, entry.count) for entry in opened.ledger if entry.rule == "completed"] == [("thin stream", 1)]


def test_fields_that_a_thin_stream_adds_stay() -> None:
    assert end_of(parse(relayed(LLAMA["text"])))["timings"] == {"cache_n": 0, "prompt_ms": 595.013}


def test_places_are_told_from_the_items_where_no_event_has_one() -> None:
    left = parse(relayed(DIALECTS["thin"](SCENARIOS["calls"])))
    right = parse(relayed(DIALECTS["complete"](SCENARIOS["calls"])))
    places = [[(e["type"], e.get("output_index"), e.get("item_id")) for e in each] for each in (left, right)]
    assert [place for place in places[1] if place[0] != "response.function_call_arguments.done"] == places[0]


def test_deltas_of_an_item_that_was_never_announced_stay_in_place() -> None:
    delta = {"type": "response.output_text.delta", "delta": "hi"}
    left = lifted([delta, ended([])])
    assert (left[0]["output_index"], left[0]["item_id"], left[0]["delta"]) == (0, "", "hi")


def test_items_that_have_only_an_end_follow_each_other() -> None:
    items = [{"type": "message", "id": f"m{n}", "role": "assistant", "content": []} for n in (1, 2)]
    ends = [{"type": "response.output_item.done", "item": item} for item in items]
    assert [event["output_index"] for event in lifted([*ends, ended([])])[:-1]] == [0, 1]


@pytest.mark.parametrize("identity", [{}, {"id": "m"}], ids=["minted", "given"])
def test_an_end_without_an_id_is_that_of_the_last_item(identity: Event) -> None:
    item = {"type": "message", "role": "assistant", "content": []}
    events = [
        {"type": "response.output_item.added", "item": {**item, **identity}},
        {**done(item), "output_index": None},
    ]
    first, last = lifted([*events, ended([])])[:-1]
    assert first["output_index"] == last["output_index"] == 0
    assert first["item"]["id"] == last["item"]["id"]


UNUSABLE: dict[str, tuple[Event, Event]] = {
    "message-with-text-for-content": (
        {"type": "message", "id": "m", "content": "hi"},
        {"content": [{"type": "output_text", "text": "hi", "annotations": []}], "role": "assistant"},
    ),
    "reasoning-without-summary": ({"type": "reasoning", "id": "r"}, {"summary": []}),
    "arguments-as-an-object": (call("wait", {"a": 1}), {"arguments": '{"a":1}'}),
}


@pytest.mark.parametrize("dialect", ["complete", "unnamed"])
@pytest.mark.parametrize(("item", "right"), UNUSABLE.values(), ids=UNUSABLE)
def test_an_item_that_codex_could_not_use_is_completed_in_a_numbered_stream_too(
    item: Event, right: Event, dialect: str
) -> None:
    opened = exchange()
    left = parse(relayed(DIALECTS[dialect]([done(item), {"type": "response.completed", "response": {}}]), opened))
    assert {key: left[0]["item"][key] for key in right} == right
    assert left[1]["response"]["id"].startswith("resp_")
    assert_valid(left)
    noted = [entry.what for entry in opened.ledger if entry.rule == "completed"]
    assert noted == ["response.output_item.done", "response.completed"]


def test_a_type_that_stands_in_the_event_line_only_goes_into_the_data() -> None:
    text = json.dumps({"response": {"id": "r", "status": "completed", "output": []}, "sequence_number": 0})
    left = parse(relayed(f"event: response.completed\ndata: {text}\n\n".encode()))
    assert end_of(left)["type"] == "response.completed"


# Untouched bytes


@pytest.mark.parametrize("dialect", ["complete", "unnamed", "crlf", "multiline"])
def test_frames_that_no_rule_touches_leave_as_the_bytes_that_came(dialect: str) -> None:
    data = DIALECTS[dialect](untouched(text_events(["Hé", "😀"]), reasoning_events(["hm"], 1)))
    assert relayed(data, plain()) == data


LIMITS = b'event: codex.rate_limits\ndata: {"type" : "codex.rate_limits", "sequence_number": 0, "x":1.50}\n\n'
ODD_FRAMES = {
    "comment": b": keepalive\n\n",
    "retry": b"retry: 10\n\n",
    "done-marker": b"data: [DONE]\n\n",
    "unknown-event": LIMITS,
    "list": b"data: [1,\ndata: 2]\n\n",
    "no-utf8": b"data: \xff\xfe\n\n",
    "no-json": b"data: {nope\n\n",
    "empty-frames": b"\n\n\n\n",
    "carriage-returns": b"data: x\r\rdata: y\r\r: z\n\n",
}


@pytest.mark.parametrize("odd", [odd for name, odd in ODD_FRAMES.items() if name != "done-marker"], ids=ascii)
def test_frames_that_are_no_events_of_a_response_leave_as_the_bytes_that_came(odd: bytes) -> None:
    assert relayed(odd + frames(numbered(untouched())), plain()).startswith(odd)


def test_an_end_that_is_missing_goes_before_the_end_mark() -> None:
    left = relayed(frames(numbered(untouched()[:-1])) + b"data: [DONE]\n\n", plain())
    assert left.endswith(b"data: [DONE]\n\n")
    assert parse(left)[-1]["type"] == "response.failed"


def test_half_a_frame_at_the_end_is_no_event() -> None:
    left = relayed(frames(numbered(untouched()[:-1])) + b'data: {"type": "response.out', plain())
    assert parse(left)[-1]["type"] == "response.failed"


BETWEEN = [odd for name, odd in ODD_FRAMES.items() if name not in ("unknown-event", "done-marker")]


@pytest.mark.parametrize("odd", BETWEEN, ids=ascii)
def test_frames_between_and_behind_the_events_leave_as_the_bytes_that_came(odd: bytes) -> None:
    first, *rest = (frames([event]) for event in numbered(untouched()))
    data = first + odd + b"".join(rest) + odd
    assert relayed(data, plain()) == data


def test_frames_before_the_first_touched_one_leave_as_the_bytes_that_came() -> None:
    before, item = untouched(text_events(["a"]))[:-1], call("exec", wrapped("x"), 1)
    events = numbered([*before, *call_events(item, None, 1), ended([])])
    left = relayed(frames(events), exchange({**PLAIN_REQUEST, "input": [CARRIER]}))
    assert left.startswith(frames(events[: len(before)]))
    assert_adds_up(parse(left), "x", 1)


def test_frames_after_added_ones_change_their_number_only() -> None:
    late = text_events(["later"], 1)
    data = frames(numbered([done(call("exec", wrapped("x"))), *late, ended([])]), end="\r\n")
    left = parse(relayed(data))
    assert [{**event, "sequence_number": 0} for event in left[4:-1]] == [
        {**event, "sequence_number": 0} for event in late
    ]
    assert_dense(left)


def test_a_completed_frame_keeps_its_other_lines() -> None:
    text = json.dumps({"type": "response.completed", "response": {}})
    left = relayed(f": note\nid: 7\nevent: response.completed\ndata: {text}\n\n".encode())
    assert left.startswith(b": note\nid: 7\nevent: response.completed\ndata: {")
    assert_valid(parse(left))


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_last_frame_without_its_blank_line_is_delivered(end: bytes) -> None:
    data = frames(numbered(stream(text_events(["hi"]))))
    assert parse(relayed(data.removesuffix(b"\n\n") + end)) == parse(relayed(data))


# Numbers


def test_numbers_go_on_from_where_the_backend_begins() -> None:
    events = [{**event, "sequence_number": number + 5} for number, event in enumerate(SCENARIOS["calls"])]
    left = parse(relayed(frames(events)))
    assert [event["sequence_number"] for event in left] == list(range(5, 5 + len(left)))


def test_numbers_go_on_from_a_keepalive_wherever_the_backend_begins() -> None:
    events = [{**event, "sequence_number": number + 5} for number, event in enumerate(SCENARIOS["calls"])]
    opened = exchange()
    assert_dense(parse(b"".join([*opened.tick(), *opened.feed(frames(events))])))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("events", SCENARIOS.values(), ids=SCENARIOS)
def test_numbers_stay_dense_where_keepalives_come_between(events: list[Event], dialect: str) -> None:
    data, opened = DIALECTS[dialect](events), exchange()
    marks = [0, *(found.start() for found in re.finditer(b"data:", data)), len(data)]
    left = [each for start, end in pairwise(marks) for each in (*opened.feed(data[start:end]), *opened.tick())]
    assert_dense(parse(b"".join([*left, *opened.close()])))


def test_a_field_of_another_stream_is_not_numbered() -> None:
    other = {"type": "codex.rate_limits", "left": 1}
    assert parse(relayed(frames([stream()[0], other, ended([])])))[1] == other


# Keepalives


def test_a_keepalive_of_the_backend_is_numbered_as_all_events_are() -> None:
    left = parse(relayed(frames([stream()[0], {"type": "keepalive"}, ended([])])))
    assert [event["type"] for event in left][1] == "keepalive"
    assert_dense(left)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("events", SCENARIOS.values(), ids=SCENARIOS)
def test_a_keepalive_before_the_first_event_opens_the_stream(events: list[Event], dialect: str) -> None:
    opened = exchange()
    early = parse(b"".join([*opened.tick(), *opened.tick()]))
    left = early + parse(b"".join([*opened.feed(DIALECTS[dialect](events)), *opened.close()]))
    assert [event["type"] for event in early] == ["response.created", *["response.in_progress"] * 2]
    assert [event["type"] for event in left].count("response.created") == 1
    assert len({event["response"]["id"] for event in left if "response" in event}) == 1
    assert_dense(left)
    assert_valid(left)


def test_a_stream_that_a_keepalive_opened_keeps_its_id_when_it_fails() -> None:
    opened = exchange()
    left = parse(b"".join([*opened.tick(), *opened.fail("gone")]))
    assert [event["type"] for event in left] == ["response.created", "response.in_progress", "response.failed"]
    assert len({event["response"]["id"] for event in left}) == 1
    assert "converted" not in opened.ledger.rules()


def test_a_response_without_an_id_gets_the_one_that_a_keepalive_gave() -> None:
    opened = exchange()
    as_asked = {"model": request()["model"], "tools": []}
    nameless = [{**event, "response": {**event["response"], **as_asked, "id": None}} for event in stream()]
    left = parse(b"".join([*opened.tick(), *opened.feed(frames(numbered(nameless)))]))
    assert len({event["response"]["id"] for event in left}) == 1
    assert_valid(left)


def test_another_id_of_the_backend_is_noted() -> None:
    opened = exchange()
    opened.tick()
    opened.feed(frames(numbered(stream())))
    assert "converted" in opened.ledger.rules()


def test_a_keepalive_behind_items_opens_nothing() -> None:
    opened = exchange()
    events = numbered([*text_events(["hi"]), ended([])])
    left = parse(b"".join([*opened.feed(frames(events[:1])), *opened.tick(), *opened.feed(frames(events[1:]))]))
    assert [event["type"] for event in left][:2] == ["response.output_item.added", "response.in_progress"]
    assert "response.created" not in [event["type"] for event in left]
    assert len({event["response"]["id"] for event in left if "response" in event}) == 1
    assert_dense(left)


def test_a_keepalive_repeats_that_the_response_is_in_progress() -> None:
    opened = exchange()
    first = parse(b"".join(opened.feed(frames(numbered(stream()[:1])))))
    left = parse(b"".join(opened.tick()))
    assert [event["type"] for event in left] == ["response.in_progress"]
    assert left[0]["response"]["id"] == first[0]["response"]["id"]
    assert_valid(left)


def test_a_keepalive_speaks_as_the_backend_does() -> None:
    opened = exchange()
    opened.feed(frames(numbered(stream()[:1]), named=False))
    assert b"event:" not in b"".join(opened.tick())


def test_no_keepalive_follows_the_end() -> None:
    opened = exchange()
    opened.feed(frames(numbered(stream())))
    assert opened.tick() == []


# A backend that is gone


@pytest.mark.parametrize("count", [0, 1, 4, 12])
def test_a_broken_connection_ends_the_stream_as_failed(count: int) -> None:
    opened = exchange()
    events = stream(text_events(["hi"]), call_events(call("exec", wrapped("x"), 1), None, 1))
    left = parse(b"".join([*opened.feed(frames(numbered(events[:count]))), *opened.fail("reset by peer")]))
    end = end_of(left)
    assert (end["type"], end["response"]["error"]["code"]) == ("response.failed", "server_error")
    assert "reset by peer" in end["response"]["error"]["message"]
    assert_dense(left)
    assert_valid(left)


def test_a_broken_connection_fails_once() -> None:
    opened = exchange()
    assert len(opened.fail("gone")) == 1
    assert opened.fail("gone") == opened.close() == opened.tick() == []


def test_a_broken_connection_behind_the_end_is_no_failure() -> None:
    opened = exchange()
    opened.feed(frames(numbered(stream())))
    assert opened.fail("gone") == opened.close() == []
    assert not opened.ledger.warnings()


def test_a_broken_connection_keeps_the_error_that_the_backend_named() -> None:
    opened = exchange()
    opened.feed(frames([{"type": "error", "error": {"code": "insufficient_quota", "message": "no more"}}]))
    error = end_of(parse(b"".join(opened.fail("gone"))))["response"]["error"]
    assert error == {"code": "insufficient_quota", "message": "no more"}


# Size


def deltas(count: int, size: int) -> bytes:
    """Text deltas on the wire."""
    where = {"item_id": "m", "output_index": 0, "content_index": 0, "logprobs": []}
    kind = "response.output_text.delta"
    return frames({"type": kind, **where, "delta": "x" * size, "sequence_number": number} for number in range(count))


def test_memory_stays_flat_however_long_the_text() -> None:
    opened = Exchange.open(json.dumps(request()).encode(), Settings(keep_bodies=ByteSize(0)))
    opened.begin(200, STREAM_TYPE)
    piece = deltas(16, 32_000)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):
            assert len(opened.feed(piece)) == 16
        assert tracemalloc.get_traced_memory()[0] < len(piece)
        assert tracemalloc.get_traced_memory()[1] < 6 * len(piece)
    finally:
        tracemalloc.stop()


def _seconds(data: bytes) -> float:
    best = 1e9
    for _ in range(3):
        opened, start = exchange(), time.process_time()
        relayed(data, opened, cuts=range(1000, len(data), 1000))
        best = min(best, time.process_time() - start)
    return best


LONG: dict[str, Callable[[int], bytes]] = {
    "text": lambda n: deltas(n, 10),
    "payload": lambda n: frames(numbered(stream(call_events(call("exec", wrapped("x" * n)), chop_small(n))))),
    "one-frame": lambda n: frames(numbered(stream(call_events(call("exec", wrapped("x" * 200 * n)), ["{}"])))),
}


def chop_small(n: int) -> list[str]:
    """A wrapped payload of n characters, one a piece."""
    return ['{"input": "', *("x" for _ in range(n)), '"}']


@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
def test_time_grows_with_the_length_and_no_faster(make: Callable[[int], bytes]) -> None:
    short, long = _seconds(make(1000)), _seconds(make(4000))
    assert long < 10 * short + 0.05


def test_rules_of_a_stream_that_needs_none_are_none() -> None:
    opened = plain()
    relayed(frames(numbered(untouched(text_events(["hi"])))), opened)
    assert rules(opened) == []


def test_a_function_call_under_its_own_name_leaves_as_the_bytes_that_came() -> None:
    opened = exchange({**PLAIN_REQUEST, "tools": [TOOLS[1]]})
    data = frames(numbered(untouched(call_events(call("wait", '{"a": 1}')))))
    assert relayed(data, opened) == data


def test_an_announcement_stays_beside_a_call_that_is_finished() -> None:
    first = added({**call("wait", ""), "status": "in_progress"})
    assert lifted([first, done(call("wait", "{}")), ended([])])[0] == first
