"""The addon on real connections: a client, mitmproxy, and a scripted backend, all on loopback."""

from __future__ import annotations

import gzip
import json
import socket
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brotli
import pytest
from mitmproxy import flowfilter, io
from mitmproxy.http import HTTPFlow
from mitmproxy.net.encoding import encode

from bridge import flows
from tests.support.backend import CUT, Asked, Backend, Reply, backend, stream, whole
from tests.support.proxy import ADDON, Proxy, proxy, reloaded

PAYLOAD = 'text("grüße 😀");\r\n\t// "quoted" \\ back \n'
EXEC = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [{"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}],
}
ASK: dict[str, Any] = {
    "model": "some-model",
    "stream": True,
    "input": [EXEC, {"type": "message", "role": "user", "content": "Go, secret-prompt."}],
    "tool_choice": "auto",
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec", "status": "completed"}
USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


def answer(arguments: str) -> list[Any]:
    """A stream with one call."""
    item = {**CALL, "arguments": arguments}
    begun = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    done = {**begun, "status": "completed", "output": [item], "usage": USAGE}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": arguments},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


EVENTS = answer(json.dumps({"input": PAYLOAD}))
RESPONSE = EVENTS[-1]["response"]


def streams(_asked: Asked) -> Reply:
    """A backend that always makes the same call."""
    return stream(*EVENTS)


@pytest.fixture(name="behind", scope="module")
def _behind() -> Iterator[tuple[Backend, Proxy]]:
    with backend(streams) as running, proxy(running.url) as between:
        yield running, between


def input_of(events: list[Any]) -> str:
    """The payload of the one finished call."""
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in items] == ["custom_tool_call"]
    found: str = items[0]["input"]
    return found


def last_flow(between: Proxy) -> HTTPFlow:
    """The newest flow, when it is done."""
    deadline = time.monotonic() + 5
    while not between.flows and time.monotonic() < deadline:
        time.sleep(0.01)
    return between.flows[-1]


def test_a_stream_is_lowered_and_lifted(behind: tuple[Backend, Proxy]) -> None:
    running, between = behind
    got = between.post(ASK)
    assert input_of(got.events) == PAYLOAD
    assert [tool["name"] for tool in running.asked[-1].body["tools"]] == ["exec"]
    assert [item["type"] for item in running.asked[-1].body["input"]] == ["message"]


def test_the_backend_is_asked_for_plain_bytes(behind: tuple[Backend, Proxy]) -> None:
    running, between = behind
    between.post(ASK, accept_encoding="zstd, gzip")
    assert running.asked[-1].headers["accept-encoding"] == "identity"


def test_the_key_passes_through(behind: tuple[Backend, Proxy]) -> None:
    running, between = behind
    between.post(ASK, authorization="Bearer sk-key")
    assert running.asked[-1].headers["authorization"] == "Bearer sk-key"


@pytest.mark.parametrize("coding", ["zstd", "gzip", "br", "deflate"])
def test_an_encoded_request_is_decoded(behind: tuple[Backend, Proxy], coding: str) -> None:
    running, between = behind
    got = between.post(data=encode(json.dumps(ASK).encode(), coding), content_encoding=coding)
    assert input_of(got.events) == PAYLOAD
    assert "content-encoding" not in running.asked[-1].headers
    assert running.asked[-1].body["tools"][0]["type"] == "function"


@pytest.mark.parametrize(
    ("data", "coding", "status", "word"),
    [
        pytest.param(b"{", "", 400, "JSON", id="no JSON"),
        pytest.param(b"[]", "", 400, "object", id="no object"),
        pytest.param(b"x", "snappy", 415, "snappy", id="unknown encoding"),
        pytest.param(b"no gzip", "gzip", 400, "gzip", id="damaged"),
        pytest.param(gzip.compress(bytes(70 << 20)), "gzip", 413, "bridge_max_body", id="a bomb"),
        pytest.param(b'{"input": [{"type": "custom_tool_call"}]}', "", 400, "input[0].call_id", id="a bad item"),
    ],
)
def test_a_bad_request_is_refused_and_not_sent(
    behind: tuple[Backend, Proxy], data: bytes, coding: str, status: int, word: str
) -> None:
    running, between = behind
    before = len(running.asked)
    got = between.post(data=data, **({"content_encoding": coding} if coding else {}))
    assert got.status == status
    assert word in got.body["error"]["message"]
    assert got.body["error"]["type"] == "invalid_request_error"
    assert len(running.asked) == before


def test_a_websocket_is_told_to_use_post_at_once(behind: tuple[Backend, Proxy]) -> None:
    running, between = behind
    before = len(running.asked)
    got = between.ask("GET", "/v1/responses", connection="Upgrade", upgrade="websocket")
    assert got.status == 426
    assert got.headers["connection"] == "close"
    assert got.body["error"]["code"] == "upgrade_required"
    assert len(running.asked) == before


@pytest.mark.parametrize("path", ["/v1/responses?api-version=1", "/deep/path/responses"])
def test_where_the_path_ends_decides(behind: tuple[Backend, Proxy], path: str) -> None:
    running, between = behind
    between.post(ASK, path)
    assert running.asked[-1].path == path
    assert "tools" in running.asked[-1].body


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/other?next=/responses", "/v1/responses/abc"])
def test_other_posts_pass_as_they_are(behind: tuple[Backend, Proxy], path: str) -> None:
    running, between = behind
    got = between.post(ASK, path)
    assert running.asked[-1].raw == json.dumps(ASK).encode()
    assert got.raw == b"".join(piece for piece in stream(*EVENTS).pieces if isinstance(piece, bytes))


def test_the_four_bodies_survive_a_recording(behind: tuple[Backend, Proxy]) -> None:
    running, between = behind
    got = between.post(ASK)
    flow = reloaded(last_flow(between))
    stored = flow.metadata["bridge"]
    assert json.loads(flows.unpack(stored["client_request"])) == ASK
    assert flow.request.content == running.asked[-1].raw
    sent = b"".join(piece for piece in stream(*EVENTS).pieces if isinstance(piece, bytes))
    assert flows.unpack(stored["backend_response"]) == sent
    assert flow.response
    assert flow.response.content == got.raw
    assert [entry["rule"] for entry in stored["ledger"]][:3] == ["hoisted", "flattened", "lowered"]


def test_rules_are_found_by_meta_and_prompts_are_not(behind: tuple[Backend, Proxy]) -> None:
    _, between = behind
    between.post(ASK)
    flow = last_flow(between)
    assert flowfilter.match("~meta lifted", flow)
    assert not flowfilter.match("~meta secret-prompt", flow)


def test_one_line_tells_what_happened(behind: tuple[Backend, Proxy]) -> None:
    _, between = behind
    between.post(ASK)
    last_flow(between)
    assert "bridge: hoisted 1, flattened 1, lowered 1 (exec) → lifted 1 (exec)" in between.log.lines


def test_nothing_secret_is_logged(behind: tuple[Backend, Proxy]) -> None:
    _, between = behind
    between.post(ASK, authorization="Bearer sk-key")
    between.post({**ASK, "input": [{"type": "secret-prompt", "text": "secret-prompt"}, 5]}, authorization="sk-key")
    assert not between.log.about("secret-prompt text")
    assert not between.log.about("sk-key")
    assert not between.log.about("Go, secret-prompt")


def test_a_whole_answer_is_lifted() -> None:
    with backend(lambda asked: whole(RESPONSE)) as running, proxy(running.url) as between:
        got = between.post({**ASK, "stream": False})
    assert got.headers["content-type"] == "application/json"
    assert got.body["output"][0]["input"] == PAYLOAD
    assert "transfer-encoding" not in got.headers


def test_a_whole_answer_becomes_the_stream_that_was_asked_for() -> None:
    with backend(lambda asked: whole(RESPONSE)) as running, proxy(running.url) as between:
        got = between.post(ASK)
    assert got.headers["content-type"] == "text/event-stream"
    assert input_of(got.events) == PAYLOAD


def test_a_stream_becomes_the_whole_answer_that_was_asked_for() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        got = between.post({**ASK, "stream": False})
    assert got.body["output"][0]["input"] == PAYLOAD


def test_a_compact_request_goes_to_responses() -> None:
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "S"}]}
    body = {**RESPONSE, "output": [message]}
    with backend(lambda asked: whole(body)) as running, proxy(running.url) as between:
        got = between.post({"model": "m", "input": ASK["input"]}, "/v1/responses/compact?a=1")
    assert running.asked[0].path == "/v1/responses?a=1"
    assert got.body["object"] == "response.compaction"
    assert [item["type"] for item in got.body["output"]] == ["compaction"]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress)]
)
def test_a_backend_that_compresses_all_the_same(coding: str, pack: Any, streamed: bool) -> None:
    plain = stream(*EVENTS) if streamed else whole(RESPONSE)
    packed = pack(b"".join(piece for piece in plain.pieces if isinstance(piece, bytes)))
    halves = [packed[:9], packed[9:]]
    reply = Reply(halves, headers={**plain.headers, "content-encoding": coding})
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        got = between.post(ASK)
    assert "content-encoding" not in got.headers
    assert input_of(got.events) == PAYLOAD


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(
            Reply([b"x"], headers={"content-type": "text/event-stream", "content-encoding": "snappy"}), id="?"
        ),
        pytest.param(Reply([b"x"], headers={"content-type": "application/json", "content-encoding": "gzip"}), id="bad"),
    ],
)
def test_an_answer_that_cannot_be_decoded_is_a_bad_gateway(reply: Reply) -> None:
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        got = between.post(ASK)
    assert got.status == 502
    assert "cannot be" in got.body["error"]["message"]


