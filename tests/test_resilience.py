"""Silence, cuts and bad manners, over HTTP/1 and HTTP/2 clients: an honest end, and nothing left behind."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.backend import CUT, Asked, Piece, Reply, backend
from tests.support.clients import VERSIONS, Heard, hear
from tests.support.leaks import left_behind
from tests.support.proxy import Proxy, proxy
from tests.support.rough import END, HEAD, Act, Wire, chunk, rough
from tests.support.sse_tools import end_of, finished, frames, numbered
from tests.test_addon import ASK, EVENTS, PAYLOAD
from tests.test_addon_chat import PIECES

pytestmark = pytest.mark.hard

SSE = {"content-type": "text/event-stream"}
PROGRESS = "response.in_progress"
FRAMES = [frames([event]) for event in EVENTS]
STREAM = b"".join(FRAMES)
HALF = b"".join(FRAMES[:3])
"""Up to the only delta of the call."""
TICKS: dict[str, list[Piece]] = {"responses": [2.5, *FRAMES], "chat": [2.5, *PIECES]}
"""Streams with a silence before their first event, where the bridge has to open them."""


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """What the client speaks."""
    return str(request.param)


def later(*pieces: Piece) -> Reply:
    """A stream."""
    return Reply(pieces, headers=SSE)


class TestKeepalive:
    """Every test asks with three streams at once; over HTTP/2, on one connection."""

    @staticmethod
    def heard(version: str, reply: Callable[[Asked], Reply], *settings: str) -> list[Heard]:
        """What three clients hear; nothing is left behind."""
        with backend(reply) as running, proxy(running.url, "bridge_keepalive=1", *settings) as between:
            found = hear(between, version, [ASK] * 3)
            assert left_behind(between) == {}
            assert not between.log.about("rror")
        return found

    @pytest.mark.parametrize("wire", TICKS)
    def test_a_client_hears_events_while_the_backend_is_silent(self, version: str, wire: str) -> None:
        reply = later(*TICKS[wire])
        for heard in self.heard(version, lambda _: reply, f"bridge_backend={wire}"):
            assert heard.types[:4].count(PROGRESS) == 2
            assert heard.types[0] == "response.created"
            assert [at for at in heard.times(PROGRESS) if at > 2.7] == []
            assert len({event["response"]["id"] for event in heard.events if "response" in event}) == 1
            assert [event["sequence_number"] for event in heard.events] == list(range(len(heard.types)))
            assert [item["input"] for item in finished(heard.events) if "input" in item] == [PAYLOAD]
            assert end_of(heard.events)["type"] == "response.completed"

    def test_no_event_is_added_while_data_flows(self, version: str) -> None:
        delta = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "x"}
        pieces = [part for _ in range(12) for part in (0.2, frames([delta]))]
        reply = later(FRAMES[0], *pieces, *FRAMES[1:])
        for heard in self.heard(version, lambda _: reply):
            assert PROGRESS not in heard.types

    def test_none_comes_behind_the_end(self, version: str) -> None:
        reply = later(*FRAMES, 2.5)
        for heard in self.heard(version, lambda _: reply):
            assert heard.types[-1] == "response.completed"
            assert PROGRESS not in heard.types

    def test_comments_of_the_backend_become_events(self, version: str) -> None:
        comments = [part for _ in range(12) for part in (b": wait\n\n", 0.2)]
        reply = later(FRAMES[0], *comments, *FRAMES[1:])
        for heard in self.heard(version, lambda _: reply):
            assert heard.types.count(PROGRESS) == 2

    def test_nothing_is_said_before_the_backend_has_a_status(self, version: str) -> None:
        def slow(_: Asked) -> Reply:
            time.sleep(2.5)
            return later(*FRAMES)

        for heard in self.heard(version, slow):
            assert heard.begun > 2.4
            assert PROGRESS not in heard.types

    def test_a_status_that_comes_late_is_the_clients(self, version: str) -> None:
        def slow(_: Asked) -> Reply:
            time.sleep(1.5)
            return Reply([b'{"error": {"message": "No."}}'], 429, {"content-type": "application/json"})

        assert [heard.status for heard in self.heard(version, slow)] == [429] * 3

    def test_a_client_that_leaves_in_a_silence_takes_its_timer_along(self, version: str) -> None:
        reply = later(FRAMES[0], 3.0, *FRAMES[1:])
        with backend(lambda _: reply) as running, proxy(running.url, "bridge_keepalive=1") as between:
            hear(between, version, [ASK] * 3, stop_at=PROGRESS.encode())
            assert left_behind(between, 1.5) == {}


class TestCut:
    @pytest.mark.parametrize("wire", ["responses", "chat"])
    @pytest.mark.parametrize("kept", [0, 1, 2, 3])
    def test_a_cut_in_mid_body_ends_with_one_failure(self, version: str, wire: str, kept: int) -> None:
        pieces = PIECES if wire == "chat" else FRAMES
        reply = later(*pieces[:kept], 0.1, CUT)
        with backend(lambda _: reply) as running, proxy(running.url, f"bridge_backend={wire}") as between:
            for heard in hear(between, version, [ASK] * 3):
                assert heard.types.count("response.failed") == 1
                assert heard.types[-1] == "response.failed"
                assert not [item for item in finished(heard.events) if item["type"].endswith("_call")]
            assert left_behind(between) == {}

    def test_a_cut_hurts_its_own_stream_only(self, version: str) -> None:
        def script(asked: Asked) -> Reply:
            bad = b"break" in asked.raw
            return later(*FRAMES[:3], 0.2, CUT) if bad else later(*FRAMES[:3], 0.6, *FRAMES[3:])

        bodies = [{**ASK, "user": user} for user in ("well", "break", "well")]
        with backend(script) as running, proxy(running.url) as between:
            ends = [heard.types[-1] for heard in hear(between, version, bodies)]
            assert ends == ["response.completed", "response.failed", "response.completed"]
            assert left_behind(between) == {}


def well(wire: Wire) -> None:
    """A stream as it should be."""
    wire.say(HEAD, chunk(STREAM), END)


def begun(*pieces: bytes, leave: Callable[[Wire], object]) -> Act:
    """A stream that begins, and then leaves in a way of its own."""

    def act(wire: Wire) -> None:
        wire.say(HEAD, *map(chunk, pieces))
        time.sleep(0.1)
        leave(wire)

    return act


def raw(*pieces: bytes) -> Act:
    """Bytes on the socket, then the end of the connection."""

    def act(wire: Wire) -> None:
        wire.say(*pieces)
        wire.close()

    return act


def stall(wire: Wire) -> None:
    """Nothing for a while, then gone."""
    time.sleep(0.8)
    wire.close()


def drip(wire: Wire) -> None:
    """Each byte of the body in a segment of its own."""
    wire.say(HEAD)
    for start in range(len(STREAM)):
        wire.say(chunk(STREAM[start : start + 1]))
    wire.say(END)


def half_close(wire: Wire) -> None:
    """In the middle of a body: no more comes, and it goes on listening."""
    wire.half_close()
    wire.wait_until_left()


def long_call(arguments: str) -> bytes:
    """The stream with other arguments, in one delta."""
    delta = {**EVENTS[2], "delta": arguments}
    item = {**EVENTS[3]["item"], "arguments": arguments}
    end = {**EVENTS[4], "response": {**EVENTS[4]["response"], "output": [item]}}
    return frames([*EVENTS[:2], delta, {**EVENTS[3], "item": item}, end])


def many_deltas(count: int) -> bytes:
    """A text in many frames."""
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    deltas = [{"type": "response.output_text.delta", **where, "delta": "x"} for _ in range(count)]
    return frames(numbered([EVENTS[0], *deltas, EVENTS[4]]))


HUGE = "x" * (4 << 20)
FAILED = "response.failed"
COMPLETED = "response.completed"
NO_HTTP = b"\x16\x03\x01 garbage \x00\xff\r\n\r\n" * 20
FAULTS: dict[str, tuple[Act, int, str]] = {
    "killed before an answer": (Wire.close, 502, ""),
    "reset before an answer": (Wire.reset, 502, ""),
    "half-closed before an answer": (half_close, 502, ""),
    "killed within the head": (raw(HEAD[:30]), 502, ""),
    "garbage in place of HTTP": (raw(NO_HTTP), 502, ""),
    "early hints in place of an answer": (raw(b"HTTP/1.1 103 Early Hints\r\n\r\n", HEAD, chunk(STREAM), END), 502, ""),
    "killed": (begun(HALF, leave=Wire.close), 200, FAILED),
    "killed within a frame": (begun(HALF[:-9], leave=Wire.close), 200, FAILED),
    "reset": (begun(HALF, leave=Wire.reset), 200, FAILED),
    "reset with no event yet": (begun(leave=Wire.reset), 200, FAILED),
    "stalled, then gone": (begun(HALF, leave=stall), 200, FAILED),
    "half-closed": (begun(HALF, leave=half_close), 200, FAILED),
    "ended in order but too early": (raw(HEAD, chunk(HALF), END), 200, FAILED),
    "garbage in place of a chunk": (raw(HEAD, chunk(HALF), NO_HTTP), 200, FAILED),
    "garbage in the stream": (raw(HEAD, chunk(HALF), chunk(b"\x00\xff\xfe{]\n\n" * 9), END), 200, FAILED),
    "a damaged frame": (raw(HEAD, chunk(HALF + b'data: {"type": "resp\n\n'), END), 200, FAILED),
    "an empty stream": (raw(HEAD, END), 200, FAILED),
    "one byte a read": (drip, 200, COMPLETED),
    "4 MB in one frame": (raw(HEAD, chunk(long_call(json.dumps({"input": HUGE}))), END), 200, COMPLETED),
    "10,000 frames in one read": (raw(HEAD, chunk(many_deltas(10_000)), END), 200, COMPLETED),
    "reset behind its end": (begun(STREAM, leave=Wire.reset), 200, COMPLETED),
}


class TestFaults:
    @pytest.fixture(scope="class")
    @staticmethod
    def between() -> Iterator[Proxy]:
        """One proxy for all faults, aimed anew for each: it has to survive them all."""
        with proxy("http://127.0.0.1:9", "bridge_keepalive=1") as running:
            yield running

    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_fault_has_an_honest_end_and_leaves_nothing(self, between: Proxy, version: str, fault: str) -> None:
        act, status, end = FAULTS[fault]
        with rough(act, well) as running:
            between.set(mode=[f"reverse:{running.url}"])
            between.listen()
            (heard,) = hear(between, version, [ASK])
            self.judge(heard, status, end)
            (again,) = hear(between, version, [ASK])
            assert [item["input"] for item in finished(again.events)] == [PAYLOAD]
            assert left_behind(between) == {}
            assert all(wire.wait_until_left() for wire in running.wires)

    @staticmethod
    def judge(heard: Heard, status: int, end: str) -> None:
        """The status, and one terminal event at the end; calls are finished only in a stream that is."""
        assert heard.status == status
        if not end:
            error = json.loads(heard.raw)["error"]
            assert (error["type"], error["code"]) == ("server_error", "bad_gateway")
            return
        assert end_of(heard.events)["type"] == end
        assert end == COMPLETED or not finished(heard.events)

    def test_a_client_that_leaves_takes_the_backend_along(self, between: Proxy, version: str) -> None:
        with rough(begun(HALF, leave=Wire.wait_until_left), well) as running:
            between.set(mode=[f"reverse:{running.url}"])
            between.listen()
            (heard,) = hear(between, version, [ASK], stop_at=b"custom_tool_call_input.delta")
            assert heard.status == 200
            assert left_behind(between) == {}
            assert running.wires[0].wait_until_left()
            (again,) = hear(between, version, [ASK])
            assert [item["input"] for item in finished(again.events)] == [PAYLOAD]

    def test_nothing_of_the_addon_went_wrong_meanwhile(self, between: Proxy) -> None:
        words = ("fault", "Traceback", "Addon error", "crash", "never retrieved")
        assert [line for line in between.log.lines if any(word in line for word in words)] == []


def test_a_huge_payload_leaves_as_it_came(version: str) -> None:
    data = long_call(json.dumps({"input": HUGE}))
    with rough(raw(HEAD, chunk(data), END)) as running, proxy(running.url) as between:
        (heard,) = hear(between, version, [ASK])
    calls: list[Any] = finished(heard.events)
    assert [call["input"] == HUGE for call in calls] == [True]
