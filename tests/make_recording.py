"""Make a recording for `recordings/` of a raw one: `python -m tests.make_recording raw.mitm recordings/name.mitm`.

The raw one comes from `mitmdump -s addon.py -w raw.mitm` between a real Codex and a scripted backend. Of each bridged
flow the client's request and the backend's response are kept, with filler in place of all prose and stand-ins in place
of all ids and paths; the rest is made anew by today's bridge, with no header or address of the machine it was made on.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mitmproxy import connection, io
from mitmproxy.http import Headers, HTTPFlow, Request, Response

from bridge import flows
from bridge.exchange import Exchange
from bridge.jsonvalue import dump
from tests.support.recordings import expected_of, settings_of

FILLER = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda my\n"
LONGEST = 300
KEPT_HEADERS = ("content-type", "accept", "x-openai-internal-codex-responses-lite")
WHEN = 1_800_000_000.0
GRAMMAR = 'start: begin hunk+ end\nbegin: "*** Begin Patch" LF\nend: "*** End Patch" LF?\nhunk: /[^\\n]*\\n/\n'


class Scrubber:
    """Replaces prose by filler, and each id by the same stand-in wherever it stands."""

    def __init__(self) -> None:
        self._stand_ins: dict[str, str] = {}

    def request(self, body: dict[str, Any]) -> dict[str, Any]:
        """A client's request."""
        kept = {key: value for key, value in body.items() if key not in ("client_metadata", "prompt_cache_key")}
        scrubbed: dict[str, Any] = self._walk(kept, "")
        scrubbed["client_metadata"] = {"thread_id": self._stand_in(body["client_metadata"]["thread_id"])}
        scrubbed["prompt_cache_key"] = self._stand_in(body["prompt_cache_key"])
        return scrubbed

    def _walk(self, value: Any, key: str, role: str = "") -> Any:
        if isinstance(value, dict):
            role = value.get("role") or role
            return {name: self._walk(entry, name, role) for name, entry in value.items()}
        if isinstance(value, list):
            return [self._walk(entry, key, role) for entry in value]
        return self._text(value, key, role) if isinstance(value, str) else value

    def _text(self, text: str, key: str, role: str) -> str:
        if key in ("description", "instructions"):
            return filler(text)
        if key == "definition":
            return GRAMMAR
        if key == "text" and (role == "developer" or (role == "user" and len(text) > 200)):
            return filler(text)
        if key == "id":
            return self._stand_in(text)
        return re.sub(r"(?:/[\w.-]+)+/(?=[\w.-]+\.(?:txt|png))", "/home/user/project/", text)

    def _stand_in(self, identity: str) -> str:
        prefix = identity.split("_")[0] + "_" if re.match(r"[a-z]+_", identity) else "id-"
        return self._stand_ins.setdefault(identity, f"{prefix}{len(self._stand_ins):04d}")


def filler(text: str) -> str:
    """Text of like length, up to a limit."""
    length = min(len(text), LONGEST)
    return (FILLER * (length // len(FILLER) + 1))[:length]


def remade(raw: HTTPFlow, scrubber: Scrubber, number: int) -> HTTPFlow:
    """A bridged flow → the same exchange, scrubbed, on a flow that knows nothing of where it was made."""
    stored = flows.load(raw)
    assert stored
    assert raw.response
    client = json.loads(flows.unpack(stored["client_request"]))
    body = dump(scrubber.request(client)).encode()
    heard = flows.unpack(stored["backend_response"])
    flow = HTTPFlow(
        connection.Client(peername=("127.0.0.1", 50000), sockname=("127.0.0.1", 8080), timestamp_start=WHEN),
        connection.Server(address=("127.0.0.1", 8000)),
    )
    flow.id = f"00000000-0000-4000-8000-{number:012d}"
    flow.client_conn.id = flow.server_conn.id = flow.id
    flow.timestamp_created = WHEN + number
    headers = Headers([(name.encode(), raw.request.headers[name].encode()) for name in _kept(raw.request.headers)])
    flow.request = Request.make("POST", "http://127.0.0.1:8000/v1/responses", body, headers)
    flow.request.timestamp_start = flow.request.timestamp_end = WHEN + number
    exchange = flows.open_exchange(flow, settings_of(raw))
    flows.send(flow, exchange)
    flow.response = Response.make(raw.response.status_code, b"", {"content-type": raw.response.headers["content-type"]})
    flow.response.stream = True
    flow.response.timestamp_start = flow.response.timestamp_end = WHEN + number
    _answer(exchange, heard, raw.response.headers["content-type"])
    flows.keep(flow, exchange)
    return flow


def _answer(exchange: Exchange, heard: bytes, content_type: str) -> None:
    exchange.begin(200, content_type)
    exchange.feed(heard)
    exchange.close()


def _kept(headers: Headers) -> list[str]:
    return [name for name in KEPT_HEADERS if name in headers]


def main(source: str, target: str) -> None:
    """Write the recording, and its expected file beside it."""
    scrubber = Scrubber()
    with Path(source).open("rb") as file:
        raw = [flow for flow in io.FlowReader(file).stream() if isinstance(flow, HTTPFlow) and flows.load(flow)]
    made = [remade(flow, scrubber, number) for number, flow in enumerate(raw, 1)]
    with Path(target).open("wb") as file:
        writer = io.FlowWriter(file)
        for flow in made:
            writer.add(flow)
    expected = json.dumps([expected_of(flow) for flow in made], indent=1, ensure_ascii=False)
    Path(target).with_suffix(".expected.json").write_text(expected + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
