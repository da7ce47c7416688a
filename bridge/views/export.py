"""The four bodies of flows as files in a folder, and a line of curl that sends the backend's request again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from mitmproxy.http import HTTPFlow

from bridge.flows import PUBLIC_QUERY
from bridge.sse import looks_like_sse
from bridge.views.bodies import Bodies

_NAMES = {"asked": "client-request", "sent": "backend-request", "heard": "backend-response", "said": "client-response"}
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
    if bodies.sent is not None and flow.request.method == "POST":
        line = folder / f"{number:03d}-curl.sh"
        parts = _curl(flow, f"{number:03d}-{_NAMES['sent']}.{_suffix(bodies.sent)}")
        line.write_bytes((" \\\n  ".join(parts) + "\n").encode("utf-8", "surrogateescape"))
        written.append(line)
    return written


def first_free(folder: Path) -> int:
    """The number behind the last that a file of the folder begins with: what was written before stays."""
    numbers = [int(path.name[:3]) for path in folder.iterdir() if path.name[:3].isdecimal()]
    return max(numbers, default=0) + 1


def _suffix(body: bytes) -> str:
    if looks_like_sse(body):
        return "sse"
    return "json" if body.lstrip()[:1] in (b"{", b"[") else "txt"


def _curl(flow: HTTPFlow, body: str) -> Iterator[str]:
    """The parts of the command; a key stands as a variable of the shell, in the URL as in the header."""
    yield f"curl -N {_url(flow)}"
    yield "-H 'content-type: application/json'"
    for name in ("authorization", "api-key", "x-api-key", "x-goog-api-key"):
        if name in flow.request.headers:
            yield f'-H "{name}: {"Bearer " if name == "authorization" else ""}{KEY}"'
    yield f"--data-binary @{body}"


def _url(flow: HTTPFlow) -> str:
    """Where it goes: of a query only what is known to be no secret; a key in it stands as the shell's variable."""
    path, _, query = flow.request.path.partition("?")
    origin = f"{flow.request.scheme}://{flow.request.host}:{flow.request.port}"
    shown = shlex.quote(origin + path + ("?" if query else ""))
    return shown + r"\&".join(_pair(pair) for pair in query.split("&")) if query else shown


def _pair(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return shlex.quote(pair) if name in PUBLIC_QUERY else shlex.quote(name if equals else "") + f'{equals}"{KEY}"'
