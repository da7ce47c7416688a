"""The four bodies of a flow: whatever is done to it, they are there, or what was there before."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from mitmproxy.http import HTTPFlow

from bridge import flows
from bridge.checking import check
from bridge.settings import Settings
from tests.support.backend import CUT, Reply, backend, stream, whole
from tests.support.proxy import Proxy, proxy, reloaded
from tests.support.recordings import bodies, written
from tests.test_addon import ASK, EVENTS, last_flow, replay, streams

SSE = {"content-type": "text/event-stream"}


def kept(flow: HTTPFlow) -> Any:
    """All that a flow says of its exchange."""
    return bodies(flow), flow.metadata["bridge"]["ledger"], flow.metadata["bridge_rules"], flow.comment, flow.marked


def checked(flow: HTTPFlow) -> str:
    """What the check says of a flow that was saved and loaded."""
    return check(reloaded(flow), Settings()).text


def left_early(between: Proxy) -> HTTPFlow:
    """The flow of a client that leaves when it has heard the first of its call."""
    body = json.dumps(ASK).encode()
    head = f"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", between.port)) as client:
        client.sendall(head + body)
        seen = b""
        while b"custom_tool_call_input.delta" not in seen:
            seen += client.recv(4096)
    return last_flow(between)


def test_what_a_replay_made_is_reverted() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.post(ASK)
        flow = reloaded(last_flow(between))
        before = kept(flow)
        between.set(bridge_parameters=["exec=code"])
        replayed = replay(between, flow)
        assert kept(replayed) != before
        replayed.revert()
    assert kept(replayed) == before


def test_a_duplicate_goes_its_own_way() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.post(ASK)
        flow = reloaded(last_flow(between))
        before, copied = kept(flow), flow.copy()
        assert kept(copied) == before
        between.set(bridge_parameters=["exec=code"])
        replay(between, copied)
    assert kept(copied) != before
    assert kept(flow) == before


def test_a_session_that_its_user_broke_off_is_as_it_was() -> None:
    pieces = [*list(stream(*EVENTS).pieces)[:3], *[0.1] * 10, *list(stream(*EVENTS).pieces)[3:]]
    with backend(lambda _: Reply(pieces, headers=SSE)) as running, proxy(running.url) as between:
        flow = left_early(between)
    assert flow.error
    assert checked(flow) == "request equal, response equal"


def test_a_session_that_its_backend_broke_off_is_as_it_was() -> None:
    pieces = [*list(stream(*EVENTS).pieces)[:3], 0.1, CUT]
    with backend(lambda _: Reply(pieces, headers=SSE)) as running, proxy(running.url) as between:
        between.post(ASK)
        flow = last_flow(between)
    assert flow.error
    assert checked(flow) == "request equal, response equal"


def test_a_limit_with_its_wait_is_as_it_was() -> None:
    busy = whole({"error": {"message": "Slow down.", "code": None}}, 429, retry_after="3")
    with backend(lambda _: busy) as running, proxy(running.url, "bridge_backend=chat") as between:
        between.post(ASK)
        flow = last_flow(between)
    assert b"try again in 3s" in bodies(flow)["client response"]
    assert checked(flow) == "request equal, response equal"


def test_a_backend_that_is_not_there_leaves_the_request() -> None:
    with proxy("http://127.0.0.1:9") as between:
        between.post(ASK)
        flow = last_flow(between)
    assert flows.unpack(flow.metadata["bridge"]["client_request"])
    assert checked(flow) == "request equal, no answer was kept"


def test_a_client_that_left_then_does_not_leave_the_next_without_an_end(tmp_path: Path) -> None:
    pieces = [*list(stream(*EVENTS).pieces)[:3], *[0.1] * 10, *list(stream(*EVENTS).pieces)[3:]]
    with backend(lambda _: Reply(pieces, headers=SSE)) as running, proxy(running.url) as between:
        path = written(tmp_path / "x.mitm", left_early(between))
    with proxy("http://127.0.0.1:9", f"bridge_replay={path}") as between:
        assert between.post(ASK).events[-1]["type"] == "response.failed"


def test_a_flow_of_another_format_is_not_sent_again() -> None:
    with backend(streams) as running, proxy(running.url) as between:
        between.post(ASK)
        flow = reloaded(last_flow(between))
        flow.metadata["bridge"]["version"] = 99
        flow.request.path = "/v1/responses"
        replayed = replay(between, flow)
    assert len(running.asked) == 1
    assert replayed.response
    assert "recorded in another format" in (replayed.response.text or "")
