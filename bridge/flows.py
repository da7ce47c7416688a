"""The bridge on mitmproxy's flows: which are bridged, what they keep, how a replayed one is opened again.

`flow.request` is the backend's request and `flow.response` the client's response. What else there was stands in
`flow.metadata["bridge"]`, as plain data: the client's request and the backend's response, both packed (so that `~meta`
does not find prompt text), the name table and the ledger; `flow.metadata["bridge_rules"]` has the rules' words.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mitmproxy import ctx, flowfilter, http
from mitmproxy.proxy.mode_specs import ReverseMode

from bridge import proxycore
from bridge.errors import ClientError, error_body
from bridge.exchange import COMPACT, Answer, Exchange, Mode, read_request
from bridge.jsonvalue import Object, as_object, dump_bytes, parse
from bridge.ledger import Ledger, summary
from bridge.names import NameTable
from bridge.settings import Backend, Settings
from bridge.tools.request import Lowered

KEY = "bridge"
RULES_KEY = "bridge_rules"
REFUSED = "refused"
"""What `bridge_rules` says of a request that was not sent."""
VERSION = 1
MARKER = ":warning:"
PUBLIC_QUERY = ("api-version", "client_version", "version")
"""Parameters of a query whose values are no secret."""
OTHER_FORMAT = (
    "This flow was recorded in another format than this bridge reads. Record it again, or use the bridge that it was "
    "made with."
)


@dataclass
class Session:
    """A bridged flow on its way: its exchange, and how its answer is handled once that is known."""

    exchange: Exchange
    mode: Mode | None = None
    failure: str = ""
    answered: bool = False
    """Whether the answer stands already, made of a recorded one."""
    chunks: list[list[int]] = field(default_factory=list)
    """[milliseconds since the first, bytes] of each piece of the backend's stream that was kept; 0 bytes stand for what
    was said to keep the client waiting."""
    timer: asyncio.Task[None] | None = None
    _first: float = 0.0
    _spoke: float = 0.0
    """When the client last heard an event; a comment does not count for Codex."""

    def pieces(self, data: bytes) -> Sequence[bytes]:
        """A stream callable. mitmproxy ends the body on `b""` in mid-stream: "nothing yet" is an empty list."""
        if data is proxycore.TICK:
            return self._ticked(self.exchange.tick())
        before = self.exchange.heard.size
        left = self.exchange.feed(data) if data else self.exchange.close()
        if size := self.exchange.heard.size - before:
            self._note(size)
        if any(not piece.startswith(b":") for piece in left):
            self._spoke = time.monotonic()
        joined = b"".join(left)
        return [joined] if joined else []

    def _ticked(self, left: list[bytes]) -> list[bytes]:
        if left:
            self._note(0)
        return left

    def _note(self, size: int) -> None:
        now = time.monotonic()
        self._first = self._first or now
        self.chunks.append([round((now - self._first) * 1000), size])

    async def keep_alive(self, flow: http.HTTPFlow, seconds: int) -> None:
        """Whenever the client has heard nothing for that long, send it something."""
        self._spoke = time.monotonic()
        while True:
            silent = time.monotonic() - self._spoke
            if silent >= seconds:
                proxycore.tick(flow)
                self._spoke = time.monotonic()
            else:
                await asyncio.sleep(seconds - silent)

    def stop(self) -> None:
        """The flow is over."""
        if self.timer:
            self.timer.cancel()


def forget_repeated(option: str) -> bool:
    """Whether a single option was given several times; then it was not given.

    mitmproxy 12.3.1 finds that out between `load` and `configure`, tells nobody, and goes on without the addon.
    """
    given = getattr(ctx.options.deferred.get(option), "val", ())
    repeated = len(given) > 1
    if repeated:
        del ctx.options.deferred[option]
    return repeated


def parse_filter(text: str) -> flowfilter.TFilter:
    """`bridge_filter` → a filter; `ValueError` names the option."""
    try:
        return flowfilter.parse(text)
    except ValueError as error:
        raise ValueError(f"bridge_filter: {error}") from None


def asks_websocket(flow: http.HTTPFlow) -> bool:
    """Whether the request wants to become a WebSocket."""
    return flow.request.method == "GET" and flow.request.headers.get("upgrade", "").lower() == "websocket"


def would_be_bridged(flow: http.HTTPFlow, bridged: flowfilter.TFilter) -> bool:
    """Whether a POST to the same place is bridged."""
    probe = flow.copy()
    probe.request.method = "POST"
    return bool(flowfilter.match(bridged, probe))


def wants_models(flow: http.HTTPFlow) -> bool:
    """Whether this is Codex's model discovery: GET …/models?client_version=…"""
    path = flow.request.path_components
    return flow.request.method == "GET" and path[-1:] == ("models",) and "client_version" in flow.request.query


