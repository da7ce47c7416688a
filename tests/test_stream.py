"""Streams, event by event: payloads as they arrive, names, calls that break off, and honest ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.support.sse_tools import (
    DIALECTS,
    TERMINAL,
    Event,
    added,
    assert_adds_up,
    assert_dense,
    assert_valid,
    call,
    call_events,
    chop,
    done,
    end_of,
    ended,
    exchange,
    finished,
    frames,
    lifted,
    llama_call,
    numbered,
    of,
    parse,
    reasoning_events,
    relayed,
    request,
    response,
    stream,
    text_events,
    warnings,
    wrapped,
)

ARGUMENTS = "response.function_call_arguments."


def set_to(**options: Any) -> Exchange:
    """An exchange with options."""
    return exchange(settings=Settings.from_options(options))


# Payloads

UNITS = st.one_of(
    st.characters(codec="utf-8"),
    st.characters(categories=["Cs"]),
    st.sampled_from('"\\{}:,/\r\n\t\x00\x1f\x7f\u2028é😀\ud83d\ude00'),
)
WRITERS: dict[str, Callable[[str], str]] = {
    "ascii": lambda payload: json.dumps({"input": payload}),
    "utf8": lambda payload: json.dumps({"input": payload}, ensure_ascii=False),
    "spaced": lambda payload: json.dumps({"input": payload}, indent=2) + "\n",
    "upper-escapes": lambda payload: '{"input":"' + "".join(map(_escape, _units(payload))) + '"}',
    "literal-controls": lambda payload: '{"input":"' + payload.replace("\\", "\\\\").replace('"', '\\"') + '"}',
}


def _units(text: str) -> list[str]:
    """The UTF-16 code units of a text: a stream can be cut between the halves of a pair."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [chr(int.from_bytes(data[at : at + 2], "little")) for at in range(0, len(data), 2)]


def _escape(unit: str) -> str:
    return f"\\u{ord(unit):04X}"


