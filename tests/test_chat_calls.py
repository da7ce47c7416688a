"""One rule for call fragments: each shape seen in the wild, and beside it a look-alike that must stay as it is."""

from __future__ import annotations

import json
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.chat.arguments import Arguments
from bridge.chat.calls import Assembly
from tests.support.chat_wire import called, calls_of, chat, chunk, entry, message, streamed, whole, wire
from tests.support.sse_tools import Event, end_of, finished, function, request, warnings

DECLARED = ["exec_command", "exec_commands", "wait", "team__spawn"]
ARGS = '{"cmd": "date"}'
OTHER = '{"cmd": "ls"}'
RUN = ("call_1", "exec_command", ARGS)


def first(arguments: Any = "", **fields: Any) -> Event:
    """The entry that opens a call, at index 0 if no other is given."""
    return entry(arguments, **{"index": 0, "id": "call_1", "name": "exec_command", **fields})


def then(arguments: Any, **fields: Any) -> Event:
    """An entry that goes on with the call at index 0."""
    return entry(arguments, index=0, **fields)


def second(arguments: Any = OTHER, **fields: Any) -> Event:
    """The entry of a whole second call, at index 1 if no other is given."""
    return first(arguments, **{"index": 1, "id": "call_2", **fields})


def bare(made: Event) -> Event:
    """An entry without its index."""
    return {key: value for key, value in made.items() if key != "index"}


LS = ("call_2", "exec_command", OTHER)
NESTED = '{"a":{"a":1}}'

