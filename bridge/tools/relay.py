"""The way back of one stream: the backend's bytes → the client's bytes, or the client's whole response."""

from __future__ import annotations

from bridge.jsonvalue import Object, as_text
from bridge.ledger import Rule
from bridge.sse import Frame, Reader
from bridge.tools.complete import TERMINAL, Completer, lacks
from bridge.tools.context import Context
from bridge.tools.stream import StreamLift
from bridge.tools.whole import Collector, Compactor
from bridge.tools.writer import Writer


class Relay:
    """Reads frames, completes and lifts their events, writes frames; the same for every cut of the bytes."""

    def __init__(self, context: Context, *, compacts: bool, collects: bool) -> None:
        """`compacts`: only the summary leaves; `collects`: `response` will be asked for."""
        self._ledger = context.ledger
        self._completed: set[str] = set()
        self._reader = Reader()
        self._completer = Completer(context)
        self._lift = StreamLift(context)
        self._compactor = Compactor(context) if compacts else None
        self._collector = Collector() if collects else None
        self._writer = Writer()

    def feed(self, data: bytes) -> list[bytes]:
        """A piece of the backend's stream."""
        return [left for frame in self._reader.feed(data) for left in self._take(frame)]

    def close(self) -> list[bytes]:
        """The backend's stream is over; a last frame without its blank line counts."""
        last = [left for frame in self._reader.close() for left in self._take(frame)]
        return last + self.fail("The backend's stream ended without a terminal event.")

    def fail(self, message: str) -> list[bytes]:
        """The stream will not go on: unless it has ended, it ends as failed."""
        return self._made(self._lift.fail(message))

    def keepalive(self) -> list[bytes]:
        """An event for a client that hears nothing."""
        return self._made(self._lift.keepalive())

    def make(self, event: Object) -> list[bytes]:
        """An event that stands in no frame of the backend's."""
        completed = self._completer.complete(event)
        return self._made(self._lift.feed(completed))

    def response(self) -> Object:
        """What all events so far add up to."""
        return self._collector.response() if self._collector else {}

    def _take(self, frame: Frame) -> list[bytes]:
        event = frame.event
        if event is None:
            return [frame.raw]
        if self._lift.ended:
            return [] if as_text(event.get("type")) in TERMINAL else [frame.raw]
        completed = self._completer.complete(event)
        needy = frame.untyped or lacks(event)
        out = self._left(self._lift.feed(completed))
        left = [left.raw for left in self._writer.write(frame, event, completed, out, needy=needy)]
        if needy or self._writer.thin:
            self._note_completed("thin stream" if self._writer.thin else as_text(event.get("type")))
        return left

    def _note_completed(self, what: str) -> None:
        """Once for each kind of event, and once for a stream that leaves out what all events need."""
        if what not in self._completed:
            self._completed.add(what)
            self._ledger.add(Rule.COMPLETED, what)

    def _made(self, made: list[Object]) -> list[bytes]:
        return [frame.raw for frame in self._writer.made(self._left(made))]

    def _left(self, out: list[Object]) -> list[Object]:
        left = self._compactor.take(out) if self._compactor else out
        if self._collector:
            self._collector.take(left)
        return left
