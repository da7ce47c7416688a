"""The recordings of `recordings/`, and what is expected of each of their flows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mitmproxy import io
from mitmproxy.http import HTTPFlow

from bridge import flows

FOLDER = Path(__file__).parents[2] / "recordings"


def load(path: Path) -> list[HTTPFlow]:
    """The flows of a recording."""
    with path.open("rb") as file:
        return [flow for flow in io.FlowReader(file).stream() if isinstance(flow, HTTPFlow)]


def expected_of(flow: HTTPFlow) -> dict[str, Any]:
    """One turn, as a person would check it: tools, what the model called, what Codex got, which rules fired."""
    stored = flows.load(flow)
    assert stored
    assert flow.response
    sent = json.loads(flow.request.content or b"")
    return {
        "model": sent["model"],
        "tools": [tool["name"] for tool in sent.get("tools", [])],
        "input": [_shown(item) for item in sent["input"]],
        "backend": _done(flows.unpack(stored["backend_response"])),
        "client": _done(flow.response.content or b""),
        "end": _events(flow.response.content or b"")[-1]["type"],
        "ledger": [f"{entry['side']} {entry['rule']} {entry['count']} {entry['what']}" for entry in stored["ledger"]],
    }


def _shown(item: dict[str, Any]) -> str:
    return " ".join(str(item[key]) for key in ("type", "role", "name", "call_id") if key in item)


def _events(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]


def _done(body: bytes) -> list[dict[str, Any]]:
    items = [event["item"] for event in _events(body) if event["type"] == "response.output_item.done"]
    shown = ("type", "name", "namespace", "call_id", "arguments", "input")
    return [{key: item[key] for key in shown if key in item} for item in items]
