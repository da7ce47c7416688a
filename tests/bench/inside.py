"""What the bridge costs in one process, without a proxy: processor time, the least of several runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.support.sse_tools import call, call_events, chop, frames, function, numbered, stream, wrapped

SILENT = {"keep_bodies": "0"}
BODY: dict[str, Any] = {"model": "m", "stream": True, "input": "Go.", "tools": [{"type": "custom", "name": "exec"}]}


def least(*works: Callable[[], object], rounds: int = 15) -> list[float]:
    """Seconds of processor time of each, taken in turns: a machine that slows down for a while slows down all."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, times in zip(works, taken, strict=True):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
    return list(map(min, taken))


def lowering(backend: str) -> float:
    """Lowering a big request of many tools, as a multiple of reading and writing its JSON."""
    data = json.dumps(big_request(), separators=(",", ":")).encode()
    settings = Settings.from_options({**SILENT, "backend": backend})
    alone, lowered = least(lambda: json.dumps(json.loads(data)), lambda: Exchange.open(data, settings))
    return lowered / alone


def growth(kind: str) -> float:
    """How many times longer twice the events take: 2 is linear."""
    one, other = (answer(kind, factor) for factor in (1, 2))
    half, whole = least(lambda: lift(one), lambda: lift(other), rounds=9 if kind == "deltas" else 200)
    return whole / half


def answer(kind: str, factor: int) -> bytes:
    """One call: in deltas of 4 bytes of 1 MB, or without a delta of 64 KB."""
    size = (1 << 20 if kind == "deltas" else 1 << 16) * factor // 2
    item = call("exec", wrapped("text(1);\n" * (size // 9)))
    pieces = chop(item["arguments"], 4) if kind == "deltas" else []
    return frames(numbered(stream(call_events(item, pieces))))


def lift(data: bytes) -> None:
    """All of a stream, in pieces as a socket brings them."""
    exchange = Exchange.open(json.dumps(BODY).encode(), Settings.from_options(SILENT))
    exchange.begin(200, "text/event-stream")
    for start in range(0, len(data), 1 << 16):
        exchange.feed(data[start : start + (1 << 16)])
    exchange.close()


def big_request() -> dict[str, Any]:
    """A code-mode session of many turns."""
    exec_tool = {"type": "custom", "name": "exec", "description": "x" * 2000}
    spaces = [
        {"type": "namespace", "name": f"mcp__server{number}", "description": "", "tools": tools(10)}
        for number in range(20)
    ]
    carrier = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [{"type": "namespace", "name": "functions", "tools": [exec_tool]}, *spaces],
    }
    turns = [item for number in range(400) for item in turn(number)]
    return {"model": "m", "stream": True, "input": [carrier, *turns]}


def tools(count: int) -> list[Any]:
    """Functions as an MCP server has them."""
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "y" * 100}}}
    return [{**function(f"tool{number}"), "description": "z" * 200, "parameters": schema} for number in range(count)]


def turn(number: int) -> list[Any]:
    """Thoughts, a call, its output, words."""
    identity = f"call_{number}"
    part = {"type": "input_text", "text": "a line of output\n" * 70}
    return [
        {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": None},
        {
            "type": "custom_tool_call",
            "id": f"ctc_{number}",
            "call_id": identity,
            "name": "exec",
            "input": "text(1);\n" * 60,
        },
        {"type": "custom_tool_call_output", "id": f"ctco_{number}", "call_id": identity, "output": [part]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done. " * 30}]},
    ]
