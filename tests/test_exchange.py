"""One exchange: how an answer is handled, conversions, compaction, encodings, faults, and what is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mitmproxy.net import encoding
from openai.types.responses import CompactedResponse
from pydantic import ByteSize

from bridge.errors import BackendError, ClientError
from bridge.exchange import Exchange, Mode
from bridge.settings import Settings
from bridge.tools.complete import Completer
from tests.support.sse_tools import (
    CARRIER,
    DIALECTS,
    JSON_TYPE,
    NOW,
    STREAM_TYPE,
    USER,
    Event,
    added,
    assert_adds_up,
    assert_dense,
    assert_valid,
    assert_valid_response,
    call,
    call_events,
    done,
    end_of,
    ended,
    exchange,
    finished,
    frames,
    llama_call,
    numbered,
    of,
    parse,
    reasoning_events,
    relayed,
    request,
    response,
    rules,
    stream,
    text_events,
    warnings,
    whole,
    wrapped,
)

ENCODINGS = ["gzip", "deflate", "br", "zstd"]


def to_bytes(body: Any) -> bytes:
    """A body on the wire."""
    return json.dumps(body).encode()


def packed(data: bytes, name: str) -> bytes:
    """A body, encoded."""
    left = encoding.encode(data, name)
    assert isinstance(left, bytes)
    return left


# The request


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoded_request_is_decoded(name: str) -> None:
    data = to_bytes(request())
    opened = Exchange.open(packed(data, name), Settings(), encoding=name)
    assert opened.client == data
    assert [(entry.what, entry.count) for entry in opened.ledger if entry.rule == "decoded"] == [(name, 1)]


def test_a_request_that_needs_no_change_is_sent_as_the_bytes_that_came() -> None:
    data = json.dumps({"model": "m", "input": "hi"}, indent=3).encode()
    assert Exchange.open(data, Settings()).request == data


def test_a_request_that_was_lowered_once_is_sent_as_it_is() -> None:
    once = Exchange.open(to_bytes(request()), Settings()).request
    assert Exchange.open(once, Settings()).request == once


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/compact"])
def test_a_compaction_is_asked_where_all_else_is(path: str) -> None:
    assert exchange().path(path) == "/v1/responses"


REFUSED: dict[str, tuple[bytes, str, int, int, str | None, str]] = {
    "unknown-encoding": (b"{}", "snappy", 100, 415, "content-encoding", "snappy"),
    "too-large": (packed(b" " * 1000, "gzip"), "gzip", 100, 413, None, "bridge_max_body"),
    "damaged": (b"\x1f\x8bnonsense", "gzip", 100, 400, "content-encoding", "gzip"),
    "broken-off": (packed(b"{}" * 100, "gzip")[:-9], "gzip", 1000, 400, "content-encoding", "gzip"),
    "no-json": (b"{nope", "", 100, 400, None, "JSON"),
    "no-utf8": (b'{"a": "\xff"}', "", 100, 400, None, "JSON"),
    "no-object": (b"[]", "", 100, 400, None, "object"),
}


@pytest.mark.parametrize(("data", "name", "limit", "status", "param", "word"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_cannot_be_read_is_refused(
    data: bytes, name: str, limit: int, status: int, param: str | None, word: str
) -> None:
    with pytest.raises(ClientError) as refusal:
        Exchange.open(data, Settings(max_body=ByteSize(limit)), encoding=name)
    error = refusal.value.body()["error"]
    assert isinstance(error, dict)
    assert (refusal.value.status, error["param"], error["type"]) == (status, param, "invalid_request_error")
    assert word in str(error["message"])


# How an answer is handled

HEADS: dict[str, tuple[int, str, Event, dict[str, Any], Mode]] = {
    "stream": (200, STREAM_TYPE, request(), {}, Mode.STREAM),
    "stream-in-capitals": (200, "Text/Event-Stream", request(), {}, Mode.STREAM),
    "json-for-a-stream": (200, JSON_TYPE, request(), {}, Mode.WHOLE),
    "no-type-for-a-stream": (200, "", request(), {}, Mode.WHOLE),
    "json": (200, JSON_TYPE, request(stream=False), {}, Mode.WHOLE),
    "stream-for-json": (200, STREAM_TYPE, request(stream=False), {}, Mode.WHOLE),
    "stream-where-nothing-was-said": (200, STREAM_TYPE, {"input": "hi"}, {}, Mode.WHOLE),
    "stream-that-is-held": (200, STREAM_TYPE, request(), {"settings": Settings(stream=False)}, Mode.WHOLE),
    "stream-of-a-compaction": (200, STREAM_TYPE, request(), {"compact": True}, Mode.WHOLE),
    "error": (400, JSON_TYPE, request(), {}, Mode.PASS),
    "error-as-a-stream": (500, STREAM_TYPE, request(), {}, Mode.PASS),
    "redirect": (302, "text/html", request(), {}, Mode.PASS),
}


@pytest.mark.parametrize(("status", "kind", "body", "more", "mode"), HEADS.values(), ids=HEADS)
def test_the_head_of_an_answer_decides_its_mode(
    status: int, kind: str, body: Event, more: dict[str, Any], mode: Mode
) -> None:
    assert exchange(body, **more).begin(status, kind) is mode


def test_a_stream_that_is_held_leaves_as_it_would_have_streamed() -> None:
    data = frames(numbered(stream(call_events(call("exec", wrapped("x"))))))
    answer = exchange(settings=Settings(stream=False)).whole(data, STREAM_TYPE)
    assert (answer.body, answer.content_type) == (relayed(data), "text/event-stream")


def test_an_http_error_keeps_its_body() -> None:
    opened = exchange()
    assert opened.begin(429, JSON_TYPE) is Mode.PASS
    answer = opened.passed(b'{"error": "slow"}', JSON_TYPE)
    assert (answer.body, answer.content_type, answer.status) == (b'{"error": "slow"}', JSON_TYPE, None)
    assert opened.said.bytes() == opened.heard.bytes() == b'{"error": "slow"}'


def test_an_encoded_http_error_is_decoded() -> None:
    opened = exchange()
    opened.begin(429, JSON_TYPE, "gzip")
    assert opened.passed(packed(b"slow", "gzip"), "text/plain").body == b"slow"


# Conversions

CONVERTED: dict[str, list[list[Event]]] = {
    "text": [text_events(["Hé", "😀"])],
    "calls": [
        call_events(call("exec", wrapped("a\r\n😀"))),
        call_events(call("team__spawn", '{"a": 1}', 1), None, 1),
        call_events(call("tool_search", '{"query": "q"}', 2), None, 2),
        call_events(call("nobody", "{}", 3), None, 3),
    ],
    "reasoning": [reasoning_events(["hm"]), text_events(["ok"], 1)],
    "nothing": [],
}
each_conversion = pytest.mark.parametrize("parts", CONVERTED.values(), ids=CONVERTED)


def direct(parts: list[list[Event]]) -> list[Event]:
    """The items that a client gets where nothing is converted."""
    return finished(parse(relayed(frames(numbered(stream(*parts))))))


@each_conversion
def test_a_whole_answer_for_a_client_that_streams_gives_the_same_items(parts: list[list[Event]]) -> None:
    opened = exchange(mode=JSON_TYPE)
    answer = opened.whole(to_bytes(stream(*parts)[-1]["response"]), JSON_TYPE)
    left = parse(answer.body)
    assert answer.content_type == "text/event-stream"
    assert finished(left) == direct(parts)
    assert [event["type"] for event in left[:2]] == ["response.created", "response.in_progress"]
    assert [(event["response"]["output"], event["response"]["usage"]) for event in left[:2]] == [([], None)] * 2
    assert end_of(left)["type"] == "response.completed"
    assert_valid(left)
    assert_dense(left)
    assert [entry.what for entry in opened.ledger if entry.rule == "converted"] == ["whole answer to stream"]


@pytest.mark.parametrize("dialect", DIALECTS)
@each_conversion
def test_a_stream_for_a_client_that_does_not_gives_the_same_items(parts: list[list[Event]], dialect: str) -> None:
    opened = exchange(request(stream=False))
    answer = whole(DIALECTS[dialect](stream(*parts)), opened, mode=STREAM_TYPE)
    assert (answer["output"], answer["status"]) == (direct(parts), "completed")
    assert_valid_response(answer)
    assert [entry.what for entry in opened.ledger if entry.rule == "converted"] == ["stream to whole answer"]


def test_items_that_finish_out_of_order_stand_in_order_in_a_whole_answer() -> None:
    first, second = call("wait", "{}"), call("exec", wrapped("x"), 1)
    data = frames(numbered([added(first), added(second, 1), done(second, 1), done(first), ended([])]))
    answer = whole(data, exchange(request(stream=False)), mode=STREAM_TYPE)
    assert [item["name"] for item in answer["output"]] == ["wait", "exec"]


@each_conversion
def test_a_whole_answer_gives_the_same_items(parts: list[list[Event]]) -> None:
    assert whole(stream(*parts)[-1]["response"])["output"] == direct(parts)


def test_a_whole_answer_lifted_twice_is_lifted_once() -> None:
    body = to_bytes(stream(*CONVERTED["calls"])[-1]["response"])
    once = exchange(request(stream=False), mode=JSON_TYPE).whole(body, JSON_TYPE).body
    assert exchange(request(stream=False), mode=JSON_TYPE).whole(once, JSON_TYPE).body == once


def test_a_converted_stream_lifted_again_stays() -> None:
    answer = exchange(mode=JSON_TYPE).whole(to_bytes(stream(*CONVERTED["calls"])[-1]["response"]), JSON_TYPE)
    assert relayed(answer.body) == answer.body


def test_a_stream_that_calls_itself_json_is_a_stream() -> None:
    data = frames(numbered(stream(text_events(["hi"]))))
    assert exchange(mode=JSON_TYPE).whole(data, JSON_TYPE).body == relayed(data)


def test_a_converted_call_adds_up() -> None:
    left = parse(exchange(mode=JSON_TYPE).whole(to_bytes(response([call("exec", wrapped("x\x00"))])), JSON_TYPE).body)
    assert_adds_up(left, "x\x00")


def test_a_refusal_is_streamed_as_a_part() -> None:
    part = {"type": "refusal", "refusal": "no"}
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
    left = parse(exchange(mode=JSON_TYPE).whole(to_bytes(response([item])), JSON_TYPE).body)
    assert finished(left) == [item]
    assert [event["part"] for event in of(left, "content_part.done")] == [part]
    assert_valid(left)


def test_an_item_of_another_kind_is_announced_and_finished() -> None:
    action = {"type": "search", "query": "q"}
    item = {"type": "web_search_call", "id": "ws_0", "status": "completed", "action": action}
    left = parse(exchange(mode=JSON_TYPE).whole(to_bytes(response([item])), JSON_TYPE).body)
    assert [event["item"] for event in left[2:-1]] == [item, item]
    assert_valid(left)


@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_a_whole_answer_that_did_not_complete_is_streamed_with_its_end(status: str) -> None:
    error = {"code": "server_error", "message": "m"} if status == "failed" else None
    body = response([], status=status, error=error)
    end = end_of(parse(exchange(mode=JSON_TYPE).whole(to_bytes(body), JSON_TYPE).body))
    assert (end["type"], end["response"]["status"], end["response"]["error"]) == (f"response.{status}", status, error)


@pytest.mark.parametrize("name", ["exec", "wait"])
def test_a_truncated_call_does_not_survive_a_conversion(name: str) -> None:
    item = call(name, '{"input": "x')
    left = parse(exchange(mode=JSON_TYPE).whole(to_bytes(response([item])), JSON_TYPE).body)
    assert (finished(left), end_of(left)["type"]) == ([], "response.failed")
    answer = whole(frames(numbered(stream(call_events(item)))), exchange(request(stream=False)), mode=STREAM_TYPE)
    assert (answer["output"], answer["status"]) == ([], "failed")


def test_a_truncated_call_of_llama_cpp_does_not_survive_a_conversion() -> None:
    answer = whole(llama_call('{"input":'), exchange(request(stream=False)), mode=STREAM_TYPE)
    assert (answer["output"], answer["status"]) == ([], "failed")
    assert_valid_response(answer)


def test_a_stream_without_its_end_becomes_a_failed_answer() -> None:
    data = frames(numbered(stream(text_events(["hi"]))[:-1]))
    answer = whole(data, exchange(request(stream=False)), mode=STREAM_TYPE)
    assert (answer["status"], answer["error"]["code"]) == ("failed", "server_error")


NO_RESPONSE: dict[str, tuple[bytes, str, str]] = {
    "error-object": (b'{"error": {"code": 429, "message": "slow down"}}', "rate_limit_exceeded", "slow down"),
    "error-text": (b'{"error": "slow down"}', "server_error", "slow down"),
    "no-response": (b'{"ok": true}', "server_error", "no response object"),
    "list": (b"[]", "server_error", "no response object"),
    "html": (b"<html>", "server_error", "no response object"),
    "empty": (b"", "server_error", "no response object"),
}


@pytest.mark.parametrize(("data", "code", "message"), NO_RESPONSE.values(), ids=NO_RESPONSE)
def test_a_success_without_a_response_is_a_failed_stream(data: bytes, code: str, message: str) -> None:
    opened = exchange(mode=JSON_TYPE)
    left = parse(opened.whole(data, JSON_TYPE).body)
    error = end_of(left)["response"]["error"]
    assert (end_of(left)["type"], error["code"]) == ("response.failed", code)
    assert message in error["message"]
    assert "no response" in [what for what, _ in warnings(opened, "failed")]
    assert_valid(left)


@pytest.mark.parametrize("data", [row[0] for row in NO_RESPONSE.values()], ids=NO_RESPONSE)
def test_a_success_without_a_response_passes_to_a_client_that_does_not_stream(data: bytes) -> None:
    opened = exchange(request(stream=False), mode=JSON_TYPE)
    answer = opened.whole(data, "text/html")
    assert (answer.body, answer.content_type) == (data, "text/html")
    assert len(warnings(opened, "failed")) == 1


def test_a_bare_response_object_becomes_a_stream() -> None:
    left = parse(exchange(mode=JSON_TYPE).whole(b'{"object": "response", "id": "r"}', JSON_TYPE).body)
    assert end_of(left)["type"] == "response.completed"
    assert_valid(left)


# Compaction

TRIGGER = {"type": "compaction_trigger"}
SUMMARY = stream(text_events(["All ", "done."]))


def compacting(**fields: Any) -> Exchange:
    """An exchange in which the client asks for a compaction."""
    return exchange(request(input=[CARRIER, USER, TRIGGER], **fields))


def replayed(item: Event) -> str:
    """What the backend gets to read of a compaction item."""
    sent = json.loads(Exchange.open(to_bytes({"input": [item, USER]}), Settings()).request)
    (text,) = [part["text"] for part in sent["input"][0]["content"]]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_compaction_streams_one_item_that_holds_the_summary(dialect: str) -> None:
    left = parse(relayed(DIALECTS[dialect](SUMMARY), compacting()))
    assert [event["type"] for event in left] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
    ]
    (item,) = finished(left)
    assert end_of(left)["response"]["output"] == [item]
    assert replayed(item).endswith("All done.")
    assert_valid(left)
    assert_dense(left)


def test_a_keepalive_of_the_backend_passes_a_compaction() -> None:
    left = parse(relayed(frames(numbered([SUMMARY[0], {"type": "keepalive"}, *SUMMARY[1:]])), compacting()))
    assert [event["type"] for event in left][:2] == ["response.created", "keepalive"]
    assert_dense(left)


def test_a_compaction_asks_for_no_call() -> None:
    assert json.loads(compacting().request)["tool_choice"] == "none"


@pytest.mark.parametrize("keep", [1, 4, 8])
def test_a_compaction_takes_the_summary_from_wherever_it_stands(keep: int) -> None:
    events = {1: [ended([SUMMARY[-2]["item"]])], 4: [*SUMMARY[2:6], ended([])], 8: SUMMARY}[keep]
    (item,) = finished(parse(relayed(frames(numbered(events)), compacting())))
    assert replayed(item).endswith("All done.")


def test_a_compaction_leaves_calls_and_reasoning_out() -> None:
    events = stream(
        reasoning_events(["hm"]), text_events(["Sum."], 1), call_events(call("exec", wrapped("x"), 2), None, 2)
    )
    left = parse(relayed(frames(numbered(events)), compacting()))
    assert [item["type"] for item in finished(left)] == ["compaction"]
    assert replayed(finished(left)[0]).endswith("Sum.")


@pytest.mark.parametrize("stream_back", [True, False])
@pytest.mark.parametrize("streams", [True, False])
def test_a_compaction_is_one_item_however_it_comes_and_goes(*, streams: bool, stream_back: bool) -> None:
    opened = compacting(stream=streams)
    data = frames(numbered(SUMMARY)) if stream_back else to_bytes(SUMMARY[-1]["response"])
    body = opened.whole(data, STREAM_TYPE if stream_back else JSON_TYPE).body
    (item,) = finished(parse(body)) if streams else json.loads(body)["output"]
    assert item["type"] == "compaction"
    assert replayed(item).endswith("All done.")
    assert "compacted" in rules(opened)


@pytest.mark.parametrize("stream_back", [True, False])
def test_the_compact_path_answers_with_a_compaction(*, stream_back: bool) -> None:
    opened = exchange(request(), compact=True)
    data = frames(numbered(SUMMARY)) if stream_back else to_bytes(SUMMARY[-1]["response"])
    answer = whole(data, opened, mode=STREAM_TYPE if stream_back else JSON_TYPE)
    CompactedResponse.model_validate(answer)
    assert (answer["object"], answer["created_at"], len(answer["output"])) == ("response.compaction", NOW, 1)
    assert replayed(answer["output"][0]).endswith("All done.")


@pytest.mark.parametrize("events", [stream(), stream(call_events(call("wait", "{}")))])
def test_a_compaction_without_a_summary_failed(events: list[Event]) -> None:
    opened = compacting()
    left = parse(relayed(frames(numbered(events)), opened))
    assert (finished(left), end_of(left)["type"]) == ([], "response.failed")
    assert end_of(left)["response"]["error"]["code"] == "server_error"
    assert [what for what, _ in warnings(opened, "failed")] == ["compaction"]
    assert_valid(left)


AS_ASKED: Event = {"model": request()["model"], "tools": []}
"""What a backend's response has to hold to need no change."""
UNFINISHED: dict[str, tuple[list[Event], str]] = {
    "incomplete": (stream(text_events(["par"]), end="response.incomplete", status="incomplete"), "response.incomplete"),
    "incomplete by its type": (
        stream(text_events(["par"]), end="response.incomplete", status=None, **AS_ASKED),
        "response.incomplete",
    ),
    "failed": (stream(text_events(["par"]), end="response.failed", status="failed"), "response.failed"),
    "broken-off": (stream(text_events(["par"]))[:-1], "response.failed"),
    "cut-call": (stream(text_events(["par"]), call_events(call("wait", "{", 1), None, 1)), "response.failed"),
}