SHAPES: dict[str, tuple[list[Event], list[tuple[str, str, str]]]] = {
    # Ids
    "id-first-only": ([first(), then('{"cmd": '), then('"date"}')], [RUN]),
    "id-empty-later": ([first(), then('{"cmd": ', id=""), then('"date"}', id=None)], [RUN]),
    "id-repeated": ([first('{"cmd": '), then('"date"}', id="call_1")], [RUN]),
    "id-repeated-no-index": ([bare(first('{"cmd": ')), entry('"date"}', id="call_1")], [RUN]),
    "id-different-later": ([first(), then('{"cmd": ', id="x1"), then('"date"}', id="x2")], [RUN]),
    "id-different-with-name": ([first('{"cmd": '), first('"date"}', id="x2")], [RUN]),
    "id-late": ([first(id=""), then("", id="call_1"), then(ARGS)], [RUN]),
    "id-late-with-arguments": ([first(id=""), then('{"cmd": ', id="call_1"), then('"date"}')], [RUN]),
    "id-late-no-index": ([bare(first(id="")), entry('{"cmd": ', id="call_1"), entry('"date"}')], [RUN]),
    "id-split": ([first(id="call"), then(None, id="_1"), then(ARGS)], [RUN]),
    "id-two-that-share-a-beginning": ([first(ARGS), second(id="call_12")], [RUN, ("call_12", *LS[1:])]),
    "id-before-name": ([entry(index=0, id="call_1"), then("", name="exec_command"), then(ARGS)], [RUN]),
    "id-before-name-of-second": ([first(ARGS), entry(index=1, id="call_2"), second(id=None)], [RUN, LS]),
    # Index
    "no-index": ([bare(first()), entry('{"cmd": '), entry('"date"}')], [RUN]),
    "no-index-two-ids": ([bare(first(ARGS)), bare(second())], [RUN, LS]),
    "no-index-two-ids-in-turns": (
        [bare(first()), bare(second("")), entry(ARGS, id="call_1"), entry(OTHER, id="call_2")],
        [RUN, LS],
    ),
    "one-index-two-ids": ([first(ARGS), second(index=0)], [RUN, LS]),
    "one-index-two-ids-in-pieces": (
        [first('{"cmd": '), then('"date"}'), second("", index=0), then(OTHER)],
        [RUN, LS],
    ),
    "one-index-two-names": (
        [first(), second("", index=0, name="wait"), then("{}")],
        [("call_1", "exec_command", "{}"), ("call_2", "wait", "{}")],
    ),
    "one-index-two-names-first-begun": (
        [first('{"cmd": "date"'), second("{}", index=0, name="wait")],
        [("call_2", "wait", "{}")],
    ),
    "one-index-same-arguments-other-id": ([first(ARGS), second(ARGS, index=0)], [RUN, ("call_2", *RUN[1:])]),
    "index-two-calls": ([first(ARGS), second()], [RUN, LS]),
    "index-same-call-twice": ([first(ARGS), second(ARGS)], [RUN, ("call_2", *RUN[1:])]),
    "index-and-id-shared": ([first(ARGS), second(id="call_1")], [RUN, ("call_1_2", *LS[1:])]),
    # Names
    "name-in-every-chunk": ([first(), first('{"cmd": '), first('"date"}')], [RUN]),
    "name-empty-later": ([first(), then('{"cmd": ', name=""), then('"date"}', name=None)], [RUN]),
    "name-split": ([first(name="exec"), then("", name="_com"), then("", name="mand"), then(ARGS)], [RUN]),
    "name-split-undeclared": ([first(name="un"), then(ARGS, name="known")], [("call_1", "unknown", ARGS)]),
    "name-corrected": ([first(name="wait"), then(ARGS, name="exec_command")], [RUN]),
    "name-late": ([entry("", index=0, id="call_1"), then('{"cmd": '), then('"date"}', name="exec_command")], [RUN]),
    "name-that-begins-another": (
        [first(ARGS), second(name="exec_commands")],
        [RUN, ("call_2", "exec_commands", OTHER)],
    ),
    "name-repeated-at-end": ([first(ARGS), first("")], [RUN]),
    # Arguments
    "object": ([first({"cmd": "date"})], [("call_1", "exec_command", '{"cmd":"date"}')]),
    "object-later": ([first(), then({"cmd": "date"})], [("call_1", "exec_command", '{"cmd":"date"}')]),
    "object-resent": ([first({"cmd": "date"}), then({"cmd": "date"})], [("call_1", "exec_command", '{"cmd":"date"}')]),
    "object-as-text": ([first('"{\\"cmd\\": 1}"')], [("call_1", "exec_command", '"{\\"cmd\\": 1}"')]),
    "cumulative": ([first(), then('{"cmd'), then('{"cmd": "da'), then(ARGS), then(ARGS)], [RUN]),
    "cumulative-with-name": ([first('{"cmd'), first('{"cmd": "da'), first(ARGS)], [RUN]),
    "cumulative-undecided-to-the-end": (
        [first('{"a":'), then('{"a":1}')],
        [("call_1", "exec_command", '{"a":1}')],
    ),
    "cumulative-lookalike-nested": (
        [first('{"a":'), then('{"a":1}'), then("}")],
        [("call_1", "exec_command", NESTED)],
    ),
    "cumulative-lookalike-in-string": (
        [first('{"cmd": "{'), then("{"), then('{ {\\"cmd\\": \\"{'), then('"}')],
        [("call_1", "exec_command", '{"cmd": "{{{ {\\"cmd\\": \\"{"}')],
    ),
    "cumulative-lookalike-blanks": (
        [first("{"), then(" "), then(" "), then('"cmd": "  '), then("  "), then('"}')],
        [("call_1", "exec_command", '{  "cmd": "    "}')],
    ),
    "flushed-again": ([first('{"cmd": '), then('"date"}'), then(ARGS)], [RUN]),
    "flushed-again-with-name": ([first('{"cmd": '), then('"date"}'), first(ARGS)], [RUN]),
    "flushed-lookalike-in-string": (
        [first('{"cmd": "{}'), then("{}"), then('{}"}')],
        [("call_1", "exec_command", '{"cmd": "{}{}{}"}')],
    ),
    "no-json-repeats": ([first("ab"), then("abc")], [("call_1", "exec_command", "ababc")]),
    "interleaved": (
        [first('{"cmd": '), second('{"cmd": '), then('"date"}'), entry('"ls"}', index=1)],
        [RUN, LS],
    ),
    "interleaved-three": (
        [
            first('{"cmd": '),
            second('{"cmd": '),
            second('{"cmd": ', index=2, id="call_3"),
            entry('"ls"}', index=2),
            entry('"ls"}', index=1),
            then('"date"}'),
        ],
        [RUN, LS, ("call_3", *LS[1:])],
    ),
    "second-before-first": ([second(), first(ARGS)], [LS, RUN]),
    # Calls
    "announced-only": ([first("")], [("call_1", "exec_command", "{}")]),
    "announced-null": ([first(None)], [("call_1", "exec_command", "{}")]),
    "announced-then-another": ([first(""), second()], [("call_1", "exec_command", "{}"), LS]),
    "nameless-second-entry": ([first(), entry(ARGS, index=1, id=None, name=None)], [RUN]),
    "nameless-second-entry-in-pieces": ([first(), entry('{"cmd": ', index=1), entry('"date"}', index=1)], [RUN]),
    "nameless-to-the-end": ([first(ARGS), entry("{}", index=1, id="call_2")], [RUN]),
}
rows = pytest.mark.parametrize(("entries", "expected"), SHAPES.values(), ids=SHAPES)
PLAIN_TOOLS = request(tools=[function(name) for name in DECLARED], input="Go.")


