"""The one place where the addon reaches into mitmproxy's proxy core, as observed with mitmproxy 12.3.1.

**What a client hears when the backend breaks off.** When an upstream connection fails,
`HttpStream.handle_protocol_error` fires the `error` hook and then fails the client's connection too, so that a client
gets an HTML page, or a stream that is cut in its middle. No hook can answer in its place, so the method is wrapped: for
a flow that the addon rescues, the client gets an answer, or the rest of its stream, and a clean end. All other flows
take the original path.

**What a client hears while the backend is silent.** A stream callable runs when data comes, and only then. An event
that is both `ResponseData` and `MessageInjected` reaches it as data, in order with all other data; over an HTTP/2
upstream the proxy core asserts instead, so there is none.

**How often a stream callable runs.** Over HTTP/1, once for each chunk of a chunked body, however many of them one read
of the socket brought; every call costs the proxy core more than the bridge needs for an event (measured: 30 µs). For a
stream that is `Gathered` it runs once for as many chunks as have arrived, up to some kilobytes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from mitmproxy import ctx
from mitmproxy.flow import Error
from mitmproxy.http import HTTPFlow, Response
from mitmproxy.proxy.commands import Command
from mitmproxy.proxy.events import Event, MessageInjected
from mitmproxy.proxy.layers import http
from mitmproxy.proxy.layers.http._events import (
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook
from mitmproxy.proxy.layers.http._http1 import Http1Client, TBodyReader

TICK = bytes(bytearray(b"tick"))
"""What a stream callable gets when it is only asked whether it has something to say. Compare it by identity."""

GATHERED = 1 << 13
"""Bytes after which a gathered piece is long enough: what is in front must not wait for all that is behind it."""

_ORIGINAL = http.HttpStream.handle_protocol_error
_READ_BODY = Http1Client.read_body


@dataclass(frozen=True)
class Rescue:
    """What a client gets at the end: a response, if it has none yet, and bytes of its body."""

    body: bytes
    response: Response | None = None


type Rescuer = Callable[[HTTPFlow, str, bool], Rescue | None]
"""(flow, what happened, whether its response has begun to leave) → what the client gets; None for other flows."""


_rescuers: list[Rescuer] = []


def install(rescuer: Rescuer) -> None:
    """From now on ask `rescuer` too, whenever a backend breaks off, and gather what is `Gathered`."""

    def handle_protocol_error(
        stream: http.HttpStream, event: RequestProtocolError | ResponseProtocolError
    ) -> Generator[Command, Any, None]:
        asked = (_ask(each, stream, event) for each in _rescuers)
        rescue = next((answer for answer in asked if answer), None)
        yield from _ORIGINAL(stream, event) if rescue is None else _end(stream, event.message, rescue)

    _rescuers.append(rescuer)
    http.HttpStream.handle_protocol_error = handle_protocol_error  # type: ignore[method-assign, assignment]
    Http1Client.read_body = _read_body  # type: ignore[method-assign, assignment]


def uninstall() -> None:
    """Leave mitmproxy as it was."""
    _rescuers.clear()
    http.HttpStream.handle_protocol_error = _ORIGINAL  # type: ignore[method-assign]
    Http1Client.read_body = _READ_BODY  # type: ignore[method-assign]


@dataclass(frozen=True)
class Gathered:
    """A stream callable that gets chunks which one read of the backend's socket brought as one piece."""

    take: Callable[[bytes], Iterable[bytes]]

    def __call__(self, data: bytes) -> Iterable[bytes]:
        """What leaves for the client."""
        return self.take(data)


def tick(flow: HTTPFlow) -> None:
    """Have the flow's stream callable called with `TICK`, unless its upstream speaks HTTP/2."""
    if flow.live and flow.server_conn.alpn != b"h2":
        ctx.master.addons.get("proxyserver").inject_event(_Tick(flow))


class _Tick(ResponseData, MessageInjected[bytes]):
    """Data of no backend."""

    def __init__(self, flow: HTTPFlow) -> None:
        ResponseData.__init__(self, 0, TICK)
        self.flow = flow
        self.message = TICK


class GatheringReader:
    """A reader of HTTP/1 bodies: many chunks that the buffer holds as one piece, and what follows at the next call."""

    def __init__(self, reader: TBodyReader) -> None:
        self._reader = reader
        self._next: h11.EndOfMessage | h11.ProtocolError | None = None

    def __call__(self, buffer: ReceiveBuffer) -> h11.Data | h11.EndOfMessage | None:
        pieces: list[bytes] = []
        size = 0
        while self._next is None and size < GATHERED:
            try:
                read = self._reader(buffer)
            except h11.ProtocolError as error:
                self._next = error
                break
            if not isinstance(read, h11.Data):
                # mitmproxy crashes on trailers and lets the client wait for ever; no event stands in them.
                self._next = h11.EndOfMessage() if read else None
                break
            pieces.append(read.data)
            size += len(read.data)
        if pieces:
            return h11.Data(data=b"".join(pieces))
        following, self._next = self._next, None
        if isinstance(following, h11.ProtocolError):
            raise following
        return following

    def read_eof(self) -> h11.EndOfMessage:
        """The backend closed."""
        return self._reader.read_eof()


def _read_body(client: Http1Client, event: Event) -> Generator[Command, Any, None]:
    reader = client.body_reader
    gathers = client.response is not None and isinstance(client.response.stream, Gathered)
    if gathers and not isinstance(reader, GatheringReader):
        client.body_reader = GatheringReader(reader)  # type: ignore[assignment]
    return _READ_BODY(client, event)


def _ask(rescuer: Rescuer, stream: http.HttpStream, event: object) -> Rescue | None:
    over = stream.client_state == stream.state_errored or stream.server_state in (
        stream.state_done,
        stream.state_errored,
    )
    if over or not isinstance(event, ResponseProtocolError) or stream.flow.error:
        return None
    begun = stream.server_state == stream.state_stream_response_body
    return rescuer(stream.flow, event.message, begun)


def _end(stream: http.HttpStream, message: str, rescue: Rescue) -> Generator[Command, Any, None]:
    client, identity = stream.context.client, stream.stream_id
    stream.flow.error = Error(message)
    yield HttpErrorHook(stream.flow)
    if rescue.response:
        yield http.SendHttp(ResponseHeaders(identity, rescue.response, end_stream=False), client)
    if rescue.body:
        yield http.SendHttp(ResponseData(identity, rescue.body), client)
    stream.server_state = stream.state_errored
    stream.flow.live = False
    yield http.DropStream(identity)
    yield http.SendHttp(ResponseEndOfMessage(identity), client)
