"""Server-sent events: every cut gives the same frames, untouched bytes stay, rewritten ones keep their other lines."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.jsonvalue import Object
from bridge.sse import Frame, Reader, encode, looks_like_sse

examples = settings(max_examples=100, deadline=None)
BOM = b"\xef\xbb\xbf"
ENDS = (b"\n", b"\r\n", b"\r")


def read(stream: bytes, *cuts: int) -> list[Frame]:
    """The frames of a stream that arrives in pieces."""
    reader = Reader()
    bounds = [0, *cuts, len(stream)]
    frames = [each for a, b in pairwise(bounds) for each in reader.feed(stream[a:b])]
    return frames + reader.close()


def dispatched(stream: bytes) -> list[tuple[bytes, bytes]]:
    """(event, data) of each event as the standard has it: an event without a blank line behind it is lost."""
    found: list[tuple[bytes, bytes]] = []
    name, data = b"", list[bytes]()
    for line in re.split(rb"\r\n|\n|\r", stream.removeprefix(BOM))[:-1]:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line and data:
            found.append((name, b"\n".join(data)))
        if not line:
            name, data = b"", []
        elif field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return found


def said(frames: list[Frame]) -> list[bytes]:
    """The data of the frames that have any."""
    return [each.data.encode() for each in frames if each.data is not None]


LINES = (
    b"",
    b"",
    b'data: {"type":"a"}',
    b"data:b",
    b"data:  b ",
    b"data",
    b"data: \xc3\xa9\xf0\x9f\x98\x80",
    b"event: a",
    b"id: 7",
    b"retry: 10",
    b": ping",
    b":",
    b"datum: x",
    b"data : x",
    b"  ",
)
line_ends = st.one_of(st.sampled_from(ENDS).map(lambda end: (end,)), st.just(ENDS))


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A stream with one kind of line ends or with all, whose last event has its blank line or lacks it."""
    end = st.sampled_from(draw(line_ends))
    body = b"".join(draw(st.sampled_from(LINES)) + draw(end) for _ in range(draw(st.integers(0, 8))))
    last = draw(st.sampled_from(["whole", "line", "open", "none"]))
    if last == "whole":
        body += b"data: last" + draw(end) + draw(end)
    elif last == "line":
        body += b"data: last" + draw(st.sampled_from(ENDS[:2]))
    elif last == "open":
        body += b"data: last"
    else:
        body += b"data: last\n\n"
    return draw(st.sampled_from([b"", BOM])) + body