@pytest.mark.parametrize(("status", "named"), [(400, False), (404, True), (405, True), (429, False), (503, False)])
def test_an_http_error_keeps_its_status_and_body(status: int, named: bool) -> None:
    body = {"error": {"message": "No.", "code": None}}
    reply = whole(body, status, **{"retry-after": "7"})
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        got = between.post(ASK)
        last_flow(between)
    assert (got.status, got.body, got.headers["retry-after"]) == (status, body, "7")
    assert bool(between.log.about("bridge_backend=chat")) is named


def test_a_backend_that_is_not_there_is_a_readable_error() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with proxy(f"http://127.0.0.1:{unused.getsockname()[1]}") as between:
            got = between.post(ASK)
            flow = last_flow(between)
    assert got.status == 502
    assert "did not answer" in got.body["error"]["message"]
    assert flow.error


def test_a_stream_that_is_cut_ends_as_failed_and_cleanly() -> None:
    pieces = [*list(stream(*EVENTS).pieces)[:3], 0.1, CUT]
    reply = Reply(pieces, headers={"content-type": "text/event-stream"})
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        got = between.post(ASK)
        flow = last_flow(between)
    assert got.events[-1]["type"] == "response.failed"
    assert got.events[-1]["response"]["error"]["code"] == "server_error"
    assert not [event for event in got.events if event["type"] == "response.output_item.done"]
    assert flow.response
    assert flow.response.content == got.raw
    assert "failed" in flow.metadata["bridge_rules"]


