"""Run the benchmarks: `uv run python -m tests.bench [--json results.json]`; a table on standard output."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from tests.bench import inside
from tests.bench.memory import grown
from tests.bench.rig import Rig, rig

ROUNDS, PACED_ROUNDS = 11, 5


@dataclass(frozen=True)
class Row:
    """One figure, and what it should be at most."""

    work: str
    against: str
    goal: str
    measured: str
    met: bool


def proxied(running: Rig) -> Iterator[Row]:
    """Wall time of whole streams, beside mitmproxy alone."""
    for wire, model, goal in (("responses", "call", 1.5), ("chat", "call", 1.5), ("responses", "text", 1.1)):
        alone, bridged, ratio = running.ratio(wire, model, ROUNDS)
        work = f"5,000 {'argument' if model == 'call' else 'text'} deltas, {wire} wire"
        shown = f"{ratio:.2f} × ({bridged * 1000:.0f} ms against {alone * 1000:.0f} ms)"
        yield Row(work, "bare mitmdump, wall", f"≤ {goal} ×", shown, ratio <= goal)


def delayed(running: Rig) -> Iterator[Row]:
    """What a single fragment waits for."""
    for wire in running.bridge:
        alone, bridged = running.delay(wire, PACED_ROUNDS)
        more = bridged - alone
        shown = f"{more:+.2f} ms (bare {alone:.2f} ms)"
        yield Row(f"a fragment of a paced call, {wire} wire", "bare mitmdump, median", "≤ +0.2 ms", shown, more <= 0.2)


def alone() -> Iterator[Row]:
    """What needs no proxy."""
    for backend, goal in (("responses", 2.0), ("chat", 3.0)):
        ratio = inside.lowering(backend)
        work = f"a request of 1 MB, 221 tools, {backend} wire"
        yield Row(work, "json.loads + json.dumps, CPU", f"≤ {goal:.0f} ×", f"{ratio:.2f} ×", ratio <= goal)
    for kind, work in (("deltas", "1 MB of payload in deltas of 4 bytes"), ("whole", "a call of 64 KB without deltas")):
        ratio = inside.growth(kind)
        yield Row(f"{work}, half of it and all", "linear: 2 ×", "≤ 2.1 ×", f"{ratio:.2f} ×", ratio <= 2.1)


def weighed() -> Iterator[Row]:
    """What a long stream leaves in memory."""
    more = grown() / (1 << 20)
    yield Row("one stream of 200 MB, bodies not kept", "RSS before", "≤ +10 MB", f"{more:+.1f} MB", more <= 10)


def table(rows: list[Row]) -> str:
    """Markdown."""
    lines = ["| work | measured against | goal | measured |", "|---|---|---|---|"]
    lines += [
        f"| {row.work} | {row.against} | {row.goal} | {row.measured}{'' if row.met else ' **✗**'} |" for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure all of it, say where, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    rows = list(alone())
    with rig() as running:
        rows += [*proxied(running), *delayed(running)]
    rows += weighed()
    machine = f"{date.today()}, {platform.processor() or platform.machine()}, Python {platform.python_version()}"
    print(f"{machine}\n\n{table(rows)}")
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
