"""The processes of a run: the backend, mitmproxy alone and with the bridge; a client that only reads a socket."""

from __future__ import annotations

import json
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.process import mitmdump

BARE = Path(__file__).with_name("bare.py")
REQUEST: dict[str, Any] = {
    "stream": True,
    "tools": [{"type": "custom", "name": "exec", "description": "Runs a script."}],
    "input": [{"type": "message", "role": "user", "content": "Go."}],
}
_STREAM = re.compile(rb"HTTP/1\.1 200 .*\r\ntransfer-encoding: chunked\r\n", re.DOTALL | re.IGNORECASE)
PATIENCE = 60
"""Seconds without a byte after which nothing more is waited for."""


@dataclass(frozen=True)
class Heard:
    """An answer: how long it took in seconds; when it was asked for and what came when, in nanoseconds of the clock."""

    seconds: float
    asked: int
    reads: list[tuple[int, bytes]]


def ask(port: int, path: str, model: str, *, keep: bool = True) -> Heard:
    """POST the small request; see `post`."""
    return post(port, path, json.dumps({**REQUEST, "model": model}).encode(), keep=keep)


def post(port: int, path: str, body: bytes, *, keep: bool, key: str = "") -> Heard:
    """POST a request and read the answer to its end; `keep`: remember what came. RuntimeError if it is no stream."""
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    head += f"authorization: Bearer {key}\r\n\r\n" if key else "\r\n"
    reads: list[tuple[int, bytes]] = []
    tail = b""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(PATIENCE)
        began, asked = time.perf_counter(), time.monotonic_ns()
        connection.sendall(head.encode() + body)
        while not tail.endswith(b"\r\n0\r\n\r\n"):
            data = connection.recv(1 << 16)
            if not data:
                raise RuntimeError(f"the answer broke off: {tail!r}")
            if not tail and not _STREAM.match(data):
                raise RuntimeError(f"no stream: {data!r}")
            tail = (tail + data)[-16:]
            if keep:
                reads.append((time.monotonic_ns(), data))
        seconds = time.perf_counter() - began
    return Heard(seconds, asked, reads)


@dataclass(frozen=True)
class Rig:
    """Ports of mitmproxy alone, and with the bridge for each wire; the backend's path for each wire."""

    bare: int
    bridge: dict[str, int]
    path: dict[str, str]

    def ratio(self, wire: str, model: str, rounds: int) -> tuple[float, float, float]:
        """(seconds alone, seconds with the bridge, their ratio): medians of runs that alternate."""
        alone, bridged = [], []
        for _ in range(rounds):
            alone.append(ask(self.bare, self.path[wire], model, keep=False).seconds)
            bridged.append(ask(self.bridge[wire], "/v1/responses", model, keep=False).seconds)
        one, other = statistics.median(alone), statistics.median(bridged)
        return one, other, other / one

    def delay(self, wire: str, rounds: int) -> tuple[float, float]:
        """Median milliseconds from a fragment's leaving the backend to its reaching the client: alone, and bridged."""
        alone, bridged = [], []
        for _ in range(rounds):
            alone += _delays(self.bare, self.path[wire])
            bridged += _delays(self.bridge[wire], "/v1/responses")
        return statistics.median(alone), statistics.median(bridged)


def _delays(port: int, path: str) -> list[float]:
    arrived: dict[int, int] = {}
    for when, data in ask(port, path, "paced").reads:
        for sent in re.findall(rb"<(\d+)>", data):
            arrived.setdefault(int(sent), when)
    return [(when - sent) / 1e6 for sent, when in arrived.items()]


@contextmanager
def backend() -> Iterator[int]:
    """The backend as a process: its port."""
    command = [sys.executable, "-m", "tests.bench.backend"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(10)


@contextmanager
def rig() -> Iterator[Rig]:
    """All of it, warmed up."""
    with ExitStack() as stack:
        url = f"http://127.0.0.1:{stack.enter_context(backend())}"
        settings = ("--set", "bridge_keep_bodies=0", "-q")
        alone = stack.enter_context(mitmdump(url, addon=BARE))
        bridges = {
            wire: stack.enter_context(mitmdump(url, "--set", f"bridge_backend={wire}", *settings[:2]))
            for wire in ("responses", "chat")
        }
        paths = {"responses": "/v1/responses", "chat": "/v1/chat/completions"}
        made = Rig(alone.port, {wire: dump.port for wire, dump in bridges.items()}, paths)
        for wire in bridges:
            made.ratio(wire, "call", 1)
        yield made
