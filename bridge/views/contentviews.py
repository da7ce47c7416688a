"""The views in mitmproxy and mitmweb. None takes the place of mitmproxy's own choice, and none raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from mitmproxy import contentviews
from mitmproxy.http import HTTPFlow

from bridge.exchange import Exchange
from bridge.jsonvalue import Object
from bridge.views.bodies import Bodies, bodies_of
from bridge.views.difference import difference_lines
from bridge.views.ledger import ledger_lines
from bridge.views.message import backend_message, client_message
from bridge.views.summary import summary_lines
from bridge.views.turn import turn_lines

NO_FLOW = "# There is nothing here for this view: it shows HTTP flows of the Responses or the Chat Completions API."

MOST_LINES = 10_000
"""Lines that a view shows."""

type Render = Callable[[HTTPFlow, Bodies, bool], Iterator[str]]
"""(flow, its bodies, whether the response is looked at) → lines."""

type Live = Callable[[HTTPFlow], Exchange | None]
"""A flow → its exchange, while it is on its way."""

type Previous = Callable[[HTTPFlow], Object | None]
"""A flow → the client's request before it in its thread, if that is at hand."""


class BridgeView(contentviews.Contentview):
    """One view."""

    def __init__(self, name: str, render: Render, live: Live) -> None:
        self._name = name
        self._render = render
        self._live = live

    @property
    def name(self) -> str:
        """As it stands in menus."""
        return f"Bridge {self._name}"

    @property
    def syntax_highlight(self) -> contentviews.SyntaxHighlight:
        """As mitmproxy colours it."""
        return "yaml"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """The text of the view."""
        flow = metadata.flow
        if not isinstance(flow, HTTPFlow):
            return NO_FLOW
        is_response = flow.response is not None and metadata.http_message is flow.response
        try:
            lines = self._render(flow, bodies_of(flow, self._live(flow)), is_response)
            shown = list(islice(lines, MOST_LINES + 1))
        except Exception as fault:
            return f"# This view cannot show the flow ({type(fault).__name__}). The other views may."
        more = ["… (the rest is left out; bridge.export writes all of it)"] if len(shown) > MOST_LINES else []
        return "\n".join(shown[:MOST_LINES] + more)

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        """Never by itself: what reads mitmweb's `Auto` expects JSON there."""
        return -1


def views(live: Live, previous: Previous) -> list[BridgeView]:
    """All of them."""
    renders: dict[str, Render] = {
        "Summary": lambda flow, bodies, _: summary_lines(flow, bodies),
        "Ledger": lambda _flow, bodies, _: ledger_lines(bodies),
        "Client": lambda _, bodies, response: client_message(bodies, response=response),
        "Backend": lambda _, bodies, response: backend_message(bodies, response=response),
        "Diff": lambda _, bodies, response: difference_lines(bodies, response=response),
        "Turn": lambda flow, bodies, _: turn_lines(bodies, previous(flow)),
    }
    return [BridgeView(name, render, live) for name, render in renders.items()]