def _paired(text: str) -> str:
    """What a text is once JSON has carried it: two halves of a pair that meet are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _streamed(arguments: str, cuts: list[int], dialect: str) -> list[Event]:
    units = _units(arguments)
    marks = sorted({0, len(units), *(cut % (len(units) + 1) for cut in cuts)})
    pieces = ["".join(units[start:end]) for start, end in pairwise(marks)]
    item = call("exec", arguments)
    events = call_events(item, pieces)
    return parse(relayed(DIALECTS[dialect](stream(events))))


@settings(max_examples=150, deadline=None)
@given(
    st.text(UNITS, max_size=20).map(_paired),
    st.sampled_from(sorted(WRITERS)),
    st.lists(st.integers(0, 300), max_size=8),
    st.sampled_from(["complete", "thin", "no-done"]),
)
def test_deltas_add_up_to_the_payload_that_was_sent(payload: str, writer: str, cuts: list[int], dialect: str) -> None:
    events = _streamed(WRITERS[writer](payload), cuts, dialect)
    assert_adds_up(events, payload)
    assert end_of(events)["type"] == "response.completed"


PAYLOADS = {
    "empty": "",
    "blanks": "  \n ",
    "nul-and-crlf": "a\x00b\r\nc\r",
    "lone-surrogates": "\ude00a\ud83d",
    "astral": "😀\U0010ffff",
    "a-wrapper": wrapped("x"),
    "two-wrappers": wrapped(wrapped("x")),
    "a-json-string": '"x"',
    "a-cut-wrapper": '{"input": "x',
    "escapes-as-text": "\\u0041\\n\\\\",
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_payload_arrives_verbatim_unit_by_unit(payload: str) -> None:
    arguments = wrapped(payload)
    assert_adds_up(_streamed(arguments, list(range(len(arguments))), "thin"), payload)


def test_the_payload_leaves_as_it_arrives() -> None:
    opened = exchange()
    heard: list[str] = []
    for piece in ['{"in', 'put": "a', "b", "\\", "nc\\ud83d", "\\ude00", 'd"', "}"]:
        delta = {"type": f"{ARGUMENTS}delta", "item_id": "fc_0", "output_index": 0, "delta": piece}
        begin = [] if heard else [added(call("exec", ""))]
        left = parse(b"".join(opened.feed(frames([*begin, delta]))))
        heard.append("".join(event["delta"] for event in of(left, "custom_tool_call_input.delta")))
    assert heard == ["", "a", "b", "", "\nc", "😀", "d", ""]


def test_arguments_that_stand_in_the_announcement_count() -> None:
    arguments = wrapped("xyz")
    item = call("exec", arguments)
    first = added({**item, "arguments": arguments[:12], "status": "in_progress"})
    rest = {"type": f"{ARGUMENTS}delta", "item_id": "fc_0", "output_index": 0, "delta": arguments[12:]}
    left = lifted(stream([first, rest, done(item)]))
    assert_adds_up(left, "xyz")
    assert [event["delta"] for event in of(left, "custom_tool_call_input.delta")] == ["x", "yz"]


def test_arguments_that_stand_in_no_item_are_those_that_were_streamed() -> None:
    events = call_events(call("exec", wrapped("xyz")))
    assert_adds_up(lifted(stream([*events[:-1], done(call("exec", ""))])), "xyz")


def test_an_item_that_is_only_finished_is_announced_first() -> None:
    events = lifted([done(call("exec", wrapped("xyz"))), ended([])])
    assert [event["type"] for event in events] == [
        "response.output_item.added",
        "response.custom_tool_call_input.delta",
        "response.custom_tool_call_input.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert_adds_up(events, "xyz")


def test_a_function_call_that_is_only_finished_needs_nothing_more() -> None:
    events = [done(call("wait", "{}")), ended([])]
    assert lifted(events)[:-1] == events[:-1]


def test_the_arguments_of_a_function_call_that_was_never_announced_leave() -> None:
    events = call_events(call("wait", '{"a": 1}'))[1:]
    assert lifted([*events, ended([])])[:-1] == events


def test_an_item_that_belies_its_deltas_is_what_runs_and_is_named() -> None:
    opened = exchange()
    events = call_events(call("exec", wrapped("one")))
    left = lifted([*events[:-1], done(call("exec", wrapped("two"))), ended([])], opened)
    assert [item["input"] for item in finished(left)] == ["two"]
    assert [event["input"] for event in of(left, "custom_tool_call_input.done")] == ["two"]
    assert [what for what, _ in warnings(opened, "malformed")] == ["exec"]


def test_parallel_calls_keep_apart() -> None:
    first, second = call("exec", wrapped("one"), 0), call("apply_patch", wrapped("two"), 1)
    pairs = zip(call_events(first, chop(first["arguments"], 4)), call_events(second, None, 1), strict=False)
    mixed = [event for pair in pairs for event in pair] + call_events(second, None, 1)[6:]
    mixed = [event for event in mixed if event["type"] != "response.output_item.done"] + [done(first), done(second, 1)]
    for dialect in ("complete", "no-index", "thin"):
        left = parse(relayed(DIALECTS[dialect]([*mixed, ended([])])))
        deltas = [event for event in left if event["type"] == "response.custom_tool_call_input.delta"]
        said = {index: "".join(d["delta"] for d in deltas if d["output_index"] == index) for index in (0, 1)}
        assert said == {0: "one", 1: "two"}
        assert len(deltas) > 2
        assert [item["input"] for item in finished(left)] == ["one", "two"]


# Malformed arguments

# arguments, the payload under `salvage`, the payload under `raw`
MALFORMED: dict[str, tuple[str, str, str]] = {
    "empty": ("", "", ""),
    "blank": ("\n ", "", ""),
    "empty-object": ("{}", "", ""),
    "no-json": ("ls -la\n", "ls -la\n", "ls -la\n"),
    "another-key": ('{"cmd": "ls -l"}', "ls -l", '{"cmd": "ls -l"}'),
    "bare-string": ('"ls -l"', "ls -l", '"ls -l"'),
    "number": ('{"input": 123}', "123", '{"input": 123}'),
    "true": ('{"input": true}', "true", '{"input": true}'),
    "several-strings": ('{"a": "1", "b": "2"}', '{"a": "1", "b": "2"}', '{"a": "1", "b": "2"}'),
}
OWN_KEY_WINS: dict[str, tuple[str, str]] = {
    "extra-key-before": ('{"why": "so", "input": "ls -l"}', "ls -l"),
    "extra-key-behind": ('{"input": "ls -l", "why": "so"}', "ls -l"),
    "the-object-twice": ('{"input": "ls -l"}{"input": "ls -l"}', "ls -l"),
    "another-object": ('{"input": "ls -l"}{"input": "rm"}', "ls -l"),
    "the-key-twice": ('{"input": "ls -l", "input": "rm"}', "ls -l"),
    "no-json-behind": ('{"input": "ls -l"} ok?', "ls -l"),
    "unknown-escape": ('{"input": "ls \\-l"}', "ls \\-l"),
}


@pytest.mark.parametrize("policy", ["salvage", "raw"])
@pytest.mark.parametrize(("arguments", "salvaged", "raw"), MALFORMED.values(), ids=MALFORMED)
def test_arguments_without_the_key_leave_as_one_delta(arguments: str, salvaged: str, raw: str, policy: str) -> None:
    payload = salvaged if policy == "salvage" else raw
    left = lifted(stream(call_events(call("exec", arguments))), set_to(malformed=policy))
    assert_adds_up(left, payload)
    assert len(of(left, "custom_tool_call_input.delta")) == (1 if payload else 0)


@pytest.mark.parametrize("policy", ["salvage", "raw"])
@pytest.mark.parametrize(("arguments", "payload"), OWN_KEY_WINS.values(), ids=OWN_KEY_WINS)
def test_the_parameter_s_own_key_wins(arguments: str, payload: str, policy: str) -> None:
    left = lifted(stream(call_events(call("exec", arguments))), set_to(malformed=policy))
    assert_adds_up(left, payload)
    assert len(of(left, "custom_tool_call_input.delta")) > 1


@pytest.mark.parametrize(
    "arguments", [row[0] for row in (*MALFORMED.values(), *OWN_KEY_WINS.values())], ids=[*MALFORMED, *OWN_KEY_WINS]
)
def test_a_malformed_call_gives_one_warning_with_tool_and_call(arguments: str) -> None:
    opened = exchange()
    lifted(stream(call_events(call("exec", arguments))), opened)
    ((what, warning),) = warnings(opened, "malformed")
    assert what == "exec"
    assert "call_0" in warning


def test_literal_control_characters_are_no_defect() -> None:
    opened = exchange()
    assert_adds_up(lifted(stream(call_events(call("exec", '{"input": "a\n\tb\x01"}'))), opened), "a\n\tb\x01")
    assert not opened.ledger.warnings()


# Calls that break off

CUT: dict[str, Event] = {
    "custom-before-its-payload": call("exec", '{"input":'),
    "custom-in-its-payload": call("exec", '{"input": "rm -rf /tm'),
    "custom-behind-its-payload": call("exec", '{"input": "rm -rf /tm"'),
    "custom-in-a-namespace": call("team__memo", '{"input": "x\\u00'),
    "function": call("wait", '{"a": 1, "b": [tr'),
    "function-in-a-namespace": call("team__spawn", '{"a'),
    "search": call("tool_search", '{"query": "q'),
    "of-no-declared-tool": call("nobody", '{"a": "'),
    "that-says-so": call("exec", wrapped("x"), status="incomplete"),
}


def told(item: Event) -> tuple[list[Event], list[Event]]:
    """A call's stream, whose terminal event repeats the call, or holds nothing."""
    return stream(call_events(item)), [*stream()[:2], *call_events(item), ended([])]