def add_models(flow: http.HTTPFlow) -> None:
    """Codex's discovery fails on an answer without a `models` list: it gains an empty one."""
    assert flow.response
    try:
        body = parse(flow.response.content or b"")
    except ValueError:
        return
    if flow.response.status_code == 200 and isinstance(body, dict) and not isinstance(body.get("models"), list):
        flow.response.content = dump_bytes({**body, "models": []})


def answer(response: http.Response, whole: Answer) -> None:
    """Put a whole answer on a response."""
    for name in ("content-encoding", "transfer-encoding"):
        response.headers.pop(name, None)
    response.content = whole.body
    if whole.content_type:
        response.headers["content-type"] = whole.content_type
    response.status_code = whole.status or response.status_code


def refuse(status: int, body: Object, headers: Mapping[str, str] | None = None) -> http.Response:
    """An error in OpenAI's shape."""
    return http.Response.make(status, dump_bytes(body), {"content-type": "application/json", **(headers or {})})


def backend_failure(message: str) -> http.Response:
    """The backend cannot be reached, or what it sent cannot be read."""
    return refuse(502, error_body(message, "server_error", "bad_gateway"))


def aim(flow: http.HTTPFlow, modes: list[str]) -> None:
    """A replayed request goes to the target of the one `reverse:` mode, not to the host it was recorded with."""
    targets = [mode for mode in map(_reverse_mode, modes) if mode]
    if len(targets) == 1 and targets[0].scheme in ("http", "https"):
        flow.request.scheme = targets[0].scheme
        flow.request.host, flow.request.port = targets[0].address


def open_exchange(flow: http.HTTPFlow, settings: Settings) -> Exchange:
    """A request that reaches the addon → its exchange; raises `ClientError`.

    One that was bridged before and still is what was sent then is lowered afresh from what the client sent; one that
    was edited is sent as edited, and its answer lifted with the names of then.
    """
    stored = load(flow)
    if stored is None and KEY in flow.metadata:
        raise ClientError(OTHER_FORMAT, code="other_format")
    now = int(flow.request.timestamp_start)
    compact = client_path(flow).endswith(COMPACT)
    encoding = flow.request.headers.get("content-encoding", "")
    body = flow.request.raw_content or b""
    if stored is None:
        return Exchange.open(body, settings, encoding=encoding, compact=compact, seed=flow.id, now=now)
    client = unpack(stored.get("client_request"))
    if client and stored.get("sent") == _digest(body):
        return Exchange.open(client, settings, compact=compact, seed=flow.id, now=now)
    ledger = Ledger()
    plain, edited = read_request(body, encoding, settings.max_body, ledger)
    asked = as_object(parse(client)) if client else edited
    lowered = Lowered(edited, NameTable.from_data(stored["names"]), bool(stored.get("compacts")))
    of_then = settings.model_copy(update={"backend": Backend(stored["backend"])})
    return Exchange(
        client or plain, asked, lowered, of_then, ledger, sent=plain, compact=compact, seed=flow.id, now=now
    )


