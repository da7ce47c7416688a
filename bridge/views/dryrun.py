"""What today's code and settings would send for a flow, and what that changes; nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator

from mitmproxy.http import HTTPFlow

from bridge import flows
from bridge.checking import Result, answered, reopened
from bridge.jsonvalue import parse
from bridge.ledger import summary
from bridge.settings import Settings
from bridge.views.difference import answer_value, change_lines, value_of
from bridge.views.text import number, pretty


def dry_run(flow: HTTPFlow, settings: Settings) -> Iterator[str]:
    """Changes of the request, changes of the answer if one was kept, and the request in full."""
    exchange = reopened(flow, settings)
    if isinstance(exchange, Result):
        yield f"# {exchange.text}"
        return
    was = "what was sent" if flows.load(flow) else "what stands on the flow"
    yield f"# {summary(exchange.ledger)}"
    yield f"# - {was}   + what would be sent: {number(len(exchange.request))} bytes"
    yield from change_lines(value_of(flow.request.get_content(strict=False)), parse(exchange.request))
    answer = answered(flow, exchange)
    if answer and flow.response:
        yield "# - what the client got   + what it would get"
        yield from change_lines(answer_value(flow.response.content), answer_value(answer.content))
    yield "# What would be sent"
    yield from pretty(parse(exchange.request))
