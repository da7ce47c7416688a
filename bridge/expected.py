"""What a person would check of a bridged turn, as plain data: the file that stands beside a recording."""

from __future__ import annotations

from collections import defaultdict

from mitmproxy.http import HTTPFlow

from bridge import flows
from bridge.jsonvalue import JSON, Object, as_object, as_objects, as_text, parse
from bridge.settings import Backend
from bridge.sse import Reader, looks_like_sse

_SHOWN = ("type", "name", "namespace", "call_id", "arguments", "input")


def expected_of(flow: HTTPFlow) -> Object:
    """Path, tools, what the model called, what the client got, which rules fired."""
    stored = flows.load(flow) or {}
    sent = as_object(_parsed(flow.request.content or b""))
    chat = stored.get("backend") == Backend.CHAT
    heard = flows.unpack(stored.get("backend_response"))
    said = (flow.response.content if flow.response else None) or b""
    tools: list[JSON] = [_name(tool) for tool in as_objects(sent.get("tools"))]
    shown: list[JSON] = [_line(item) for item in as_objects(sent.get("messages" if chat else "input"))]
    ledger = stored.get("ledger", ())
    return {
        "path": flow.request.path,
        "model": sent.get("model"),
        "tools": tools,
        "input": shown,
        "backend": _said(heard) if chat else _done(heard),
        "client": _done(said),
        "end": _end(flow, said),
        "ledger": [f"{entry['side']} {entry['rule']} {entry['count']} {entry['what']}" for entry in ledger],
    }


def _name(tool: Object) -> JSON:
    return as_object(tool.get("function")).get("name", tool.get("name", tool.get("type")))


def _line(item: Object) -> str:
    shown = [str(item[key]) for key in ("type", "role", "name", "call_id", "tool_call_id") if key in item]
    calls = [
        f"{as_object(call.get('function')).get('name')} {call.get('id')}" for call in as_objects(item.get("tool_calls"))
    ]
    return " ".join(shown + (["reasoning"] if "reasoning_content" in item else []) + calls)


def _said(body: bytes) -> JSON:
    """What the deltas of a chat stream add up to, or a whole answer."""
    if not looks_like_sse(body):
        return _parsed(body)
    texts = {"reasoning": "", "content": ""}
    calls: dict[str, dict[str, str]] = defaultdict(lambda: {"name": "", "arguments": ""})
    finish: JSON = None
    for choice in (choice for event in events_of(body) for choice in as_objects(event.get("choices"))):
        delta = as_object(choice.get("delta"))
        texts["reasoning"] += as_text(delta.get("reasoning_content"))
        texts["content"] += as_text(delta.get("content"))
        finish = choice.get("finish_reason") or finish
        for call in as_objects(delta.get("tool_calls")):
            for key, value in as_object(call.get("function")).items():
                calls[str(call.get("index"))][key] = calls[str(call.get("index"))].get(key, "") + as_text(value)
    named: Object = {index: dict[str, JSON](call) for index, call in calls.items()}
    return {**texts, "calls": named, "finish": finish}


def _done(body: bytes) -> JSON:
    """The items that a stream finished, or a whole answer's."""
    if looks_like_sse(body):
        items = [
            as_object(event.get("item")) for event in events_of(body) if _type(event) == "response.output_item.done"
        ]
    else:
        answer = as_object(_parsed(body))
        if "output" not in answer:
            return answer
        items = as_objects(answer.get("output"))
    return [{key: item[key] for key in _SHOWN if key in item} for item in items]


def _end(flow: HTTPFlow, said: bytes) -> JSON:
    """The last event of a stream; else the status."""
    events = events_of(said) if looks_like_sse(said) else []
    return _type(events[-1]) if events else flow.response.status_code if flow.response else None


def events_of(body: bytes) -> list[Object]:
    """The events of a stream that can be read."""
    reader = Reader()
    return [frame.event for frame in (*reader.feed(body), *reader.close()) if frame.event is not None]


def _type(event: Object) -> str:
    return as_text(event.get("type"))


def _parsed(body: bytes) -> JSON:
    try:
        return parse(body)
    except ValueError:
        return None
