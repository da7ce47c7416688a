"""The recordings of `recordings/`, and what is expected of each of their flows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mitmproxy import io
from mitmproxy.http import HTTPFlow

from bridge import flows
from bridge.settings import Settings

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
    chat = stored["backend"] == "chat"
    heard = flows.unpack(stored["backend_response"])
    return {
        "path": flow.request.path,
        "model": sent["model"],
        "tools": [(tool["function"] if chat else tool)["name"] for tool in sent.get("tools", [])],
        "input": [_shown(item) for item in sent["messages" if chat else "input"]],
        "backend": _said(heard) if chat else _done(heard),
        "client": _done(flow.response.content or b""),
        "end": _events(flow.response.content or b"")[-1]["type"],
        "ledger": [f"{entry['side']} {entry['rule']} {entry['count']} {entry['what']}" for entry in stored["ledger"]],
    }


def settings_of(flow: HTTPFlow) -> Settings:
    """The settings that a flow was recorded with."""
    stored = flows.load(flow)
    assert stored
    return Settings.from_options({"backend": stored["backend"]})


def _shown(item: dict[str, Any]) -> str:
    shown = [str(item[key]) for key in ("type", "role", "name", "call_id", "tool_call_id") if key in item]
    calls = [f"{call['function']['name']} {call['id']}" for call in item.get("tool_calls", [])]
    return " ".join(shown + (["reasoning"] if "reasoning_content" in item else []) + calls)


def _said(body: bytes) -> dict[str, Any]:
    """What the deltas of a chat stream add up to."""
    said: dict[str, Any] = {"reasoning": "", "content": "", "calls": {}, "finish": None}
    for event in _events(body):
        for choice in event["choices"]:
            delta = choice["delta"]
            said["reasoning"] += delta.get("reasoning_content") or ""
            said["content"] += delta.get("content") or ""
            said["finish"] = choice["finish_reason"] or said["finish"]
            for call in delta.get("tool_calls", []):
                named = said["calls"].setdefault(str(call["index"]), {"name": "", "arguments": ""})
                named["name"] += call["function"].get("name", "")
                named["arguments"] += call["function"].get("arguments", "")
    return said


def _events(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]


def _done(body: bytes) -> list[dict[str, Any]]:
    items = [event["item"] for event in _events(body) if event["type"] == "response.output_item.done"]
    shown = ("type", "name", "namespace", "call_id", "arguments", "input")
    return [{key: item[key] for key in shown if key in item} for item in items]
