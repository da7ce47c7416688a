"""One request and its response: the stages in their order. Bytes in, bytes out; no clock, no sockets.

Nothing is remembered between exchanges. After `begin` has said how the answer comes, `feed` its pieces and `close`, or
hand it over `whole`; `tick` and `fail` may come at any time of a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from bridge import events, sse
from bridge.chat.errors import lift_error
from bridge.chat.request import lower_request, tool_names
from bridge.chat.stream import Asked, ChatStream
from bridge.encoding import DamagedError, Decoder, TooLargeError, UnknownEncodingError, decode
from bridge.errors import BackendError, ClientError, name_overflow
from bridge.fields import settle
from bridge.jsonvalue import Object, OutOfRangeError, as_object, as_objects, as_text, dump_bytes, parse
from bridge.ledger import Ledger, Rule
from bridge.settings import Backend, Settings
from bridge.tape import Tape
from bridge.tools.complete import TERMINAL, complete_response, response_lacks
from bridge.tools.context import Context
from bridge.tools.lift import lift_response, string_code
from bridge.tools.relay import Relay
from bridge.tools.request import Lowered, lower
from bridge.tools.whole import compact_response, compacted_body, summary_of

JSON_TYPE = "application/json"
COMPACT = "/compact"
CHAT_PATH = "/chat/completions"
NO_CONTENT = (204, 205)


class Mode(Enum):
    """How an answer is handled."""

    STREAM = "stream"
    """Event by event, as it arrives."""
    WHOLE = "whole"
    """When it is all there."""
    PASS = "pass"
    """Not at all: it is no success, and keeps its status and body."""


@dataclass(frozen=True)
class Answer:
    """A whole answer for the client."""

    body: bytes
    content_type: str
    status: int | None = None
    """Another status than the backend's."""


def read_request(body: bytes, encoding: str, limit: int, ledger: Ledger) -> tuple[bytes, Object]:
    """An encoded request → its plain bytes, and the object in them; raises `ClientError`."""
    try:
        plain = decode(body, encoding, limit)
    except UnknownEncodingError as error:
        message = f"content-encoding: {error} is not known here. Send zstd, gzip, br, deflate or identity."
        raise ClientError(message, "content-encoding", 415, "unsupported_encoding") from None
    except TooLargeError as error:
        raise ClientError(f"{error}. bridge_max_body raises the limit.", None, 413, "request_too_large") from None
    except DamagedError as error:
        raise ClientError(f"content-encoding: {error}.", "content-encoding") from None
    if plain is not body:
        ledger.add(Rule.DECODED, encoding)
    try:
        value = parse(plain, unique=True)
    except ValueError as error:
        raise ClientError(f"The request body is not JSON: {error}.", code="invalid_json") from None
    if not isinstance(value, dict):
        raise ClientError("The request body must be a JSON object.", code="invalid_json")
    return plain, value


