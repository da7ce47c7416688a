"""A backend that streams as fast as a socket takes it, or at a steady pace: `python -m tests.bench.backend`.

It prints its port and serves until standard input ends. The model's name in the request says which stream it is.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

PAYLOAD = 'await tools.exec_command({cmd: "echo \\"hi\\""});\n'
DELTAS = 5_000
TURN = 195
"""Fragments of the call of an ordinary turn: 200 events."""
PACED, PACE = 300, 0.004
"""Fragments of the paced stream, and seconds between them."""
LONG = 200 << 20
"""Bytes of the long stream."""
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_NOTHING = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
"""What is asked for besides a stream, such as the list of models, is not there."""


def chunk(event: Any, *, named: bool) -> bytes:
    """An event in a frame of its own, in an HTTP chunk of its own."""
    head = f"event: {event['type']}\n" if named else ""
    frame = f"{head}data: {json.dumps(event)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(frame), frame)


def responses(fragments: Iterator[str], kind: str) -> Iterator[bytes]:
    """The stream of a Responses backend: one call, or one text."""
    call = kind == "call"
    item: Any = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec", "arguments": ""}
    text: Any = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    place = {"item_id": "fc_1" if call else "msg_1", "output_index": 0} | ({} if call else {"content_index": 0})
    delta = "response.function_call_arguments.delta" if call else "response.output_text.delta"
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    said = []
    number = 0

    def numbered(event: Any) -> bytes:
        nonlocal number
        number += 1
        return chunk({**event, "sequence_number": number - 1}, named=True)

    yield numbered({"type": "response.created", "response": response})
    begun = {**(item if call else text), "status": "in_progress"}
    yield numbered({"type": "response.output_item.added", "output_index": 0, "item": begun})
    for fragment in fragments:
        said.append(fragment)
        yield numbered({"type": delta, **place, "delta": fragment})
    whole = "".join(said)
    parts = [{"type": "output_text", "text": whole, "annotations": []}]
    ended = {**item, "arguments": whole} if call else {**text, "content": parts}
    done = {**ended, "status": "completed"}
    yield numbered({"type": "response.output_item.done", "output_index": 0, "item": done})
    yield numbered({"type": "response.completed", "response": {**response, "status": "completed", "output": [done]}})


def chat(fragments: Iterator[str], kind: str) -> Iterator[bytes]:
    """The stream of a chat backend: one call, or one text."""

    def made(delta: Any, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return chunk({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}, named=False)

    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "exec", "arguments": ""}}
    yield made({"role": "assistant"} | ({"tool_calls": [first]} if kind == "call" else {}))
    for fragment in fragments:
        called = [{"index": 0, "function": {"arguments": fragment}}]
        yield made({"tool_calls": called} if kind == "call" else {"content": fragment})
    yield made({}, "tool_calls" if kind == "call" else "stop")
    yield b"e\r\ndata: [DONE]\n\n\r\n"


def fragments(kind: str, count: int, name: str = "input") -> Iterator[str]:
    """So many fragments of the arguments of one call, whose parameter has that name, or of a text."""
    text = PAYLOAD * count
    if kind == "call":
        text = json.dumps({name: text})
    size = 9
    return (text[start : start + size] for start in range(0, size * count, size))


def closed(pieces: Iterator[str], kind: str) -> Iterator[str]:
    """The fragments, with what ends the arguments of a call; what was cut in an escape is mended."""
    said = ""
    for piece in pieces:
        said = (said + piece)[-2:]
        yield piece
    if kind == "call":
        yield ('"' if said.endswith("\\") and not said.endswith("\\\\") else "") + '"}'


def payload(kind: str, name: str) -> str:
    """What the call of a stream holds in the parameter of that name."""
    count = DELTAS if kind == "call" else TURN
    said: str = json.loads("".join(closed(fragments("call", count, name), "call")))[name]
    return said


@cache
def stream(path: str, kind: str, name: str) -> bytes:
    """A whole stream, ready to be sent."""
    made = chat if path.endswith("/chat/completions") else responses
    count, kind = (TURN, "call") if kind == "turn" else (DELTAS, kind)
    return b"".join(made(closed(fragments(kind, count, name), kind), kind)) + b"0\r\n\r\n"


def paced(path: str, name: str) -> Iterator[bytes]:
    """Fragments that say when they were sent, in nanoseconds of the machine's clock."""

    def told() -> Iterator[str]:
        yield f'{{"{name}":"'
        for _ in range(PACED):
            time.sleep(PACE)
            yield f"<{time.monotonic_ns()}>"
        yield '"}'

    made = chat if path.endswith("/chat/completions") else responses
    yield from made(told(), "call")
    yield b"0\r\n\r\n"


def steady(path: str, name: str) -> Iterator[bytes]:
    """An ordinary turn, its events one by one."""
    made = chat if path.endswith("/chat/completions") else responses
    for piece in made(closed(fragments("call", TURN, name), "call"), "call"):
        time.sleep(PACE)
        yield piece
    yield b"0\r\n\r\n"


def long(path: str, name: str) -> Iterator[bytes]:
    """Much text, in fragments of 16 KiB, made as it goes."""
    count = LONG >> 14
    event = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0}
    yield chunk({"type": "response.created", "response": {"id": "r", "output": []}, "sequence_number": 0}, named=True)
    for number in range(count):
        yield chunk({**event, "delta": "x" * (1 << 14), "sequence_number": number + 1}, named=True)
    response = {"id": "r", "object": "response", "status": "completed", "output": []}
    end = {"type": "response.completed", "response": response, "sequence_number": count + 1}
    yield chunk(end, named=True) + b"0\r\n\r\n"


SLOW: dict[str, Callable[[str, str], Iterator[bytes]]] = {"paced": paced, "steady": steady, "long": long}
"""Streams that are made while they are sent."""


def parameter(request: Any) -> str:
    """What the request calls the payload of its tool: a model keeps to the schema that it is given."""
    functions = (tool.get("function", tool) for tool in request.get("tools", ()))
    schemas = (function.get("parameters", {}) for function in functions if function.get("name") == "exec")
    return next((name for schema in schemas for name in schema.get("properties", ())), "input")


def serve(connection: socket.socket) -> None:
    """Requests of one connection, one after the other."""
    with connection, connection.makefile("rb") as file:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while line := file.readline():
            method, path = line.decode().split()[:2]
            head = b"".join(iter(file.readline, b"\r\n"))
            found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            body = file.read(int(found[1])) if found else b""
            if method != "POST":
                connection.sendall(_NOTHING)
                continue
            request = json.loads(body)
            kind, name = request["model"], parameter(request)
            connection.sendall(_HEAD)
            if kind in ("call", "text", "turn"):
                connection.sendall(stream(path, kind, name))
                continue
            for piece in SLOW[kind](path, name):
                connection.sendall(piece)


def main() -> None:
    """Listen on a free port of loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