def assert_never_made(left: list[Event]) -> None:
    """No end of a call, and no end of a turn that went well."""
    assert finished(left) == []
    assert of(left, "custom_tool_call_input.done") == of(left, "function_call_arguments.done") == []
    end = end_of(left)
    assert end["type"] in ("response.failed", "response.incomplete")
    assert end["type"] == f"response.{end['response']['status']}"
    assert end["response"]["output"] == []


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("item", CUT.values(), ids=CUT)
def test_a_truncated_call_is_never_made_though_the_backend_says_completed(item: Event, dialect: str) -> None:
    for events in told(item):
        opened = exchange()
        left = parse(relayed(DIALECTS[dialect](events), opened))
        assert_never_made(left)
        assert end_of(left)["response"]["error"]["code"] == "server_error"
        assert [what for what, _ in warnings(opened, "truncated")] == [item["name"]]


@pytest.mark.parametrize("name", ["exec", "wait", "tool_search", "nobody"])
def test_a_truncated_arguments_done_does_not_leave(name: str) -> None:
    assert_never_made(lifted(stream(call_events(call(name, '{"input": "x')))))


def test_the_deltas_of_a_truncated_call_leave() -> None:
    left = lifted(stream(call_events(CUT["custom-in-its-payload"])))
    assert "".join(event["delta"] for event in of(left, "custom_tool_call_input.delta")) == "rm -rf /tm"


