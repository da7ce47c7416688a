"""A client's request, a backend's answers to it in several dialects, and independent judges of what leaves."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any, get_args, get_origin

from openai.types.responses import Response, ResponseOutputItem, ResponseStreamEvent

from bridge.exchange import Exchange
from bridge.settings import Settings

type Event = dict[str, Any]

STREAM_TYPE = "text/event-stream; charset=utf-8"
JSON_TYPE = "application/json; charset=utf-8"
NOW = 1_700_000_000


# The client's request


def function(name: str) -> Event:
    """A function tool."""
    return {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}, "strict": False}


TOOLS: list[Event] = [
    {"type": "custom", "name": "apply_patch", "description": "Edits files."},
    function("wait"),
    {"type": "tool_search", "execution": "client", "description": "Finds tools."},
    {
        "type": "namespace",
        "name": "team",
        "description": "",
        "tools": [function("spawn"), {"type": "custom", "name": "memo"}, function("look")],
    },
    {"type": "namespace", "name": "docs", "description": "", "tools": [function("look")]},
]
CARRIER: Event = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [
        {"type": "namespace", "name": "functions", "description": "", "tools": [{"type": "custom", "name": "exec"}]}
    ],
}
USER: Event = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}


def request(**fields: Any) -> Event:
    """A request that declares custom, function, namespaced and search tools, some of them in a carrier."""
    return {"model": "demo-model", "stream": True, "tools": TOOLS, "input": [CARRIER, USER], **fields}


def exchange(
    body: Event | None = None, settings: Settings | None = None, *, mode: str = STREAM_TYPE, **more: Any
) -> Exchange:
    """An exchange whose answer has begun, with a content type of `mode`."""
    data = json.dumps(body or request()).encode()
    opened = Exchange.open(data, settings or Settings(), **{"seed": "one", "now": NOW, **more})
    opened.begin(200, mode)
    return opened


def relayed(data: bytes, opened: Exchange | None = None, *, cuts: Iterable[int] = ()) -> bytes:
    """What leaves for a backend's stream that arrives in pieces."""
    opened = opened or exchange()
    marks = [0, *sorted(cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(marks)]
    return b"".join([left for piece in pieces for left in opened.feed(piece)] + opened.close())


def lifted(events: Iterable[Event], opened: Exchange | None = None) -> list[Event]:
    """The client's events for those of the backend, without sequence numbers."""
    left = parse(relayed(frames(events), opened))
    return [{key: value for key, value in event.items() if key != "sequence_number"} for event in left]


def whole(body: Event | bytes, opened: Exchange | None = None, *, mode: str = JSON_TYPE) -> Event:
    """The client's whole answer for the backend's."""
    opened = opened or exchange(request(stream=False), mode=mode)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    left: Event = json.loads(opened.whole(data, mode).body)
    return left


# What a backend streams: a complete dialect first, from which the others leave things out


def added(item: Event, index: int = 0) -> Event:
    """An item is announced."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(item: Event, index: int = 0) -> Event:
    """An item is finished."""
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def call(name: str, arguments: Any, index: int = 0, **fields: Any) -> Event:
    """A finished `function_call` item."""
    ids = {"id": f"fc_{index}", "call_id": f"call_{index}"}
    return {"type": "function_call", **ids, "name": name, "arguments": arguments, "status": "completed", **fields}


def wrapped(payload: str) -> str:
    """The arguments that carry a payload."""
    return json.dumps({"input": payload})


def call_events(item: Event, pieces: Sequence[str] | None = None, index: int = 0) -> list[Event]:
    """A call as it is streamed, its arguments in pieces."""
    where = {"item_id": item["id"], "output_index": index}
    arguments = item["arguments"]
    said = chop(arguments, 3) if pieces is None else pieces
    kind = "response.function_call_arguments."
    return [
        added({**item, "arguments": "", "status": "in_progress"}, index),
        *({"type": f"{kind}delta", **where, "delta": piece} for piece in said),
        {"type": f"{kind}done", **where, "arguments": arguments},
        done(item, index),
    ]


def text_events(pieces: Sequence[str], index: int = 0) -> list[Event]:
    """A message as it is streamed."""
    item = {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "completed"}
    part = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    return [
        added({**item, "status": "in_progress", "content": []}, index),
        {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **where, "logprobs": [], "delta": piece} for piece in pieces),
        {"type": "response.output_text.done", **where, "logprobs": [], "text": part["text"]},
        {"type": "response.content_part.done", **where, "part": part},
        done({**item, "content": [part]}, index),
    ]


def reasoning_events(pieces: Sequence[str], index: int = 0) -> list[Event]:
    """Reasoning as it is streamed, as a summary and as text."""
    text, item = "".join(pieces), {"type": "reasoning", "id": f"rs_{index}"}
    where = {"item_id": item["id"], "output_index": index}
    part, kind = {"type": "summary_text", "text": text}, "response.reasoning_"
    first, content = {**where, "summary_index": 0}, {**where, "content_index": 0}
    return [
        added({**item, "summary": []}, index),
        {"type": f"{kind}summary_part.added", **first, "part": {**part, "text": ""}},
        *({"type": f"{kind}summary_text.delta", **first, "delta": piece} for piece in pieces),
        {"type": f"{kind}summary_text.done", **first, "text": text},
        {"type": f"{kind}summary_part.done", **first, "part": part},
        *({"type": f"{kind}text.delta", **content, "delta": piece} for piece in pieces),
        {"type": f"{kind}text.done", **content, "text": text},
        done({**item, "summary": [part], "content": [{"type": "reasoning_text", "text": text}]}, index),
    ]


USAGE: Event = {
    "input_tokens": 5,
    "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
    "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 8,
}


def response(output: list[Event], **fields: Any) -> Event:
    """A backend's response object, in which it repeats the tools that it was sent."""
    head = {"id": "resp_1", "object": "response", "created_at": NOW, "model": "small", "status": "completed"}
    echo = {"tools": [function("exec")], "tool_choice": "auto", "parallel_tool_calls": True}
    return {**head, **echo, "usage": USAGE, "output": output, **fields}


def ended(output: list[Event], kind: str = "response.completed", **fields: Any) -> Event:
    """A terminal event."""
    return {"type": kind, "response": response(output, **fields)}


def stream(*parts: list[Event], end: str = "response.completed", **fields: Any) -> list[Event]:
    """A whole stream of items, each given as its events, in the complete dialect."""
    events = [event for part in parts for event in part]
    output = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    begun = response([], status="in_progress", usage=None)
    head = [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]
    return [*head, *events, ended(output, end, **fields)]


def numbered(events: Iterable[Event]) -> list[Event]:
    """Events with dense sequence numbers."""
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def chop(text: str, size: int) -> list[str]:
    """A text in pieces of `size`, at least one."""
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


# Dialects: how a backend says it


def frames(events: Iterable[Event], *, named: bool = True, end: str = "\n", ascii_only: bool = True) -> bytes:
    """Events on the wire."""
    events = list(events)
    texts = (json.dumps(event, ensure_ascii=ascii_only) for event in events)
    heads = (f"event: {event['type']}{end}" if named else "" for event in events)
    return "".join(f"{head}data: {text}{end}{end}" for head, text in zip(heads, texts, strict=False)).encode()


def _without(events: Iterable[Event], *keys: str) -> list[Event]:
    return [{key: value for key, value in event.items() if key not in keys} for event in events]


def _undone(events: Iterable[Event]) -> list[Event]:
    kept = ("response.output_item.done", "response.done")
    return [event for event in events if not event["type"].endswith(".done") or event["type"] in kept]


def _thin(events: Iterable[Event]) -> list[Event]:
    """As llama.cpp streams: no numbers, no places, no `arguments.done`, a bare response, usage with one detail."""
    events = [event for event in events if event["type"] != "response.function_call_arguments.done"]
    thin = _without(events, "sequence_number", "output_index", "content_index", "summary_index", "logprobs")
    for event in thin:
        if event["type"] == "response.content_part.added":
            event["part"] = {"type": "output_text", "text": ""}
        if "response" in event:
            bare = ("id", "object", "status", "output", "error", "incomplete_details")
            kept = {key: value for key, value in event["response"].items() if key in bare}
            if usage := event["response"]["usage"]:
                kept["usage"] = {key: value for key, value in usage.items() if key != "output_tokens_details"}
            event["response"] = kept if event["type"] in TERMINAL else {**kept, "output": None}
    return thin


def _multiline(events: Iterable[Event]) -> bytes:
    """Each event over several `data:` lines, without a blank behind the colon, with a comment and an id."""
    texts = [json.dumps(event, indent=1).replace("\n", "\ndata:") for event in events]
    return "".join(f": ping\nid: {number}\ndata:{text}\n\n" for number, text in enumerate(texts)).encode()


TERMINAL = ("response.completed", "response.done", "response.incomplete", "response.failed")
DIALECTS: dict[str, Callable[[list[Event]], bytes]] = {
    "complete": lambda events: frames(numbered(events)),
    "unnamed": lambda events: frames(numbered(events), named=False),
    "crlf": lambda events: frames(numbered(events), end="\r\n", ascii_only=False),
    "multiline": lambda events: _multiline(numbered(events)),
    "no-index": lambda events: frames(numbered(_without(events, "output_index"))),
    "no-number": lambda events: frames(events),
    "no-done": lambda events: frames(numbered(_undone(events))),
    "thin": lambda events: frames(_thin(events)),
}


def llama(item: Event, *between: Event, **fields: Any) -> bytes:
    """What llama.cpp streams for one item (observed 2026-10): its first event as announced, then `between`."""
    base = {"id": "resp_1l6QdJ", "object": "response"}
    usage = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13, "input_tokens_details": {"cached_tokens": 0}}
    end = {**base, "created_at": NOW, "status": "completed", "model": "tiny.gguf", "output": [item], "usage": usage}
    events = [
        {"type": "response.created", "response": {**base, "status": "in_progress"}},
        {"type": "response.in_progress", "response": {**base, "status": "in_progress"}},
        *between,
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {**end, **fields}, "timings": {"cache_n": 0, "prompt_ms": 595.013}},
    ]
    texts = (json.dumps(event, separators=(",", ":")) for event in events)
    return "".join(
        f"event: {event['type']}\ndata: {text}\n\n" for event, text in zip(events, texts, strict=True)
    ).encode()


