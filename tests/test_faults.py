"""Faults that were found once, each with its right value, so that they stay gone."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from pydantic_core import from_json

from bridge import proxycore
from bridge.chat.errors import lift_error
from bridge.errors import BackendError, ClientError
from bridge.exchange import Exchange
from bridge.flows import Session, aim
from bridge.jsonvalue import MAX_DEPTH, parse_quickly
from bridge.jsonvalue import parse as json_parse
from bridge.ledger import Ledger, Rule
from bridge.settings import Settings
from bridge.tools.request import lower
from tests.support.sse_tools import (
    added,
    call,
    call_events,
    done,
    end_of,
    ended,
    exchange,
    finished,
    frames,
    lifted,
    numbered,
    parse,
    relayed,
    request,
    response,
    stream,
    whole,
    wrapped,
)

GROUP = {"type": "namespace", "name": "group"}
EXEC = call("exec", wrapped("text(1)"))


def deep(depth: int) -> Any:
    """Objects inside one another."""
    value: Any = {}
    for _ in range(depth - 1):
        value = {"items": value}
    return value


def chat(**options: Any) -> Exchange:
    """An exchange with a chat backend, whose answer is about to come."""
    tools = [{"type": "custom", "name": "exec"}, {"type": "function", "name": "wait", "parameters": {}}]
    body = {"model": "m", "stream": True, "input": "hi", "tools": tools}
    opened = Exchange.open(json.dumps(body).encode(), Settings.from_options({"backend": "chat", **options}), seed="x")
    opened.begin(200, "text/event-stream")
    return opened


def spoken(*deltas: Any, finish: str | None = "tool_calls", opened: Exchange | None = None) -> list[Any]:
    """Chat deltas, then a finish reason and the end mark → the client's events."""
    opened = opened or chat()
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices += [{"index": 0, "delta": {}, "finish_reason": finish}] if finish else []
    lines = [json.dumps({"choices": [choice]}) for choice in choices] + ["[DONE]"]
    left = opened.feed("".join(f"data: {line}\n\n" for line in lines).encode()) + opened.close()
    return parse(b"".join(left))


def piece(arguments: str | None, name: str | None = None, index: int | None = 0, **more: Any) -> Any:
    """A delta with one fragment of a call."""
    entry = {"index": index, "function": {"name": name, "arguments": arguments}, **more}
    return {"tool_calls": [entry if index is not None else {k: v for k, v in entry.items() if k != "index"}]}