def send(flow: http.HTTPFlow, exchange: Exchange) -> None:
    """Put the backend's request on the flow, and the client's into its metadata."""
    headers = flow.request.headers
    headers.pop("content-encoding", None)
    headers["accept-encoding"] = "identity"
    flow.request.content = exchange.request
    asked, stored = client_path(flow), load(flow) or {}
    _, question, query = flow.request.path.partition("?")
    moved = bool(stored) and flow.request.path.partition("?")[0] != stored["path"]
    if not exchange.edited and not moved:
        flow.request.path = exchange.path(asked) + question + query
    flow.metadata[KEY] = {
        "version": VERSION,
        "backend": str(exchange.backend),
        "client_path": asked,
        "path": flow.request.path.partition("?")[0],
        "client_request": pack(exchange.client, exchange.keep),
        "sent": stored["sent"] if exchange.edited else _digest(exchange.request),
        "names": exchange.names.data(),
        "compacts": exchange.compacts,
        "annotated": stored.get("annotated", ["", ""]),
    }
    note(flow, exchange)


def keep(flow: http.HTTPFlow, exchange: Exchange, chunks: list[list[int]] | None = None) -> None:
    """Put what was said so far on the flow, and what the backend said, and when, into its metadata."""
    flow.metadata[KEY] |= {
        "status": exchange.status,
        "content_type": exchange.content_type,
        "retry_after": exchange.retry_after,
        "backend_response": pack(exchange.heard.bytes(), exchange.keep) if exchange.status else None,
        "chunks": chunks or [],
        "ending": exchange.ending,
    }
    if flow.response and exchange.streamed and flow.response.stream:
        flow.response.data.content = exchange.said.bytes() if exchange.keep else None
    note(flow, exchange)


def annotate(flow: http.HTTPFlow, ledger: Ledger) -> None:
    """A comment for the flow list and, where something is worth a look, a marker; what a person set stays.

    What every turn of a client warns of again sets none: `@marked` would choose every flow.
    """
    stored = flow.metadata[KEY]
    comment, marker = stored.get("annotated", ("", ""))
    says = f"bridge: {summary(ledger)}"
    marks = MARKER if ledger.lost() else ""
    if flow.comment in ("", comment):
        flow.comment = says
    if flow.marked in ("", marker):
        flow.marked = marks
    stored["annotated"] = [says, marks]


def mark_refused(flow: http.HTTPFlow, status: int, reason: str) -> None:
    """A comment and a marker for a request that was not sent; what a person set stays."""
    comment, _ = (load(flow) or {}).get("annotated", ("", ""))
    if flow.comment in ("", comment):
        flow.comment = f"bridge: refused with {status}: {reason}"
    flow.marked = flow.marked or MARKER
    flow.metadata[RULES_KEY] = REFUSED


def client_path(flow: http.HTTPFlow) -> str:
    """The path that the client asked, without its query."""
    stored = load(flow)
    return str(stored["client_path"]) if stored else flow.request.path.partition("?")[0]


def note(flow: http.HTTPFlow, exchange: Exchange) -> None:
    """Put the ledger into the flow's metadata."""
    flow.metadata[KEY]["ledger"] = exchange.ledger.data()
    flow.metadata[RULES_KEY] = " ".join(exchange.ledger.rules())


def load(flow: http.HTTPFlow) -> dict[str, Any] | None:
    """What a bridged flow keeps; None for any other, and for one of a version that is not known here."""
    stored = flow.metadata.get(KEY)
    if not isinstance(stored, dict) or stored.get("version") != VERSION:
        return None
    return stored if stored.get("backend") in list(Backend) and "client_path" in stored and "names" in stored else None


def pack(data: bytes, limit: int) -> bytes | None:
    """A body, packed; None for one that is longer than the limit, and for every one where nothing is to be kept.

    At zlib's fastest level: a third of the time for a sixth more bytes (0.6 ms and 21 KB for a request of 57 KB).
    """
    return zlib.compress(data, 1) if limit and len(data) <= limit else None


def unpack(packed: bytes | None) -> bytes:
    """A packed body; empty where none was kept."""
    return zlib.decompress(packed) if packed else b""


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _reverse_mode(spec: str) -> ReverseMode | None:
    try:
        return ReverseMode.parse(spec)
    except ValueError:
        return None
