"""Many exchanges through one mitmdump: `python -m tests.soak [COUNT]`; its memory stays flat, bodies kept or not."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.support.clients import client, listen
from tests.support.process import Dump, mitmdump
from tests.support.rough import END, HEAD, Wire, chunk, rough
from tests.support.sse_tools import call, call_events, finished, frames, numbered, stream, wrapped
from tests.test_addon import ASK

COUNT = 10_000
AT_ONCE = 8
GROWTH = 1.05
"""RSS after all exchanges, at most, as a multiple of RSS after a fifth of them."""


@dataclass(frozen=True)
class Soaked:
    """What it took: exchanges, bytes of RSS after a fifth of them and after all, seconds."""

    count: int
    early: int
    late: int
    seconds: float

    @property
    def growth(self) -> float:
        """RSS at the end, as a multiple of that after a fifth."""
        return self.late / self.early


def rss(pid: int) -> int:
    """The resident memory of a process, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def tool_of(number: int) -> dict[str, Any]:
    """The custom tool of one exchange."""
    return {"type": "custom", "name": f"tool_{number}", "description": "Does it."}


def ask(number: int) -> dict[str, Any]:
    """A request with a tool of its own."""
    return {**ASK, "tools": [tool_of(number)], "user": str(number)}


def payload_of(user: str) -> str:
    """What a call is made with, for the asker's number."""
    return f'text("{user}");\n' * 20


def reply(asked: bytes) -> bytes:
    """A call of the asker's own tool."""
    body = json.loads(asked)
    made = call(f"tool_{body['user']}", wrapped(payload_of(body["user"])))
    return frames(numbered(stream(call_events(made))))


def answer(wire: Wire) -> None:
    """The backend: the whole stream in one chunk."""
    wire.say(HEAD + chunk(reply(wire.asked)) + END)


async def _exchange(session: httpx2.AsyncClient, number: int) -> None:
    heard = await listen(session, ask(number))
    (item,) = finished(heard.events)
    assert (item["name"], item["input"]) == (f"tool_{number}", payload_of(str(number)))


async def _exchanges(dump: Dump, numbers: range) -> None:
    async with client(dump, "HTTP/1.1") as session:
        for start in numbers[::AT_ONCE]:
            few = range(start, min(start + AT_ONCE, numbers.stop))
            await asyncio.gather(*(_exchange(session, number) for number in few))


def soak(count: int, *, keep: bool = False) -> Soaked:
    """Run so many exchanges, each with a tool and a payload of its own; `keep`: bodies, for as long as a flow lives."""
    settings = () if keep else ("--set", "bridge_keep_bodies=0")
    with rough(answer) as running, mitmdump(running.url, *settings) as dump:
        start, fifth = time.monotonic(), count // 5
        asyncio.run(_exchanges(dump, range(fifth)))
        early = rss(dump.pid)
        asyncio.run(_exchanges(dump, range(fifth, count)))
        return Soaked(count, early, rss(dump.pid), time.monotonic() - start)


def main() -> None:
    """A line with the figures; 1 if memory grew."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    grew = False
    for keep in (False, True):
        done = soak(count, keep=keep)
        sizes = f"{done.early / 2**20:.1f} MiB after {count // 5}, {done.late / 2**20:.1f} MiB after {count}"
        told = f"{count} exchanges, {'bodies' if keep else 'no bodies'} kept, in {done.seconds:.0f} s"
        sys.stdout.write(f"{told}; RSS {sizes} (× {done.growth:.3f})\n")
        grew |= done.growth > GROWTH
    sys.exit(grew)


if __name__ == "__main__":
    main()
