"""mitmproxy alone, streaming: what the bridge is measured against."""

from __future__ import annotations

from mitmproxy import http


def responseheaders(flow: http.HTTPFlow) -> None:
    """Pass everything on as it comes."""
    assert flow.response
    flow.response.stream = True
