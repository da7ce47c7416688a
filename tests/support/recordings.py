"""The recordings of `recordings/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mitmproxy import io
from mitmproxy.http import HTTPFlow, Request
from mitmproxy.test.tflow import tflow

from bridge import flows
from bridge.playback import Turn, respond
from bridge.settings import Settings
from bridge.sse import CONTENT_TYPE

FOLDER = Path(__file__).parents[2] / "recordings"


def load(path: Path) -> list[HTTPFlow]:
    """The flows of a recording."""
    with path.open("rb") as file:
        return [flow for flow in io.FlowReader(file).stream() if isinstance(flow, HTTPFlow)]


def settings_of(flow: HTTPFlow) -> Settings:
    """The settings that a flow was recorded with."""
    stored = flows.load(flow)
    assert stored
    return Settings.from_options({"backend": stored["backend"]})


def written(path: Path, *recorded: HTTPFlow) -> str:
    """A recording of flows."""
    with path.open("wb") as file:
        writer = io.FlowWriter(file)
        for flow in recorded:
            writer.add(flow)
    return str(path)


def recorded(
    body: Any, answer: bytes, settings: Settings | None = None, *, status: int = 200, kind: str = CONTENT_TYPE
) -> HTTPFlow:
    """A flow as the addon leaves it: a client's request, lowered, and a backend's answer, lifted."""
    flow = tflow(req=Request.make("POST", "http://127.0.0.1:8000/v1/responses", json.dumps(body)))
    flow.request.timestamp_start = 1_700_000_000.0
    exchange = flows.open_exchange(flow, settings or Settings())
    flows.send(flow, exchange)
    sizes = [7, max(0, len(answer) - 7)]
    turn = Turn(1, "", None, answer, tuple(sizes), status, kind, "", exchange.backend)
    flow.response = respond(exchange, turn)
    flow.response.timestamp_start, flow.response.timestamp_end = 1_700_000_001.0, 1_700_000_002.0
    flows.keep(flow, exchange, [[0, sizes[0]], [5, sizes[1]]])
    return flow


def bodies(flow: HTTPFlow) -> dict[str, bytes]:
    """The four bodies."""
    stored = flows.load(flow)
    assert stored
    assert flow.response
    return {
        "client request": flows.unpack(stored["client_request"]),
        "backend request": flow.request.content or b"",
        "backend response": flows.unpack(stored["backend_response"]),
        "client response": flow.response.content or b"",
    }
