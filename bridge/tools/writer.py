"""Events → frames, numbered without gaps; a frame whose event no rule touched stays the bytes that came."""

from __future__ import annotations

from bridge.jsonvalue import Object, as_index
from bridge.sse import Frame, encode

_NUMBERED = ("response.", "error", "keepalive")


class Writer:
    """The client's side of one stream."""

    def __init__(self) -> None:
        self.named = True
        """Whether frames have `event:` lines, as the backend's last one had."""
        self.thin = False
        """Whether the backend leaves out what strict clients need: then every event is completed."""
        self._first = True
        self._shift = 0
        self._next = 0

    def write(self, source: Frame, event: Object, completed: Object, out: list[Object], *, needy: bool) -> list[bytes]:
        """What became of one frame.

        `event` is what stood in it, `completed` the same with nothing missing, `out` what is to leave in its place.
        `needy`: it may not leave as it came even if no rule touched it.
        """
        self.named = source.named
        number, before = as_index(event.get("sequence_number")), self._next
        if self._first:
            self._first = False
            self.thin = number is None
            if number is not None and before:
                # Something was said before the backend's first event, whatever number that has.
                self._shift = before - number
        if number is not None:
            self._next = number + self._shift
        frames: list[bytes] = []
        for each in out:
            if each is completed and not needy and not self.thin:
                frames.append(self._as_it_came(source, event, number))
            elif each is completed or not frames:
                frames.append(source.rewritten(self._number(each)))
            else:
                frames.append(encode(self._number(each), named=self.named))
        self._shift = self._next - number - 1 if number is not None else self._shift + self._next - before
        return frames

    def made(self, events: list[Object]) -> list[bytes]:
        """Events that stand for no frame."""
        first = self._next
        frames = [encode(self._number(event), named=self.named) for event in events]
        self._shift += self._next - first
        return frames

    def _as_it_came(self, source: Frame, event: Object, number: int | None) -> bytes:
        if number is None:
            return source.raw
        own = self._next
        self._next += 1
        return source.raw if own == number else source.rewritten({**event, "sequence_number": own})

    def _number(self, event: Object) -> Object:
        if not str(event.get("type", "")).startswith(_NUMBERED):
            return event
        own = self._next
        self._next += 1
        return {**event, "sequence_number": own}