def answered(*entries: Event, together: bool = False, finish: str = "tool_calls") -> list[Event]:
    """The client's events for entries, each in a chunk of its own or all in one."""
    chunks = [called(*entries)] if together else [called(each) for each in entries]
    return streamed(*chunks, called(finish=finish), opened=chat(PLAIN_TOOLS))


@rows
@pytest.mark.parametrize("together", [False, True], ids=["one-by-one", "in-one-chunk"])
def test_each_shape_makes_these_calls(
    entries: list[Event], expected: list[tuple[str, str, str]], together: bool
) -> None:
    assert calls_of(finished(answered(*entries, together=together))) == expected


@rows
def test_a_whole_answer_with_the_same_entries_makes_the_same_items(
    entries: list[Event], expected: list[tuple[str, str, str]]
) -> None:
    opened = chat({**PLAIN_TOOLS, "stream": False}, mode="application/json")
    items = whole(message("tool_calls", tool_calls=entries), opened)["output"]
    assert items == finished(answered(*entries))


def test_an_answer_ends_completed_with_its_calls() -> None:
    assert end_of(answered(first(ARGS)))["response"]["status"] == "completed"


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "length"])
def test_a_call_that_breaks_off_is_never_finished(finish: str) -> None:
    events = answered(first(ARGS), second('{"cmd": "l'), finish=finish)
    assert calls_of(finished(events)) == [RUN]
    assert end_of(events)["type"] in ("response.incomplete", "response.failed")


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_call_announced_when_the_limit_comes_is_not_made(finish: str) -> None:
    assert finished(answered(first(""), finish=finish)) == []


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_whole_call_before_the_limit_is_made(finish: str) -> None:
    assert calls_of(finished(answered(first(ARGS), finish=finish))) == [RUN]


def test_a_nameless_call_is_named_in_the_ledger() -> None:
    opened = chat(PLAIN_TOOLS)
    streamed(called(first(ARGS), entry("{}", index=1, id="call_2")), called(finish="stop"), opened=opened)
    assert [what for what, _ in warnings(opened, "unknown")] == [""]


def test_arguments_after_the_end_are_named_in_the_ledger() -> None:
    opened = chat(PLAIN_TOOLS)
    streamed(called(first(ARGS)), called(then(" extra")), called(finish="stop"), opened=opened)
    assert [what for what, _ in warnings(opened, "malformed")] == ["exec_command"]


