"""The four bodies of a flow, whatever flow it is: live, loaded, bridged or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mitmproxy.http import HTTPFlow, Message

from bridge import flows
from bridge.exchange import Exchange
from bridge.jsonvalue import Object, as_objects, read_object
from bridge.names import NameTable
from bridge.settings import Backend

NOT_BRIDGED = "This flow was not bridged: client and backend said the same."
WAS_REFUSED = "The bridge refused this request: the backend got nothing, and what the client got says why."
NOT_KEPT = "It was not kept: it is longer than bridge_keep_bodies allows, or that is 0."
NOT_READ = f"{flows.OTHER_FORMAT} Only what stands on the flow itself is shown."
NO_ANSWER = "The backend gave no answer."
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
    if flow.metadata.get(flows.RULES_KEY) == flows.REFUSED:
        return Bodies(flows.unpack(stored.get("client_request")) if stored else sent, said=said, notes=(WAS_REFUSED,))
    if stored is None:
        note = NOT_READ if flows.KEY in flow.metadata else NOT_BRIDGED
        return Bodies(sent, sent, said, said, Backend.of(read_object(sent)), notes=(note,))
    asked, heard = (_unpacked(stored.get(key)) for key in ("client_request", "backend_response"))
    notes: tuple[str, ...] = () if asked is not None else (f"The client's request: {NOT_KEPT}",)
    if exchange and said is None:
        heard, said = exchange.heard.bytes(), exchange.said.bytes()
        notes += (COMING,)
    elif heard is None and stored.get("status"):
        notes += (f"The backend's response: {NOT_KEPT}",)
    elif heard is None:
        notes += (NO_ANSWER,)
    return Bodies(asked, sent, heard, said, Backend(stored["backend"]), True, notes, stored)


def _unpacked(packed: bytes | None) -> bytes | None:
    return flows.unpack(packed) if packed else None


def _content(message: Message | None) -> bytes | None:
    return message.get_content(strict=False) if message else None


def items_of(request: Object) -> list[Object]:
    """The items or messages of a request; a bare string is one message."""
    items = request.get("messages", request.get("input"))
    return [{"type": "message", "role": "user", "content": items}] if isinstance(items, str) else as_objects(items)
