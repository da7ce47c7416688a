"""Hostile JSON from either side: a clear refusal or an honest end, in time that grows no faster than the bytes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bridge.errors import BackendError, ClientError
from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.support.backend import Reply, backend, stream, whole
from tests.support.chat_wire import LAST, called, chunk, entry, wire
from tests.support.hostile import ANSWERS, ODD, REFUSED, REQUESTS, TEXTS, VALUES, filled, streamed
from tests.support.leaks import left_behind
from tests.support.proxy import Proxy, proxy
from tests.support.sse_tools import (
    JSON_TYPE,
    STREAM_TYPE,
    TERMINAL,
    USER,
    call,
    call_events,
    chop,
    finished,
    frames,
    function,
    numbered,
    parse,
    relayed,
    request,
    text_events,
    wrapped,
)
from tests.support.sse_tools import stream as responses
from tests.test_addon import ASK, EVENTS, PAYLOAD, input_of

pytestmark = pytest.mark.hard

WIRES = ("responses", "chat")


def settings(wire_name: str) -> Settings:
    """With a backend that speaks an API."""
    return Settings.from_options({"backend": wire_name, "think_tags": "true" if wire_name == "chat" else "false"})


def opened(body: Any, wire_name: str, mode: str = STREAM_TYPE, status: int = 200) -> Exchange:
    """An exchange whose answer has begun."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    exchange = Exchange.open(data, settings(wire_name), seed="x", now=1)
    exchange.begin(status, mode)
    return exchange


def lowered(data: bytes, wire_name: str) -> Exchange | ClientError:
    """What becomes of a request; a refusal is a 4xx in OpenAI's shape."""
    try:
        exchange = Exchange.open(data, settings(wire_name), seed="x", now=1)
    except ClientError as refused:
        error = refused
    else:
        strict(exchange.request)
        return exchange
    assert 400 <= error.status < 500
    assert set(error.body()["error"]) == {"message", "type", "param", "code"}  # type: ignore[arg-type]
    assert len(json.dumps(error.body())) < 2000
    return error


def strict(data: bytes) -> Any:
    """A reader that takes what the JSON standard admits, and nothing else."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    def finite(literal: str) -> float:
        if math.isinf(number := float(literal)):
            refuse(literal)
        return number

    return json.loads(data.decode(), parse_constant=refuse, parse_float=finite)


def judge(left: bytes, came: bytes) -> None:
    """One terminal event, the last; every frame is good JSON, or was the backend's own."""
    events = []
    for frame in left.split(b"\n\n")[:-1]:
        data = frame.partition(b"data: ")[2]
        try:
            events.append(strict(data))
        except (ValueError, RecursionError):
            assert frame in came
    kinds = [event.get("type") for event in events if isinstance(event.get("type"), str)]
    assert [kind for kind in kinds if kind in TERMINAL] == kinds[-1:]


class TestRequests:
    @pytest.mark.parametrize("wire_name", WIRES)
    @pytest.mark.parametrize("value", REFUSED)
    def test_what_is_no_json_is_refused_wherever_it_stands(self, value: str, wire_name: str) -> None:
        for place, template in REQUESTS.items():
            error = lowered(filled(template, REFUSED[value]), wire_name)
            assert isinstance(error, ClientError), place
            assert error.code == "invalid_json", place

    @pytest.mark.parametrize("wire_name", WIRES)
    @pytest.mark.parametrize("value", ODD)
    def test_what_nobody_expects_is_refused_or_lowered(self, value: str, wire_name: str) -> None:
        for template in REQUESTS.values():
            lowered(filled(template, ODD[value]), wire_name)

    @pytest.mark.parametrize("wire_name", WIRES)
    def test_a_body_that_is_one_value_is_refused(self, wire_name: str) -> None:
        for value in VALUES.values():
            if not value.startswith(b"{"):
                assert isinstance(lowered(value, wire_name), ClientError)

    @pytest.mark.parametrize("wire_name", WIRES)
    def test_long_names_stay_apart(self, wire_name: str) -> None:
        tools = [{"type": "custom", "name": "n" * 10_000 + end} for end in ("a", "b")]
        exchange = Exchange.open(json.dumps(request(tools=tools)).encode(), settings(wire_name))
        sent = json.loads(exchange.request)["tools"]
        names = {tool.get("name") or tool["function"]["name"] for tool in sent}
        assert len(names) == 3
        assert all(len(name) <= 64 for name in names)

    @pytest.mark.parametrize("wire_name", WIRES)
    def test_a_body_of_50_mb_is_carried(self, wire_name: str) -> None:
        text = "x" * (50 << 20)
        user = {**USER, "content": [{"type": "input_text", "text": text}]}
        exchange = Exchange.open(json.dumps(request(input=[user])).encode(), settings(wire_name))
        assert len(exchange.request) > len(text)


