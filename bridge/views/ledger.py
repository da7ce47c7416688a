"""The ledger as lines: one for each rule that fired, in order, with where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bridge.ledger import DECLARED
from bridge.views.bodies import Bodies

PATHS_SHOWN = 4


def ledger_lines(bodies: Bodies) -> Iterator[str]:
    """Warnings first, then all entries."""
    yield from (f"# {note}" for note in bodies.notes)
    entries: list[dict[str, Any]] = bodies.stored.get("ledger", [])
    yield from warning_lines(bodies)
    if not entries:
        yield "# No rule fired."
    width = max((len(entry["what"]) for entry in entries), default=0)
    for entry in entries:
        where = f"  at {', '.join(entry['paths'][:PATHS_SHOWN])}" if entry["paths"] else ""
        more = ", …" if len(entry["paths"]) > PATHS_SHOWN else ""
        what = f"{entry['count']:>4} × {entry['what']:{width}}"
        yield f"{entry['side']:8}  {entry['rule']:9} {what}{where}{more}".rstrip()


def warning_lines(bodies: Bodies) -> Iterator[str]:
    """What a person should know first: what is of this turn before what every turn says again."""
    warned = [entry for entry in bodies.stored.get("ledger", []) if entry["warning"]]
    for entry in sorted(warned, key=lambda entry: entry["rule"] in DECLARED):
        yield f"! {entry['rule']} {entry['what']}: {entry['warning']}"
