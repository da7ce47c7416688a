"""Server-sent events: bytes ↔ frames.

A frame is everything up to and with the blank line that ends it. One that nobody touches goes out as the bytes that
came in; one that is rewritten keeps its other lines (`id:`, `retry:`, comments) and gets a new `event:` and `data:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from bridge.jsonvalue import Object, as_text, dump_bytes, parse_quickly

CONTENT_TYPE = "text/event-stream"
END_MARK = "[DONE]"
"""Data behind the last event of OpenAI's streams; the SDK reads nothing behind it."""
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?=[^\n]))")
_LONGEST_END = 4
_LONGEST_TYPE = 100
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_COMMON = re.compile(rb"(?:event: ?(.*)\n)?data: ?(.*)\n\n")
"""How nearly every frame looks, if it has no carriage return."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Frame:
    """One event as it stands on the wire."""

    raw: bytes

    @cached_property
    def _lines(self) -> tuple[list[bytes], list[bytes], bytes]:
        """The values of the `event:` lines, those of the `data:` lines, and all other lines."""
        if b"\r" not in self.raw and (common := _COMMON.fullmatch(self.raw)):
            name, data = common.groups()
            return ([] if name is None else [name]), [data], b""
        lines = [line for line in self.raw.removeprefix(_BOM).splitlines() if line]
        fields = [line.partition(b":") for line in lines]
        names, data_lines = (
            [value.removeprefix(b" ") for field, _, value in fields if field == wanted]
            for wanted in (b"event", b"data")
        )
        others = [line for line, (field, _, _) in zip(lines, fields, strict=True) if field not in (b"event", b"data")]
        return names, data_lines, b"".join(line + b"\n" for line in others)

    @property
    def named(self) -> bool:
        """Whether the frame has an `event:` line."""
        return bool(self._lines[0])

    @property
    def has_data(self) -> bool:
        """Whether the frame has a `data:` line, readable or not."""
        return bool(self._lines[1])

    @property
    def data(self) -> str | None:
        """The joined `data:` lines; None where there are none, or where they are not UTF-8."""
        lines = self._lines[1]
        try:
            return b"\n".join(lines).decode("utf-8") if lines else None
        except UnicodeDecodeError:
            return None

    @property
    def is_end_mark(self) -> bool:
        """Whether the data is what ends a stream of OpenAI's."""
        return (self.data or "").strip() == END_MARK

    @property
    def is_damaged(self) -> bool:
        """Whether the data begins as a JSON object does, and is none."""
        if self.event is not None:
            return False
        return (self.has_data and self.data is None) or (self.data or "").lstrip().startswith("{")

    @property
    def event(self) -> Object | None:
        """The JSON object in the data, with its type."""
        return self._event[0]

    @property
    def untyped(self) -> bool:
        """Whether the event's type stands in the `event:` line only, where Codex does not look."""
        return self._event[1]

    @cached_property
    def _event(self) -> tuple[Object | None, bool]:
        names, lines, _ = self._lines
        try:
            value = parse_quickly(lines[0] if len(lines) == 1 else b"\n".join(lines)) if lines else None
        except ValueError:
            return None, False
        if not isinstance(value, dict):
            return None, False
        if "type" in value or not names:
            return value, False
        return {"type": names[-1].decode("utf-8", "replace"), **value}, True

    def rewritten(self, event: Object) -> bytes:
        """The same frame with another event in it."""
        return self._lines[2] + encode(event, named=self.named)


def encode(event: Object, *, named: bool) -> bytes:
    """Event → the bytes of its frame, with or without an `event:` line; a type that is no short word gets none."""
    kind = as_text(event.get("type"))
    head = _head(kind) if named and len(kind) <= _LONGEST_TYPE else b""
    return b"%bdata: %b\n\n" % (head, dump_bytes(event))


@lru_cache(64)
def _head(kind: str) -> bytes:
    return f"event: {kind}\n".encode() if _WORD.fullmatch(kind) else b""


class Reader:
    """Bytes, cut anywhere → frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes."""
        self._buffer += data
        position = max(0, self._searched - _LONGEST_END)
        has_returns = self._buffer.find(b"\r", position) >= 0
        frames = self._cut_anywhere(position) if has_returns else self._cut_at_line_feeds(position)
        self._searched = len(self._buffer)
        return frames

    def _cut_at_line_feeds(self, position: int) -> list[Frame]:
        """As nearly every server ends its lines."""
        if self._buffer.find(b"\n\n", position) < 0:
            return []
        *whole, rest = bytes(self._buffer).split(b"\n\n")
        self._buffer = bytearray(rest)
        return [Frame(each + b"\n\n") for each in whole]

    def _cut_anywhere(self, position: int) -> list[Frame]:
        frames = []
        start = 0
        while found := _BLANK_LINE.search(self._buffer, position):
            frames.append(Frame(bytes(self._buffer[start : found.end()])))
            start = position = found.end()
        del self._buffer[:start]
        return frames

    def close(self) -> list[Frame]:
        """What is left at the end of the stream: a last frame without its blank line gets one."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._searched = 0
        if not rest.strip():
            return [Frame(rest)] if rest else []
        if rest.endswith(b"\r\r"):
            return [Frame(rest)]
        return [Frame(rest + (b"\n" if rest.endswith(b"\n") else b"\n\n"))]


def frames_of(body: bytes) -> list[Frame]:
    """A whole stream → its frames."""
    reader = Reader()
    return [*reader.feed(body), *reader.close()]


def events_of(body: bytes) -> list[Object]:
    """A whole stream → the events in it that can be read."""
    return [frame.event for frame in frames_of(body) if frame.event is not None]


def looks_like_sse(body: bytes) -> bool:
    """Whether a body of unknown type begins as an event stream does."""
    return body.removeprefix(_BOM).lstrip().startswith((b"data:", b"event:", b"id:", b"retry:", b":"))