def test_blanks_after_the_end_are_nothing_to_name() -> None:
    opened = chat(PLAIN_TOOLS)
    streamed(called(first(ARGS)), called(then(" \n")), called(finish="stop"), opened=opened)
    assert warnings(opened, "malformed") == []


def test_pieces_for_a_call_that_is_finished_change_nothing() -> None:
    chunks = [called(first(ARGS)), chunk(content="text"), called(then(ARGS)), called(finish="stop")]
    assert [item["type"] for item in finished(streamed(*chunks, opened=chat(PLAIN_TOOLS)))] == [
        "function_call",
        "message",
    ]


def test_the_old_function_call_field_makes_a_call() -> None:
    events = streamed(
        chunk(function_call={"name": "exec_command", "arguments": '{"cmd": '}),
        chunk(function_call={"arguments": '"date"}'}),
        chunk("function_call"),
        opened=chat(PLAIN_TOOLS),
    )
    assert [call[1:] for call in calls_of(finished(events))] == [RUN[1:]]


def test_calls_that_wait_leave_as_soon_as_the_first_is_done() -> None:
    opened = chat(PLAIN_TOOLS)
    pieces = [first('{"cmd": '), second(), then('"date"}')]
    left = [b"".join(opened.feed(wire(called(piece), done=False))) for piece in pieces]
    assert [b'"name":"exec_command"' in piece and b"call_2" in piece for piece in left] == [False, False, True]


@pytest.mark.parametrize("late", [then('"date"}', id="late"), entry('"date"}', id="late")], ids=["index", "none"])
def test_an_id_that_comes_when_the_call_is_announced_begins_no_second_call(late: Event) -> None:
    start = {key: value for key, value in first('{"cmd": ', id="").items() if key in late or key == "function"}
    assert [call[1:] for call in calls_of(finished(answered(start, late)))] == [RUN[1:]]


# Call ids


def test_a_call_without_an_id_gets_one() -> None:
    identity = calls_of(finished(answered(first(ARGS, id=""))))[0][0]
    assert identity.startswith("call_")
    assert 5 < len(identity) <= 64


def test_two_calls_without_ids_get_different_ones() -> None:
    calls = calls_of(finished(answered(first(ARGS, id=""), second(id=""))))
    assert len({call[0] for call in calls}) == 2


@pytest.mark.parametrize("size", [64, 65, 300])
def test_a_call_id_has_at_most_64_characters(size: int) -> None:
    identity = calls_of(finished(answered(first(ARGS, id="x" * size))))[0][0]
    assert (len(identity) <= 64, identity == "x" * size) == (True, size <= 64)


@pytest.mark.parametrize("identity", ["call_0", "y" * 64], ids=["short", "longest"])
def test_a_call_id_that_the_thread_has_is_made_unique(identity: str) -> None:
    history: list[Event] = [
        {"type": "function_call", "call_id": identity, "name": "wait", "arguments": "{}"},
        {"type": "function_call_output", "call_id": identity, "output": "ok"},
    ]
    opened = chat({**PLAIN_TOOLS, "input": history})
    events = streamed(called(first(ARGS, id=identity), second(id=identity)), called(finish="stop"), opened=opened)
    ids = [call[0] for call in calls_of(finished(events))]
    assert len({identity, *ids}) == 3
    assert max(map(len, ids)) <= 64


def test_item_ids_have_the_prefix_of_their_type() -> None:
    entries = [first(ARGS), second('{"input": "x"}', name="apply_patch")]
    items = finished(streamed(called(*entries), called(finish="stop")))
    assert [item["id"].partition("_")[0] for item in items] == ["fc", "ctc"]


# Chat-native custom calls


def native(text: Any, **fields: Any) -> Event:
    """An entry of a chat-native custom call."""
    named = {"name": fields.pop("name")} if "name" in fields else {}
    return {"index": 0, **fields, "custom": {**named, "input": text}}