class Exchange:
    """One request and its response.

    `request` is the plain body that goes to the backend, `client` the plain body that the client sent.
    """

    def __init__(
        self,
        client: bytes,
        body: Object,
        lowered: Lowered,
        settings: Settings,
        ledger: Ledger,
        *,
        sent: bytes | None = None,
        compact: bool = False,
        seed: str = "",
        now: int = 0,
    ) -> None:
        """`body` is the object in `client`, `compact` whether it came to `/responses/compact`.

        `sent`: what goes to the backend, if it is not to be made of `lowered`.
        """
        self.client = client
        made = self._translate(lowered.body, settings, ledger) if sent is None else as_object(parse(sent))
        untouched = made == body and not settings.body
        self.request = sent if sent is not None else client if untouched else dump_bytes(made)
        self.edited = sent is not None
        """Whether a person made the request that goes to the backend."""
        self.names = lowered.names
        self.backend = settings.backend
        self.ledger = ledger
        self.compacts = lowered.compacts
        self.keep = int(settings.keep_bodies)
        """Bytes of each body that the user wants kept."""
        self.streamed = False
        """Whether the answer left piece by piece."""
        self.status = 0
        self.content_type = ""
        self.retry_after = ""
        """The head of the backend's answer, once there is one."""
        self.ending: str | None = None
        """How the backend's stream ended: "" by itself, else why it broke off; None while it has not, or if the client
        left before."""
        self.fault: Exception | None = None
        """What went wrong inside the bridge during a stream."""
        self.heard = Tape(settings.keep_bodies)
        """What the backend answered, plain."""
        self.said = Tape(settings.keep_bodies)
        """What the client got."""
        self._settings = settings
        self._compact = compact
        self._wants_stream = body.get("stream") is True and not compact
        self._context = Context(lowered.names, settings, ledger, body, seed, now)
        self._decoder = Decoder("")
        dialect = self._dialect(made, body) if settings.backend is Backend.CHAT else None
        self._relay = Relay(self._context, dialect, compacts=lowered.compacts, collects=not self._wants_stream)

    @staticmethod
    def _translate(body: Object, settings: Settings, ledger: Ledger) -> Object:
        """A function-only Responses request → what is sent."""
        if settings.backend is Backend.RESPONSES:
            return body
        return settle(lower_request(body, settings, ledger), settings, ledger)

    def _dialect(self, sent: Object, body: Object) -> ChatStream:
        items = as_objects(body.get("input"))
        asked = Asked(
            tools=frozenset(tool_names(sent)),
            call_ids=frozenset(as_text(item.get("call_id")) for item in items),
            model=body.get("model"),
            think_tags=self._settings.think_tags,
        )
        return ChatStream(asked, self._context.mint, self._context.now, self.ledger)

    @classmethod
    def open(
        cls, data: bytes, settings: Settings, *, encoding: str = "", compact: bool = False, seed: str = "", now: int = 0
    ) -> Exchange:
        """A client's request, as it stands on the wire, lowered; raises `ClientError`."""
        ledger = Ledger()
        client, body = read_request(data, encoding, settings.max_body, ledger)
        lowered = lower(body, settings, ledger, compact=compact)
        return cls(client, body, lowered, settings, ledger, compact=compact, seed=seed, now=now)

    def path(self, asked: str) -> str:
        """The path that the client asked → the path at the backend, both without a query."""
        sibling = asked.removesuffix(COMPACT)
        return sibling.removesuffix("/responses") + CHAT_PATH if self._settings.backend is Backend.CHAT else sibling

    def begin(self, status: int, content_type: str, encoding: str = "", retry_after: str = "") -> Mode:
        """The head of the answer; raises `BackendError` for an encoding that nobody knows."""
        self.ledger.answering = True
        self.status, self.content_type, self.retry_after = status, content_type, retry_after
        try:
            self._decoder = Decoder(encoding)
        except UnknownEncodingError as error:
            raise BackendError(f"the answer is encoded as {error}, which is not known here") from None
        if status < 200 or status in NO_CONTENT:
            # mitmproxy takes an interim answer (103 Early Hints) for the whole one, and a client waits for the rest.
            raise BackendError(f"it has no content ({status})")
        if status >= 300:
            return Mode.PASS
        is_stream = content_type.lower().startswith(sse.CONTENT_TYPE) and self._wants_stream
        return Mode.STREAM if is_stream and self._settings.stream else Mode.WHOLE

    def feed(self, data: bytes) -> list[bytes]:
        """A piece of a stream → what leaves for the client, often nothing."""
        return self._guarded(left for plain in self._unpack(data) for left in self._relay.feed(plain))

    def close(self) -> list[bytes]:
        """The stream ended."""
        self.ending = ""
        return self._guarded(self._relay.close())

    def fail(self, reason: str) -> list[bytes]:
        """The backend is gone."""
        self.ending = reason
        return self._guarded(self._relay.fail(f"The backend's stream broke off: {reason}"))

    def tick(self) -> list[bytes]:
        """The client has heard nothing for a while."""
        return self._guarded(self._relay.keepalive())

    def whole(self, data: bytes, content_type: str) -> Answer:
        """A whole answer → the client's; raises `BackendError`."""
        plain = self._unpack_all(data)
        is_stream = content_type.lower().startswith(sse.CONTENT_TYPE) or sse.looks_like_sse(plain)
        answer = self._from_stream(plain) if is_stream else self._from_json(plain, content_type)
        self.said.add(answer.body)
        return answer

    def passed(self, data: bytes, content_type: str) -> Answer:
        """An answer that is no success; raises `BackendError`. A Responses backend's keeps its body.

        But for one thing: that the context is full, Codex understands by its code only, which vLLM leaves null.
        """
        answer = Answer(self._unpack_all(data), content_type)
        self.ledger.add(Rule.FAILED, f"HTTP {self.status}")
        if self._settings.backend is Backend.CHAT and self.status >= 400:
            status, body = lift_error(self.status, answer.body, self.retry_after)
            answer = Answer(dump_bytes(body), JSON_TYPE, status)
        elif named := name_overflow(answer.body):
            self.ledger.add(Rule.COMPLETED, "error code", "error.code")
            answer = Answer(dump_bytes(named), content_type)
        self.said.add(answer.body)
        return answer

    def _guarded(self, step: Iterator[bytes]) -> list[bytes]:
        """One step of a stream. Whatever goes wrong in it ends the client's stream as failed, once."""
        self.streamed = True
        left: list[bytes] = []
        if self.fault:
            return left
        was_over = self._relay.ended
        try:
            for piece in step:
                left.append(piece)  # noqa: PERF402 - what left before a fault has left
        except (DamagedError, OutOfRangeError) as error:
            left += self._give_up(f"The backend's answer cannot be read: {error}.", left, was_over)
        except Exception as fault:
            self.fault = fault
            left += self._give_up(f"The bridge cannot go on with this stream: {type(fault).__name__}.", left, was_over)
        for piece in left:
            self.said.add(piece)
        return left

    def _give_up(self, message: str, left: list[bytes], was_over: bool) -> list[bytes]:
        """The end of a stream, unless it has left: if need be without what was said before, which cannot be told."""
        if was_over or any(event.get("type") in TERMINAL for event in sse.events_of(b"".join(left))):
            return []
        with suppress(Exception):
            if told := [*self._relay.fail(message)]:
                return told
        self._relay.forget()
        return [*self._relay.fail(message)]

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        for piece in self._decoder.feed(data):
            self.heard.add(piece)
            yield piece

    def _unpack_all(self, data: bytes) -> bytes:
        try:
            plain = b"".join(self._unpack(data))
            self._decoder.close()
        except DamagedError as error:
            raise BackendError(f"the answer cannot be read: {error}") from None
        return plain

    def _from_stream(self, plain: bytes) -> Answer:
        streamed = [*self._relay.feed(plain), *self._relay.close()]
        if self._wants_stream:
            return Answer(b"".join(streamed), sse.CONTENT_TYPE)
        self.ledger.add(Rule.CONVERTED, "stream to whole answer")
        return self._json(self._relay.response())

    def _from_json(self, plain: bytes, content_type: str) -> Answer:
        try:
            value = parse(plain)
        except ValueError:
            value = None
        response = value if isinstance(value, dict) else {}
        if self._settings.backend is Backend.CHAT:
            return self._from_chat(response)
        if not ("output" in response or response.get("object") == "response"):
            return self._no_response(plain, response, content_type)
        if self._wants_stream:
            self.ledger.add(Rule.CONVERTED, "whole answer to stream")
            completed = complete_response(response, self._context)
            return Answer(b"".join(self._relay.make([*events.response_events(completed)])), sse.CONTENT_TYPE)
        whole = complete_response(response, self._context) if response_lacks(response) else response
        lifted = lift_response(whole, self._context)
        if self.compacts:
            lifted = compact_response(lifted, summary_of(as_objects(lifted.get("output"))), self._context)
        if lifted == value and not self._compact:
            return Answer(plain, content_type)
        return self._json(complete_response(lifted, self._context))

    def _from_chat(self, value: Object) -> Answer:
        made = [*self._relay.whole(value)] if value else [*self._relay.fail("The answer is no chat completion.")]
        return Answer(b"".join(made), sse.CONTENT_TYPE) if self._wants_stream else self._json(self._relay.response())

    def _no_response(self, plain: bytes, value: Object, content_type: str) -> Answer:
        """A success that holds no response: a client that waits for a stream gets an honest end."""
        self.ledger.add(Rule.FAILED, "no response", warning="the backend's answer is no response object")
        if self._compact:
            raise BackendError("it is no response object")
        if not self._wants_stream:
            return Answer(plain, content_type)
        error = string_code(value.get("error") or {"message": "The backend's answer is no response object."})
        failed = complete_response({"status": "failed", "error": error}, self._context)
        return Answer(b"".join(self._relay.make([events.ended("response.failed", failed)])), sse.CONTENT_TYPE)

    def _json(self, response: Object) -> Answer:
        if self._compact and response.get("status") != "completed":
            reason = as_text(as_object(response.get("error")).get("message"))
            raise BackendError(f"there is no summary: {reason or 'the answer is not complete'}")
        return Answer(dump_bytes(compacted_body(response) if self._compact else response), JSON_TYPE)