def test_a_whole_answer_that_is_cut_is_a_bad_gateway() -> None:
    reply = Reply([b'{"output"', 0.1, CUT], headers={"content-type": "application/json"})
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        got = between.post({**ASK, "stream": False})
    assert got.status == 502


def test_other_flows_break_as_they_always_did() -> None:
    reply = Reply([b"some", 0.1, CUT], headers={"content-type": "text/plain"})
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        got = between.ask("GET", "/v1/files")
    assert got.status == 502
    assert got.headers["content-type"] == "text/html"


def test_an_unbridged_event_stream_is_streamed() -> None:
    reply = Reply([b"data: 1\n\n", 1.0, b"data: 2\n\n"], headers={"content-type": "text/event-stream"})
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        with socket.create_connection(("127.0.0.1", between.port)) as client:
            client.sendall(b"GET /events HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            seen = b""
            while b"data: 1" not in seen:
                seen += client.recv(4096)
        assert b"data: 2" not in seen


def test_bridged_events_leave_as_they_arrive() -> None:
    pieces = [*list(stream(*EVENTS).pieces)[:3], 1.0, *list(stream(*EVENTS).pieces)[3:]]
    reply = Reply(pieces, headers={"content-type": "text/event-stream"})
    body = json.dumps(ASK).encode()
    head = f"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        with socket.create_connection(("127.0.0.1", between.port)) as client:
            client.sendall(head + body)
            seen = b""
            while b"custom_tool_call_input.delta" not in seen:
                seen += client.recv(4096)
        assert b"custom_tool_call_input.done" not in seen
        assert b"transfer-encoding: chunked" in seen


def test_a_held_stream_comes_whole() -> None:
    with backend(streams) as running, proxy(running.url, "bridge_stream=false") as between:
        got = between.post(ASK)
    assert input_of(got.events) == PAYLOAD
    assert "content-length" in got.headers


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v1/models?client_version=1", {"data": []}, {"data": [], "models": []}),
        ("/v1/models?client_version=1", {"models": [{"slug": "x"}]}, {"models": [{"slug": "x"}]}),
        ("/v1/models", {"data": []}, {"data": []}),
        ("/v1/models?client_version=1", [], []),
    ],
)
def test_model_discovery(path: str, body: Any, expected: Any) -> None:
    with backend(lambda asked: whole(body)) as running, proxy(running.url) as between:
        assert between.ask("GET", path).body == expected


