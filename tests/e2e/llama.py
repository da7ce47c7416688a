"""A llama.cpp server as a process, to ask without the bridge or with it in front."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.places import llama_python
from tests.support.process import Dump, mitmdump
from tests.support.proxy import Got

PATIENCE = 60
"""Seconds in which a server starts."""
HERE = Path(__file__).parent
WIRES = ("responses", "chat")


@dataclass(frozen=True)
class Llama:
    """A server that listens on loopback; one of mitmproxy in front of it is asked in the same way."""

    port: int

    @property
    def url(self) -> str:
        """The origin."""
        return f"http://127.0.0.1:{self.port}"

    def post(self, body: Any, path: str = "/v1/responses") -> Got:
        """POST JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            response = connection.getresponse()
            return Got(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        finally:
            connection.close()


@contextmanager
def llama(interpreter: Path) -> Iterator[Llama]:
    """A server with the model and `echo.jinja`, until the block ends."""
    port = _free_port()
    command = [str(interpreter), str(HERE / "llama_server.py"), str(port), str(HERE / "echo.jinja")]
    # What it says on standard error, pytest shows where a test fails.
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    try:
        patience = threading.Timer(PATIENCE, process.kill)
        patience.start()
        assert any(line.startswith("READY") for line in process.stdout), "llama.cpp did not start: see standard error"
        patience.cancel()
        yield Llama(port)
    finally:
        process.stdin.close()
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Wait for a process that was told to end; one that does not is killed."""
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def _free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ask(name: str, payload: str) -> dict[str, Any]:
    """The message that makes the model call a tool with a payload."""
    text = f"ECHO {name}\n{payload}"
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


@dataclass(frozen=True)
class Served:
    """A server, and for each API that a backend can speak the bridge in front of it."""

    bare: Llama
    bridges: dict[str, Dump]

    def through(self, wire: str) -> Llama:
        """The server as it is behind the bridge."""
        return Llama(self.bridges[wire].port)


@contextmanager
def served() -> Iterator[Served]:
    """A server with a bridge for each wire, until the block ends."""
    interpreter = llama_python()
    assert interpreter
    with ExitStack() as stack:
        bare = stack.enter_context(llama(interpreter))
        bridges = (mitmdump(bare.url, "--set", f"bridge_backend={wire}") for wire in WIRES)
        yield Served(bare, {wire: stack.enter_context(bridge) for wire, bridge in zip(WIRES, bridges, strict=True)})