class TestHonestEnds:
    def test_a_call_that_ends_twice_is_made_once(self) -> None:
        events = lifted(stream([*call_events(EXEC), done(EXEC)]))
        assert len(finished(events)) == 1

    def test_a_native_custom_call_that_is_cut_is_not_made(self) -> None:
        item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "exec", "input": "half"}
        events = lifted(stream([added(item), done({**item, "status": "incomplete"})]))
        assert finished(events) == []
        assert end_of(events)["type"] == "response.failed"

    def test_a_call_that_was_announced_with_an_empty_object_is_not_made(self) -> None:
        events = lifted(numbered([added({**EXEC, "arguments": "{}", "status": "in_progress"}), ended([])]))
        assert finished(events) == []
        assert end_of(events)["type"] == "response.failed"

    @pytest.mark.parametrize(
        "events",
        [
            [*call_events(EXEC), added({**EXEC, "arguments": ""}), ended([EXEC])],
            [done(EXEC), added({**EXEC, "arguments": ""}), ended([EXEC])],
            [*call_events(EXEC), ended([EXEC]), done(EXEC), ended([EXEC])],
        ],
        ids=["announced again", "announced late", "behind the end"],
    )
    def test_a_call_that_comes_again_is_made_once(self, events: list[Any]) -> None:
        left = lifted(numbered(events))
        assert [item["type"] for item in finished(left)] == ["custom_tool_call"]
        assert left[-1]["type"] == "response.completed"

    def test_damaged_packing_is_the_backend_s_fault(self) -> None:
        opened = Exchange.open(json.dumps(request()).encode(), Settings())
        opened.begin(200, "text/event-stream", "gzip")
        assert end_of(parse(b"".join(opened.feed(b"no gzip"))))["type"] == "response.failed"
        assert opened.fault is None

    def test_an_error_that_is_a_string_keeps_its_words(self) -> None:
        left = relayed(b'data: {"error": "boom"}\n\n')
        assert end_of(parse(left))["response"]["error"]["message"] == "boom"

    def test_an_answer_that_is_still_in_progress_is_no_completed_stream(self) -> None:
        opened = exchange()
        opened.begin(200, "application/json")
        body = response([], status="in_progress")
        assert (
            end_of(parse(opened.whole(json.dumps(body).encode(), "application/json").body))["type"] == "response.failed"
        )

    @pytest.mark.parametrize("status", ["failed", "incomplete"])
    def test_a_compact_answer_without_a_summary_is_an_error(self, status: str) -> None:
        opened = Exchange.open(json.dumps(request(stream=False)).encode(), Settings(), compact=True)
        opened.begin(200, "application/json")
        with pytest.raises(BackendError, match="no summary"):
            opened.whole(json.dumps(response([], status=status)).encode(), "application/json")

    def test_what_left_before_a_fault_has_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def break_down(*_: object) -> None:
            raise KeyError

        monkeypatch.setattr("bridge.tools.stream.lift_response", break_down)
        opened = exchange()
        opened.begin(200, "text/event-stream")
        left = parse(b"".join(opened.feed(frames(stream(call_events(EXEC))))))
        assert [item["type"] for item in finished(left)] == ["custom_tool_call"]
        assert end_of(left)["type"] == "response.failed"


class TestIdentity:
    def test_items_that_all_have_one_index_stay_apart(self) -> None:
        first, second = call("wait", "{}", id="fc_a", call_id="a"), call("exec", wrapped("x"), id="fc_b", call_id="b")
        events = [added({**first, "arguments": ""}), added({**second, "arguments": ""}), done(first), done(second)]
        assert [item["name"] for item in finished(lifted(numbered([*events, ended([first, second])])))] == [
            "wait",
            "exec",
        ]

    def test_an_id_that_changes_is_found_by_its_place(self) -> None:
        announced = {**EXEC, "arguments": "", "status": "in_progress"}
        events = lifted(numbered([added(announced), done({**EXEC, "id": "fc_other"}), ended([])]))
        assert [item["input"] for item in finished(events)] == ["text(1)"]

    def test_a_call_id_that_only_the_announcement_has_is_kept(self) -> None:
        announced = {**EXEC, "arguments": "", "call_id": "call_9"}
        without = {key: value for key, value in EXEC.items() if key != "call_id"}
        events = lifted(numbered([added(announced), done(without), ended([without])]))
        assert [item["call_id"] for item in finished(events)] == ["call_9"]

    def test_calls_without_id_and_index_get_ids_of_their_own(self) -> None:
        bare = {"type": "function_call", "name": "wait", "arguments": "{}"}
        event = {"type": "response.output_item.done", "item": bare}
        events = parse(relayed(frames([event, event, ended([])])))
        assert len({item["call_id"] for item in finished(events)}) == 2

    def test_arguments_that_are_an_object_are_their_text(self) -> None:
        event = {"type": "response.function_call_arguments.done", "item_id": "fc_1", "arguments": {"a": 1}}
        item = call("wait", {"a": 1}, id="fc_1")
        events = lifted(numbered([added({**item, "arguments": {}}), event, done(item), ended([])]))
        told = [event["arguments"] for event in events if event["type"] == "response.function_call_arguments.done"]
        assert told == ['{"a":1}']
        assert finished(events)[0]["arguments"] == '{"a":1}'

    def test_arguments_of_a_call_that_nobody_announced_wait_for_its_name(self) -> None:
        delta = {"type": "response.function_call_arguments.delta", "item_id": EXEC["id"], "output_index": 0}
        events = lifted(numbered([{**delta, "delta": EXEC["arguments"]}, done(EXEC), ended([EXEC])]))
        assert not [event for event in events if "function_call" in event["type"]]
        assert [item["input"] for item in finished(events)] == ["text(1)"]

    def test_arguments_behind_the_end_of_their_call_are_left_out(self) -> None:
        late = {
            "type": "response.function_call_arguments.delta",
            "item_id": EXEC["id"],
            "output_index": 0,
            "delta": "x",
        }
        events = lifted(numbered([*call_events(EXEC), late, ended([EXEC])]))
        assert not [event for event in events if event["type"] == late["type"]]


