"""Whether today's bridge makes of a flow's bodies what stands on the flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mitmproxy.http import HTTPFlow, Message, Response

from bridge import flows
from bridge.diff import first_difference
from bridge.errors import ClientError
from bridge.exchange import COMPACT, Exchange
from bridge.jsonvalue import JSON, Object, as_object, as_objects, as_text, dump_bytes, parse, read
from bridge.ledger import Ledger
from bridge.playback import Turn, respond, turn_of
from bridge.settings import Backend, Settings
from bridge.sse import events_of, looks_like_sse


class Outcome(StrEnum):
    """What a check came to."""

    EQUAL = "equal"
    DIFFERENT = "with differences"
    UNCHECKED = "not to be checked"


@dataclass(frozen=True)
class Result:
    """What was checked of one flow."""

    text: str
    outcome: Outcome = Outcome.EQUAL

    @property
    def different(self) -> bool:
        """Whether anything is not as it was."""
        return self.outcome is Outcome.DIFFERENT


def check(flow: HTTPFlow, settings: Settings) -> Result:
    """Lower and lift again, and compare: equal, or the path of the first difference.

    Today's settings hold, but for the API that the backend spoke then.
    """
    if flows.load(flow) is None:
        return _check_unbridged(flow, settings)
    exchange = reopened(flow, settings)
    if isinstance(exchange, Result):
        return exchange
    asked = _compare("request", _value(_content(flow.request)), parse(exchange.request))
    said = _check_answer(flow, exchange)
    return Result(
        f"{asked.text}, {said.text}", Outcome.DIFFERENT if asked.different or said.different else Outcome.EQUAL
    )


def total(results: Sequence[Result]) -> str:
    """One line for all of them."""
    counts = {outcome: sum(result.outcome is outcome for result in results) for outcome in Outcome}
    shown = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    return f"checked {len(results)} flows: {shown}" if results else "no flow to check"


def reopened(flow: HTTPFlow, settings: Settings) -> Exchange | Result:
    """The exchange, made again from what the client sent; or why it cannot be."""
    stored = flows.load(flow)
    client = _content(flow.request)
    if stored:
        settings = settings.model_copy(update={"backend": Backend(stored["backend"])})
        client = flows.unpack(stored.get("client_request"))
        if not client:
            return Result("the client's request was not kept; nothing to check", Outcome.UNCHECKED)
    compact = flows.client_path(flow).endswith(COMPACT)
    now = int(flow.request.timestamp_start)
    try:
        return Exchange.open(client, settings, compact=compact, seed=flow.id, now=now)
    except ClientError as error:
        return Result(f"request: refused: {error.message}", Outcome.DIFFERENT)


def answered(flow: HTTPFlow, exchange: Exchange) -> Response | None:
    """What the client would get for the answer that was kept."""
    turn = turn_of(flow, 0)
    return respond(exchange, turn) if turn else None


def _check_answer(flow: HTTPFlow, exchange: Exchange) -> Result:
    made = answered(flow, exchange)
    if made is None or not flow.response or flow.response.raw_content is None:
        return Result("no answer was kept")
    if made.status_code != flow.response.status_code:
        text = f"response differs at status: {flow.response.status_code} → {made.status_code}"
        return Result(text, Outcome.DIFFERENT)
    said = _content(flow.response)
    return (
        Result("response equal") if made.content == said else _compare("response", _value(said), _value(made.content))
    )


def _check_unbridged(flow: HTTPFlow, settings: Settings) -> Result:
    """A flow that was recorded without the addon: whether its two bodies can be lowered and lifted."""
    if flows.KEY in flow.metadata:
        text = f"recorded in another format than {flows.VERSION}; record it again to check it"
        return Result(text, Outcome.UNCHECKED)
    body = as_object(read(_content(flow.request)))
    backend = Backend.of(body)
    chat = backend is Backend.CHAT
    if not chat and "input" not in body:
        return Result("not bridged, and no request of either API", Outcome.UNCHECKED)
    settings = settings.model_copy(update={"backend": backend})
    asked = _asking_for(body) if chat else _content(flow.request)
    try:
        exchange = Exchange.open(asked, settings, compact=flows.client_path(flow).endswith(COMPACT), seed=flow.id)
    except ClientError as error:
        return Result(f"not bridged; its request would be refused: {error.message}", Outcome.UNCHECKED)
    lifted = _lifted(flow, exchange)
    if chat:
        return Result(f"not bridged, a chat backend's request, nothing to lower; {lifted}", Outcome.UNCHECKED)
    changes = "can be lowered" if exchange.request != asked else "needs no lowering"
    rules = _rules(exchange.ledger, answering=False)
    return Result(f"not bridged; its request {changes} ({rules}); {lifted}", Outcome.UNCHECKED)


def _asking_for(body: Object) -> bytes:
    """A chat request → a client's that has the same tools, so that calls of them are known."""
    tools = [as_object(tool.get("function")) for tool in as_objects(body.get("tools"))]
    declared: list[JSON] = [{"type": "function", "name": as_text(tool.get("name")), "parameters": {}} for tool in tools]
    return dump_bytes({"model": body.get("model"), "stream": body.get("stream"), "input": "", "tools": declared})


def _lifted(flow: HTTPFlow, exchange: Exchange) -> str:
    """What becomes of the answer on such a flow."""
    said = _content(flow.response)
    if not flow.response or not said:
        return "no answer was kept"
    kind = flow.response.headers.get("content-type", "")
    made = respond(exchange, Turn(0, "", None, said, (), flow.response.status_code, kind, "", exchange.backend))
    if made.content == said:
        return "its answer needs no lifting"
    return f"its answer can be lifted ({_rules(exchange.ledger, answering=True)})"


def _rules(ledger: Ledger, *, answering: bool) -> str:
    rules = dict.fromkeys(str(entry.rule) for entry in ledger if entry.answering is answering)
    return ", ".join(rules) or "nothing to do"


def _compare(side: str, old: JSON, new: JSON) -> Result:
    difference = first_difference(old, new)
    if difference is None:
        return Result(f"{side} equal")
    return Result(f"{side} differs at {difference}", Outcome.DIFFERENT)


def _content(message: Message | None) -> bytes:
    """A body, its encoding undone if it can be."""
    return (message.get_content(strict=False) if message else None) or b""


def _value(body: bytes | None) -> JSON:
    """A JSON body, the events of a stream, or the text of anything else."""
    if body and looks_like_sse(body) and (events := events_of(body)):
        return {"events": list[JSON](events)}
    value = read(body)
    return (body or b"").decode("utf-8", "replace") if value is None and body != b"null" else value