class TestReader:
    @examples
    @given(streams())
    def test_the_frames_are_the_bytes_that_came_and_the_last_blank_line(self, stream: bytes) -> None:
        out = b"".join(each.raw for each in read(stream))
        assert out in (stream, stream + b"\n", stream + b"\n\n")

    @examples
    @given(streams())
    def test_every_cut_gives_the_same_events(self, stream: bytes) -> None:
        whole = read(stream)
        for cuts in [range(1, len(stream)), *((cut,) for cut in range(len(stream)))]:
            frames = read(stream, *cuts)
            assert said(frames) == said(whole)
            assert b"".join(each.raw for each in frames) == b"".join(each.raw for each in whole)

    @examples
    @given(streams())
    def test_they_are_the_events_of_the_standard_and_the_last_one_is_not_lost(self, stream: bytes) -> None:
        frames = read(stream)
        assert said(frames) == [data for _, data in dispatched(b"".join(each.raw for each in frames))]
        assert said(frames) == [data for _, data in dispatched(stream + b"\n\n")]
        assert said(frames)[-1].endswith(b"last")

    @pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\n\r\n", b"\r\n\n", b"\r\r\n"])
    def test_a_frame_leaves_with_the_last_byte_of_its_blank_line(self, end: bytes) -> None:
        reader = Reader()
        *before, last = (reader.feed(bytes([byte])) for byte in b"data: 1" + end)
        assert (any(before), last) == (False, [Frame(b"data: 1" + end)])

    def test_a_blank_line_of_returns_waits_for_the_byte_that_decides_it(self) -> None:
        reader = Reader()
        assert [reader.feed(piece) for piece in (b"data: 1\r\r", b"d")] == [[], [Frame(b"data: 1\r\r")]]

    def test_the_line_feed_of_a_cut_blank_line_stays_with_its_frame(self) -> None:
        reader = Reader()
        assert [reader.feed(piece) for piece in (b"data: 1\r\n\r", b"\ndata: 2\n\n")] == [
            [],
            [Frame(b"data: 1\r\n\r\n"), Frame(b"data: 2\n\n")],
        ]

    @pytest.mark.parametrize(
        ("rest", "raw"),
        [
            (b"data: 1", b"data: 1\n\n"),
            (b"data: 1\n", b"data: 1\n\n"),
            (b"data: 1\r\n", b"data: 1\r\n\n"),
            (b": bye", b": bye\n\n"),
            (b"\n", b"\n"),
            (b"\r\n", b"\r\n"),
        ],
    )
    def test_what_is_left_at_the_end_is_delivered(self, rest: bytes, raw: bytes) -> None:
        assert read(rest) == [Frame(raw)]

    def test_a_return_and_a_blank_line_at_the_end_are_a_whole_frame(self) -> None:
        assert dispatched(b"".join(each.raw for each in read(b"data: 1\r\r"))) == [(b"", b"1")]

    def test_a_long_frame_is_not_searched_again_with_every_piece(self) -> None:
        reader = Reader()
        started = time.process_time()
        for _ in range(2000):
            reader.feed(b"x" * 4096)
        assert (len(reader.feed(b"\n\n")), time.process_time() - started < 3) == (1, True)

    def test_nothing_left_is_no_frame(self) -> None:
        reader = Reader()
        assert (len(reader.feed(b"data: 1\n\n")), reader.close(), reader.close()) == (1, [], [])

    def test_a_reader_can_go_on_after_its_end(self) -> None:
        reader = Reader()
        reader.feed(b"data: longer than what follows")
        reader.close()
        assert reader.feed(b"data: 2\n\n") == [Frame(b"data: 2\n\n")]


class TestFrame:
    @pytest.mark.parametrize(
        ("raw", "data"),
        [
            (b"data: 1\n\n", "1"),
            (b"data:1\n\n", "1"),
            (b"data:  1 \n\n", " 1 "),
            (b"data: a\ndata: b\n\n", "a\nb"),
            (b"data: a\r\ndata:\r\ndata\r\n\r\n", "a\n\n"),
            (b"data: a\rdata: b\r\r", "a\nb"),
            (b"data: a:b\n\n", "a:b"),
            (b"data: \xc2\x85\xe2\x80\xa8\x0b\n\n", "\x85\u2028\x0b"),
            (BOM + b"data: 1\n\n", "1"),
            (b"data:\n\n", ""),
            (b": data: 1\n\n", None),
            (b"event: a\nid: 1\n\n", None),
            (b"datax: 1\n data: 2\n\n", None),
            (b"\n\n", None),
            (b"data: \xff\n\n", None),
        ],
    )
    def test_data(self, raw: bytes, data: str | None) -> None:
        assert Frame(raw).data == data

    @pytest.mark.parametrize(
        ("raw", "named"),
        [
            (b"event: a\ndata: 1\n\n", True),
            (b"event\n\n", True),
            (BOM + b"event: a\n\n", True),
            (b"data: event: a\n\n", False),
            (b":event: a\n\n", False),
        ],
    )
    def test_named(self, raw: bytes, named: bool) -> None:
        assert Frame(raw).named is named

    @pytest.mark.parametrize(
        ("raw", "has_data"),
        [(b"data: 1\n\n", True), (b"data\n\n", True), (b"data: \xff\n\n", True), (b"event: a\n: data: 1\n\n", False)],
    )
    def test_has_data(self, raw: bytes, has_data: bool) -> None:
        assert Frame(raw).has_data is has_data

    @pytest.mark.parametrize(
        ("raw", "damaged"),
        [
            (b'data: {"a":\n\n', True),
            (b'data:  {"a":1}}\n\n', True),
            (b"data: \xff\n\n", True),
            (b'data: {"a":1}\n\n', False),
            (b"data: [DONE]\n\n", False),
            (b"event: a\n\n", False),
        ],
    )
    def test_damaged_is_what_begins_as_an_object_and_is_none(self, raw: bytes, damaged: bool) -> None:
        assert Frame(raw).is_damaged is damaged

    @pytest.mark.parametrize(
        ("raw", "event"),
        [
            (b'data: {"type":"a","x":1}\n\n', {"type": "a", "x": 1}),
            (b'data: {"type":\ndata: "a"}\n\n', {"type": "a"}),
            (b'event: b\ndata: {"type":"a"}\n\n', {"type": "a"}),
            (b'event: b\ndata: {"x":1}\n\n', {"type": "b", "x": 1}),
            (b'event: b\nevent: c\ndata: {"x":1}\n\n', {"type": "c", "x": 1}),
            (b"event: \xff\ndata: {}\n\n", {"type": "\ufffd"}),
            (b'data: {"x":1}\n\n', {"x": 1}),
            (b"data: [DONE]\n\n", None),
            (b"data: [1]\n\n", None),
            (b'data: {"x":NaN}\n\n', None),
            (b"data:\n\n", None),
            (b"event: a\n\n", None),
            (b"event: a\ndata: [DONE]\n\n", None),
        ],
    )
    def test_event(self, raw: bytes, event: Object | None) -> None:
        assert Frame(raw).event == event

    @pytest.mark.parametrize(
        ("raw", "untyped"),
        [
            (b"event: a\ndata: {}\n\n", True),
            (b'event: a\ndata: {"type":"a"}\n\n', False),
            (b"data: {}\n\n", False),
            (b"event: a\ndata: 1\n\n", False),
        ],
    )
    def test_untyped(self, raw: bytes, untyped: bool) -> None:
        assert Frame(raw).untyped is untyped


