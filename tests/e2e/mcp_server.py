"""A tiny MCP server on stdin and stdout, with a tool for each kind of answer: a text, an image, an error."""

from __future__ import annotations

import json
import sys
from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS: list[dict[str, Any]] = [
    {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
    {"name": "picture", "inputSchema": NO_ARGUMENTS},
    {"name": "fail", "inputSchema": NO_ARGUMENTS},
]


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "echo":
        return {"content": [{"type": "text", "text": f"echo: {arguments['text']}"}]}
    if name == "picture":
        return {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}
    return {"content": [{"type": "text", "text": "it failed"}], "isError": True}


def _result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "small", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"description": tool["name"], **tool} for tool in TOOLS]}
    if method == "tools/call":
        return _call(params["name"], params.get("arguments") or {})
    return {}


def main() -> None:
    """Answer each request; notifications, which have no id, want no answer."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = _result(message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
