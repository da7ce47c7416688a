"""The bridge beside codex-relay and LiteLLM: `uv run python -m tests.bench.peers [--json results.json]`.

All stand in front of one scripted chat backend and are asked the same for a custom call; each answer is checked to hold
it. What counts is when the first delta of the call's input and the end of the turn reach a client that reads a socket:
medians of rounds in which they take turns. LiteLLM's first delta counts although it is JSON around the payload and an
event of another family than the call's. The backend and mitmproxy alone, which are asked in the chat protocol, show
what the machine takes for itself. Both peers are installed below `.bench` on the first run, about 600 MB.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

from tests.bench import rivals
from tests.bench.backend import DELTAS, PACE, TURN, payload
from tests.bench.rig import BARE, REQUEST, backend, post
from tests.bench.timed import Timed, end, events, first_input
from tests.support.process import mitmdump
from tests.support.sse_tools import finished

ROUNDS = 15
WARM_UP = 3
REST = 0.1
"""Seconds before each turn: what a server still does after one must not weigh on the next."""
STREAMS = {
    "steady": f"{TURN + 1} argument deltas, one each {PACE * 1000:.0f} ms",
    "turn": f"{TURN + 1} argument deltas at once",
    "call": f"{DELTAS + 1:,} argument deltas at once",
}
OURS, RELAY, LITELLM = "bridge", "codex-relay", "LiteLLM"
REFERENCES = ("mitmproxy alone", "backend alone")


@dataclass(frozen=True)
class Asked:
    """What is asked: where it listens, at which path, with which key; what it calls the payload of a lowered tool."""

    port: int
    path: str = "/v1/responses"
    key: str = "none"
    parameter: str = "input"


@dataclass(frozen=True)
class Taken:
    """Milliseconds from the request's sending on."""

    first: float
    whole: float


@dataclass(frozen=True)
class Row:
    """One measure: medians in milliseconds, whom the bridge is to be ahead of, and whether it is."""

    work: str
    medians: dict[str, float]
    ahead_of: tuple[str, ...]
    met: bool


def take(asked: Asked, model: str) -> Taken:
    """One turn. RuntimeError if the answer is not the call."""
    body = json.dumps({**REQUEST, "model": model}).encode()
    heard = post(asked.port, asked.path, body, keep=True, key=asked.key)
    said, told = payload(model, asked.parameter), events(heard.reads)
    if asked.path == Asked.path:
        check(told, said)
    return Taken((first_input(told, said) - heard.asked) / 1e6, (end(told) - heard.asked) / 1e6)


def check(told: Sequence[Timed], said: str) -> None:
    """RuntimeError unless a turn completes with the one call that the backend made."""
    said_events = [event for _, event in told]
    items = [(item["type"], item.get("name"), item.get("input")) for item in finished(said_events)]
    last = said_events[-1]["type"] if said_events else "nothing"
    if items != [("custom_tool_call", "exec", said)] or last != "response.completed":
        raise RuntimeError(f"not the call, but {str(items)[:500]}, and at the end {last}")


def measure(all_asked: dict[str, Asked], model: str, rounds: int) -> dict[str, list[Taken]]:
    """Turns of each, one after the other in every round."""
    taken: dict[str, list[Taken]] = {name: [] for name in all_asked}
    for number in range(WARM_UP + rounds):
        for name, asked in all_asked.items():
            time.sleep(REST)
            one = take(asked, model)
            if number >= WARM_UP:
                taken[name].append(one)
    return taken


def rows(all_asked: dict[str, Asked], rounds: int) -> Iterator[Row]:
    """Each stream's two measures."""
    for model, work in STREAMS.items():
        taken = measure(all_asked, model, rounds)
        for field, ahead_of in (("first", (RELAY, LITELLM)), ("whole", (LITELLM,))):
            medians = {name: statistics.median(getattr(one, field) for one in those) for name, those in taken.items()}
            met = all(medians[OURS] < medians[name] for name in ahead_of)
            yield Row(f"{work}: {'first delta' if field == 'first' else 'whole turn'}", medians, ahead_of, met)


@contextmanager
def running() -> Iterator[dict[str, Asked]]:
    """All that are asked, in front of one backend."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(backend())
        url = f"http://127.0.0.1:{port}"
        bridge = stack.enter_context(mitmdump(url, "--set", "bridge_backend=chat"))
        bare = stack.enter_context(mitmdump(url, addon=BARE))
        relay = stack.enter_context(rivals.relay(url, folder))
        litellm, key = stack.enter_context(rivals.litellm(url, tuple(STREAMS), folder))
        chat = "/v1/chat/completions"
        asked = {
            OURS: Asked(bridge.port),
            RELAY: Asked(relay),
            LITELLM: Asked(litellm, key=key, parameter="content"),
        }
        yield asked | {REFERENCES[0]: Asked(bare.port, chat), REFERENCES[1]: Asked(port, chat)}


def table(measured: list[Row]) -> str:
    """Markdown; milliseconds."""
    names = list(measured[0].medians)
    lines = [f"| ms | {' | '.join(names)} | goal: ahead of |", "|---" * (len(names) + 2) + "|"]
    for row in measured:
        cells = [f"{row.medians[name]:.1f}" for name in names]
        goal = f"{', '.join(row.ahead_of)}{'' if row.met else ' **✗**'}"
        lines.append(f"| {row.work} | {' | '.join(cells)} | {goal} |")
    return "\n".join(lines)


def main() -> None:
    """Install the peers, measure, say where and what, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each that are measured")
    arguments = parser.parse_args()
    rivals.install()
    with running() as all_asked:
        measured = list(rows(all_asked, arguments.rounds))
    machine = f"{date.today()}, {platform.processor() or platform.machine()}, Python {platform.python_version()}"
    versions = f"mitmproxy {version('mitmproxy')}, codex-relay {rivals.RELAY}, LiteLLM {rivals.LITELLM}"
    print(f"{machine}, {versions}, {arguments.rounds} rounds\n\n{table(measured)}")
    if arguments.json:
        figures = {"machine": machine, "versions": versions, "rows": [asdict(row) for row in measured]}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
