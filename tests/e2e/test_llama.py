"""The bridge between a client and a real llama.cpp server, whose model really calls and whose parser really parses."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.llama import WIRES, Served, ask
from tests.e2e.payloads import PAYLOADS
from tests.support.proxy import Got
from tests.support.sse_tools import (
    assert_adds_up,
    assert_dense,
    assert_valid,
    assert_valid_response,
    end_of,
    finished,
    function,
    parse,
)

pytestmark = pytest.mark.llama

type Object = dict[str, Any]

EXEC: Object = {
    "type": "custom",
    "name": "exec",
    "description": "Runs a script.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /(.|\\n)*/"},
}
CARRIER: Object = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [{"type": "namespace", "name": "functions", "description": "", "tools": [EXEC, function("wait")]}],
}
PARAMETERS: Object = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
FUNCTION: Object = {"type": "function", "name": "exec", "parameters": PARAMETERS, "strict": False}
TEAM: Object = {"type": "namespace", "name": "team", "description": "A team.", "tools": [{**FUNCTION, "name": "send"}]}
THOUGHT: Object = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "It wants a call."}],
    "content": None,
    "encrypted_content": "Z2liYmVyaXNo",
}
CALL: Object = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "exec", "input": "x"}
OUTPUT: Object = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"}
IMAGE: Object = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
SEEN: Object = {**OUTPUT, "output": [{"type": "input_text", "text": "ok"}, IMAGE]}


def body(*items: Object, **fields: Any) -> Object:
    """A request; a model that goes astray is stopped."""
    return {"model": "small", "max_output_tokens": 400, "input": list(items), **fields}


def called(got: Got) -> list[Object]:
    """The calls of a whole answer: what they are, of what, with what."""
    shown = ("type", "namespace", "name", "input", "arguments")
    assert got.status == 200, got.raw
    items = [item for item in got.body["output"] if item["type"].endswith("_call")]
    return [{key: item[key] for key in shown if key in item} for item in items]


def custom(payload: str, **fields: str) -> Object:
    """What `called` shows of a custom call."""
    return {"type": "custom_tool_call", **fields, "name": "exec", "input": payload}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_payload_comes_back_verbatim(real: Served, payload: str) -> None:
    """One test a payload, since behind its first request the server has the prompt in its cache."""
    asked = body(CARRIER, ask("exec", payload))
    for wire in WIRES:
        events = parse(real.through(wire).post({**asked, "stream": True}).raw)
        assert_valid(events)
        assert_dense(events)
        assert_adds_up(events, payload)
        assert end_of(events)["type"] == "response.completed"
        assert [event["item"]["name"] for event in events if "item" in event] == ["exec", "exec"]
        got = real.through(wire).post(asked)
        assert_valid_response(got.body)
        assert called(got) == [custom(payload)]


def test_a_long_payload_arrives_bit_by_bit(real: Served) -> None:
    for wire in WIRES:
        got = real.through(wire).post(body(CARRIER, ask("exec", PAYLOADS["a patch"]), stream=True))
        deltas = [event for event in parse(got.raw) if event["type"] == "response.custom_tool_call_input.delta"]
        assert len(deltas) > 20


X = ask("exec", "x")
REFUSED = {
    "a carrier": (body(CARRIER, X), "Cannot determine type"),
    "a custom call": (body(X, CALL, OUTPUT, tools=[FUNCTION]), "Cannot determine type"),
    "an output of one": (body(X, OUTPUT, tools=[FUNCTION]), "Cannot determine type"),
    "reasoning without content": (body(THOUGHT, X, tools=[FUNCTION]), "is not an array"),
}
DROPPED = {
    "a custom tool": (body(X, tools=[EXEC]), custom("x")),
    "a custom tool among functions": (body(X, tools=[EXEC, function("wait")]), custom("x")),
    "a choice of a custom tool": (
        body(X, tools=[function("wait"), EXEC], tool_choice={"type": "custom", "name": "exec"}),
        custom("x"),
    ),
    "a namespace": (
        body(ask("team__send", "x"), tools=[TEAM]),
        {"type": "function_call", "namespace": "team", "name": "send", "arguments": {"input": "x"}},
    ),
}


class TestWithoutTheBridge:
    """What the server does not take, and what it loses, it takes from the bridge."""

    @pytest.mark.parametrize(("asked", "reason"), REFUSED.values(), ids=REFUSED)
    def test_it_is_refused(self, real: Served, asked: Object, reason: str) -> None:
        bare = real.bare.post(asked)
        assert (bare.status, reason in bare.body["error"]["message"]) == (400, True)
        for wire in WIRES:
            got = real.through(wire).post(asked)
            assert (got.status, got.body["status"]) == (200, "completed")

    @pytest.mark.parametrize(("asked", "wanted"), DROPPED.values(), ids=DROPPED)
    def test_it_is_dropped(self, real: Served, asked: Object, wanted: Object) -> None:
        assert wanted["name"] not in [call["name"] for call in called(real.bare.post(asked))]
        for wire in WIRES:
            (got,) = called(real.through(wire).post(asked))
            arguments = {"arguments": json.loads(got["arguments"])} if "arguments" in got else {}
            assert {**got, **arguments} == wanted

    def test_an_image_in_an_output_is_refused(self, real: Served) -> None:
        call = {"type": "function_call", "call_id": "call_1", "name": "exec", "arguments": '{"input": "x"}'}
        seen = {**SEEN, "type": "function_call_output"}
        asked = body(X, call, seen, tools=[FUNCTION])
        assert real.bare.post(asked).status == 500
        assert [said(real.through(wire).post(asked)) for wire in WIRES] == ["Done.", "Done."]

    def test_the_chat_api_refuses_custom_tools(self, real: Served) -> None:
        chat = {"model": "small", "messages": [{"role": "user", "content": "ECHO exec\nx"}], "max_tokens": 9}
        tools = [{"type": "custom", "custom": {"name": "exec"}}]
        got = real.bare.post({**chat, "tools": tools}, "/v1/chat/completions")
        assert (got.status, "Unsupported tool type" in got.body["error"]["message"]) == (500, True)


def said(got: Got) -> str:
    """The text of the one message of a whole answer."""
    (item,) = got.body["output"]
    assert item["type"] == "message"
    return "".join(part["text"] for part in item["content"])


@pytest.mark.parametrize("wire", WIRES)
class TestTurns:
    def test_the_second_turn_gets_an_answer(self, real: Served, wire: str) -> None:
        bridge, payload = real.through(wire), PAYLOADS["a script"]
        first = [CARRIER, ask("exec", payload)]
        fields = {"tools": [TEAM], "stream": True, "include": ["reasoning.encrypted_content"], "store": False}
        items = finished(parse(bridge.post(body(*first, **fields)).raw))
        assert [(item["type"], item["input"]) for item in items] == [("custom_tool_call", payload)]
        history = [*first, THOUGHT, *items, {**SEEN, "call_id": items[0]["call_id"]}]
        events = parse(bridge.post(body(*history, **fields)).raw)
        assert_valid(events)
        assert_dense(events)
        (message,) = finished(events)
        assert (message["type"], message["content"][0]["text"]) == ("message", "Done.")
        assert end_of(events)["type"] == "response.completed"

    def test_a_call_in_a_third_turn_is_lifted_again(self, real: Served, wire: str) -> None:
        history = [CARRIER, X, {**CALL, "namespace": "functions"}, SEEN, THOUGHT, ask("exec", "y")]
        assert called(real.through(wire).post(body(*history))) == [custom("y")]

    def test_a_call_that_is_cut_off_is_never_finished(self, real: Served, wire: str) -> None:
        asked = body(CARRIER, ask("exec", PAYLOADS["a patch"]), max_output_tokens=40)
        events = parse(real.through(wire).post({**asked, "stream": True}).raw)
        assert finished(events) == []
        # The Responses API of the server does not say why the arguments end; its chat API does.
        wanted = {"responses": "response.failed", "chat": "response.incomplete"}[wire]
        assert end_of(events)["type"] == wanted


@pytest.mark.parametrize("wire", WIRES)
def test_two_answers_at_a_time_do_not_mix(real: Served, wire: str) -> None:
    payloads = [PAYLOADS["a script"], PAYLOADS["CRLF"]]

    def calls(payload: str) -> list[Object]:
        return called(real.through(wire).post(body(CARRIER, ask("exec", payload))))

    with ThreadPoolExecutor(len(payloads)) as pool:
        assert list(pool.map(calls, payloads)) == [[custom(payload)] for payload in payloads]