class TestSearch:
    def test_arguments_that_are_no_object_are_named(self) -> None:
        opened = exchange(request(tools=[{"type": "tool_search", "execution": "client"}]))
        events = lifted(stream(call_events(call("tool_search", "[1]"))), opened)
        assert finished(events)[0]["arguments"] == {}
        assert Rule.MALFORMED in [entry.rule for entry in opened.ledger.warnings()]


class TestChatCalls:
    @pytest.mark.parametrize("pieces", [('"use strict"', ";\ntext(1)"), ("[1]", ".map(f)"), ("12", " + x")])
    def test_a_text_that_begins_like_json_is_not_cut_short(self, pieces: tuple[str, str]) -> None:
        events = spoken(piece(pieces[0], "exec", id="c"), piece(pieces[1]))
        assert finished(events)[0]["input"] == "".join(pieces)

    @pytest.mark.parametrize("step", [1, 2, 3])
    def test_arguments_that_grow_in_every_chunk(self, step: int) -> None:
        text = wrapped("a {b} c")
        grown = [piece(text[:end], "exec" if end == step else None) for end in range(step, len(text), step)]
        assert finished(spoken(*grown, piece(text)))[0]["input"] == "a {b} c"

    def test_a_restatement_that_does_not_grow(self) -> None:
        events = spoken(piece('{"input":', "exec"), piece('{"input":'), piece(' "x"}'))
        assert finished(events)[0]["input"] == "x"

    def test_two_calls_without_index_and_id(self) -> None:
        events = spoken(piece("", "wait", None), piece(wrapped("x"), "exec", None))
        assert [item["name"] for item in finished(events)] == ["wait", "exec"]

    def test_native_calls_that_are_interleaved(self) -> None:
        def native(index: int, text: str, name: str | None = None) -> Any:
            return {"tool_calls": [{"index": index, "type": "custom", "custom": {"name": name, "input": text}}]}

        events = spoken(native(0, "a", "exec"), native(1, "b", "exec"), native(0, "A"))
        assert [item["input"] for item in finished(events)] == ["aA", "b"]

    def test_a_native_call_that_the_limit_cut_is_not_made(self) -> None:
        native = {"tool_calls": [{"index": 0, "type": "custom", "custom": {"name": "exec", "input": "half"}}]}
        events = spoken(native, finish="length")
        assert finished(events) == []
        assert end_of(events)["type"] == "response.incomplete"

    def test_an_announced_call_without_a_finish_reason_is_not_made(self) -> None:
        events = spoken(piece("", "exec"), finish=None)
        assert finished(events) == []
        assert end_of(events)["type"] == "response.failed"

    def test_an_answer_that_ends_with_an_error_failed(self) -> None:
        assert end_of(spoken({"content": "a"}, finish="error"))["type"] == "response.failed"

    def test_usage_in_every_chunk_is_no_end(self) -> None:
        opened = chat()
        chunk = {
            "choices": [{"index": 0, "delta": {"content": "a"}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        }
        left = opened.feed(f"data: {json.dumps(chunk)}\n\n".encode()) + opened.close()
        assert end_of(parse(b"".join(left)))["type"] == "response.failed"

    def test_what_comes_with_a_call_after_its_end_is_carried(self) -> None:
        late = piece("", index=0, extra_content={"google": {"thought_signature": "c2ln"}})
        events = spoken(piece("{}", "wait", id="c1"), {"content": "text"}, late)
        assert [item["type"] for item in finished(events)] == ["function_call", "message", "reasoning"]


class TestChatErrors:
    @pytest.mark.parametrize(
        ("status", "error", "expected", "code", "words"),
        [
            (400, {"message": "maximum context length is 8", "code": "bad"}, 400, "context_length_exceeded", "maximum"),
            (400, {"message": "Prompt exceeds max length", "code": "1261"}, 400, "context_length_exceeded", "Prompt"),
            (429, {"message": "Slow", "code": "1302"}, 429, "rate_limit_exceeded", "try again in 7.5s"),
            (429, {"message": "See /billing", "code": "rate_limit_exceeded"}, 429, "rate_limit_exceeded", "billing"),
            (429, {"message": "exceeded your current quota"}, 429, "insufficient_quota", "quota"),
            (503, {"message": "Busy", "code": "503"}, 503, "server_is_overloaded", "Busy"),
        ],
    )
    def test_an_error_keeps_its_meaning(self, status: int, error: Any, expected: int, code: str, words: str) -> None:
        lifted_status, body = lift_error(status, json.dumps({"error": error}).encode(), "7.5")
        told: Any = body["error"]
        assert (lifted_status, told["code"]) == (expected, code)
        assert words in told["message"]

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ({"detail": [{"loc": ["body", "tools"], "msg": "bad"}, {"msg": "worse"}, 5]}, "body.tools: bad; worse"),
            ({"detail": {"message": "bad"}}, "bad"),
            ([{"error": {"message": "listed"}}], "listed"),
            ({"detail": {"other": 1}}, "The backend answered 422."),
        ],
    )
    def test_an_error_keeps_its_words(self, body: Any, words: str) -> None:
        told: Any = lift_error(422, json.dumps(body).encode(), "")[1]["error"]
        assert told["message"] == words

    def test_styles_are_no_words(self) -> None:
        _, body = lift_error(502, b"<html><style>p {color: red}</style><p>Bad Gateway</p></html>", "")
        error: Any = body["error"]
        assert error["message"] == "Bad Gateway"


