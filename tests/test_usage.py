"""Usage that Codex can read stays as it came; any other is completed or left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.usage import complete, is_readable
from tests.support.sse_tools import (
    TOOLS,
    USAGE,
    assert_valid,
    assert_valid_response,
    end_of,
    ended,
    frames,
    numbered,
    parse,
    relayed,
    response,
    stream,
    text_events,
    whole,
)

COUNTS = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
DETAILS = {
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}

READABLE: dict[str, Any] = {
    "absent": None,
    "whole": USAGE,
    "no-details": COUNTS,
    "null-details": {**COUNTS, "input_tokens_details": None, "output_tokens_details": None},
    "one-detail": {**COUNTS, "input_tokens_details": {"cached_tokens": 1}},
    "more-fields": {**USAGE, "cost": 0.1},
}
REPAIRED: dict[str, tuple[Any, Any]] = {
    "no-total": ({"input_tokens": 5, "output_tokens": 3}, {**COUNTS, **DETAILS}),
    "chat-names": ({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}, {**COUNTS, **DETAILS}),
    "chat-details": (
        {
            "prompt_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens": 3,
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
        USAGE,
    ),
    "cached-tokens-beside-the-others": (
        {"prompt_tokens": 5, "completion_tokens": 3, "prompt_cache_hit_tokens": 4},
        {**COUNTS, **DETAILS, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0}},
    ),
    "total-that-differs": (
        {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 9},
        {**COUNTS, **DETAILS, "total_tokens": 9},
    ),
    "empty-detail": ({**COUNTS, "input_tokens_details": {}}, {**COUNTS, **DETAILS}),
    "null-counter": ({**COUNTS, "output_tokens_details": {"reasoning_tokens": None}}, {**COUNTS, **DETAILS}),
    "detail-of-a-wrong-type": ({**COUNTS, "output_tokens_details": 3}, {**COUNTS, **DETAILS}),
    "known-counters-stay": (
        {**USAGE, "total_tokens": None, "output_tokens_details": {"reasoning_tokens": 2, "other": 7}},
        {**USAGE, "output_tokens_details": {"reasoning_tokens": 2, "other": 7}},
    ),
    "other-fields-stay": (
        {"input_tokens": 5, "output_tokens": 3, "cost": 0.1},
        {**COUNTS, **DETAILS, "cost": 0.1},
    ),
}
LEFT_OUT: dict[str, Any] = {
    "empty": {},
    "one-side-only": {"input_tokens": 5, "total_tokens": 5},
    "text": {"input_tokens": "5", "output_tokens": "3", "total_tokens": "8"},
    "booleans": {"input_tokens": True, "output_tokens": True, "total_tokens": True},
    "fractions": {"input_tokens": 5.5, "output_tokens": 3, "total_tokens": 8},
    "list": [5, 3, 8],
    "number": 8,
}
UNREADABLE = {**{name: given for name, (given, _) in REPAIRED.items()}, **LEFT_OUT}


@pytest.mark.parametrize("usage", READABLE.values(), ids=READABLE)
def test_what_codex_reads_is_readable(usage: Any) -> None:
    assert is_readable(usage)


@pytest.mark.parametrize("usage", UNREADABLE.values(), ids=UNREADABLE)
def test_what_makes_codex_run_a_turn_again_is_not(usage: Any) -> None:
    assert not is_readable(usage)


@pytest.mark.parametrize(("given", "right"), REPAIRED.values(), ids=REPAIRED)
def test_unreadable_usage_is_completed(given: Any, right: Any) -> None:
    assert complete(given) == right


@pytest.mark.parametrize("given", LEFT_OUT.values(), ids=LEFT_OUT)
def test_usage_without_its_counts_is_left_out(given: Any) -> None:
    assert complete(given) is None


@pytest.mark.parametrize("usage", READABLE.values(), ids=READABLE)
def test_readable_usage_leaves_a_stream_as_it_came(usage: Any) -> None:
    data = frames(numbered([ended([], model="demo-model", tools=TOOLS, usage=usage)]))
    assert relayed(data) == data


@pytest.mark.parametrize("usage", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_usage_leaves_a_stream_completed_or_as_null(usage: Any) -> None:
    events = parse(relayed(frames(numbered(stream(text_events(["hi"]), usage=usage)))))
    assert end_of(events)["response"]["usage"] == complete(usage)
    assert_valid(events)


@pytest.mark.parametrize("usage", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_usage_leaves_a_whole_answer_completed_or_as_null(usage: Any) -> None:
    answer = whole(response([], usage=usage))
    assert answer["usage"] == complete(usage)
    assert_valid_response(answer)


def test_readable_usage_leaves_a_whole_answer_as_it_came() -> None:
    assert whole(response([], model="demo-model", tools=TOOLS, usage=COUNTS))["usage"] == COUNTS


def test_a_missing_usage_stays_missing() -> None:
    end = ended([])
    del end["response"]["usage"]
    assert b'"usage"' not in relayed(frames(numbered([end])))


def test_a_thin_stream_gets_all_counters() -> None:
    end = {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "usage": COUNTS}}
    events = parse(relayed(b"data: " + json.dumps(end).encode() + b"\n\n"))
    assert events[0]["response"]["usage"] == {**COUNTS, **DETAILS}
    assert_valid(events)