class TestAnswers:
    @pytest.mark.parametrize("value", VALUES)
    def test_a_stream_ends_honestly_whatever_stands_in_it(self, value: str) -> None:
        for place, (wire_name, template) in ANSWERS.items():
            came, exchange = streamed(template, VALUES[value]), opened(request(), wire_name)
            left = relayed(came, exchange)
            assert exchange.fault is None, place
            judge(left, came)

    @pytest.mark.parametrize("value", VALUES)
    def test_the_same_as_a_whole_answer(self, value: str) -> None:
        for place, (wire_name, template) in ANSWERS.items():
            bodies = [event.get("response", event) for event in template]
            for body in bodies:
                exchange = opened(request(stream=False), wire_name, JSON_TYPE)
                try:
                    left = exchange.whole(filled(body, VALUES[value]), JSON_TYPE)
                except BackendError:
                    continue
                except Exception as fault:
                    raise AssertionError(place) from fault
                assert left.body == filled(body, VALUES[value]) or strict(left.body)

    @pytest.mark.parametrize("wire_name", WIRES)
    @pytest.mark.parametrize("value", VALUES)
    def test_an_error_keeps_its_status(self, value: str, wire_name: str) -> None:
        for place in ("error", "message", "code", "type"):
            body = {"error": "@slot@"} if place == "error" else {"error": {"message": "No.", place: "@slot@"}}
            for status in (400, 429, 500):
                exchange = opened(request(), wire_name, JSON_TYPE, status)
                left = exchange.passed(filled(body, VALUES[value]), JSON_TYPE)
                assert left.status in (None, status), place

    @pytest.mark.parametrize("wire_name", WIRES)
    @pytest.mark.parametrize("text", TEXTS)
    def test_a_payload_of_repeated_pieces_arrives_as_it_is(self, text: str, wire_name: str) -> None:
        payload = TEXTS[text] * 3000
        (item,) = finished(parse(relayed(called_with(payload, wire_name), opened(request(), wire_name))))
        assert item["input"] == payload


def called_with(payload: str, wire_name: str, size: int = 100) -> bytes:
    """A stream with one call, its payload in pieces."""
    pieces = chop(wrapped(payload), size)
    if wire_name == "responses":
        return frames(numbered(responses(call_events(call("exec", wrapped(payload)), pieces))))
    first = called(entry("", index=0, id="call_1", type="function", name="exec"))
    return wire(first, *(called(entry(piece, index=0)) for piece in pieces), chunk("tool_calls"), LAST)


def said(text: str, wire_name: str) -> bytes:
    """A stream with a message, in pieces of 100 characters."""
    pieces = chop(text, 100)
    if wire_name == "responses":
        return frames(numbered(responses(text_events(pieces))))
    return wire(*(chunk(content=piece) for piece in pieces), chunk("stop"), LAST)