class TestChatRequests:
    def test_an_image_in_an_assistant_message_is_named(self) -> None:
        parts = [{"type": "output_text", "text": "a"}, {"type": "input_image", "image_url": "data:x"}]
        body = {"model": "m", "input": [{"type": "message", "role": "assistant", "content": parts}]}
        opened = Exchange.open(json.dumps(body).encode(), Settings.from_options({"backend": "chat"}))
        assert json.loads(opened.request)["messages"] == [{"role": "assistant", "content": "a"}]
        assert "what is no text in an assistant message" in [entry.what for entry in opened.ledger]

    def test_html_is_no_answer(self) -> None:
        opened = chat()
        answer = opened.whole(b"<html>Welcome</html>", "text/html")
        assert end_of(parse(answer.body))["response"]["error"]["message"] == "The answer is no chat completion."

    def test_a_redirect_passes(self) -> None:
        opened = chat()
        opened.begin(304, "")
        assert opened.passed(b"", "").body == b""


FULL = "This model's maximum context length is 131072 tokens."


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"message": FULL, "type": "BadRequestError", "param": None, "code": None}, "context_length_exceeded"),
        ({"message": FULL, "code": 400}, "context_length_exceeded"),
        (
            {"message": "request (9 tokens) is too large", "type": "exceed_context_size_error"},
            "context_length_exceeded",
        ),
        ({"message": FULL, "code": "theirs"}, "theirs"),
        ({"message": "No.", "code": None}, None),
    ],
)
def test_a_full_context_is_named_on_the_responses_wire_too(error: Any, code: Any) -> None:
    opened = exchange()
    opened.begin(400, "application/json")
    answer = opened.passed(json.dumps({"error": error, "detail": 1}).encode(), "application/json")
    assert json.loads(answer.body) == {
        "error": {**error, "code": code} if "code" in error or code else error,
        "detail": 1,
    }
    assert answer.status is None