@pytest.mark.parametrize(("events", "end"), UNFINISHED.values(), ids=UNFINISHED)
def test_a_compaction_that_did_not_finish_gives_no_item(events: list[Event], end: str) -> None:
    left = parse(relayed(frames(numbered(events)), compacting()))
    assert (finished(left), end_of(left)["type"], end_of(left)["response"]["output"]) == ([], end, [])


def test_an_unfinished_summary_on_the_compact_path_is_an_error() -> None:
    events, _ = UNFINISHED["incomplete by its type"]
    with pytest.raises(BackendError, match="no summary"):
        exchange(request(), compact=True).whole(frames(numbered(events)), STREAM_TYPE)


def test_a_failed_compaction_on_the_compact_path_is_an_error() -> None:
    for data, mode in ((to_bytes(response([])), JSON_TYPE), (frames(numbered(stream())), STREAM_TYPE)):
        with pytest.raises(BackendError, match="no summary"):
            exchange(request(), compact=True).whole(data, mode)


def test_an_error_event_leaves_a_compaction() -> None:
    error = {"type": "error", "code": "insufficient_quota", "message": "m", "param": None}
    left = parse(relayed(frames(numbered([*SUMMARY[:2], error])), compacting()))
    assert [event["type"] for event in left[2:]] == ["error", "response.failed"]
    assert end_of(left)["response"]["error"]["code"] == "insufficient_quota"


