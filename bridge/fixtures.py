"""Recordings → fixtures: the same turns, scrubbed, remade by today's bridge, with what is expected of them beside.

Of each flow only the client's request, the backend's answer and the rhythm of its pieces are taken over; all the rest
is made anew, so that nothing of the machine, the account or the addresses can be in it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from mitmproxy import connection, io
from mitmproxy.flow import Error
from mitmproxy.http import Headers, HTTPFlow, Request

from bridge import flows
from bridge.errors import ClientError
from bridge.exchange import COMPACT, Exchange
from bridge.expected import expected_of
from bridge.flows import PUBLIC_QUERY
from bridge.jsonvalue import dump_bytes, parse
from bridge.names import NameTable
from bridge.playback import Turn, respond, turn_of
from bridge.scrub.stream import scrub_answer
from bridge.scrub.values import Scrubber
from bridge.settings import Backend, Settings

ORIGIN = "http://127.0.0.1:8000"
WHEN = 1_800_000_000.0
"""When the first turn seems to have been, in seconds of the epoch."""
_LITE = "x-openai-internal-codex-responses-lite"
_TYPES = ("text/event-stream", "application/json", "text/html", "text/plain")
_SECRET_HEADER = re.compile(r"auth|cookie|key|token|secret|session|account|user|org|project|id$", re.IGNORECASE)
_SHORTEST_SECRET = 6
_NEUTRAL = {name: getattr(Settings(), name) for name in ("body", "model", "parameters", "strip", "effort")} | {
    "keep_bodies": 1 << 40
}
"""Options that hold words of the user's own are as if they were not set."""
_BROKEN = "the connection was closed"


@dataclass(frozen=True)
class Report:
    """What became of the flows."""

    written: int
    left_out: tuple[int, ...]
    """Numbers of the flows that were not bridged, or whose request was not kept or is refused today."""

    def __str__(self) -> str:
        """One line for people."""
        numbers = ", ".join(map(str, self.left_out))
        left_out = f"; left out, for they were not bridged or cannot be read: {numbers}" if numbers else ""
        return f"{self.written} turns scrubbed{left_out}"


def write(recorded: Sequence[HTTPFlow], path: Path, settings: Settings) -> Report:
    """Write the scrubbed recording and, beside it, its expected file; raises `OSError`.

    Where nothing can be written, what stands there stays; else it is replaced when all of it is made.
    """
    scrubber = Scrubber(prose=settings.fixture_prose, payloads=settings.fixture_payloads)
    scrubber.known.update(word for flow in recorded for word in _secrets(flow))
    if scrubber.prose or scrubber.payloads:
        remake(recorded, scrubber, settings)  # once for nothing: text that is kept can hold an id that comes later
    made = remake(recorded, scrubber, settings)
    if made:
        recording = BytesIO()
        writer = io.FlowWriter(recording)
        for flow in made.values():
            writer.add(flow)
        expected = json.dumps([expected_of(flow) for flow in made.values()], indent=1, ensure_ascii=False)
        _replace(path, recording.getvalue())
        _replace(path.with_suffix(".expected.json"), f"{expected}\n".encode("utf-8", "backslashreplace"))
    return Report(len(made), tuple(number for number in range(1, len(recorded) + 1) if number not in made))