def asked_with(text: str) -> bytes:
    """A request with a text wherever one can be."""
    description = {"type": "custom", "name": text, "description": text}
    history: list[Any] = [
        {**USER, "content": [{"type": "input_text", "text": text}]},
        {"type": "function_call", "id": "f", "call_id": text, "name": "wait", "arguments": text},
        {"type": "function_call_output", "call_id": text, "output": text},
        {"type": "custom_tool_call", "id": "c", "call_id": "c", "name": text, "input": text},
        {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": text}]},
        {"type": "reasoning", "id": "r", "summary": [], "content": None, "encrypted_content": text},
    ]
    return json.dumps(request(input=history, instructions=text, tools=[description, function("wait")])).encode()


def _relay(data: bytes, wire_name: str) -> None:
    exchange = opened(request(), wire_name)
    relayed(data, exchange, cuts=range(1000, len(data), 1000))


def _error(data: bytes, wire_name: str, status: int = 500) -> None:
    opened(request(), wire_name, JSON_TYPE, status).passed(data, JSON_TYPE)


type Work = tuple[Callable[[str, str], bytes], Callable[[bytes, str], object]]
WORK: dict[str, Work] = {
    "request": (lambda text, _: asked_with(text), lowered),
    "payload": (called_with, _relay),
    "text": (said, _relay),
    "bare frames": (lambda text, _: text.encode(), _relay),
    "error in words": (lambda text, _: text.encode(), _error),
    "error message": (lambda text, _: json.dumps({"error": {"message": text, "code": text}}).encode(), _error),
    "arguments": (lambda text, wire_name: called_as(text, wire_name), _relay),
}


def called_as(arguments: str, wire_name: str) -> bytes:
    """A stream with one call whose arguments are the text itself."""
    pieces = chop(arguments, 100)
    if wire_name == "responses":
        return frames(numbered(responses(call_events(call("exec", arguments), pieces))))
    first = called(entry("", index=0, id="call_1", type="function", name="exec"))
    return wire(first, *(called(entry(piece, index=0)) for piece in pieces), chunk("tool_calls"), LAST)


def seconds(work: Callable[[], object]) -> float:
    """CPU time, the best of a few runs where they are short: a machine has slow moments."""
    taken: list[float] = []
    while len(taken) < 5 and sum(taken) < 0.3:
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def assert_linear(work: Callable[[int], Callable[[], object]], size: int) -> None:
    """Eight times as much takes about eight times as long, and no sixty-four; what takes no time is not compared.

    Between the two there is room for a machine that halves its speed and for the garbage collector.
    """
    if (long := seconds(work(2 * size))) > 0.05:
        assert long < 30 * seconds(work(size // 4)) + 0.05


class TestTime:
    @pytest.mark.parametrize("wire_name", WIRES)
    @pytest.mark.parametrize("kind", WORK)
    @pytest.mark.parametrize("text", TEXTS)
    def test_it_grows_with_the_text_and_no_faster(self, text: str, kind: str, wire_name: str) -> None:
        make, work = WORK[kind]

        def sized(size: int) -> Callable[[], object]:
            data = make(TEXTS[text] * (size // len(TEXTS[text])), wire_name)
            return lambda: work(data, wire_name)

        assert_linear(sized, 20_000)

    @pytest.mark.parametrize("wire_name", WIRES)
    @pytest.mark.parametrize("kind", ["custom", "namespaces", "names alike", "keys alike", "history"])
    def test_it_grows_with_the_number_and_no_faster(self, kind: str, wire_name: str) -> None:
        def sized(count: int) -> Callable[[], object]:
            data = json.dumps(many(kind, count)).encode()
            return lambda: lowered(data, wire_name)

        assert_linear(sized, 2_000)

    @pytest.mark.parametrize("wire_name", WIRES)
    def test_it_grows_with_open_calls_and_no_faster(self, wire_name: str) -> None:
        def sized(count: int) -> Callable[[], object]:
            data = open_calls(count, wire_name)
            return lambda: _relay(data, wire_name)

        assert_linear(sized, 400)


def many(kind: str, count: int) -> Any:
    """A request with many of something."""
    names = ["n" * 80 + str(number) if kind == "names alike" else f"t{number}" for number in range(count)]
    if kind == "history":
        items = [_pair(str(number)) for number in range(count)]
        return request(input=[item for pair in items for item in pair])
    if kind == "keys alike":
        return request(metadata={"k" * 100 + name: 1 for name in names})
    if kind == "namespaces":
        return request(tools=[{"type": "namespace", "name": name, "tools": [function("f")]} for name in names])
    return request(tools=[{"type": "custom", "name": name, "description": "d"} for name in names])


def _pair(number: str) -> list[Any]:
    made = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": number, "name": "exec", "input": "x"}
    return [made, {"type": "custom_tool_call_output", "call_id": number, "output": "y"}]


def open_calls(count: int, wire_name: str) -> bytes:
    """A stream with many calls that are all open before the first ends."""
    if wire_name == "chat":
        entries = [entry("{", index=n, id=f"c{n}", type="function", name="exec") for n in range(count)]
        more = [called(entry('"input":"x"}', index=n)) for n in range(count)]
        return wire(*map(called, entries), *more, chunk("tool_calls"), LAST)
    parts = [call_events(call("exec", wrapped("x"), n), [wrapped("x")], n) for n in range(count)]
    interleaved = [event for step in zip(*parts, strict=True) for event in step]
    return frames(numbered(responses(interleaved)))


class TestProxy:
    @pytest.fixture(scope="class")
    @staticmethod
    def between() -> Iterator[Proxy]:
        """One proxy for all, before a backend that means well."""
        with backend(lambda asked: stream(*EVENTS)) as running, proxy(running.url) as found:
            yield found

    @pytest.mark.parametrize("value", REFUSED)
    def test_a_refusal_is_a_400_and_the_next_request_is_served(self, between: Proxy, value: str) -> None:
        got = between.post(data=filled({**ASK, "x": "@slot@"}, REFUSED[value]))
        assert (got.status, got.body["error"]["type"]) == (400, "invalid_request_error")
        assert input_of(between.post(ASK).events) == PAYLOAD
        assert left_behind(between) == {}

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(lambda: {**ASK, "instructions": "x" * (50 << 20)}, id="50 MB"),
            pytest.param(lambda: {**many("custom", 10_000), "input": ASK["input"]}, id="10,000 tools"),
            pytest.param(lambda: many("names alike", 10_000), id="10,000 long names"),
        ],
    )
    def test_what_is_only_large_is_carried(self, between: Proxy, body: Callable[[], Any]) -> None:
        assert input_of(between.post(body()).events) == PAYLOAD

    @pytest.mark.parametrize("wire_name", WIRES)
    @pytest.mark.parametrize("value", VALUES)
    def test_a_hostile_answer_is_no_end_of_the_proxy(self, value: str, wire_name: str) -> None:
        body = filled({"id": "r", "output": "@slot@", "choices": "@slot@"}, VALUES[value])
        answers = [
            Reply([b"data: %b\n\n" % body], headers={"content-type": "text/event-stream"}),
            Reply([body], headers={"content-type": "application/json"}),
            Reply([body], 500, {"content-type": "application/json"}),
            whole({"id": "r", "object": "response", "status": "completed", "output": []}),
        ]
        setting = f"bridge_backend={wire_name}"
        with backend(lambda _: answers.pop(0)) as running, proxy(running.url, setting) as between:
            got = [between.post(ASK) for _ in range(4)]
            assert left_behind(between) == {}
            assert not between.log.about("fault")
        assert [each.status for each in got[2:]] == [500, 200]
        assert all(each.status in (200, 502) for each in got[:2])