def test_model_discovery_leaves_what_is_no_json() -> None:
    with backend(lambda asked: Reply([b"no"])) as running, proxy(running.url) as between:
        assert between.ask("GET", "/v1/models?client_version=1").raw == b"no"


def test_a_custom_filter_decides() -> None:
    with backend(streams) as running, proxy(running.url, "bridge_filter=~u /special") as between:
        between.post(ASK, "/v1/responses")
        between.post(ASK, "/special")
        got = between.ask("GET", "/special", connection="Upgrade", upgrade="websocket")
    assert ["tools" in asked.body for asked in running.asked] == [False, True]
    assert got.status == 426


@pytest.mark.parametrize(
    "setting",
    [
        "bridge_images=blue",
        "bridge_strip=..",
        "bridge_body=a",
        "bridge_body=a=b",
        "bridge_parameters=x",
        "bridge_max_body=much",
        "bridge_filter=~nonsense (",
        "bridge_stream=maybe",
        "bridge_keepalive=15s",
        "bridge_keepalive=2.5",
        "stream_large_bodies=1m",
    ],
)
def test_a_bad_setting_ends_the_start(setting: str) -> None:
    refused = Proxy()
    refused.run("reverse:http://127.0.0.1:9", (setting,))
    assert isinstance(refused.failure, SystemExit)
    assert refused.log.about(setting.partition("=")[0])


def test_an_option_that_is_given_twice_ends_the_start() -> None:
    refused = Proxy()
    refused.run("reverse:http://127.0.0.1:9", ("bridge_model=a", "bridge_model=b"))
    assert isinstance(refused.failure, SystemExit)
    assert refused.log.about("bridge_model is given more than once")


def test_a_misspelt_option_is_named_with_the_nearest() -> None:
    with proxy("http://127.0.0.1:9", "bridge_image=none", "bridge_zzzzzz=1") as between:
        assert between.log.about("no option bridge_image; did you mean bridge_images?")
        assert between.log.about("no option bridge_zzzzzz; there are bridge_filter")


def test_a_setting_holds_from_the_next_flow_on() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.set(bridge_model="other")
        between.post(ASK)
    assert running.asked[0].body["model"] == "other"