# Encodings of an answer


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoded_stream_leaves_plain_in_any_pieces(name: str) -> None:
    data = frames(numbered(stream(text_events(["hi"]), call_events(call("exec", wrapped("x"), 1), None, 1))))
    coded = packed(data, name)
    for size in (1, 7, len(coded)):
        opened = exchange()
        opened.begin(200, STREAM_TYPE, name)
        assert relayed(coded, opened, cuts=range(size, len(coded), size)) == relayed(data)
        assert opened.heard.bytes() == data


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoded_whole_answer_is_lifted(name: str) -> None:
    opened = exchange(request(stream=False))
    opened.begin(200, JSON_TYPE, name)
    data = packed(to_bytes(response([call("exec", wrapped("x"))])), name)
    assert whole(data, opened)["output"][0]["input"] == "x"


def test_an_unknown_encoding_is_the_backend_s_fault() -> None:
    with pytest.raises(BackendError, match="snappy"):
        exchange().begin(200, STREAM_TYPE, "snappy")


@pytest.mark.parametrize("data", [b"nonsense", packed(to_bytes(response([])), "gzip")[:-9]])
def test_a_damaged_whole_answer_is_the_backend_s_fault(data: bytes) -> None:
    opened = exchange(request(stream=False))
    opened.begin(200, JSON_TYPE, "gzip")
    with pytest.raises(BackendError, match="gzip"):
        opened.whole(data, JSON_TYPE)


