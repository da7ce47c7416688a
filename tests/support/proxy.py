"""mitmproxy with the addon, in a thread of the test process, so that its hooks count for coverage."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from mitmproxy import io, options
from mitmproxy.http import HTTPFlow
from mitmproxy.tools.dump import DumpMaster

ADDON = Path(__file__).parents[2] / "addon.py"


@dataclass(frozen=True)
class Got:
    """What a client got: a body that breaks off raises instead."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON in it."""
        return json.loads(self.raw)

    @property
    def events(self) -> list[Any]:
        """The JSON of each `data:` line."""
        return [json.loads(line[6:]) for line in self.raw.decode().splitlines() if line.startswith("data: {")]


class Log(logging.Handler):
    """What mitmproxy and the addon logged."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(record.getMessage() + (f" {record.exc_info[1]}" if record.exc_info else ""))

    def about(self, word: str) -> list[str]:
        """The lines that hold `word`."""
        return [line for line in self.lines if word in line]


class Proxy:
    """A running mitmproxy: where it listens, its flows in order, its log."""

    def __init__(self) -> None:
        self.port = 0
        self.flows: list[HTTPFlow] = []
        self.log = Log()
        self.ready = threading.Event()
        self.ended = threading.Event()
        self.failure: BaseException | None = None
        self._master: DumpMaster | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        """The origin that a client talks to."""
        return f"http://127.0.0.1:{self.port}"

    def post(self, body: Any = None, path: str = "/v1/responses", data: bytes | None = None, **headers: str) -> Got:
        """POST JSON, or `data` as it is."""
        content = json.dumps(body).encode() if data is None else data
        return self.ask("POST", path, content, content_type="application/json", **headers)

    def ask(self, method: str, path: str, data: bytes | None = None, **headers: str) -> Got:
        """Any request; an underscore in a header's name stands for a hyphen."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, data, named)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Got(response.status, found, response.read())
        finally:
            connection.close()

    def call(self, name: str, *args: Any) -> Any:
        """Run a mitmproxy command inside its loop."""
        assert self._loop
        assert self._master
        master = self._master

        async def run() -> Any:
            return master.commands.call(name, *args)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(20)

    def inside[T](self, look: Callable[[DumpMaster], T]) -> T:
        """Look at mitmproxy inside its loop."""
        assert self._loop
        assert self._master
        master = self._master

        async def run() -> T:
            return look(master)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(20)

    def command(self, name: str) -> Any:
        """A command as mitmproxy knows it."""
        assert self._master
        return self._master.commands.commands[name]

    def set(self, **values: Any) -> None:
        """Change options while it runs."""
        assert self._loop
        assert self._master
        master = self._master

        async def run() -> None:
            master.options.update(**values)

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(20)

    def run(self, mode: str, settings: tuple[str, ...]) -> None:
        """The thread: mitmproxy from start to end."""
        try:
            asyncio.run(self._run(mode, settings))
        except BaseException as failure:
            self.failure = failure
        finally:
            self.ready.set()
            self.ended.set()

    def stop(self) -> None:
        """Ask it to end."""
        if self._loop and self._master and not self.ended.is_set():
            self._loop.call_soon_threadsafe(self._master.shutdown)

    # Hooks of an addon that only looks.

    def running(self) -> None:
        """Everything is set up."""
        self.ready.set()

    def response(self, flow: HTTPFlow) -> None:
        """A flow is done."""
        self.flows.append(flow)

    def error(self, flow: HTTPFlow) -> None:
        """A flow failed."""
        self.flows.append(flow)

    async def _run(self, mode: str, settings: tuple[str, ...]) -> None:
        self._loop = asyncio.get_running_loop()
        configured = options.Options(listen_host="127.0.0.1", listen_port=0, mode=[mode])
        self._master = master = DumpMaster(configured, with_termlog=False, with_dumper=False)
        logging.getLogger().addHandler(self.log)
        logging.getLogger().setLevel(logging.INFO)
        try:
            master.options.set(*settings, defer=True)
            master.options.update(scripts=[str(ADDON)])
            master.addons.add(self)
            await master.run()
        finally:
            logging.getLogger().removeHandler(self.log)

    def listen(self) -> None:
        """Find the port."""
        assert self._master
        self.port = self._master.addons.get("proxyserver").listen_addrs()[0][1]


@contextmanager
def proxy(target: str, *settings: str) -> Iterator[Proxy]:
    """mitmproxy with the addon, as `--mode reverse:target --set …`."""
    running = Proxy()
    thread = threading.Thread(target=running.run, args=(f"reverse:{target}", settings), daemon=True)
    thread.start()
    assert running.ready.wait(20)
    if running.failure:
        raise running.failure
    running.listen()
    try:
        yield running
    finally:
        running.stop()
        thread.join(20)


def reloaded(flow: HTTPFlow) -> HTTPFlow:
    """The flow after it was saved and loaded."""
    buffer = BytesIO()
    io.FlowWriter(buffer).add(flow)
    buffer.seek(0)
    loaded = next(iter(io.FlowReader(buffer).stream()))
    assert isinstance(loaded, HTTPFlow)
    return loaded