@pytest.mark.parametrize("backend", ["responses", "chat"])
@pytest.mark.parametrize("number", ["1e10000", "-1e999"])
def test_a_number_beyond_a_double_ends_the_stream_once_and_honestly(backend: str, number: str) -> None:
    created = f'data: {{"type":"response.created","response":{{"id":"r","created_at":{number}}}}}\n\n'
    chunk = f'data: {{"id":"c","created":{number},"choices":[{{"index":0,"delta":{{"content":"x"}}}}]}}\n\n'
    opened = chat() if backend == "chat" else exchange()
    left = opened.feed((chunk if backend == "chat" else created).encode())
    left += opened.feed(b'data: {"type":"response.completed","response":{"id":"r"}}\n\n') + opened.close()
    events = parse(b"".join(left))
    assert [event["type"] for event in events if event["type"].startswith("response.f")] == ["response.failed"]
    assert events[-1]["type"] == "response.failed"
    assert b"Infinity" not in b"".join(left)


def test_an_error_with_a_number_beyond_a_double_ends_the_stream_too() -> None:
    opened = exchange()
    left = (
        opened.feed(b'data: {"type":"error","sequence_number":0,"error":{"message":"No.","wait":1e999}}\n\n')
        + opened.close()
    )
    assert [event["type"] for event in parse(b"".join(left))] == ["error", "response.failed"]
    assert opened.feed(b'data: {"type":"response.created","response":{"a":1e999}}\n\n') == []


@pytest.mark.parametrize("backend", ["responses", "chat"])
def test_an_error_code_of_many_digits_is_a_code(backend: str) -> None:
    opened = Exchange.open(b'{"input":"hi","stream":true}', Settings.from_options({"backend": backend}))
    opened.begin(500, "application/json")
    body = opened.passed(
        json.dumps({"error": {"message": "No.", "code": "9" * 5000}}).encode(), "application/json"
    ).body
    assert json.loads(body)["error"]["message"] == "No."


def test_an_error_page_of_any_length_is_read_in_no_time() -> None:
    opened = Exchange.open(b'{"input":"hi","stream":true}', Settings.from_options({"backend": "chat"}))
    opened.begin(502, "text/html")
    before = time.process_time()
    answer = opened.passed(b"<h1>Bad</h1>" + b"<style " * 500_000, "text/html")
    assert json.loads(answer.body)["error"]["message"].startswith("Bad")
    assert time.process_time() - before < 1


@pytest.mark.parametrize("body", [b"maximum context length", b"[1]", b'{"error":"maximum context length"}'])
def test_errors_of_another_shape_keep_their_body(body: bytes) -> None:
    opened = exchange()
    opened.begin(400, "text/plain")
    assert opened.passed(body, "text/plain").body == body


