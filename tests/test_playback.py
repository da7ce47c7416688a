"""A recording in place of the backend, and recordings checked against today's bridge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow
from mitmproxy.test.tflow import tflow

from bridge import flows, proxycore
from bridge.checking import check
from bridge.diff import first_difference
from bridge.exchange import Exchange
from bridge.playback import Playback, content_of
from bridge.settings import Backend, Settings
from bridge.sse import encode
from tests.support.backend import CUT, Reply, Script, backend, stream, whole
from tests.support.proxy import ADDON, Proxy, proxy, reloaded
from tests.support.recordings import FOLDER, load, recorded, written
from tests.test_addon import ASK, EVENTS, RESPONSE, input_of, last_flow, streams

CODE_MODE = FOLDER / "codex-0.171.0-code-mode.mitm"
CHAT = FOLDER / "codex-0.171.0-code-mode-chat.mitm"
NOWHERE = "http://127.0.0.1:9"


def client_of(flow: HTTPFlow) -> Any:
    """What the client sent."""
    stored = flows.load(flow)
    assert stored
    return json.loads(flows.unpack(stored["client_request"]))


def answered(flow: HTTPFlow) -> bytes:
    """What the client got."""
    assert flow.response
    return flow.response.content or b""


def finished(events: list[Any]) -> list[Any]:
    """The items that were finished, without their minted ids."""
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return [{key: value for key, value in item.items() if key != "id"} for item in items]


@pytest.mark.parametrize("path", [CODE_MODE, CHAT], ids=["responses", "chat"])
def test_a_client_that_asks_the_same_gets_the_same(path: Path) -> None:
    recorded = load(path)
    backend_name = (flows.load(recorded[0]) or {})["backend"]
    with proxy(NOWHERE, f"bridge_replay={path}", f"bridge_backend={backend_name}") as between:
        for flow in recorded:
            got = between.post(client_of(flow))
            told = [json.loads(line[6:]) for line in answered(flow).decode().splitlines() if line.startswith("data: {")]
            assert finished(got.events) == finished(told)


def test_another_run_of_a_session_goes_on_turn_by_turn() -> None:
    recorded = load(CODE_MODE)
    with proxy(NOWHERE, f"bridge_replay={CODE_MODE}") as between:
        for number, flow in enumerate(recorded[:4]):
            body = client_of(flow)
            body["client_metadata"] = {"thread_id": "another"}
            body["input"][-1] = {"type": "message", "role": "user", "content": f"Another question {number}."}
            got = between.post(body)
            wanted = [item["call_id"] for item in finished_calls(flow)]
            assert [item["call_id"] for item in finished(got.events) if "call_id" in item] == wanted


def finished_calls(flow: HTTPFlow) -> list[Any]:
    """The calls that a recorded client got."""
    events = [json.loads(line[6:]) for line in answered(flow).decode().splitlines() if line.startswith("data: {")]
    return [item for item in finished(events) if "call_id" in item]


def test_a_request_that_nothing_fits_says_what_is_closest() -> None:
    body = client_of(load(CODE_MODE)[0])
    body["input"][-1] = user("Something else.")
    with proxy(NOWHERE, f"bridge_replay={CODE_MODE}") as between:
        for _ in load(CODE_MODE):
            between.post({**body, "model": "other"})
        got = between.post({**body, "model": "other"})
    assert (got.status, got.body["error"]["code"]) == (404, "no_recorded_turn")
    assert "closest is turn" in got.body["error"]["message"]
    assert "model" in got.body["error"]["message"]


def test_answers_of_every_kind_are_played(tmp_path: Path) -> None:
    pieces = [*list(stream(*EVENTS).pieces)[:3], 0.1, CUT]
    replies = {
        "whole": whole(RESPONSE),
        "error": whole({"error": {"message": "No."}}, 429),
        "cut": Reply(pieces, headers={"content-type": "text/event-stream"}),
        "damaged": whole(RESPONSE),
    }
    asked = {name: {**ASK, "stream": name == "cut", "input": [*ASK["input"], user(name)]} for name in replies}
    kept, said = [], {}
    for name, reply in replies.items():
        with backend(always(reply)) as running, proxy(running.url) as between:
            said[name] = between.post(asked[name])
            kept.append(reloaded(last_flow(between)))
    kept[-1].metadata["bridge"]["content_type"] = "text/event-stream"
    kept[-1].metadata["bridge"]["status"] = 204
    with proxy(NOWHERE, f"bridge_replay={written(tmp_path / 'x.mitm', *kept)}") as between:
        for name in ("whole", "error"):
            got = between.post(asked[name])
            # An answer that says nothing of its time has that of its request.
            told = [
                {key: value for key, value in each.body.items() if key != "created_at"} for each in (got, said[name])
            ]
            assert (got.status, told[0]) == (said[name].status, told[1])
        assert between.post(asked["cut"]).events[-1]["type"] == "response.failed"
        assert between.post(asked["damaged"]).status == 502


def always(reply: Reply) -> Script:
    """A backend with one answer."""
    return lambda _: reply


def user(text: str) -> Any:
    """A message of the user."""
    return {"type": "message", "role": "user", "content": text}


def test_the_pieces_of_a_stream_are_kept_with_their_times() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.post(ASK)
        stored = last_flow(between).metadata["bridge"]
    chunks = stored["chunks"]
    assert sum(size for _, size in chunks) == len(flows.unpack(stored["backend_response"]))
    assert [at for at, _ in chunks] == sorted(at for at, _ in chunks)


def test_a_client_replay_with_a_recorded_backend_dials_nobody() -> None:
    with proxy(NOWHERE, f"bridge_replay={CODE_MODE}", "bridge_keep_bodies=0") as between:
        between.call("replay.client", load(CODE_MODE)[:1])
        flow = last_flow(between)
    assert flow.error is None
    assert b"custom_tool_call" in answered(flow)


class TestRefused:
    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"bridge_replay: .*none\.mitm cannot be read"):
            Playback.load(str(tmp_path / "none.mitm"), Backend.RESPONSES)

    def test_a_file_without_bridged_flows(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="holds no bridged flow"):
            Playback.load(written(tmp_path / "x.mitm", tflow(resp=True)), Backend.RESPONSES)

    def test_a_file_of_another_version(self, tmp_path: Path) -> None:
        flow = load(CODE_MODE)[0]
        flow.metadata["bridge"]["version"] = 99
        with pytest.raises(ValueError, match=r"format 99, this bridge knows 1\. Record it again"):
            Playback.load(written(tmp_path / "x.mitm", flow), Backend.RESPONSES)

    def test_a_file_of_another_api(self) -> None:
        with pytest.raises(ValueError, match="set bridge_backend=chat"):
            Playback.load(str(CHAT), Backend.RESPONSES)

    def test_at_the_start(self) -> None:
        refused = Proxy()
        refused.run(f"reverse:{NOWHERE}", ("bridge_replay=/nowhere.mitm",))
        assert isinstance(refused.failure, SystemExit)
        assert refused.log.about("bridge_replay")

    def test_together_with_a_check(self) -> None:
        with pytest.raises(ValueError, match="cannot go together"):
            Settings.from_options({"replay": "x", "check": "true"})


class TestCheck:
    @pytest.mark.parametrize("flow", [*load(CODE_MODE), *load(CHAT)], ids=lambda flow: flow.id[-2:])
    def test_a_recorded_flow_is_as_it_was(self, flow: HTTPFlow) -> None:
        result = check(flow, Settings())
        assert (result.text, result.different) == ("request equal, response equal", False)

    def test_one_word_of_a_description_is_named(self) -> None:
        flow = load(CODE_MODE)[0]
        body = json.loads(flow.request.content or b"")
        body["tools"][3]["description"] += " more"
        flow.request.content = json.dumps(body).encode()
        assert check(flow, Settings()).text == "request differs at tools[3].description, response equal"

    def test_another_answer_is_named(self) -> None:
        flow = load(CODE_MODE)[0]
        assert flow.response
        flow.response.content = answered(flow).replace(b'"exec"', b'"execute"')
        result = check(flow, Settings())
        assert result.different
        assert "response differs at events[" in result.text

    def test_a_broken_and_a_whole_answer_are_as_they_were(self) -> None:
        for reply in (whole(RESPONSE), Reply([*list(stream(*EVENTS).pieces)[:3], 0.1, CUT], headers=SSE)):
            with backend(always(reply)) as running, proxy(running.url) as between:
                between.post(ASK)
                flow = reloaded(last_flow(between))
            assert check(flow, Settings()).text == "request equal, response equal"

    def test_another_status_is_named(self) -> None:
        flow = load(CODE_MODE)[0]
        assert flow.response
        flow.response.status_code = 502
        assert check(flow, Settings()).text == "request equal, response differs at status: 502 → 200"

    def test_what_kept_the_client_waiting_is_said_again(self) -> None:
        flow = recorded({"model": "m", "stream": True, "input": "hi"}, b"")
        exchange = flows.open_exchange(flow, Settings())
        exchange.begin(200, "text/event-stream")
        session = flows.Session(exchange)
        created = encode({"type": "response.created", "response": {"id": "r", "status": "in_progress"}}, named=True)
        said = [*session.pieces(created), *session.pieces(proxycore.TICK), *session.pieces(b"")]
        assert b"".join(said).count(b"event: response.in_progress") == 1
        assert session.pieces(proxycore.TICK) == []
        assert [size for _, size in session.chunks] == [len(created), 0]
        assert flow.response
        flow.response.content = b"".join(said)
        flows.keep(flow, exchange, session.chunks)
        assert check(flow, Settings()).text == "request equal, response equal"

    def test_what_was_not_kept_is_said(self) -> None:
        with backend(streams) as running, proxy(running.url) as between:
            between.post(ASK)
            flow = reloaded(last_flow(between))
        flow.metadata["bridge"]["backend_response"] = b""
        assert check(flow, Settings()).text == "request equal, no answer was kept"
        flow.metadata["bridge"]["client_request"] = b""
        assert check(flow, Settings()).text == "the client's request was not kept; nothing to check"

    def test_a_request_that_is_refused_today_is_different(self) -> None:
        flow = load(FOLDER / "codex-0.171.0-apply-patch.mitm")[0]
        result = check(flow, Settings.from_options({"hosted_tools": "reject"}))
        assert result.different
        assert "refused: tools[" in result.text

    def test_an_answer_that_is_no_json_is_compared_as_text(self) -> None:
        with backend(lambda _: Reply([b"no"], 400)) as running, proxy(running.url) as between:
            between.post(ASK)
            flow = reloaded(last_flow(between))
        assert flow.response
        flow.response.content = b"other"
        assert check(flow, Settings()).text == "request equal, response differs at (whole)"

    def test_a_flow_without_the_addon_is_checked_as_far_as_it_goes(self) -> None:
        flow = tflow()
        flow.request.content = json.dumps(ASK).encode()
        assert check(flow, Settings()).text.startswith("not bridged; its request can be lowered (hoisted,")
        flow.request.content = b'{"model": "m", "input": "hi"}'
        assert "(nothing to do)" in check(flow, Settings()).text
        flow.request.content = b"{"
        assert check(flow, Settings()).text == "not bridged, and no request of either API"
        flow.request.content = b'{"input": [{"type": "message"}]}'
        assert "its request would be refused: input[0].role" in check(flow, Settings()).text

    @pytest.mark.parametrize(("setting", "code", "line"), [("describe", 0, "15 equal"), ("drop", 1, "15 with")])
    def test_a_difference_ends_mitmdump_with_an_error(self, setting: str, code: int, line: str) -> None:
        command = [str(Path(sys.executable).parent / "mitmdump"), "-s", str(ADDON), "-nr", str(CODE_MODE)]
        command += ["--set", "bridge_check=true", "--set", f"bridge_grammar={setting}"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == code
        assert f"checked 15 flows: {line}" in ended.stdout

    def test_failed_and_unbridged_flows_of_a_file_are_checked_too(self, tmp_path: Path) -> None:
        plain, other = tflow(resp=True), tflow(resp=True)
        plain.request.path, plain.request.method = "/v1/responses", "POST"
        failed = load(CODE_MODE)[0]
        failed.error = tflow(err=True).error
        path = written(tmp_path / "x.mitm", plain, other, failed)
        checked = Proxy()
        checked.run(f"reverse:{NOWHERE}", ("bridge_check=true", f"rfile={path}", "keepserving=false"))
        assert checked.log.about("1: not bridged")
        assert checked.log.about("2: request equal")

    def test_the_command_checks_flows_and_sends_nothing(self) -> None:
        with proxy(NOWHERE) as between:
            between.call("bridge.check", [*load(CODE_MODE)[:2], tflow()])
        assert between.log.about("bridge: 2: request equal, response equal")


SSE = {"content-type": "text/event-stream"}


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, None),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "a[1].b"),
        ({"a": 1}, {"a": True}, "a"),
        ({"a": 1}, {}, "a"),
        ({}, {"b": 1}, "b"),
        ([1], [1, 2], "[1]"),
        ("a", "b", "(whole)"),
    ],
)
def test_the_first_difference(old: Any, new: Any, path: str | None) -> None:
    assert first_difference(old, new) == path


def test_what_changes_from_run_to_run_is_no_content() -> None:
    one = {"input": [{"type": "message", "id": "msg_1"}], "prompt_cache_key": "a", "client_metadata": {"b": 1}}
    assert content_of(json.dumps(one).encode()) == {"input": [{"type": "message"}]}


def test_a_repeated_request_gets_its_turns_in_order(tmp_path: Path) -> None:
    first, second = load(CODE_MODE)[:2]
    again = load(CODE_MODE)[0]
    again.metadata["bridge"]["backend_response"] = second.metadata["bridge"]["backend_response"]
    playback = Playback.load(written(tmp_path / "x.mitm", first, again), Backend.RESPONSES)
    body = json.dumps(client_of(first)).encode()
    found = [playback.find(Exchange.open(body, Settings())) for _ in range(3)]
    assert [turn if isinstance(turn, str) else turn.number for turn in found] == [1, 2, 1]


def test_a_played_answer_streams_the_payload() -> None:
    with proxy(NOWHERE, f"bridge_replay={CODE_MODE}") as between:
        got = between.post(client_of(load(CODE_MODE)[1]))
    assert "apply_patch" in input_of(
        [event for event in got.events if event.get("item", {}).get("type") != "reasoning"]
    )