def test_a_truncated_call_of_llama_cpp_is_never_made() -> None:
    assert_never_made(parse(relayed(llama_call("{", '"', "input", '":'))))


@pytest.mark.parametrize("kind", ["response.completed", "response.incomplete", "response.done"])
def test_a_truncation_that_the_response_admits_stays_incomplete(kind: str) -> None:
    details = {"reason": "max_output_tokens"}
    events = stream(
        call_events(CUT["custom-in-its-payload"]), end=kind, status="incomplete", incomplete_details=details
    )
    left = lifted(events)
    assert_never_made(left)
    assert end_of(left)["type"] == "response.incomplete"
    assert end_of(left)["response"]["incomplete_details"] == details


def test_a_failure_beside_a_truncation_keeps_its_error() -> None:
    error = {"code": "insufficient_quota", "message": "no more"}
    events = stream(call_events(CUT["custom-in-its-payload"]), end="response.failed", status="failed", error=error)
    left = lifted(events)
    assert_never_made(left)
    assert end_of(left)["response"]["error"] == error


def test_a_call_that_was_finished_before_another_broke_off_stays() -> None:
    left = lifted(stream(call_events(call("exec", wrapped("x"))), call_events(call("wait", "{", 1), None, 1)))
    assert [item["input"] for item in finished(left)] == ["x"]
    assert end_of(left)["type"] == "response.failed"


@pytest.mark.parametrize("name", ["exec", "wait", "tool_search", "nobody", ""])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_that_is_only_announced_is_not_made(name: str, dialect: str) -> None:
    left = parse(relayed(DIALECTS[dialect]([*stream()[:2], call_events(call(name, ""))[0], ended([])])))
    assert_never_made(left)


@pytest.mark.parametrize("name", ["exec", "wait", "tool_search", "nobody"])
def test_a_call_that_is_not_ended_breaks_off_with_its_stream(name: str) -> None:
    for end in ([], [ended([], "response.incomplete", status="incomplete")]):
        assert_never_made(lifted([*stream()[:2], *call_events(call(name, wrapped("x")))[:-2], *end]))


@pytest.mark.parametrize("name", ["exec", "wait", "tool_search", "nobody"])
def test_a_whole_call_that_no_event_ends_is_made_when_the_turn_completes(name: str) -> None:
    item = call(name, wrapped("x"))
    direct = finished(lifted(stream(call_events(item))))
    first, *deltas, whole, _ = call_events(item)
    for events in ([first, *deltas, ended([])], [first, whole, ended([])], [first, *deltas, ended([item])]):
        left = lifted(events)
        assert finished(left) == direct
        assert end_of(left)["type"] == "response.completed"


