"""What a person would check of a bridged turn, as plain data: the file that stands beside a recording."""

from __future__ import annotations

from typing import Any

from mitmproxy.http import HTTPFlow

from bridge import flows
from bridge.jsonvalue import JSON, Object, as_object, as_objects, read_object
from bridge.merged import Merged, merged
from bridge.settings import Backend

_SHOWN = (
    "type",
    "role",
    "name",
    "namespace",
    "call_id",
    "arguments",
    "input",
    "reasoning_content",
    "content",
    "tool_calls",
)
_CALLED = ("type", "name", "namespace", "call_id", "arguments", "input")


def expected_of(flow: HTTPFlow) -> dict[str, Any]:
    """Path, tools, what the model called, what the client got, which rules fired."""
    stored = flows.load(flow) or {}
    sent = read_object(flow.request.content)
    chat = stored.get("backend") == Backend.CHAT
    heard = merged(flows.unpack(stored.get("backend_response")))
    said = merged((flow.response.content if flow.response else None) or b"")
    return {
        "path": flow.request.path,
        "model": sent.get("model"),
        "tools": [_name(tool) for tool in as_objects(sent.get("tools"))],
        "input": [_line(item) for item in as_objects(sent.get("messages" if chat else "input"))],
        "backend": _items(heard, _SHOWN if chat else _CALLED),
        "client": _items(said, _CALLED),
        "end": said.end or (flow.response.status_code if flow.response else None),
        "ledger": [_entry(entry) for entry in stored.get("ledger", ())],
    }


def _name(tool: Object) -> JSON:
    return as_object(tool.get("function")).get("name", tool.get("name", tool.get("type")))


def _line(item: Object) -> str:
    shown = [str(item[key]) for key in ("type", "role", "name", "call_id", "tool_call_id") if key in item]
    calls = [f"{_name(call)} {call.get('id')}" for call in as_objects(item.get("tool_calls"))]
    return " ".join(shown + (["reasoning"] if "reasoning_content" in item else []) + calls)


def _items(answer: Merged, shown: tuple[str, ...]) -> Any:
    """What was said, or the error in its place."""
    items = [{key: item[key] for key in shown if key in item} for item in answer.items]
    return items or ([answer.response["error"]] if answer.response.get("error") else [])


def _entry(entry: dict[str, Any]) -> str:
    return f"{entry['side']} {entry['rule']} {entry['count']} {entry['what']}"
