"""The four bodies of flows as files in a folder, and a line of curl that sends the backend's request again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from mitmproxy.http import HTTPFlow

from bridge.sse import looks_like_sse
from bridge.views.bodies import Bodies

_NAMES = {"asked": "client-request", "sent": "backend-request", "heard": "backend-response", "said": "client-response"}
_SECRET = re.compile(r"key|token|secret|sig|auth|password", re.IGNORECASE)
KEY = "$OPENAI_API_KEY"


def export(flow: HTTPFlow, bodies: Bodies, folder: Path, number: int) -> list[Path]:
    """Write the bodies that are there and the curl line; names come from the number alone. Raises `OSError`."""
    written = []
    for part, name in _NAMES.items():
        body: bytes | None = getattr(bodies, part)
        if body is not None:
            path = folder / f"{number:03d}-{name}.{_suffix(body)}"
            path.write_bytes(body)
            written.append(path)
    line = folder / f"{number:03d}-curl.sh"
    line.write_text(" \\\n  ".join(_curl(flow, f"{number:03d}-{_NAMES['sent']}.{_suffix(bodies.sent or b'')}")) + "\n")
    return [*written, line]


def _suffix(body: bytes) -> str:
    if looks_like_sse(body):
        return "sse"
    return "json" if body.lstrip()[:1] in (b"{", b"[") else "txt"


def _curl(flow: HTTPFlow, body: str) -> Iterator[str]:
    """The parts of the command; a key stands as a variable of the shell, in the URL as in the header."""
    yield f"curl -N {_url(flow)}"
    yield "-H 'content-type: application/json'"
    if "authorization" in flow.request.headers:
        yield f'-H "authorization: Bearer {KEY}"'
    yield f"--data-binary @{body}"


def _url(flow: HTTPFlow) -> str:
    path, _, query = flow.request.path.partition("?")
    origin = f"{flow.request.scheme}://{flow.request.host}:{flow.request.port}"
    quoted = shlex.quote(origin + path + ("?" if query else ""))
    return quoted + r"\&".join(_pair(pair) for pair in query.split("&")) if query else quoted


def _pair(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f'{shlex.quote(name + equals)}"{KEY}"' if equals and _SECRET.search(name) else shlex.quote(pair)