def test_a_finished_call_with_blank_arguments_is_made_from_the_response_alone() -> None:
    opened = exchange()
    item = call("exec", "")
    assert_adds_up(lifted([call_events(item)[0], ended([item])], opened), "")
    assert [what for what, _ in warnings(opened, "malformed")] == ["exec"]


def test_a_call_that_the_response_shows_truncated_is_not_made() -> None:
    item = CUT["custom-in-its-payload"]
    assert_never_made(lifted([call_events(item)[0], ended([item])]))


# Items that stand in the terminal event only


@pytest.mark.parametrize("kind", ["response.completed", "response.done"])
def test_items_that_no_event_told_are_told_before_the_end(kind: str) -> None:
    items = finished(
        stream(text_events(["hi"]), reasoning_events(["hm"], 1), call_events(call("exec", wrapped("x"), 2)))
    )
    left = parse(relayed(frames(numbered([*stream()[:2], ended(items, kind)]))))
    assert [item["type"] for item in finished(left)] == ["message", "reasoning", "custom_tool_call"]
    assert end_of(left)["type"] == "response.completed"
    assert_adds_up(left, "x", 2)
    assert_dense(left)
    assert_valid(left)


def test_a_truncated_call_in_the_terminal_event_only_is_not_made() -> None:
    assert_never_made(lifted([ended([CUT["custom-in-its-payload"]])]))


def test_items_that_events_told_are_not_told_again() -> None:
    assert len(finished(lifted(stream(text_events(["hi"]))))) == 1


# Names

NAMES: dict[str, tuple[str, str, str | None]] = {
    "flat": ("team__spawn", "spawn", "team"),
    "dotted": ("docs.look", "look", "docs"),
    "leaf-of-one-tool": ("spawn", "spawn", "team"),
    "default-namespace": ("functions.wait", "wait", None),
    "bare": ("wait", "wait", None),
}


@pytest.mark.parametrize(("used", "name", "namespace"), NAMES.values(), ids=NAMES)
def test_a_name_is_restored_from_the_announcement_on(used: str, name: str, namespace: str | None) -> None:
    left = lifted(stream(call_events(call(used, "{}"))))
    items = [event["item"] for event in left if "item" in event]
    assert [(item["name"], item.get("namespace")) for item in items] == [(name, namespace)] * 2


@pytest.mark.parametrize("used", ["functions.exec", "exec", "functions__exec"])
def test_a_custom_call_is_lifted_under_each_spelling(used: str) -> None:
    left = lifted(stream(call_events(call(used, wrapped("x")))))
    assert_adds_up(left, "x")
    assert [(item["type"], item["name"], "namespace" in item) for item in finished(left)] == [
        ("custom_tool_call", "exec", False)
    ]


@pytest.mark.parametrize("used", ["nobody", "look"])
def test_a_call_of_no_declared_tool_passes_as_it_is_with_one_warning(used: str) -> None:
    opened = exchange()
    events = stream(call_events(call(used, "{}")), model="demo-model")
    assert lifted(events, opened)[2:-1] == events[2:-1]
    assert [what for what, _ in warnings(opened, "unknown")] == [used]


def test_a_search_is_lifted_and_its_arguments_are_an_object() -> None:
    left = lifted(stream(call_events(call("tool_search", '{"query": "q", "limit": 3}'))))
    first, last = left[2:-1]
    assert first["item"]["arguments"] == {}
    assert last["item"] == {
        "type": "tool_search_call",
        "id": "tsc_0",
        "call_id": "call_0",
        "status": "completed",
        "execution": "client",
        "arguments": {"query": "q", "limit": 3},
    }


def test_the_arguments_of_a_function_pass_as_they_come() -> None:
    events = call_events(call("team__spawn", '{"a": 1}'))
    assert lifted(stream(events))[3:-2] == events[1:-1]