class TestRequests:
    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b'{"input": [{"type": "additional_tools", "tools": []}], "input": "hi"}', id="a key twice"),
        ],
    )
    def test_what_two_readers_could_read_differently_is_refused(self, data: bytes) -> None:
        with pytest.raises(ClientError):
            Exchange.open(data, Settings())

    @pytest.mark.parametrize("backend", ["responses", "chat"])
    def test_what_is_nested_up_to_the_limit_is_carried_both_ways(self, backend: str) -> None:
        parameters = deep(MAX_DEPTH - 3)
        body = {"stream": True, "input": "hi", "tools": [{"type": "function", "name": "f", "parameters": parameters}]}
        settings = Settings.from_options({"backend": backend})
        opened = Exchange.open(json.dumps(body).encode(), settings)
        (tool,) = json.loads(opened.request)["tools"]
        assert (tool["function"] if backend == "chat" else tool)["parameters"]["items"] == parameters["items"]
        opened.begin(200, "text/event-stream")
        finish = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}], "more": deep(199)}
        ended = {"type": "response.completed", "response": {"id": "r", "output": [], "more": deep(198)}}
        last = finish if backend == "chat" else ended
        left = opened.feed(f"data: {json.dumps(last)}\n\n".encode()) + opened.close()
        assert opened.fault is None
        assert end_of(parse(b"".join(left)))["type"] == "response.completed"

    @pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
    def test_both_readers_have_one_limit(self, brackets: tuple[str, str]) -> None:
        opening, closing = brackets
        most, more = ((opening * depth + "1" + closing * depth).encode() for depth in (MAX_DEPTH, MAX_DEPTH + 1))
        assert from_json(most) == parse_quickly(most) == json_parse(most)
        for read in (from_json, parse_quickly, json_parse):
            with pytest.raises(ValueError, match=r"recursion limit|more than 200"):
                read(more)

    @pytest.mark.parametrize("depth", [MAX_DEPTH - 2, 1500, 5000, 100_000])
    def test_what_is_nested_beyond_it_is_refused(self, depth: int) -> None:
        data = (
            b'{"tools":[{"type":"function","name":"f","parameters":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}]}"
        )
        with pytest.raises(ClientError, match="more than 200 objects and lists inside one another"):
            Exchange.open(data, Settings())

    def test_an_added_field_is_added_exactly(self) -> None:
        settings = Settings.from_options({"body": ["store:=true"], "strip": []})
        assert json.loads(Exchange.open(b'{"input":"hi","store":1}', settings).request)["store"] is True

    def test_a_summary_is_asked_for_in_plain_text(self) -> None:
        body: Any = {"input": [{"type": "compaction_trigger"}], "text": {"format": {"type": "json_object"}, "x": 1}}
        assert lower(body, Settings(), Ledger()).body["text"] == {"x": 1}

    def test_words_of_a_model_are_one_short_line_in_the_ledger(self) -> None:
        ledger = Ledger()
        lower({"input": [{"type": "odd\nbridge: forged " + "x" * 200}]}, Settings(), ledger)
        (entry,) = ledger
        assert "\n" not in entry.what
        assert len(entry.what) <= 80

    def test_a_file_goes_behind_the_outputs_with_the_images(self) -> None:
        parts = [{"type": "input_text", "text": "a"}, {"type": "input_file", "file_id": "f"}]
        call_item = {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"}
        body: Any = {"input": [call_item, {"type": "function_call_output", "call_id": "c", "output": parts}]}
        lowered: Any = lower(body, Settings.from_options({"images": "user"}), Ledger()).body["input"]
        assert lowered[1]["output"][1]["text"] == "[file: see the next user message]"
        assert lowered[2]["content"] == [parts[1]]

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({"tools": [{"type": []}]}, "tools[0].type"),
            ({"tools": [{**GROUP, "tools": [{**GROUP, "tools": []}]}]}, "tools[0].tools[0]"),
            ({"input": [{"type": "function_call_output", "call_id": "c", "output": 5}]}, "input[0].output"),
            ({"input": [{"type": "tool_search_call", "call_id": 5}]}, "input[0].call_id"),
            ({"input": [5]}, "input[0]"),
            ({"tool_choice": 5}, "tool_choice"),
        ],
    )  # fmt: skip
    def test_a_bad_request_names_the_field(self, body: Any, path: str) -> None:
        with pytest.raises(ClientError) as refused:
            lower(body, Settings(), Ledger())
        assert refused.value.param == path

    def test_a_search_whose_arguments_are_text_is_lowered_once(self) -> None:
        item = {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": "find it"}
        body: Any = {"input": [item, {"type": "tool_search_output", "call_id": "c", "tools": [{"type": "web_search"}]}]}
        once = lower(body, Settings(), Ledger()).body
        assert lower(once, Settings(), Ledger()).body == once
        lowered: Any = once["input"]
        assert json.loads(lowered[0]["arguments"]) == {"arguments": "find it"}
        assert json.loads(lowered[1]["output"]) == {"tools": ["web_search"]}

    def test_a_field_of_tools_is_not_set_where_there_are_none(self) -> None:
        settings = Settings.from_options({"body": ["tools[].strict=false"]})
        assert "tools" not in lower({"input": "hi"}, settings, Ledger()).body

    def test_false_is_set_over_zero_and_inside_null(self) -> None:
        settings = Settings.from_options({"body": ["store:=false", 'reasoning.effort:="low"']})
        body = lower({"input": "hi", "store": 0, "reasoning": None}, settings, Ledger()).body
        assert body["store"] is False
        assert body["reasoning"] == {"effort": "low"}

    def test_an_agent_message_that_is_a_string_is_read(self) -> None:
        body: Any = lower({"input": [{"type": "agent_message", "content": "hello"}]}, Settings(), Ledger()).body
        assert body["input"][0]["content"] == [{"type": "input_text", "text": "hello"}]

    def test_a_choice_in_a_namespace_that_is_gone_falls_back(self) -> None:
        choice = {"type": "function", "namespace": "gone", "name": "exec"}
        body: Any = {"input": "hi", "tools": [{"type": "function", "name": "exec"}], "tool_choice": choice}
        assert lower(body, Settings(), Ledger()).body["tool_choice"] == "auto"

    def test_a_choice_of_one_server_is_that_one(self) -> None:
        tools = [{"type": "mcp", "server_label": label} for label in "ab"]
        body: Any = {"input": "hi", "tools": tools, "tool_choice": {"type": "mcp", "server_label": "b"}}
        settings = Settings.from_options({"hosted_tools": "passthrough"})
        assert lower(body, settings, Ledger()).body["tool_choice"] == {"type": "mcp", "server_label": "b"}

    def test_parallel_calls_with_one_id_have_their_own_outputs(self) -> None:
        calls = [{"type": "function_call", "call_id": "a", "name": name, "arguments": "{}"} for name in ("x", "y")]
        outputs = [{"type": "function_call_output", "call_id": "a", "output": text} for text in ("1", "2")]
        settings = Settings.from_options({"backend": "chat"})
        opened = Exchange.open(json.dumps({"input": [*calls, *outputs]}).encode(), settings)
        assistant, *tools = json.loads(opened.request)["messages"]
        ids = [made["id"] for made in assistant["tool_calls"]]
        assert [(tool["tool_call_id"], tool["content"]) for tool in tools] == list(zip(ids, ["1", "2"], strict=True))


def test_a_compact_answer_that_is_no_response_is_an_error() -> None:
    opened = Exchange.open(json.dumps(request(stream=False)).encode(), Settings(), compact=True)
    opened.begin(200, "application/json")
    with pytest.raises(BackendError, match="no response object"):
        opened.whole(b'{"error": {"message": "no"}}', "application/json")


def test_a_whole_failure_has_a_string_code() -> None:
    body = whole(
        response([], status="failed", error={"code": 429, "message": "Slow down."}), exchange(request(stream=False))
    )
    assert body["error"]["code"] == "rate_limit_exceeded"


def test_a_replay_is_aimed_by_one_reverse_mode_only() -> None:
    from mitmproxy.test.tflow import tflow

    flow = tflow()
    before = (flow.request.host, flow.request.port)
    for modes in (["regular"], ["nonsense:"], ["reverse:http://a:1", "reverse:http://b:2"], ["reverse:udp://a:1"]):
        aim(flow, modes)
        assert (flow.request.host, flow.request.port) == before
    aim(flow, ["regular", "reverse:https://a:1"])
    assert (flow.request.scheme, flow.request.host, flow.request.port) == ("https", "a", 1)


def test_a_silent_http2_backend_gets_no_keepalive() -> None:
    from mitmproxy.test.tflow import tflow

    flow = tflow()
    flow.live, flow.server_conn.alpn = True, b"h2"
    proxycore.tick(flow)


def test_a_timer_ticks_when_nothing_was_heard_for_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from mitmproxy.test.tflow import tflow

    now, ticks = 0.0, []
    session = Session(chat())
    spoken = {1.0: b": a comment\n\n", 2.0: b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'}

    async def sleep(seconds: float) -> None:
        """Time passes, and the backend speaks in it."""
        nonlocal now
        for when in [when for when in spoken if when <= now + seconds]:
            now, until = when, now + seconds
            session.pieces(spoken.pop(when))
            now, seconds = until, 0.0
        now += seconds
        if now > 11:
            raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(proxycore, "tick", lambda _: ticks.append(now))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(session.keep_alive(tflow(), 3))
    assert ticks == [5.0, 8.0, 11.0]