def _replace(path: Path, content: bytes) -> None:
    """All of a file at once: one that is read meanwhile, or a full disk, leaves no half of it."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_bytes(content)
    beside.replace(path)


def remake(recorded: Sequence[HTTPFlow], scrubber: Scrubber, settings: Settings) -> dict[int, HTTPFlow]:
    """Bridged flows → by their number, the same exchanges, scrubbed, on flows that know nothing of their origin."""
    made: dict[int, HTTPFlow] = {}
    start = min((flow.request.timestamp_start for flow in recorded if flows.load(flow)), default=0.0)
    for number, flow in enumerate(recorded, 1):
        stored = flows.load(flow)
        if stored and stored.get("client_request"):
            # A flow that cannot be read, by its metadata or by today's bridge, is left out, and named.
            with suppress(ClientError, KeyError, TypeError, ValueError, zlib.error):
                made[number] = _remade(flow, scrubber, settings, len(made) + 1, flow.request.timestamp_start - start)
    return made


def _secrets(flow: HTTPFlow) -> set[str]:
    """What headers hold that text could repeat: keys, cookies, ids."""
    messages = [message for message in (flow.request, flow.response) if message]
    values = [value for message in messages for name, value in message.headers.items() if _SECRET_HEADER.search(name)]
    values += [value for name, value in flow.request.query.items() if name not in PUBLIC_QUERY]
    return {word for value in values for word in re.split(r"[\s;,=]+", value) if len(word) >= _SHORTEST_SECRET}


def _remade(flow: HTTPFlow, scrubber: Scrubber, settings: Settings, number: int, after: float) -> HTTPFlow:
    stored = flows.load(flow)
    assert stored
    made = _asked(flow, scrubber, number, WHEN + round(after, 3))
    neutral = settings.model_copy(update={**_NEUTRAL, "backend": Backend(stored["backend"])})
    exchange = flows.open_exchange(made, neutral)
    scrubber = replace(scrubber, flat_names=_flat_names(NameTable.from_data(stored["names"]), exchange.names, scrubber))
    flows.send(made, exchange)
    if turn := turn_of(flow, number):
        _answer(flow, made, exchange, turn, scrubber)
    flows.annotate(made, exchange.ledger)
    if flow.error:
        made.error = Error(_BROKEN, made.request.timestamp_start)
    return made


def _asked(flow: HTTPFlow, scrubber: Scrubber, number: int, when: float) -> HTTPFlow:
    """A flow with the client's request, as it came to the addon."""
    stored = flows.load(flow) or {}
    made = HTTPFlow(
        connection.Client(peername=("127.0.0.1", 50000), sockname=("127.0.0.1", 8080), timestamp_start=WHEN),
        connection.Server(address=("127.0.0.1", 8000)),
    )
    made.id = made.client_conn.id = made.server_conn.id = f"00000000-0000-4000-8000-{number:012d}"
    made.timestamp_created = when
    body = dump_bytes(scrubber.body(parse(flows.unpack(stored["client_request"]))))
    lite = {_LITE: "true"} if _LITE in flow.request.headers else {}
    headers = Headers(
        [(name.encode(), value.encode()) for name, value in {"content-type": "application/json", **lite}.items()]
    )
    path = "/v1/responses" + (COMPACT if flows.client_path(flow).endswith(COMPACT) else "")
    made.request = Request.make("POST", ORIGIN + path, body, headers)
    made.request.timestamp_start = made.request.timestamp_end = when
    return made


def _answer(flow: HTTPFlow, made: HTTPFlow, exchange: Exchange, turn: Turn, scrubber: Scrubber) -> None:
    """The backend's answer, scrubbed, and what the bridge makes of it."""
    streamed = turn.content_type.lower().startswith(_TYPES[0]) or None
    answer, sizes = scrub_answer(turn.answer, turn.chunks, scrubber, streamed=streamed)
    kind = next((known for known in _TYPES if turn.content_type.lower().startswith(known)), "")
    times = [when for when, _ in (flows.load(flow) or {}).get("chunks", ())]
    chunks = [
        [when, size] for when, size, was in zip(times, sizes, turn.chunks, strict=True) if size or not was
    ]  # a piece that is empty now is none: no bytes mean that the client was kept waiting
    ending = turn.ending and _BROKEN
    after = turn.retry_after if turn.retry_after.isdecimal() and len(turn.retry_after) < _SHORTEST_SECRET else ""
    sizes = [size for _, size in chunks]
    turn = replace(turn, answer=answer, chunks=tuple(sizes), content_type=kind, ending=ending, retry_after=after)
    made.response = respond(exchange, turn)
    made.response.timestamp_start = _shifted(flow, made, flow.response.timestamp_start if flow.response else None)
    made.response.timestamp_end = _shifted(flow, made, flow.response.timestamp_end if flow.response else None)
    flows.keep(made, exchange, chunks)


def _shifted(flow: HTTPFlow, made: HTTPFlow, when: float | None) -> float:
    """A time of the flow, as far behind its request as it was, to the millisecond."""
    start = flow.request.timestamp_start
    return made.request.timestamp_start + round((when or start) - start, 3)


def _flat_names(old: NameTable, new: NameTable, scrubber: Scrubber) -> dict[str, str]:
    """Flat names → theirs after scrubbing: what was cut and hashed then is cut and hashed anew."""
    scrubbed = ((tool.flat, scrubber.name(tool.namespace), scrubber.name(tool.name)) for tool in old.tools)
    return {flat: new.flatten(namespace, name) for flat, namespace, name in scrubbed}