class TestWriting:
    @pytest.mark.parametrize(
        ("raw", "rewritten"),
        [
            (b'data: {"type":"a"}\n\n', b'data: {"type":"b"}\n\n'),
            (b'event: a\ndata: {"type":"a"}\n\n', b'event: b\ndata: {"type":"b"}\n\n'),
            (b"data: 1\ndata: 2\n\n", b'data: {"type":"b"}\n\n'),
            (
                b": note\nid: 7\nevent: a\nretry: 5\ndata\n\n",
                b': note\nid: 7\nretry: 5\nevent: b\ndata: {"type":"b"}\n\n',
            ),
            (b"id: 7\r\ndata: 1\r\n: end\r\n\r\n", b'id: 7\n: end\ndata: {"type":"b"}\n\n'),
            (b"datax: 1\rdata: 1\reventual: 2\r\r", b'datax: 1\neventual: 2\ndata: {"type":"b"}\n\n'),
            (BOM + b"data: 1\n\n", b'data: {"type":"b"}\n\n'),
            (b"\n\ndata: 1\n\n", b'data: {"type":"b"}\n\n'),
        ],
    )
    def test_a_rewritten_frame_keeps_its_other_lines(self, raw: bytes, rewritten: bytes) -> None:
        assert Frame(raw).rewritten({"type": "b"}) == rewritten

    @examples
    @given(
        st.dictionaries(st.text(), st.text(st.characters(exclude_categories=()))),
        st.booleans(),
        st.lists(st.sampled_from([b": x", b"id: 1"])),
    )
    def test_a_written_event_is_read_back(self, fields: dict[str, str], named: bool, others: list[bytes]) -> None:
        event: Object = {**fields, "type": "a.b"}
        source = Frame(
            b"".join(line + b"\r\n" for line in others) + (b"event: z\r\n" if named else b"") + b"data: 1\r\n\r\n"
        )
        for written in (encode(event, named=named), source.rewritten(event)):
            (back,) = read(written)
            assert (back.raw, back.named) == (written, named)
            assert encode(back.event or {}, named=named) == encode(event, named=named)


@pytest.mark.parametrize(
    ("body", "is_stream"),
    [
        (b"data: 1\n\n", True),
        (b"event: a\n", True),
        (b"id: 1\n", True),
        (b"retry: 1\n", True),
        (b": ping\n\n", True),
        (BOM + b"data:1\n\n", True),
        (b"\r\n\ndata: 1\n\n", True),
        (b'{"data": 1}', False),
        (b"database", False),
        (b"", False),
    ],
)
def test_looks_like_sse(body: bytes, is_stream: bool) -> None:
    assert looks_like_sse(body) is is_stream
