"""Two instances of the bridge behind HAProxy, and a client that plays a session through it as Codex does."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.places import haproxy
from tests.e2e.turns import Heard, Turn
from tests.e2e.wire import Wire
from tests.support.backend import Asked, Backend, Reply, backend, whole
from tests.support.process import Dump, mitmdump
from tests.support.sse_tools import Event, assert_dense, assert_valid, end_of, finished, parse

CONFIG = Path(__file__).with_name("haproxy.cfg")
NAMES = ("one", "two")
PATIENCE = 20
INSTANCE = "x-instance"
"""A header that the backend gets: the name of the instance."""

type Answer = Turn | Callable[[Heard], Turn | Reply]
"""What the model does: a turn, or what it makes of what it heard."""


@dataclass
class Model:
    """The model behind both instances, what it is to say, and what it heard."""

    wire: Wire
    says: deque[Answer] = field(default_factory=deque)
    heard: list[Heard] = field(default_factory=list)

    def answer(self, asked: Asked) -> Reply:
        """The next answer; 400 for what a function-only backend refuses."""
        if reason := self.wire.refusal(asked.body):
            return whole({"error": {"message": reason}}, 400)
        heard = self.wire.heard(asked)
        self.heard.append(heard)
        said = self.says.popleft()
        made = said if isinstance(said, Turn) else said(heard)
        return self.wire.answer(made, len(self.heard)) if isinstance(made, Turn) else made

    def served_by(self) -> list[str]:
        """The instance that each request came through."""
        return [heard.headers[INSTANCE] for heard in self.heard]


@dataclass
class Fleet:
    """The instances by name, and the port of the balancer."""

    port: int
    model: Model
    backend: Backend
    instances: dict[str, Dump]
    stack: ExitStack

    def kill(self, name: str) -> None:
        """End an instance at once, with all that it holds."""
        os.kill(self.instances[name].pid, signal.SIGKILL)

    def start(self, name: str) -> None:
        """Start an instance, at the port that it had before."""
        port = self.instances[name].port if name in self.instances else 0
        named = f"modify_headers=/~q/{INSTANCE}/{name}"
        arguments = (*self.model.wire.settings, "--set", named, "-p", str(port))
        self.instances[name] = self.stack.enter_context(mitmdump(self.backend.url, *arguments))


class Session:
    """A client that replays its history with every request, over one connection as long as that lasts."""

    def __init__(self, port: int, tools: list[Event], carrier: Event) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._tools = tools
        self.carrier = carrier
        self.history: list[Event] = [carrier]

    def ask(self, *items: Event) -> list[Event]:
        """One turn: items are added to the history, and so is what is answered, which is returned."""
        self.history += items
        answered = self.read(self.open())
        self.history += map(_replayed, answered)
        return answered

    def open(self) -> http.client.HTTPResponse:
        """The head of the answer to the history as it is."""
        body = {"model": "m", "stream": True, "tools": self._tools, "input": self.history}
        self._connection.request("POST", "/v1/responses", json.dumps(body), {"content-type": "application/json"})
        return self._connection.getresponse()

    @staticmethod
    def read(response: http.client.HTTPResponse) -> list[Event]:
        """The items of a stream that ended well."""
        data = response.read()
        assert response.status == 200, data
        events = parse(data)
        assert_valid(events)
        assert_dense(events)
        assert end_of(events)["type"] == "response.completed"
        return finished(events)

    def close(self) -> None:
        """Give the connection up."""
        self._connection.close()


def _replayed(item: Event) -> Event:
    """An item as Codex keeps it: reasoning that has an `encrypted_content` loses its text."""
    return {**item, "content": None} if item["type"] == "reasoning" and item.get("encrypted_content") else item


@contextmanager
def fleet(wire: Wire, folder: Path) -> Iterator[Fleet]:
    """All of it, until the block ends."""
    model = Model(wire)
    with ExitStack() as stack:
        running = Fleet(0, model, stack.enter_context(backend(model.answer)), {}, stack)
        for name in NAMES:
            running.start(name)
        running.port = stack.enter_context(_balancer([running.instances[name].port for name in NAMES], folder))
        yield running


@contextmanager
def _balancer(instances: list[int], folder: Path) -> Iterator[int]:
    """HAProxy with README's configuration at a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ports = iter([port, *instances])
    config = folder / CONFIG.name
    config.write_text(re.sub(r"127\.0\.0\.1:\d+", lambda _: f"127.0.0.1:{next(ports)}", CONFIG.read_text()))
    process = subprocess.Popen([haproxy() or "haproxy", "-db", "-f", str(config)])
    try:
        _wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def output(call: Event, text: Any = "ok") -> Event:
    """What a call gave, as the client says it."""
    kind = f"{call['type']}_output"
    return {"type": kind, "call_id": call["call_id"], "output": text}