def llama_call(*pieces: str) -> bytes:
    """A call of `exec` as llama.cpp streams it, cut or not: it says `completed` either way."""
    call_item = {"id": "fc_0z8", "type": "function_call", "status": "completed", "arguments": "".join(pieces)}
    first = {"id": "fc_0z8", "arguments": "", "call_id": "call_0z8", "name": "exec", "type": "function_call"}
    kind = "response.function_call_arguments.delta"
    return llama(
        {**call_item, "call_id": "call_0z8", "name": "exec"},
        {"type": "response.output_item.added", "item": {**first, "status": "in_progress"}},
        *({"type": kind, "delta": piece, "item_id": "fc_0z8"} for piece in pieces),
    )


def llama_text(*pieces: str) -> bytes:
    """A message as llama.cpp streams it."""
    item, where, text = (
        {"type": "message", "id": "msg_Sde", "role": "assistant"},
        {"item_id": "msg_Sde"},
        "".join(pieces),
    )
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    return llama(
        {**item, "status": "completed", "content": [part]},
        {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "content": []}},
        {"type": "response.content_part.added", **where, "part": {"type": "output_text", "text": ""}},
        *({"type": "response.output_text.delta", **where, "delta": piece} for piece in pieces),
        {"type": "response.output_text.done", **where, "text": text},
        {"type": "response.content_part.done", **where, "part": part},
    )


