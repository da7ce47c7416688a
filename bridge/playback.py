"""A recording in place of a backend: each lowered request gets the answer that the backend gave then.

A turn is found by the content of its request, without what changes from run to run; else by its place in its thread,
so that a new run of the same session gets on although its clock, paths and ids are others.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from mitmproxy import exceptions, io
from mitmproxy.http import HTTPFlow, Response

from bridge import flows
from bridge.diff import first_difference
from bridge.errors import BackendError
from bridge.exchange import Answer, Exchange, Mode
from bridge.jsonvalue import JSON, Object, as_object, as_objects, dump, read_object, without
from bridge.ledger import Rule
from bridge.settings import Backend
from bridge.sse import CONTENT_TYPE
from bridge.thread import thread_of

_BY_PLACE = "no recorded request is the same; the answer is that of the same place in its thread"
_VOLATILE = ("client_metadata", "prompt_cache_key", "metadata", "user")


@dataclass(frozen=True)
class Turn:
    """One recorded exchange, seen from the backend."""

    number: int
    thread: str
    request: JSON
    answer: bytes
    chunks: tuple[int, ...]
    """Sizes of the pieces in which the answer came, as far as they were kept; 0 for what kept the client waiting."""
    status: int
    content_type: str
    ending: str | None
    """How it ended: "" by itself, else why it broke off; None if the client left before."""
    backend: Backend
    retry_after: str = ""


class Playback:
    """The turns of a recording, and how far each thread of this run has come."""

    def __init__(self, turns: list[Turn]) -> None:
        self._turns = turns
        self._by_content: dict[str, list[Turn]] = defaultdict(list)
        self._by_thread: dict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            self._by_content[dump(turn.request)].append(turn)
            self._by_thread[turn.thread].append(turn)
        self._thread_of: dict[str, str] = {}
        self._place: dict[str, int] = defaultdict(int)

    @classmethod
    def load(cls, path: str, backend: Backend) -> Playback:
        """The recording at a path, of a backend that spoke what today's speaks; `ValueError` says what is wrong."""
        try:
            with Path(path).expanduser().open("rb") as file:
                recorded = [flow for flow in io.FlowReader(file).stream() if isinstance(flow, HTTPFlow)]
        except (OSError, RuntimeError, exceptions.FlowReadException) as error:
            raise ValueError(f"bridge_replay: {path} cannot be read: {error}") from None
        if odd := next((flow for flow in recorded if flows.KEY in flow.metadata and not flows.load(flow)), None):
            version = as_object(odd.metadata[flows.KEY]).get("version")
            raise ValueError(
                f"bridge_replay: {path} was recorded in format {version}, this bridge knows {flows.VERSION}. "
                "Record it again, or use the bridge that it was made with."
            )
        turns = [turn for number, flow in enumerate(recorded, 1) if (turn := turn_of(flow, number))]
        if not turns:
            raise ValueError(f"bridge_replay: {path} holds no bridged flow with its bodies.")
        if other := next((turn.backend for turn in turns if turn.backend is not backend), None):
            raise ValueError(f"bridge_replay: {path} is of a backend that spoke {other}: set bridge_backend={other}.")
        return cls(turns)

    def find(self, exchange: Exchange) -> Turn | str:
        """The turn for a request, or, in words, why there is none."""
        request, live = content_of(exchange.request), thread_of(read_object(exchange.client))
        thread = self._recorded_thread(live)
        place = self._place[live]
        self._place[live] += 1
        same = [turn for turn in self._by_content.get(dump(request), ()) if turn.thread == thread]
        same = same or self._by_content.get(dump(request), [])
        if same:
            ahead = [turn for turn in self._by_thread[thread][place:] if turn in same]
            return (ahead or same)[0]
        turns = self._by_thread.get(thread, [])
        if place >= len(turns):
            return self._miss(request)
        difference = first_difference(turns[place].request, request) or ""
        exchange.ledger.add(Rule.PLAYED, "by place, not by content", difference, warning=_BY_PLACE)
        return turns[place]

    def _recorded_thread(self, live: str) -> str:
        """The recorded thread that a thread of this run stands for: its own, or the next that none stands for."""
        if live not in self._thread_of:
            taken = set(self._thread_of.values())
            free = [thread for thread in self._by_thread if thread not in taken]
            self._thread_of[live] = live if live in self._by_thread else next(iter(free), "")
        return self._thread_of[live]

    def _miss(self, request: JSON) -> str:
        closest = max(self._turns, key=lambda turn: _likeness(turn.request, request))
        difference = first_difference(closest.request, request) or "nothing but its place in the session"
        return f"No recorded turn fits. The closest is turn {closest.number}; the first difference is {difference}."


def play(exchange: Exchange, turn: Turn) -> Answer:
    """The client's answer, made by today's lift of the recorded one, fed as it came."""
    mode = exchange.begin(turn.status, turn.content_type, retry_after=turn.retry_after)
    if mode is Mode.PASS:
        return exchange.passed(turn.answer, turn.content_type)
    if mode is Mode.WHOLE:
        return exchange.whole(turn.answer, turn.content_type)
    left: list[bytes] = []
    start = 0
    for size in turn.chunks:
        left += exchange.feed(turn.answer[start : start + size]) if size else exchange.tick()
        start += size
    left += exchange.feed(turn.answer[start:])
    if turn.ending is not None:
        left += exchange.fail(turn.ending) if turn.ending else exchange.close()
    return Answer(b"".join(left), CONTENT_TYPE)


def respond(exchange: Exchange, turn: Turn) -> Response:
    """The response that the client gets, be the recorded answer readable or not."""
    try:
        answer = play(exchange, turn)
    except BackendError as error:
        return flows.backend_failure(f"The backend's answer cannot be used: {error}.")
    response = Response.make(turn.status, headers={"content-type": turn.content_type} if turn.content_type else {})
    flows.answer(response, answer)
    return response


def content_of(request: bytes) -> JSON:
    """A lowered request without what changes from run to run."""
    body = read_object(request)
    kept: Object = without(body, *_VOLATILE)
    if isinstance(body.get("input"), list):
        kept["input"] = [without(item, "id") for item in as_objects(body["input"])]
    return kept


def turn_of(flow: HTTPFlow, number: int) -> Turn | None:
    """What a bridged flow kept of its backend; None where that is not enough to play it."""
    stored = flows.load(flow)
    client = flows.unpack(stored.get("client_request")) if stored else b""
    if stored is None or not client or not stored.get("backend_response"):
        return None
    return Turn(
        number,
        thread_of(read_object(client)),
        content_of(flow.request.get_content(strict=False) or b""),
        flows.unpack(stored["backend_response"]),
        tuple(size for _, size in stored.get("chunks", ())),
        stored.get("status", 200),
        stored.get("content_type", ""),
        stored.get("ending", flow.error.msg if flow.error else ""),
        Backend(stored["backend"]),
        stored.get("retry_after", ""),
    )


def _likeness(one: JSON, other: JSON) -> int:
    """How many items two requests have in common from the start."""
    lists = [as_objects(as_object(value).get("input") or as_object(value).get("messages")) for value in (one, other)]
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*lists, strict=False)))
