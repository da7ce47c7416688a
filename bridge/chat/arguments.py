"""The arguments of one call, put together from whatever pieces a server sends.

Servers stream arguments as increments, send everything so far again in every chunk, send the whole once more at the
end, or send an object. Which one it is shows in the text itself: arguments are one JSON value, so a piece that can only
be a restatement makes no JSON when it is appended. As long as both readings are possible, nothing leaves.
"""

from __future__ import annotations

from bridge.jsonscan import Scanner

READINGS = 6
"""Readings that are followed at once."""


class _Reading:
    """One way to read the pieces so far."""

    def __init__(self, text: str = "") -> None:
        self.length = len(text)
        self._parts = [text]
        self._scanner = Scanner(None)
        self._scanner.feed(text)

    @property
    def text(self) -> str:
        self._parts = ["".join(self._parts)]
        return self._parts[0]

    @property
    def broken(self) -> bool:
        """Whether it is no JSON, and cannot become any."""
        return self._scanner.broken

    @property
    def complete(self) -> bool:
        """Whether it is one whole JSON object. Of any other value a text can begin that is none: `"use strict";`."""
        scanner = self._scanner
        whole = bool(scanner.values) and not scanner.broken and not scanner.incomplete
        return whole and self.text.lstrip().startswith("{")

    def append(self, piece: str) -> None:
        self.length += len(piece)
        self._parts.append(piece)
        self._scanner.feed(piece)

    def is_restated_by(self, piece: str) -> bool:
        return 0 < self.length <= len(piece) and piece.startswith(self.text)


class Arguments:
    """`add` returns what is certain to follow what it returned before; `finish` returns the rest."""

    def __init__(self) -> None:
        self.ignored = False
        """Whether pieces came after the end."""
        self._readings = [_Reading()]
        self._sent = 0

    @property
    def text(self) -> str:
        """The likeliest reading."""
        return self._best().text

    @property
    def begun(self) -> bool:
        """Whether anything has come."""
        return bool(self._readings[0].length)

    @property
    def complete(self) -> bool:
        """Whether they are one whole JSON object."""
        return len(self._readings) == 1 and self._readings[0].complete

    def add(self, piece: str) -> str:
        """The next piece."""
        if self.complete:
            self.ignored |= bool(piece.strip())
            return ""
        if len(self._readings) == 1 and not self._readings[0].is_restated_by(piece):
            self._readings[0].append(piece)
            self._sent += len(piece)
            return piece
        restated = [_Reading(piece) for reading in self._readings if reading.is_restated_by(piece)]
        over = [reading for reading in self._readings if reading.complete and piece.strip()]
        going_on = [reading for reading in self._readings if reading not in over]
        for reading in going_on:
            reading.append(piece)
        alive = [reading for reading in [*going_on, *restated[:1]] if not reading.broken]
        self._readings = (alive[-READINGS:]) or over[:1] or going_on[:1]
        return self._rest() if len(self._readings) == 1 else ""

    def replace(self, text: str) -> str:
        """Arguments that came as a whole, as an object does."""
        if self.begun:
            self.ignored |= text != self.text
            return ""
        return self.add(text)

    def finish(self) -> str:
        """No more pieces come."""
        self._readings = [self._best()]
        return self._rest()

    def _best(self) -> _Reading:
        whole = [reading for reading in self._readings if reading.complete]
        return whole[0] if whole else self._readings[0]

    def _rest(self) -> str:
        """What of the only reading has not left yet."""
        rest = self._readings[0].text[self._sent :]
        self._sent += len(rest)
        return rest
