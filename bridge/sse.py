"""Server-sent events: bytes ↔ frames.

A frame is everything up to and with the blank line that ends it. One that nobody touches goes out as the bytes that
came in; one that is rewritten keeps its other lines (`id:`, `retry:`, comments) and gets a new `event:` and `data:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from bridge.jsonvalue import Object, as_object, as_text, dump_bytes, parse_quickly

CONTENT_TYPE = "text/event-stream"
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?=[^\n]))")
_LONGEST_END = 4
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_COMMON = re.compile(rb"(?:event: ?([^\r\n]*)\n)?data: ?([^\r\n]*)\n\n")
"""How nearly every frame looks."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Frame:
    """One event as it stands on the wire."""

    raw: bytes

    @cached_property
    def _lines(self) -> tuple[list[bytes], list[bytes]]:
        """The values of the `event:` lines, and those of the `data:` lines."""
        if common := _COMMON.fullmatch(self.raw):
            name, data = common.groups()
            return ([] if name is None else [name]), [data]
        fields = [line.partition(b":") for line in self.raw.removeprefix(_BOM).splitlines() if line]
        names, data_lines = (
            [value.removeprefix(b" ") for field, _, value in fields if field == wanted]
            for wanted in (b"event", b"data")
        )
        return names, data_lines

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
    def is_damaged(self) -> bool:
        """Whether the data begins as a JSON object does, and is none."""
        if self._object is not None:
            return False
        return (self.has_data and self.data is None) or (self.data or "").lstrip().startswith("{")

    @cached_property
    def _object(self) -> Object | None:
        lines = self._lines[1]
        try:
            value = parse_quickly(lines[0] if len(lines) == 1 else b"\n".join(lines)) if lines else None
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    @property
    def untyped(self) -> bool:
        """Whether the event's type stands in the `event:` line only, where Codex does not look."""
        return self._object is not None and "type" not in self._object and self.named

    @cached_property
    def event(self) -> Object | None:
        """The JSON object in the data, with its type."""
        if not self.untyped:
            return self._object
        return {"type": self._lines[0][-1].decode("utf-8", "replace"), **as_object(self._object)}

    def rewritten(self, event: Object) -> Frame:
        """The same frame with another event in it."""
        others = [line for line in self.raw.removeprefix(_BOM).splitlines() if _is_other(line)]
        return Frame(b"".join(line + b"\n" for line in others) + frame(event, named=self.named).raw)


def frame(event: Object, *, named: bool) -> Frame:
    """Event → frame, with or without an `event:` line; a type that is no plain word gets none."""
    kind = as_text(event.get("type"))
    head = f"event: {kind}\n" if named and _WORD.fullmatch(kind) else ""
    return Frame(b"%bdata: %b\n\n" % (head.encode(), dump_bytes(event)))


class Reader:
    """Bytes, cut anywhere → frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes."""
        self._buffer += data
        frames = []
        start = 0
        position = max(0, self._searched - _LONGEST_END)
        while found := _BLANK_LINE.search(self._buffer, position):
            frames.append(Frame(bytes(self._buffer[start : found.end()])))
            start = position = found.end()
        del self._buffer[:start]
        self._searched = len(self._buffer)
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


def _is_other(line: bytes) -> bool:
    return bool(line) and not re.match(rb"(?:event|data)(?::|$)", line)