def test_keeping_no_bodies() -> None:
    with backend(streams) as running, proxy(running.url, "bridge_keep_bodies=0") as between:
        got = between.post(ASK)
        flow = last_flow(between)
    assert input_of(got.events) == PAYLOAD
    assert flow.response
    assert flow.response.raw_content is None
    assert (flow.metadata["bridge"]["client_request"], flow.metadata["bridge"]["backend_response"]) == (None, None)


def test_a_replayed_flow_is_lowered_afresh() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.post(ASK)
        flow = reloaded(last_flow(between))
        between.set(bridge_parameters=["exec=code"])
        replay(between, flow)
    assert running.asked[1].body["tools"][0]["parameters"]["required"] == ["code"]
    assert len(running.asked[1].body["tools"]) == 1


def test_an_edited_flow_is_sent_as_edited_and_lifted_with_the_stored_names() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.post(ASK)
        flow = reloaded(last_flow(between))
        edited = {**running.asked[0].body, "model": "edited", "tools": []}
        flow.request.content = json.dumps(edited).encode()
        replayed = replay(between, flow)
    assert running.asked[1].body == edited
    assert replayed.response
    assert "custom_tool_call_input.done" in (replayed.response.text or "")


def test_an_edited_flow_stays_edited_however_often_it_is_replayed() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.post(ASK)
        flow = reloaded(last_flow(between))
        edited = {**running.asked[0].body, "model": "edited"}
        flow.request.content = json.dumps(edited).encode()
        replay(between, reloaded(replay(between, flow)))
    assert [asked.body["model"] for asked in running.asked] == ["some-model", "edited", "edited"]


def test_an_edited_path_stays_edited() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.post(ASK)
        flow = reloaded(last_flow(between))
        flow.request.path = "/v2/elsewhere?x=1"
        replay(between, flow)
    assert running.asked[1].path == "/v2/elsewhere?x=1"
    assert "tools" in running.asked[1].body


def test_an_answer_without_content_is_a_bad_gateway() -> None:
    with backend(lambda asked: Reply(status=204)) as running, proxy(running.url) as between:
        got = between.post(ASK)
        flow = last_flow(between)
    assert got.status == 502
    assert "failed" in flow.metadata["bridge_rules"]


def test_a_flow_without_its_client_request_is_replayed_as_it_is() -> None:
    with backend(streams) as running, proxy(running.url, "bridge_keep_bodies=0") as between:
        between.post(ASK)
        between.set(bridge_keep_bodies="16MiB")
        replayed = replay(between, reloaded(last_flow(between)))
    assert running.asked[1].raw == running.asked[0].raw
    assert replayed.response
    assert "custom_tool_call_input.done" in (replayed.response.text or "")


def test_a_replay_goes_to_the_reverse_target() -> None:
    with backend(streams) as first, proxy(first.url) as between:
        between.post(ASK)
        flow = reloaded(last_flow(between))
    with backend(streams) as second, proxy(second.url) as between:
        replay(between, flow)
    assert (len(first.asked), len(second.asked)) == (1, 1)


def test_a_compact_flow_is_replayed_as_one() -> None:
    with backend(lambda asked: whole({**RESPONSE, "output": []})) as running, proxy(running.url) as between:
        between.post({"model": "m", "input": "hi"}, "/v1/responses/compact")
        replay(between, reloaded(last_flow(between)))
    assert running.asked[1].raw == running.asked[0].raw


def test_a_server_replay_is_not_lifted_twice(tmp_path: Path) -> None:
    with backend(streams) as running, proxy(running.url) as between:
        got = between.post(ASK)
        with (tmp_path / "x.mitm").open("wb") as file:
            io.FlowWriter(file).add(last_flow(between))
    ignored = ("server_replay_ignore_host=true", "server_replay_ignore_port=true")
    with proxy("http://127.0.0.1:9", f"server_replay={tmp_path / 'x.mitm'}", *ignored) as between:
        assert between.post(ASK).raw == got.raw


