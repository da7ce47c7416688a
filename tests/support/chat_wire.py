"""A chat backend's answers on the wire, and what of them reaches the client."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.support.sse_tools import (
    JSON_TYPE,
    STREAM_TYPE,
    Event,
    assert_dense,
    assert_valid,
    assert_valid_response,
    end_of,
    exchange,
    finished,
    of,
    parse,
    relayed,
    request,
)

USAGE: Event = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}


def chat(body: Event | None = None, *, mode: str = STREAM_TYPE, **options: Any) -> Exchange:
    """An exchange with a chat backend whose answer has begun."""
    settings = Settings.model_validate({"backend": "chat", **options})
    return exchange(body or request(), settings, mode=mode)


def entry(arguments: Any = None, **fields: Any) -> Event:
    """An entry of `tool_calls`; `name` and `arguments` stand in its function, and stay out if not given."""
    named = {"name": fields.pop("name")} if "name" in fields else {}
    function = {**named, **({} if arguments is None else {"arguments": arguments})}
    return {**fields, "function": function}


def chunk(finish: str | None = None, usage: Any = None, **delta: Any) -> Event:
    """A chunk of a stream."""
    head = {"id": "cc-1", "object": "chat.completion.chunk"}
    more = {} if usage is None else {"usage": usage}
    return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def called(*entries: Event, finish: str | None = None) -> Event:
    """A chunk that holds entries of `tool_calls`."""
    return chunk(finish, tool_calls=list(entries))


def message(finish: str | None = "stop", usage: Any = USAGE, **said: Any) -> Event:
    """A whole answer."""
    head = {"id": "cc-1", "object": "chat.completion", "created": 1, "model": "small"}
    choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": finish}
    return {**head, "choices": [choice], "usage": usage}


LAST: Event = {**chunk(), "choices": [], "usage": USAGE}
"""The last chunk, which holds the usage only."""


def wire(*chunks: Event | str, done: bool = True, end: str = "\n", ascii_only: bool = True) -> bytes:
    """Chunks on the wire; a text stands as it is."""
    texts = [piece if isinstance(piece, str) else _data(piece, end, ascii_only) for piece in chunks]
    return ("".join(texts) + (f"data: [DONE]{end}{end}" if done else "")).encode()


def _data(piece: Event, end: str, ascii_only: bool) -> str:
    return f"data: {json.dumps(piece, ensure_ascii=ascii_only)}{end}{end}"


def streamed(*chunks: Event | str, opened: Exchange | None = None, done: bool = True) -> list[Event]:
    """The client's events; each is valid, and they are numbered."""
    events = parse(relayed(wire(*chunks, done=done), opened or chat()))
    judge(events)
    return events


def judge(events: Sequence[Event]) -> None:
    """What is true of every stream: valid, dense, one end, items one after the other, deltas add up."""
    assert_valid(map(_with_a_code_of_the_sdk, events))
    assert_dense(events)
    output = end_of(events)["response"]["output"]
    assert output == finished(events)
    open_items: list[int] = []
    for event in events:
        if event["type"] == "response.output_item.added":
            assert not open_items or end_of(events)["type"] != "response.completed"
            open_items = [event["output_index"]]
        elif event["type"] == "response.output_item.done":
            assert open_items == [event["output_index"]]
            open_items = []
        elif "output_index" in event:
            assert open_items == [event["output_index"]]
    for kind, field in DELTAS.items():
        for done in of(events, f"{kind}.done"):
            said = [event["delta"] for event in of(events, f"{kind}.delta") if event["item_id"] == done["item_id"]]
            item = next(item for item in finished(events) if item["id"] == done["item_id"])
            assert "".join(said) == done[field] == _field(item, field)


def _with_a_code_of_the_sdk(event: Event) -> Event:
    """Codex acts on codes that the SDK does not list."""
    response = event.get("response") or {}
    error = response.get("error")
    return {**event, "response": {**response, "error": {**error, "code": "server_error"}}} if error else event


DELTAS = {
    "output_text": "text",
    "reasoning_text": "text",
    "function_call_arguments": "arguments",
    "custom_tool_call_input": "input",
}


def _field(item: Event, field: str) -> str:
    text: str = item["content"][0]["text"] if field == "text" else item[field]
    return text


def whole(body: Any, opened: Exchange | None = None, *, mode: str = JSON_TYPE) -> Event:
    """The client's whole answer, which is valid."""
    opened = opened or chat(request(stream=False), mode=mode)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    left: Event = json.loads(opened.whole(data, mode).body)
    assert_valid_response(_with_a_code_of_the_sdk({"response": left})["response"])
    return left


def calls_of(items: Iterable[Event]) -> list[tuple[str, str, str]]:
    """(call_id, name, arguments or input) of each call."""
    found = [item for item in items if item["type"] in ("function_call", "custom_tool_call")]
    return [
        (item["call_id"], item["name"], item["arguments" if item["type"] == "function_call" else "input"])
        for item in found
    ]


def text_of(items: Iterable[Event], kind: str = "message") -> list[str]:
    """The text of each message, or of each item of another kind."""
    return [item["content"][0]["text"] for item in items if item["type"] == kind]