@pytest.mark.parametrize("mode", ["function_bridge", "passthrough"])
def test_a_native_custom_call_is_lifted(mode: str) -> None:
    pieces = [native("a\n", id="call_1", name="exec", type="custom"), native('{"input": "b"}'), native("")]
    events = streamed(*[called(piece) for piece in pieces], called(finish="tool_calls"), opened=chat(custom_tools=mode))
    assert calls_of(finished(events)) == [("call_1", "exec", 'a\n{"input": "b"}')]


def test_a_native_custom_call_gets_its_namespace_back() -> None:
    events = streamed(called(native("note", id="call_1", name="team__memo")), called(finish="stop"))
    item = finished(events)[0]
    assert (item["type"], item["namespace"], item["name"], item["input"]) == (
        "custom_tool_call",
        "team",
        "memo",
        "note",
    )


def test_a_native_custom_call_ends_where_the_next_call_begins() -> None:
    entries = [native("a", id="call_1", name="exec"), second("{}", name="wait")]
    events = streamed(*[called(each) for each in entries], called(finish="stop"))
    assert calls_of(finished(events)) == [("call_1", "exec", "a"), ("call_2", "wait", "{}")]


# Properties

PAYLOADS = st.text(st.characters(exclude_categories=()), max_size=40) | st.text('{}[]":,\\ \n input0', max_size=40)
WRAPPED = st.builds(
    lambda text, raw: json.dumps({"input": text}, ensure_ascii=raw, separators=(",", ":")), PAYLOADS, st.booleans()
)


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    """A text cut at places that are taken modulo its length."""
    marks = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(marks)] or [text]


STYLES: dict[str, Any] = {
    "increments": lambda pieces: pieces,
    "cumulative": lambda pieces: list(accumulate(pieces)),
    "flushed": lambda pieces: [*pieces, "".join(pieces)],
    "empty-between": lambda pieces: [part for piece in pieces for part in (piece, "")],
}


@settings(max_examples=60, deadline=None)
@given(payload=PAYLOADS, cuts=st.lists(st.integers(0, 10_000), max_size=6), style=st.sampled_from(sorted(STYLES)))
def test_a_payload_comes_back_as_it_was_however_its_fragments_are_sent(
    payload: str, cuts: list[int], style: str
) -> None:
    pieces = STYLES[style](pieces_of(json.dumps({"input": payload}, separators=(",", ":")), cuts))
    head = first("", name="apply_patch", type="function")
    events = streamed(called(head), *[called(then(piece)) for piece in pieces], called(finish="tool_calls"))
    assert calls_of(finished(events)) == [("call_1", "apply_patch", payload)]


@settings(max_examples=200, deadline=None)
@given(text=WRAPPED, cuts=st.lists(st.integers(0, 10_000), max_size=8), style=st.sampled_from(sorted(STYLES)))
def test_what_leaves_of_arguments_adds_up_to_them(text: str, cuts: list[int], style: str) -> None:
    arguments = Arguments()
    left = [arguments.add(piece) for piece in STYLES[style](pieces_of(text, cuts))]
    assert "".join([*left, arguments.finish()]) == text == arguments.text


@settings(max_examples=100, deadline=None)
@given(payloads=st.lists(PAYLOADS, min_size=2, max_size=4), data=st.data())
def test_calls_by_index_do_not_touch_each_other_in_any_order(payloads: list[str], data: st.DataObject) -> None:
    texts = [json.dumps({"input": payload}) for payload in payloads]
    queues = [pieces_of(text, data.draw(st.lists(st.integers(0, 999), max_size=3))) for text in texts]
    assembly = Assembly(DECLARED)
    for number in range(len(texts)):
        assembly.add(entry("", index=number, id=f"call_{number}", name="wait"))
    order = data.draw(st.permutations([number for number, queue in enumerate(queues) for _ in queue]))
    for number in order:
        assembly.add(entry(queues[number].pop(0), index=number))
    assert [call.text for call in assembly.calls] == texts