def test_flows_from_a_file_are_left_alone(tmp_path: Path) -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.post(ASK)
        recorded = last_flow(between)
        with (tmp_path / "x.mitm").open("wb") as file:
            io.FlowWriter(file).add(recorded)
    with proxy("http://127.0.0.1:9", f"rfile={tmp_path / 'x.mitm'}") as between:
        read = last_flow(between)
    assert read.get_state()["metadata"] == recorded.get_state()["metadata"]
    assert read.request.content == recorded.request.content
    assert read.response
    assert recorded.response
    assert read.response.content == recorded.response.content


def test_a_fault_in_lowering_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise KeyError("secret-prompt")

    with backend(streams) as running, proxy(running.url) as between:
        monkeypatch.setattr(flows, "open_exchange", break_down)
        got = between.post(ASK)
    assert (got.status, running.asked) == (500, [])
    assert "secret-prompt" not in got.raw.decode()
    assert between.log.about("fault: KeyError")
    assert not between.log.about("secret-prompt")


def test_a_fault_in_lifting_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise KeyError("secret-prompt")

    with backend(lambda asked: whole(RESPONSE)) as running, proxy(running.url) as between:
        monkeypatch.setattr("bridge.exchange.lift_response", break_down)
        got = between.post({**ASK, "stream": False})
    assert got.status == 500
    assert "secret-prompt" not in got.raw.decode()


def test_a_fault_in_a_stream_ends_it_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise KeyError("secret-prompt")

    with backend(streams) as running, proxy(running.url) as between:
        monkeypatch.setattr("bridge.tools.stream.lift_response", break_down)
        got = between.post(ASK)
        last_flow(between)
    assert [event["type"] for event in got.events].count("response.failed") == 1
    assert got.events[-1]["type"] == "response.failed"
    assert between.log.about("fault: KeyError")


def test_a_client_that_goes_away_leaves_what_it_got() -> None:
    pieces = [*list(stream(*EVENTS).pieces)[:3], *[0.1] * 10, *list(stream(*EVENTS).pieces)[3:]]
    reply = Reply(pieces, headers={"content-type": "text/event-stream"})
    body = json.dumps(ASK).encode()
    head = f"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        with socket.create_connection(("127.0.0.1", between.port)) as client:
            client.sendall(head + body)
            seen = b""
            while b"custom_tool_call_input.delta" not in seen:
                seen += client.recv(4096)
        flow = last_flow(between)
    assert flow.error
    assert flow.response
    assert b"custom_tool_call_input.delta" in (flow.response.content or b"")


def test_the_addon_stands_where_the_readme_says() -> None:
    assert ADDON.exists()


def replay(between: Proxy, flow: HTTPFlow) -> HTTPFlow:
    """Send a recorded flow again, and wait for its answer."""
    done = len(between.flows)
    between.call("replay.client", [flow])
    deadline = time.monotonic() + 10
    while len(between.flows) == done and time.monotonic() < deadline:
        time.sleep(0.01)
    return between.flows[-1]


def test_a_client_that_hears_events_needs_no_others() -> None:
    first, *rest = list(stream(*EVENTS).pieces)
    reply = Reply(
        [first, *[each for piece in rest for each in (0.5, piece)]], headers={"content-type": "text/event-stream"}
    )
    with backend(lambda asked: reply) as running, proxy(running.url, "bridge_keepalive=2") as between:
        got = between.post(ASK)
    assert not [event for event in got.events if event["type"] == "response.in_progress"]


def test_a_stream_that_is_cut_behind_its_end_has_ended() -> None:
    reply = Reply([*stream(*EVENTS).pieces, 0.1, CUT], headers={"content-type": "text/event-stream"})
    with backend(lambda asked: reply) as running, proxy(running.url) as between:
        got = between.post(ASK)
    assert got.events[-1]["type"] == "response.completed"


def test_an_error_without_a_content_type_passes() -> None:
    with backend(lambda asked: Reply([b"no"], 400)) as running, proxy(running.url) as between:
        got = between.post(ASK)
    assert (got.status, got.raw) == (400, b"no")
