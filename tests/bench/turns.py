"""Turns per second of one core: `uv run python -m tests.bench.turns`; a table on standard output.

Clients ask one mitmdump at once, a connection for each turn. The backend sends the events of a turn one by one, as a
model makes them, or all at once. What counts is the processor time of mitmdump, which runs on one core.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench import inside
from tests.bench.backend import TURN
from tests.bench.rig import BARE, backend, post
from tests.support.process import Dump, mitmdump

PACES = {"steady": "one by one", "turn": "at once"}
"""How the backend's events come."""


def body(model: str) -> bytes:
    """A request of code mode, some turns into a session: about 20 KB."""
    exec_tool = {"type": "custom", "name": "exec", "description": "Runs a script. " * 500}
    spaces = [
        {"type": "namespace", "name": "functions", "tools": [exec_tool]},
        {"type": "namespace", "name": "collaboration", "tools": inside.tools(6)},
    ]
    carrier = {"type": "additional_tools", "role": "developer", "tools": spaces}
    turns = [item for number in range(4) for item in inside.turn(number)]
    request: dict[str, Any] = {"model": model, "stream": True, "input": [carrier, *turns]}
    return json.dumps(request).encode()


def processor_time(pid: int) -> float:
    """Seconds that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(dump: Dump, path: str, model: str, clients: int, turns: int) -> float:
    """Turns per second of processor time, of so many clients at once, after a few to warm up."""
    asked = body(model)
    with ThreadPoolExecutor(clients) as pool:

        def ask(count: int) -> None:
            list(pool.map(lambda _: post(dump.port, path, asked, keep=False), range(count)))

        ask(clients * 2)
        used = processor_time(dump.pid)
        ask(turns)
        return turns / (processor_time(dump.pid) - used)


@contextmanager
def instances(url: str) -> Iterator[dict[str, tuple[Dump, str]]]:
    """Row → an instance that is as a user starts it, and the path that is asked there."""
    chat = ("--set", "bridge_backend=chat")
    with mitmdump(url, addon=BARE) as bare, mitmdump(url) as one, mitmdump(url, *chat) as other:
        yield {
            "mitmproxy alone, responses wire": (bare, "/v1/responses"),
            "mitmproxy alone, chat wire": (bare, "/v1/chat/completions"),
            "bridge, responses wire": (one, "/v1/responses"),
            "bridge, chat wire": (other, "/v1/responses"),
        }


def main() -> None:
    """Measure mitmproxy alone and the bridge, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.turns")
    parser.add_argument("--clients", type=int, default=16, help="how many ask at once")
    parser.add_argument("--turns", type=int, default=400, help="how many turns are measured")
    arguments = parser.parse_args()
    with backend() as port, instances(f"http://127.0.0.1:{port}") as running:
        print(f"{arguments.clients} clients, a request of {len(body('')) / 1000:.0f} KB, {TURN + 5} events\n")
        print(f"| turns/s per core | {' | '.join(f'events {pace}' for pace in PACES.values())} |\n|---|---|---|")
        for name, (dump, path) in running.items():
            rates = (measure(dump, path, model, arguments.clients, arguments.turns) for model in PACES)
            print(f"| {name} | {' | '.join(f'{rate:.0f}' for rate in rates)} |", flush=True)


if __name__ == "__main__":
    main()
