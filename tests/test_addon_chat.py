"""The addon in front of a chat backend, on real connections."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from bridge import flows
from tests.support.backend import Asked, Piece, Reply, backend, whole
from tests.support.proxy import Proxy, proxy, reloaded
from tests.support.strict_chat import refusal
from tests.test_addon import ASK, PAYLOAD, input_of, last_flow, replay

CHAT = "bridge_backend=chat"
USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13, "prompt_tokens_details": {"cached_tokens": 6}}
ARGUMENTS = json.dumps({"input": PAYLOAD})
CALL = {"id": "call_1", "type": "function", "function": {"name": "exec", "arguments": ARGUMENTS}}
WHOLE = {
    "id": "cc-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": None, "reasoning_content": "Plan.", "tool_calls": [CALL]},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": USAGE,
}


def chunk(delta: Any, finish: str | None = None) -> bytes:
    """A frame with one chunk."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n".encode()


PIECES: list[Piece] = [
    chunk({"role": "assistant", "reasoning_content": "Plan."}),
    chunk({"tool_calls": [{"index": 0, **CALL, "function": {"name": "exec", "arguments": ARGUMENTS[:12]}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": ARGUMENTS[12:]}}]}),
    chunk({}, "tool_calls"),
    f"data: {json.dumps({'choices': [], 'usage': USAGE})}\n\ndata: [DONE]\n\n".encode(),
]
SSE = {"content-type": "text/event-stream"}


def speaks(asked: Asked) -> Reply:
    """A chat backend that refuses what strict ones refuse, and always makes the same call."""
    if asked.path.partition("?")[0] != "/v1/chat/completions":
        return whole({"detail": "Not Found"}, 404)
    if reason := refusal(asked.body):
        return whole({"error": {"message": reason}}, 400)
    return Reply(PIECES, headers=SSE) if asked.body.get("stream") else whole(WHOLE)


def carried_items(events: list[Any]) -> list[Any]:
    """What Codex would replay: the finished items, without what it drops."""
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return [{**item, "content": None} if item["type"] == "reasoning" else item for item in items]


def test_a_session_streams_through_a_chat_backend() -> None:
    with backend(speaks) as running, proxy(running.url, CHAT) as between:
        got = between.post(ASK, "/v1/responses?a=1")
        items = carried_items(got.events)
        output = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done."}
        again = between.post({**ASK, "input": [*ASK["input"], *items, output]})
    assert running.asked[0].path == "/v1/chat/completions?a=1"
    assert [item["type"] for item in items] == ["reasoning", "custom_tool_call"]
    assert items[1]["input"] == PAYLOAD
    assert got.events[-1]["response"]["usage"]["input_tokens_details"]["cached_tokens"] == 6
    assert again.status == 200
    assistant, tool = running.asked[1].body["messages"][-2:]
    assert (assistant["reasoning_content"], tool["content"]) == ("Plan.", "Done.")
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == {"input": PAYLOAD}


@pytest.mark.parametrize("streams", [True, False])
def test_the_backend_answers_the_other_way(streams: bool) -> None:
    reply = Reply(PIECES, headers=SSE) if streams else whole(WHOLE)
    with backend(lambda asked: reply) as running, proxy(running.url, CHAT) as between:
        got = between.post({**ASK, "stream": not streams})
    events = got.events if not streams else [{"type": "response.output_item.done", "item": got.body["output"][1]}]
    assert input_of([event for event in events if event.get("item", {}).get("type") != "reasoning"]) == PAYLOAD


def test_an_answer_is_whole_where_a_whole_one_was_asked_for() -> None:
    with backend(speaks) as running, proxy(running.url, CHAT) as between:
        got = between.post({**ASK, "stream": False})
    assert [item["type"] for item in got.body["output"]] == ["reasoning", "custom_tool_call"]
    assert got.body["usage"]["total_tokens"] == 13


def test_an_error_is_one_that_codex_understands() -> None:
    reply = whole({"error": {"message": "request exceeds the available context size", "code": 500}}, 500)
    with backend(lambda asked: reply) as running, proxy(running.url, CHAT) as between:
        got = between.post(ASK)
        last_flow(between)
    assert (got.status, got.body["error"]["code"]) == (400, "context_length_exceeded")
    assert not between.log.about("bridge_backend=chat")


def test_a_rate_limit_says_how_long_to_wait() -> None:
    reply = whole({"error": {"message": "Too many requests"}}, 429, **{"retry-after": "7"})
    with backend(lambda asked: reply) as running, proxy(running.url, CHAT) as between:
        got = between.post(ASK)
    assert (got.status, got.headers["retry-after"]) == (429, "7")
    assert "try again in 7s" in got.body["error"]["message"]


def test_a_replayed_flow_is_lowered_afresh_for_chat() -> None:
    with backend(speaks) as running, proxy(running.url, CHAT) as between:
        between.post(ASK)
        replayed = replay(between, reloaded(last_flow(between)))
    assert running.asked[1].path == "/v1/chat/completions"
    assert running.asked[1].raw == running.asked[0].raw
    assert replayed.response
    assert "custom_tool_call_input.done" in (replayed.response.text or "")


def test_an_edited_chat_flow_is_sent_as_edited_and_read_as_chat() -> None:
    with backend(speaks) as running, proxy(running.url, CHAT) as between:
        between.post(ASK)
        flow = reloaded(last_flow(between))
        edited = {**running.asked[0].body, "temperature": 0}
        flow.request.content = json.dumps(edited).encode()
        between.set(bridge_backend="responses")
        replayed = replay(between, flow)
    assert running.asked[1].body == edited
    assert replayed.response
    assert "custom_tool_call_input.done" in (replayed.response.text or "")


def test_the_four_bodies_are_those_of_both_apis() -> None:
    with backend(speaks) as running, proxy(running.url, CHAT) as between:
        between.post(ASK)
        flow = last_flow(between)
    stored = flow.metadata["bridge"]
    assert json.loads(flows.unpack(stored["client_request"])) == ASK
    assert flows.unpack(stored["backend_response"]) == b"".join(piece for piece in PIECES if isinstance(piece, bytes))
    assert "messages" in json.loads(flow.request.content or b"")


def silent(pieces: list[Piece]) -> Reply:
    """Pieces behind a silence of several keepalives."""
    return Reply([b": wait\n\n", 3.8, *pieces], headers=SSE)


def test_a_client_that_waits_hears_events() -> None:
    with backend(lambda asked: silent(PIECES)) as running, proxy(running.url, CHAT, "bridge_keepalive=1") as between:
        got = between.post(ASK)
    types = [event["type"] for event in got.events]
    assert types[:3] == ["response.created", "response.in_progress", "response.in_progress"]
    assert [event["sequence_number"] for event in got.events] == list(range(len(types)))
    assert types.count("response.created") == 1


def test_nothing_is_sent_to_a_client_that_waits_if_so_set() -> None:
    with backend(lambda asked: silent(PIECES)) as running, proxy(running.url, CHAT, "bridge_keepalive=0") as between:
        got = between.post(ASK)
    assert [event["type"] for event in got.events].count("response.in_progress") == 1


def test_a_timer_ends_with_its_flow() -> None:
    with backend(speaks) as running, proxy(running.url, CHAT, "bridge_keepalive=1") as between:
        between.post(ASK)
        time.sleep(1.3)
    assert not between.log.about("Task was destroyed")
    assert not between.log.about("error")


@pytest.mark.parametrize(
    "settings",
    [("bridge_reasoning=drop",), ("bridge_effort=xhigh=high",), ("bridge_stream=false", "bridge_keepalive=3")],
)
def test_settings_that_cannot_work_together_end_the_start(settings: tuple[str, ...]) -> None:
    refused = Proxy()
    refused.run("reverse:http://127.0.0.1:9", settings)
    assert isinstance(refused.failure, SystemExit)
    assert refused.log.about("needs bridge_")