def test_a_custom_call_of_a_backend_that_knows_them_gets_its_name_back() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_0", "call_id": "call_0", "name": "team__memo", "status": "completed"}
    opened = exchange()
    first, last = lifted([added({**item, "input": ""}), done({**item, "input": "x"}), ended([])], opened)[:-1]
    assert first["item"] == {**item, "name": "memo", "namespace": "team", "input": ""}
    assert last["item"] == {**item, "name": "memo", "namespace": "team", "input": "x"}
    assert [entry.count for entry in opened.ledger if entry.rule == "restored"] == [1]


# Calls that miss something


def test_a_call_whose_name_comes_last_is_told_whole() -> None:
    item = call("exec", wrapped("xyz"))
    late = [added({**call_events(item)[0]["item"], "name": ""}), *call_events(item)[1:]]
    assert lifted(stream(late)) == lifted(stream(call_events(item)))


def test_a_function_call_whose_name_comes_last_is_told_whole() -> None:
    item = call("team__spawn", '{"a": 1}')
    first = {key: value for key, value in call_events(item)[0]["item"].items() if key != "name"}
    assert lifted(stream([added(first), *call_events(item)[1:]])) == lifted(stream(call_events(item)))


def test_a_call_that_never_gets_a_name_is_reported() -> None:
    opened, events = exchange(), call_events(call("", "{}"))
    assert lifted(stream(events), opened)[2:-1] == events
    assert len(warnings(opened, "unknown")) == 1


def test_a_call_without_name_and_announcement_is_reported() -> None:
    opened, events = exchange(), [done(call("", "{}"))]
    assert lifted([*events, ended([])], opened)[:-1] == events
    assert len(warnings(opened, "unknown")) == 1


def test_a_call_that_is_open_and_nameless_at_the_end_takes_its_name_from_the_response() -> None:
    item = call("exec", wrapped("x"))
    left = lifted([added({**item, "name": "", "arguments": ""}), *call_events(item)[1:3], ended([item])])
    assert [each["input"] for each in finished(left)] == ["x"]


@pytest.mark.parametrize("dialect", ["complete", "thin"])
@pytest.mark.parametrize("name", ["exec", "wait"])
def test_a_missing_call_id_is_minted_and_the_same_in_all_events(name: str, dialect: str) -> None:
    events = call_events(call(name, wrapped("x")))
    for event in events:
        if "item" in event:
            event["item"] = {key: value for key, value in event["item"].items() if key != "call_id"}
    left = parse(relayed(DIALECTS[dialect]([*events, ended([])])))
    (identity,) = {event["item"]["call_id"] for event in left if "item" in event}
    assert identity.startswith("call_")


def test_ids_that_are_missing_are_minted_and_the_same_in_all_events() -> None:
    events = call_events(call("exec", wrapped("x")))
    for event in events:
        event.pop("item_id", None)
        if "item" in event:
            event["item"] = {key: value for key, value in event["item"].items() if key not in ("id", "call_id")}
    left = parse(relayed(DIALECTS["thin"]([*events, ended([])])))
    assert_adds_up(left, "x")
    (identity,) = {event.get("item_id") or event["item"]["id"] for event in left[:-1]}
    assert identity.startswith("ctc_")


# How a stream ends


def test_a_response_done_is_a_response_completed() -> None:
    end = end_of(lifted(stream(text_events(["hi"]), end="response.done")))
    assert (end["type"], end["response"]["status"]) == ("response.completed", "completed")


ENDS: dict[str, tuple[str, str, str]] = {
    "completed-that-is-incomplete": ("response.completed", "incomplete", "response.incomplete"),
    "completed-that-failed": ("response.completed", "failed", "response.failed"),
    "completed-that-was-cancelled": ("response.completed", "cancelled", "response.failed"),
    "done-that-is-incomplete": ("response.done", "incomplete", "response.incomplete"),
    "done-that-failed": ("response.done", "failed", "response.failed"),
    "incomplete": ("response.incomplete", "incomplete", "response.incomplete"),
    "failed": ("response.failed", "failed", "response.failed"),
    "completed": ("response.completed", "completed", "response.completed"),
}


