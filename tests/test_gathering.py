"""What one read of the backend's socket brings reaches the bridge as one piece, and nothing of it is lost or late."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import h11
import pytest
from h11._readers import ChunkedReader, ContentLengthReader, Http10Reader
from h11._receivebuffer import ReceiveBuffer
from hypothesis import given
from hypothesis import strategies as st

from bridge.flows import Session
from bridge.proxycore import GATHERED, GatheringReader
from tests.support.proxy import proxy
from tests.support.rough import END, HEAD, Wire, chunk, rough
from tests.support.sse_tools import end_of, finished, frames
from tests.test_addon import ASK, EVENTS, PAYLOAD

STREAM = frames(EVENTS)
PLAIN_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


def read(reader: Any, *arrivals: bytes) -> list[Any]:
    """What a reader makes of each arrival: data as bytes, ends and errors by their type."""
    buffer, found = ReceiveBuffer(), []
    for arrival in arrivals:
        buffer += arrival
        try:
            while event := reader(buffer):
                found.append(bytes(event.data) if isinstance(event, h11.Data) else type(event))
                if isinstance(event, h11.EndOfMessage):
                    break
        except h11.ProtocolError as error:
            found.append(type(error))
    return found


@given(st.lists(st.binary(min_size=1)), st.lists(st.integers(0, 400)))
def test_all_data_arrives_and_then_the_end(pieces: list[bytes], cuts: list[int]) -> None:
    body = b"".join(map(chunk, pieces)) + END
    marks = sorted({0, *(cut for cut in cuts if cut < len(body)), len(body)})
    arrivals = [body[start:end] for start, end in pairwise(marks)]
    *data, end = read(GatheringReader(ChunkedReader()), *arrivals)
    assert (b"".join(data), end) == (b"".join(pieces), h11.EndOfMessage)
    assert len(data) <= len(arrivals)


def test_what_is_in_front_does_not_wait_for_all_that_is_behind() -> None:
    *data, end = read(GatheringReader(ChunkedReader()), chunk(b"x" * 100) * 500 + END)
    assert (b"".join(data), end) == (b"x" * 50_000, h11.EndOfMessage)
    assert max(map(len, data)) < GATHERED + 100


def test_data_in_front_of_a_bad_chunk_arrives_before_the_error() -> None:
    found = read(GatheringReader(ChunkedReader()), chunk(b"a") + chunk(b"b") + b"no size\r\n")
    assert found == [b"ab", h11.LocalProtocolError]


@pytest.mark.parametrize(
    ("reader", "ends"), [(Http10Reader(), True), (ChunkedReader(), False), (ContentLengthReader(9), False)]
)
def test_a_backend_that_closes_ends_what_may_end_so(reader: Any, ends: bool) -> None:
    gathering = GatheringReader(reader)
    assert read(gathering, b"1\r\na\r\n")
    if ends:
        assert gathering.read_eof() == h11.EndOfMessage()
    else:
        with pytest.raises(h11.RemoteProtocolError, match="without sending complete message body"):
            gathering.read_eof()


def until_it_closes(wire: Wire) -> None:
    """Neither chunks nor a length."""
    wire.say(PLAIN_HEAD + b"\r\n" + STREAM)
    wire.close()


BODIES: dict[str, tuple[Callable[[Wire], None], str]] = {
    "chunked": (lambda wire: wire.say(HEAD + b"".join(map(chunk, [STREAM[:500], STREAM[500:]])) + END), "completed"),
    "with trailers": (lambda wire: wire.say(HEAD, chunk(STREAM), b"0\r\nx-sum: 1\r\n\r\n"), "completed"),
    "too short, with trailers": (lambda wire: wire.say(HEAD, chunk(STREAM[:600]), b"0\r\nx-sum: 1\r\n\r\n"), "failed"),
    "with its length": (
        lambda wire: wire.say(PLAIN_HEAD + b"content-length: %d\r\n\r\n" % len(STREAM) + STREAM),
        "completed",
    ),
    "until it closes": (until_it_closes, "completed"),
    "with a bad chunk": (lambda wire: wire.say(HEAD + chunk(STREAM[:600]) + chunk(b"\n") + b"no size\r\n"), "failed"),
}


@pytest.mark.parametrize("kind", BODIES)
def test_bodies_of_every_form(kind: str) -> None:
    act, end = BODIES[kind]
    with rough(act) as running, proxy(running.url) as between:
        got = between.post(ASK)
    assert end_of(got.events)["type"] == f"response.{end}"
    assert [item["input"] for item in finished(got.events)] == ([PAYLOAD] if end == "completed" else [])


def test_the_bridge_is_asked_once_for_what_came_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    pieces = Session.pieces

    def counted(session: Session, data: bytes) -> Any:
        asked.append(data)
        return pieces(session, data)

    monkeypatch.setattr(Session, "pieces", counted)
    each = b"".join(chunk(bytes([byte])) for byte in STREAM)
    with rough(lambda wire: wire.say(HEAD + each + END)) as running, proxy(running.url) as between:
        got = between.post(ASK)
    assert [item["input"] for item in finished(got.events)] == [PAYLOAD]
    assert b"".join(asked) == STREAM
    assert len(asked) < 20