# Judges


def parse(data: bytes) -> list[Event]:
    """The events of a stream; what follows the last blank line is lost, as it is for Codex."""
    blocks = re.split(rb"(?:\r\n|\n|\r){2}", data)[:-1]
    texts = (b"\n".join(re.findall(rb"(?m)^data:(.*?)\r?$", block)).strip() for block in blocks)
    return [json.loads(text) for text in texts if text.startswith(b"{")]


def of(events: Iterable[Event], kind: str) -> list[Event]:
    """The events of one type, its `response.` left out."""
    return [event for event in events if event["type"] == f"response.{kind}"]


def finished(events: Iterable[Event]) -> list[Event]:
    """The items that Codex takes, and runs if they are calls."""
    return [event["item"] for event in of(events, "output_item.done")]


def end_of(events: Sequence[Event]) -> Event:
    """The terminal event: the only one, and the last."""
    assert [event for event in events if event.get("type") in TERMINAL] == [events[-1]]
    return events[-1]


def assert_adds_up(events: Sequence[Event], payload: str, index: int = 0) -> None:
    """Deltas, `done` and item of a custom call hold one payload."""
    here = [event for event in events if event.get("output_index") == index]
    assert "".join(event["delta"] for event in of(here, "custom_tool_call_input.delta")) == payload
    assert [event["input"] for event in of(here, "custom_tool_call_input.done")] == [payload]
    assert [item["input"] for item in finished(here)] == [payload]


def assert_valid(events: Iterable[Event]) -> None:
    """Every event, and every item in one, is what the OpenAI SDK says it is."""
    for event in events:
        _EVENTS[event["type"]].model_validate(event)
        for item in [event["item"]] if "item" in event else event.get("response", {}).get("output", []):
            _ITEMS[item["type"]].model_validate(item)


def assert_valid_response(body: Event) -> None:
    """A whole response, and every item in it, is what the OpenAI SDK says it is."""
    Response.model_validate(body)
    for item in body["output"]:
        _ITEMS[item["type"]].model_validate(item)


def assert_dense(events: Sequence[Event]) -> None:
    """Sequence numbers count up from 0."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def warnings(opened: Exchange, rule: str) -> list[tuple[str, str]]:
    """(what, warning) of each warning that a rule gave."""
    return [(entry.what, entry.warning) for entry in opened.ledger.warnings() if entry.rule == rule]


def rules(opened: Exchange) -> list[str]:
    """The words of the rules that fired on the way back."""
    return list(dict.fromkeys(str(entry.rule) for entry in opened.ledger if entry.answering))


def _by_type(union: Any) -> Iterator[tuple[str, Any]]:
    annotated = get_args(union)[0] if get_origin(union) is Annotated else union
    for model in get_args(annotated):
        for kind in get_args(model.model_fields["type"].annotation):
            yield kind, model


_EVENTS: dict[str, Any] = dict(_by_type(ResponseStreamEvent))
_ITEMS: dict[str, Any] = dict(_by_type(ResponseOutputItem))