@pytest.mark.parametrize(("kind", "status", "right"), ENDS.values(), ids=ENDS)
def test_the_end_says_what_the_status_says(kind: str, status: str, right: str) -> None:
    end = end_of(lifted(stream(text_events(["hi"]), end=kind, status=status)))
    assert (end["type"], f"response.{end['response']['status']}") == (right, right)


ERRORS: dict[str, tuple[Any, str]] = {
    "string-code": ({"code": "context_length_exceeded", "message": "m"}, "context_length_exceeded"),
    "number": ({"code": 429, "message": "m"}, "rate_limit_exceeded"),
    "type": ({"code": 400, "type": "exceed_context_size_error", "message": "m"}, "context_length_exceeded"),
    "words": ({"message": "This model's maximum context length is 9 tokens"}, "context_length_exceeded"),
    "nothing-known": ({"message": "m"}, "server_error"),
}


@pytest.mark.parametrize(("error", "code"), ERRORS.values(), ids=ERRORS)
def test_a_failed_response_has_a_string_code_and_its_message(error: Any, code: str) -> None:
    given_end = ended([], "response.failed", status="failed", error=error)
    assert end_of(lifted([given_end]))["response"]["error"] == {**error, "code": code}


@pytest.mark.parametrize(("error", "code"), ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("shape", ["nested", "bare", "in-the-event-line"])
def test_an_error_event_gives_its_meaning_to_the_end(shape: str, error: Any, code: str) -> None:
    raw = {
        "nested": frames([{"type": "error", "error": error}]),
        "bare": b"data: " + json.dumps({"error": error}).encode() + b"\n\n",
        "in-the-event-line": b"event: error\ndata: " + json.dumps({"error": error}).encode() + b"\n\n",
    }[shape]
    left = parse(relayed(frames(numbered(stream()[:2])) + raw))
    end = end_of(left)
    assert end["type"] == "response.failed"
    assert (end["response"]["error"]["code"], end["response"]["error"]["message"]) == (code, error["message"])


def test_an_error_event_gives_its_own_fields_to_the_end() -> None:
    left = lifted(
        numbered([*stream()[:2], {"type": "error", "code": "insufficient_quota", "message": "m", "param": None}])
    )
    assert end_of(left)["response"]["error"] == {"code": "insufficient_quota", "message": "m", "param": None}


def test_an_error_event_itself_still_leaves() -> None:
    error = {"type": "error", "code": "server_error", "message": "m", "param": None}
    assert lifted([*stream()[:2], error])[2] == error


@pytest.mark.parametrize("count", range(1, 12))
def test_a_stream_that_ends_without_its_end_failed(count: int) -> None:
    opened = exchange()
    events = stream(text_events(["a", "b"]), call_events(call("exec", wrapped("x"), 1), None, 1))
    left = parse(relayed(frames(numbered(events[:count])), opened))
    end = end_of(left)
    assert (end["type"], end["response"]["status"], end["response"]["error"]["code"]) == (
        "response.failed",
        "failed",
        "server_error",
    )
    assert_dense(left)
    assert_valid(left)
    assert len(warnings(opened, "failed")) == 1


def test_an_empty_stream_failed() -> None:
    opened = exchange()
    left = parse(relayed(b"", opened))
    assert end_of(left)["response"]["error"]["code"] == "server_error"
    assert_valid(left)


def test_a_failure_keeps_the_response_s_identity_and_the_client_s_tools() -> None:
    end = end_of(lifted(stream()[:1]))["response"]
    assert (end["id"], end["tools"], end["output"]) == ("resp_1", request()["tools"], [])


def test_nothing_of_a_response_follows_its_end() -> None:
    events = stream(text_events(["hi"]))
    again = [ended([], kind) for kind in TERMINAL]
    assert lifted([*events, *again]) == lifted(events)


def test_an_end_that_no_rule_touches_is_the_event_that_came() -> None:
    end = {"type": "response.completed", "response": response([], model="demo-model", tools=request()["tools"])}
    assert lifted(numbered([end])) == [end]
