"""A scripted backend on loopback: it answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CUT = object()
"""In place of a piece: the connection breaks off here."""

type Piece = bytes | float | object
"""Bytes to send, seconds to wait, or `CUT`."""


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON in it."""
        return json.loads(self.raw)


@dataclass(frozen=True)
class Reply:
    """An answer: `pieces` are sent one by one, chunked."""

    pieces: Iterable[Piece] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


type Script = Callable[[Asked], Reply]


def stream(*events: Any, named: bool = True, **headers: str) -> Reply:
    """Events → an answer as server-sent events, one piece an event."""
    pieces: list[Piece] = []
    for event in events:
        head = f"event: {event['type']}\n" if named else ""
        pieces.append(f"{head}data: {json.dumps(event)}\n\n".encode())
    return Reply(pieces, headers={"content-type": "text/event-stream", **headers})


def whole(body: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON answer."""
    return Reply([json.dumps(body).encode()], status, {"content-type": "application/json", **headers})


@dataclass
class Backend:
    """Where it listens, and what it was asked so far."""

    port: int
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The origin."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def backend(script: Script) -> Iterator[Backend]:
    """Run a backend that answers by `script`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Nothing."""

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, raw)
            running.asked.append(asked)
            reply = script(asked)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name.replace("_", "-"), value)
            if reply.status != 204:
                self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            if reply.status == 204:
                return
            for piece in reply.pieces:
                if piece is CUT:
                    self.close_connection = True
                    self.connection.shutdown(2)
                    return
                if isinstance(piece, float):
                    time.sleep(piece)
                elif isinstance(piece, bytes) and piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    running = Backend(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
