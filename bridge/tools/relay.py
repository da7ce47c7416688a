"""The way back of one stream: the backend's bytes → the client's bytes, or the client's whole response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from bridge.jsonvalue import Object, as_text
from bridge.ledger import Rule
from bridge.sse import Frame, Reader
from bridge.tools.complete import Completer, lacks
from bridge.tools.context import Context
from bridge.tools.stream import StreamLift
from bridge.tools.whole import Collector, Compactor
from bridge.tools.writer import Writer


class Dialect(Protocol):
    """Another API's answer as Responses events."""

    def feed(self, chunk: Object) -> list[Object]:
        """One object of the backend's."""

    def close(self, *, finished: bool) -> list[Object]:
        """No more come; `finished` if the backend said so."""

    def fail(self, message: str) -> list[Object]:
        """No more will come."""

    def keepalive(self) -> list[Object]:
        """An event for a client that hears nothing."""


class Relay:
    """Reads frames, completes and lifts their events, writes frames; the same for every cut of the bytes."""

    def __init__(self, context: Context, dialect: Dialect | None, *, compacts: bool, collects: bool) -> None:
        """`compacts`: only the summary leaves; `collects`: `response` will be asked for."""
        self._ledger = context.ledger
        self._dialect = dialect
        self._completed: set[str] = set()
        self._reader = Reader()
        self._completer = Completer(context)
        self._lift = StreamLift(context)
        self._compactor = Compactor(context) if compacts else None
        self._collector = Collector() if collects else None
        self._writer = Writer()

    @property
    def ended(self) -> bool:
        """Whether the end of the client's stream was made."""
        return self._lift.ended

    def feed(self, data: bytes) -> Iterator[bytes]:
        """A piece of the backend's stream."""
        for frame in self._reader.feed(data):
            yield from self._take(frame)

    def close(self) -> Iterator[bytes]:
        """The backend's stream is over; a last frame without its blank line counts, half a frame does not."""
        for frame in self._reader.close():
            if not frame.is_damaged:
                yield from self._take(frame)
        if self._dialect:
            yield from self.make(self._dialect.close(finished=False))
        yield from self.fail("The backend's stream ended without a terminal event.")

    def fail(self, message: str) -> Iterator[bytes]:
        """The stream will not go on: unless it has ended, it ends as failed."""
        if self._dialect:
            yield from self.make(self._dialect.fail(message))
        yield from self._made(self._lift.fail(message))

    def forget(self) -> None:
        """What the backend said so far cannot be told again, as an infinity in it cannot: what follows goes without."""
        self._dialect = None
        self._lift.forget()

    def keepalive(self) -> Iterator[bytes]:
        """An event for a client that hears nothing."""
        if self._dialect:
            yield from self.make(self._dialect.keepalive())
        else:
            yield from self._made(self._lift.keepalive())

    def whole(self, value: Object) -> Iterator[bytes]:
        """A whole answer in the backend's dialect."""
        assert self._dialect
        yield from self.make(self._dialect.feed(value))
        yield from self.make(self._dialect.close(finished=True))

    def make(self, events: Iterable[Object]) -> Iterator[bytes]:
        """Responses events that stand in no frame of the backend's."""
        for event in events:
            yield from self._made(self._lift.feed(self._completer.complete(event)))

    def response(self) -> Object:
        """What all events so far add up to."""
        return self._collector.response() if self._collector else {}

    def _take(self, frame: Frame) -> Iterable[bytes]:
        if self._dialect:
            return self._translate(frame, self._dialect)
        event = frame.event
        if event is None:
            # The OpenAI SDK reads nothing behind the end mark: an end that is missing goes before it.
            told = self.fail("The backend's stream ended without a terminal event.") if frame.is_end_mark else ()
            return [*told, frame.raw]
        if self._lift.ended:
            self._ledger.add(Rule.DROPPED, "events behind the end")
            return []
        completed = self._completer.complete(event)
        needy = frame.untyped or (completed is not event and lacks(event))
        out = self._left(self._lift.feed(completed))
        left = self._writer.write(frame, event, completed, out, needy=needy)
        if needy or self._writer.thin:
            self._note_completed("thin stream" if self._writer.thin else as_text(event.get("type")))
        return left

    def _translate(self, frame: Frame, dialect: Dialect) -> Iterable[bytes]:
        event = frame.event
        if event is not None:
            return self.make(dialect.feed(event))
        if not frame.has_data:
            return [frame.raw]
        if frame.is_end_mark:
            return self.make(dialect.close(finished=True))
        if frame.is_damaged:
            # A piece of a call could be in it: to go on without would change a payload.
            return self.make(dialect.fail("The backend sent data that cannot be read."))
        self._ledger.add(Rule.UNKNOWN, "data that is no JSON object", warning="it was left out")
        return []

    def _made(self, made: list[Object]) -> list[bytes]:
        return self._writer.made(self._left(made))

    def _left(self, out: list[Object]) -> list[Object]:
        left = self._compactor.take(out) if self._compactor else out
        if self._collector:
            self._collector.take(left)
        return left

    def _note_completed(self, what: str) -> None:
        """Once for each kind of event, and once for a stream that leaves out what all events need."""
        if what not in self._completed:
            self._completed.add(what)
            self._ledger.add(Rule.COMPLETED, what)
