"""The four bodies of a flow, whatever flow it is: live, loaded, bridged or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mitmproxy.http import HTTPFlow, Message

from bridge import flows
from bridge.exchange import Exchange
from bridge.jsonvalue import JSON, Object, as_object, as_objects, parse
from bridge.names import NameTable
from bridge.settings import Backend

NOT_BRIDGED = "This flow was not bridged: client and backend said the same."
WAS_REFUSED = "The bridge refused this request: the backend got nothing, and what the client got says why."
NOT_KEPT = "It was not kept: it is longer than bridge_keep_bodies allows, or that is 0."
NOT_READ = "This flow was recorded in another format version; only what stands on the flow itself is shown."
COMING = "The answer is still coming; this is what is there."


@dataclass(frozen=True)
class Bodies:
    """What was said; None where it is not there, and then `notes` say why."""

    asked: bytes | None = None
    """The client's request."""
    sent: bytes | None = None
    """The backend's request."""
    heard: bytes | None = None
    """The backend's response."""
    said: bytes | None = None
    """The client's response."""
    wire: Backend = Backend.RESPONSES
    """What the backend speaks."""
    bridged: bool = False
    notes: tuple[str, ...] = ()
    stored: dict[str, Any] = field(default_factory=dict)
    """What a bridged flow keeps in its metadata."""

    @property
    def names(self) -> NameTable:
        """The name table of the exchange."""
        return NameTable.from_data(self.stored.get("names", ()))


def bodies_of(flow: HTTPFlow, exchange: Exchange | None = None) -> Bodies:
    """The bodies of a flow; of a live one, `exchange` knows what was said so far."""
    sent, said = _content(flow.request), _content(flow.response)
    stored = flows.load(flow)
    if stored is None and flow.metadata.get(flows.RULES_KEY) == flows.REFUSED:
        return Bodies(sent, None, None, said, notes=(WAS_REFUSED,))
    if stored is None:
        wire = Backend.CHAT if isinstance(read(sent).get("messages"), list) else Backend.RESPONSES
        note = NOT_READ if flows.KEY in flow.metadata else NOT_BRIDGED
        return Bodies(sent, sent, said, said, wire, notes=(note,))
    asked, heard = (flows.unpack(stored.get(key)) or None for key in ("client_request", "backend_response"))
    notes: tuple[str, ...] = () if asked else (f"The client's request: {NOT_KEPT}",)
    if exchange and said is None:
        heard, said = exchange.heard.bytes(), exchange.said.bytes()
        notes += (COMING,)
    elif heard is None and flow.response and flow.response.status_code != 502:
        notes += (f"The backend's response: {NOT_KEPT}",)
    return Bodies(asked, sent, heard, said, Backend(stored["backend"]), True, notes, stored)


def _content(message: Message | None) -> bytes | None:
    return message.get_content(strict=False) if message else None


def value_of(body: bytes | None) -> JSON:
    """A JSON body; None for one that is not there or not JSON."""
    try:
        return parse(body) if body else None
    except ValueError:
        return None


def read(body: bytes | None) -> Object:
    """The JSON object of a body; empty for what is none."""
    return as_object(value_of(body))


def items_of(request: Object) -> list[Object]:
    """The items or messages of a request; a bare string is one message."""
    items = request.get("messages", request.get("input"))
    return [{"type": "message", "role": "user", "content": items}] if isinstance(items, str) else as_objects(items)