def test_an_encoded_stream_that_breaks_off_failed() -> None:
    opened = exchange()
    opened.begin(200, STREAM_TYPE, "gzip")
    left = relayed(packed(frames(numbered(stream(text_events(["hi"])))), "gzip")[:-60], opened)
    assert end_of(parse(left[left.rindex(b"event:") :]))["type"] == "response.failed"


# Faults


def test_a_damaged_stream_fails_once() -> None:
    opened = exchange()
    opened.begin(200, STREAM_TYPE, "gzip")
    left = parse(b"".join(opened.feed(b"nonsense")))
    assert end_of(left)["type"] == "response.failed"
    assert opened.feed(b"more") == opened.tick() == opened.fail("gone") == opened.close() == []


def test_a_fault_in_the_bridge_fails_the_stream_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = exchange()
    events = numbered(stream(text_events(["secret"])))
    first = b"".join(opened.feed(frames(events[:3])))
    with monkeypatch.context() as broken:
        broken.setattr(Completer, "complete", lambda *_: 1 // 0)
        last = b"".join(opened.feed(frames(events[3:])))
    left = parse(first + last)
    error = end_of(left)["response"]["error"]
    assert (end_of(left)["type"], error["code"]) == ("response.failed", "server_error")
    assert "ZeroDivisionError" in error["message"]
    assert isinstance(opened.fault, ZeroDivisionError)
    assert opened.feed(frames(events)) == opened.close() == []
    assert_valid(left)


# What is kept


def test_both_sides_of_a_stream_are_kept() -> None:
    opened, data = exchange(), frames(numbered(stream(call_events(call("exec", wrapped("x"))))))
    left = relayed(data, opened)
    assert (opened.heard.bytes(), opened.said.bytes(), opened.streamed) == (data, left, True)


def test_both_sides_of_a_whole_answer_are_kept() -> None:
    opened, data = exchange(request(stream=False)), to_bytes(response([call("exec", wrapped("x"))]))
    left = opened.whole(data, JSON_TYPE).body
    assert (opened.heard.bytes(), opened.said.bytes(), opened.streamed) == (data, left, False)


def test_what_leaves_at_a_failure_is_kept() -> None:
    opened = exchange()
    left = [*opened.tick(), *opened.fail("gone")]
    assert opened.said.bytes() == b"".join(left)


@pytest.mark.parametrize("limit", [0, 100])
def test_no_more_is_kept_than_asked(limit: int) -> None:
    opened, data = exchange(settings=Settings(keep_bodies=ByteSize(limit))), frames(numbered(stream()))
    left = relayed(data, opened)
    assert (opened.heard.bytes(), opened.said.bytes()) == (data[:limit], left[:limit])
    assert (opened.heard.whole, opened.said.whole) == (False, False)


# Reports of real users, retold


def test_a_text_answer_arrives_though_most_tools_were_not_functions() -> None:
    body = request(tools=[*request()["tools"], {"type": "web_search"}, {"type": "image_generation"}])
    left = parse(relayed(frames(numbered(stream(text_events(["ok"])))), exchange(body)))
    assert (finished(left)[0]["content"][0]["text"], end_of(left)["type"]) == ("ok", "response.completed")
    assert of(left, "output_text.delta")[0]["delta"] == "ok"


def test_a_text_answer_arrives_though_codex_s_own_fields_were_stripped() -> None:
    more = {"client_metadata": {"a": "b"}, "prompt_cache_key": "k", "include": ["x"], "text": {"verbosity": "low"}}
    left = parse(relayed(frames(numbered(stream(text_events(["ok"])))), exchange(request(**more))))
    assert (finished(left)[0]["content"][0]["text"], end_of(left)["type"]) == ("ok", "response.completed")


def test_a_stream_that_ends_with_response_done_is_a_whole_answer_with_its_text() -> None:
    item = text_events(["hi"])[-1]["item"]
    events = [{"type": "response.created", "response": response([])}, ended([item], "response.done")]
    answer = whole(frames(events), exchange(request(stream=False)), mode=STREAM_TYPE)
    assert (answer["status"], answer["output"]) == ("completed", [item])
    left = parse(relayed(frames(events)))
    assert (finished(left), end_of(left)["type"]) == ([item], "response.completed")
