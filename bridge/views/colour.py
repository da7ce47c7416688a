"""Lines → the same lines coloured for a terminal, by how they begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_COLOURS = {"!": "33", "+": "32", "-": "31", "~": "36", "#": "2", "=": "2", "…": "2"}
"""ANSI: warnings yellow, what came green, what went red, what changed cyan, remarks dim."""


def coloured(lines: Iterable[str]) -> Iterator[str]:
    """Lines with their colours."""
    for line in lines:
        code = _COLOURS.get(line[:1])
        yield f"\x1b[{code}m{line}\x1b[0m" if code else line
