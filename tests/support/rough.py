"""A backend that behaves badly on its socket: each connection is asked once, and then does what a script says."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """A chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


@dataclass
class Wire:
    """One connection, as the backend holds it."""

    socket: socket.socket
    asked: bytes = b""
    """The body of the last request."""
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when the other side is seen to have closed it."""

    def say(self, *pieces: bytes) -> None:
        """Send, piece by piece."""
        for piece in pieces:
            self.socket.sendall(piece)

    def reset(self) -> None:
        """Leave with a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def half_close(self) -> None:
        """Say that no more comes, and go on listening."""
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Leave."""
        with suppress(OSError):
            self.socket.close()
        self.gone.set()

    def wait_until_left(self, seconds: float = 5) -> bool:
        """Whether the other side closes the connection in time."""
        if self.gone.is_set():
            return True
        try:
            self.socket.settimeout(seconds)
            while self.socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        self.gone.set()
        return True

    def read_request(self) -> bool:
        """Whether there was another request, with a content-length."""
        read = b""
        while b"\r\n\r\n" not in read:
            if not (more := self.socket.recv(65536)):
                return False
            read += more
        head, _, body = read.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")), 0)
        while len(body) < length:
            body += self.socket.recv(65536)
        self.asked = body
        return True


type Act = Callable[[Wire], None]


@dataclass
class Rough:
    """Where it listens, and its connections so far."""

    port: int
    wires: list[Wire] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    """What it does next, once each; then the last for ever."""

    @property
    def url(self) -> str:
        """The origin."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def rough(*acts: Act) -> Iterator[Rough]:
    """Run a backend whose connections act one after the other."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    running = Rough(listener.getsockname()[1], acts=list(acts))
    lock = threading.Lock()

    def serve(wire: Wire) -> None:
        with suppress(OSError):
            while wire.read_request():
                with lock:
                    act = running.acts.pop(0) if len(running.acts) > 1 else running.acts[0]
                act(wire)

    def accept() -> None:
        with suppress(OSError):
            while True:
                wire = Wire(listener.accept()[0])
                running.wires.append(wire)
                threading.Thread(target=serve, args=(wire,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield running
    finally:
        listener.close()
        for wire in running.wires:
            wire.close()
