"""What nobody sends who means well: JSON values, texts, and the places in requests and answers where they can stand."""

from __future__ import annotations

import json
from typing import Any

from tests.support.chat_wire import LAST, called, chunk, entry
from tests.support.sse_tools import CARRIER, TOOLS, USER, Event, call, call_events, numbered, request, stream, wrapped

SLOT = "@slot@"
"""Stands in a template where a value goes."""

REFUSED: dict[str, bytes] = {
    "too deep": b"[" * 100_000 + b"]" * 100_000,
    "too deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep and open": b"[" * 100_000,
    "10,000 digits": b"9" * 10_000,
    "beyond a double": b"1e10000",
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "a key twice": b'{"type":"a","type":"b"}',
    "a surrogate in UTF-8": b'"\xed\xa0\x80"',
    "NUL": b'"\x00"',
    "no UTF-8": b'"\xff\xfe"',
    "half an escape": b'"\\u12"',
}
"""JSON that no request may hold."""
ODD: dict[str, bytes] = {
    "a lone surrogate": b'"\\ud800"',
    "an escaped NUL": b'"\\u0000"',
    "10,000 digits behind the point": b"0." + b"3" * 10_000,
    "a negative zero": b"-0.0",
    "10,000 digits in a string": b'"' + b"9" * 10_000 + b'"',
    "a long name": b'"' + b"n" * 10_000 + b'"',
    "deep in a string": json.dumps("[" * 100_000).encode(),
    "keys alike": json.dumps({"a" * 100 + str(number): number for number in range(1000)}).encode(),
    "no name at all": b'""',
    "a number": b"7",
    "nothing": b"null",
    "a list": b'[null,0,"",[],{}]',
    "an object": b'{"type":"function","function":{"name":"","arguments":[]},"":{}}',
}
"""JSON that is JSON, where nobody expects it."""
VALUES = {**REFUSED, **ODD}

TEXTS: dict[str, str] = {
    "quotes": '"',
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "wrappers": '{"input":',
    "wrappers of wrappers": '{"input": "{\\"input\\": ',
    "thoughts": "<think>",
    "half a thought": "<thin",
    "ends of thoughts": "</think>",
    "markup of calls": "<tool_call>[TOOL_CALLS]<|tool_call",
    "markup": "<",
    "styles": "<style ",
    "full contexts": "prompt exceeds max ",
    "insufficient": "insufficient ",
    "brackets": "[{",
    "digits": "9",
    "blanks": " ",
    "line ends": "\r\n",
    "carriage returns": "\r",
    "base64": "gAAAA/",
    "commas": "1,",
}
"""Pieces that a slow pattern chokes on when they repeat."""


def _at(body: Any, *path: str | int) -> Any:
    """A copy with the slot at a path."""
    copied = json.loads(json.dumps(body))
    place = copied
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = SLOT
    return copied


HISTORY: list[Event] = [
    CARRIER,
    USER,
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "exec", "input": "x"},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "y"},
    {"type": "function_call", "id": "fc_1", "call_id": "c2", "name": "wait", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "z"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": "e"},
]
_FULL = request(
    input=HISTORY,
    tools=[*TOOLS, {"type": "custom", "name": "g", "format": {"type": "grammar", "syntax": "lark", "definition": "s"}}],
    instructions="Be.",
)
_IN_REQUESTS: list[tuple[str | int, ...]] = [
    ("unknown",),
    *((name,) for name in ("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls")),
    *((name,) for name in ("reasoning", "text", "stream", "max_output_tokens", "metadata", "previous_response_id")),
    *(("input", index) for index in range(len(HISTORY))),
    *(("input", 2, name) for name in ("type", "id", "call_id", "name", "input", "namespace")),
    *(("input", 3, name) for name in ("call_id", "output")),
    *(("input", 4, name) for name in ("call_id", "name", "arguments")),
    *(("input", 5, "output", 0), ("input", 5, "output", 0, "text"), ("input", 1, "content"), ("input", 1, "role")),
    *(("input", 6, name) for name in ("summary", "content", "encrypted_content")),
    *(("input", 0, "tools"), ("input", 0, "tools", 0, "tools"), ("input", 0, "tools", 0, "name")),
    *(("tools", 0, name) for name in ("type", "name", "description", "format")),
    *(("tools", 1, name) for name in ("name", "parameters", "strict")),
    *(("tools", 5, "format", name) for name in ("syntax", "definition")),
]
REQUESTS = {".".join(map(str, path)): _at(_FULL, *path) for path in _IN_REQUESTS}
"""Requests with a slot."""

_EVENTS = numbered(stream(call_events(call("exec", wrapped("x")), [wrapped("x")])))
_IN_EVENTS: list[tuple[str | int, ...]] = [
    *((0, name) for name in ("type", "response", "sequence_number", "unknown")),
    *((0, "response", name) for name in ("id", "status", "output", "usage", "tools", "error", "created_at")),
    *((2, name) for name in ("type", "output_index", "item")),
    *((2, "item", name) for name in ("type", "id", "call_id", "name", "arguments", "status")),
    *((3, name) for name in ("type", "item_id", "output_index", "delta")),
    *((4, name) for name in ("item_id", "output_index", "arguments")),
    *((5, name) for name in ("output_index", "item")),
    *((5, "item", name) for name in ("type", "id", "call_id", "name", "arguments", "status")),
    *((6, "response", name) for name in ("status", "output", "usage", "error", "incomplete_details", "id")),
]
_CHUNKS = [
    chunk(role="assistant", content="a", reasoning_content="b"),
    called(entry('{"input"', index=0, id="call_1", type="function", name="exec")),
    called(entry(':"x"}', index=0)),
    chunk("tool_calls"),
    LAST,
]
_CHOICE: tuple[str | int, ...] = (0, "choices", 0)
_CALL: tuple[str | int, ...] = (1, "choices", 0, "delta", "tool_calls", 0)
_IN_CHUNKS: list[tuple[str | int, ...]] = [
    *((0, name) for name in ("id", "object", "choices", "error", "usage", "unknown")),
    *((*_CHOICE, name) for name in ("index", "delta", "finish_reason")),
    *((*_CHOICE, "delta", name) for name in ("role", "content", "reasoning_content", "reasoning_details", "refusal")),
    (1, "choices", 0, "delta", "tool_calls"),
    *((*_CALL, name) for name in ("index", "id", "type", "function", "extra_content")),
    *((*_CALL, "function", name) for name in ("name", "arguments")),
    (2, "choices", 0, "delta", "tool_calls", 0, "function", "arguments"),
    (3, "choices", 0, "finish_reason"),
    *((4, name) for name in ("choices", "usage")),
    *((4, "usage", name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")),
]
ANSWERS: dict[str, tuple[str, list[Any]]] = {
    **{f"responses {'.'.join(map(str, path))}": ("responses", _at(_EVENTS, *path)) for path in _IN_EVENTS},
    **{f"chat {'.'.join(map(str, path))}": ("chat", _at(_CHUNKS, *path)) for path in _IN_CHUNKS},
}
"""The backend's API, and a stream of it with a slot."""


def filled(template: Any, value: bytes) -> bytes:
    """A template as JSON, the value in its slot."""
    return json.dumps(template).encode().replace(json.dumps(SLOT).encode(), value)


def streamed(events: list[Any], value: bytes) -> bytes:
    """Events on the wire, the value in their slot."""
    return b"".join(b"data: %b\n\n" % filled(event, value) for event in events)
