"""What was said, kept up to a limit."""

from __future__ import annotations


class Tape:
    """Pieces of one body in their order."""

    def __init__(self, limit: int) -> None:
        """`limit`: bytes that are kept at most, from the front."""
        self.whole = True
        """Whether nothing was left out."""
        self.size = 0
        """Bytes that were kept."""
        self._room = limit
        self._pieces: list[bytes] = []

    def add(self, data: bytes) -> None:
        """Keep what there is room for."""
        if not self._room:
            self.whole &= not data
            return
        kept = data[: self._room]
        self.whole &= len(kept) == len(data)
        self._room -= len(kept)
        self.size += len(kept)
        if kept:
            self._pieces.append(kept)

    def bytes(self) -> bytes:
        """All that was kept."""
        return b"".join(self._pieces)
