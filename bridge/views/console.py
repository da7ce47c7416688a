"""What the log and the views need to know of the mitmproxy that they run in."""

from __future__ import annotations

from collections.abc import Iterator

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from bridge.jsonvalue import Object, read_object
from bridge.settings import Verbosity
from bridge.thread import thread_of
from bridge.views.bodies import bodies_of
from bridge.views.colour import coloured
from bridge.views.difference import difference_lines
from bridge.views.ledger import ledger_lines


def details(flow: HTTPFlow, verbosity: Verbosity) -> Iterator[str]:
    """The lines that are logged of an exchange below its first, coloured where a terminal shows them."""
    yield from coloured(_details(flow, verbosity)) if _on_terminal() else _details(flow, verbosity)


def previous(flow: HTTPFlow) -> Object | None:
    """The client's request before this one in its thread, if mitmproxy holds it: mitmproxy and mitmweb keep flows."""
    view = ctx.master.addons.get("view")
    thread = thread_of(_request(flow))
    if not view or not thread:
        return None
    known = [other for other in view.resolve("@all") if isinstance(other, HTTPFlow)]
    before = [other for other in known if other.request.timestamp_start < flow.request.timestamp_start]
    for other in sorted(before, key=lambda other: other.request.timestamp_start, reverse=True):
        body = _asked(other)
        if thread.encode() in body and thread_of(request := read_object(body)) == thread:
            return request
    return None


def _asked(flow: HTTPFlow) -> bytes:
    bodies = bodies_of(flow)
    return (bodies.asked if bodies.asked is not None else bodies.sent) or b""


def _request(flow: HTTPFlow) -> Object:
    return read_object(_asked(flow))


def _details(flow: HTTPFlow, verbosity: Verbosity) -> Iterator[str]:
    bodies = bodies_of(flow)
    if verbosity in (Verbosity.LEDGER, Verbosity.DIFF):
        yield from ledger_lines(bodies)
    if verbosity is Verbosity.DIFF:
        for response in (False, True):
            yield from difference_lines(bodies, response=response)


def _on_terminal() -> bool:
    """Whether the log goes to a terminal that knows colours, and nowhere else: mitmweb's goes to its page as well."""
    termlog = ctx.master.addons.get("termlog")
    return bool(termlog and termlog.logger.has_vt_codes and not ctx.master.addons.get("eventstore"))
