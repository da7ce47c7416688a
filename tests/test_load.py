"""Many exchanges through one mitmdump: 200 streams at once, none mixed, and many one after the other in flat memory."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.soak import COUNT, GROWTH, ask, payload_of, reply, soak
from tests.support.clients import hear
from tests.support.process import mitmdump
from tests.support.rough import END, HEAD, Wire, chunk, rough
from tests.support.sse_tools import finished

pytestmark = pytest.mark.hard

STREAMS = 200
PIECE = 200


@pytest.mark.parametrize(
    ("version", "streams", "per"),
    [("HTTP/1.1", STREAMS, STREAMS), ("HTTP/2", STREAMS, 5)],
    ids=["a connection each", "five on a connection"],
)
def test_streams_at_once_are_not_mixed(version: str, streams: int, per: int) -> None:
    all_here = threading.Barrier(streams, timeout=3 + streams / 10)

    def answer(wire: Wire) -> None:
        data = reply(wire.asked)
        wire.say(HEAD, chunk(data[:PIECE]))
        try:
            all_here.wait()
        except threading.BrokenBarrierError:
            wire.reset()
        wire.say(*(chunk(data[start : start + PIECE]) for start in range(PIECE, len(data), PIECE)), END)

    with rough(answer) as running, mitmdump(running.url) as dump:
        answers = hear(dump, version, [ask(number) for number in range(streams)], per=per)
        assert not [line for line in dump.printed if "fault" in line or "Traceback" in line]
    for number, heard in enumerate(answers):
        assert heard.types[-1] == "response.completed"
        (item,) = finished(heard.events)
        assert (item["name"], item["input"]) == (f"tool_{number}", payload_of(str(number)))
        assert f'tool_{number + 1}"'.encode() not in heard.raw


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="RSS is read from /proc")
@pytest.mark.parametrize("keep", [False, True], ids=["no bodies kept", "bodies kept"])
def test_memory_is_flat_over_many_exchanges(keep: bool) -> None:
    assert soak(COUNT, keep=keep).growth < GROWTH
