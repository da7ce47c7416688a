"""Clients over HTTP/1 and HTTP/2: several streams at once, and when each event came."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx2

from tests.support.sse_tools import parse

VERSIONS = ("HTTP/1.1", "HTTP/2")


@dataclass
class Heard:
    """An answer as it came: its status, its bytes, seconds at which the head and each piece came."""

    status: int = 0
    raw: bytes = b""
    begun: float = 0
    pieces: list[tuple[float, bytes]] = field(default_factory=list)

    @property
    def events(self) -> list[Any]:
        """Its events; a frame that cannot be read is skipped, as Codex skips it."""
        return [event for frame in self.raw.split(b"\n\n")[:-1] for event in _read(frame + b"\n\n")]

    @property
    def types(self) -> list[str]:
        """Their types."""
        return [event["type"] for event in self.events]

    def times(self, kind: str) -> list[float]:
        """When events of a type came."""
        return [at for at, piece in self.pieces for event in _read(piece) if event["type"] == kind]


class Listens(Protocol):
    """A proxy, here or in a process of its own."""

    port: int


def _read(frame: bytes) -> list[Any]:
    try:
        return list(parse(frame))
    except ValueError:
        return []


def client(between: Listens, version: str) -> httpx2.AsyncClient:
    """A client with one connection for its streams, over HTTP/2, or one for each, over HTTP/1."""
    two = version == "HTTP/2"
    return httpx2.AsyncClient(
        base_url=f"http{'s' if two else ''}://127.0.0.1:{between.port}",
        http1=not two,
        http2=two,
        verify=False,
        timeout=20,
        limits=httpx2.Limits(max_connections=None),
        trust_env=False,
    )


async def listen(
    session: httpx2.AsyncClient, body: Any, *, version: str = "", stop_at: bytes = b"", data: bytes | None = None
) -> Heard:
    """Ask, and hear the answer to its end, or until it holds `stop_at`."""
    heard, start = Heard(), time.monotonic()
    content = json.dumps(body).encode() if data is None else data
    headers = {"content-type": "application/json"}
    async with session.stream("POST", "/v1/responses", content=content, headers=headers) as answer:
        assert not version or answer.http_version == version
        heard.status, heard.begun = answer.status_code, time.monotonic() - start
        async for piece in answer.aiter_raw():
            heard.raw += piece
            heard.pieces.append((time.monotonic() - start, piece))
            if stop_at and stop_at in heard.raw:
                break
    return heard


def hear(between: Listens, version: str, bodies: Sequence[Any], stop_at: bytes = b"", per: int = 50) -> list[Heard]:
    """Several requests at once; over HTTP/2, `per` of them on one connection."""

    async def some(few: Sequence[Any]) -> list[Heard]:
        async with client(between, version) as session:
            return await asyncio.gather(*(listen(session, body, version=version, stop_at=stop_at) for body in few))

    async def run() -> list[Heard]:
        parts = await asyncio.gather(*(some(bodies[start : start + per]) for start in range(0, len(bodies), per)))
        return [heard for part in parts for heard in part]

    return asyncio.run(run())
