"""Whether today's bridge makes of a flow's bodies what stands on the flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mitmproxy.http import HTTPFlow, Response

from bridge import flows
from bridge.diff import first_difference
from bridge.errors import ClientError
from bridge.exchange import COMPACT, Exchange
from bridge.jsonvalue import JSON, Object, as_object, as_objects, as_text, dump, parse
from bridge.ledger import Ledger, summary
from bridge.playback import Turn, respond, turn_of
from bridge.settings import Backend, Settings
from bridge.sse import Reader
from bridge.views.difference import answer_value, change_lines
from bridge.views.text import number, pretty


@dataclass(frozen=True)
class Result:
    """What was checked of one flow; `different` if anything is not as it was."""

    text: str
    different: bool = False


def check(flow: HTTPFlow, settings: Settings) -> Result:
    """Lower and lift again, and compare: equal, or the path of the first difference.

    Today's settings hold, but for the API that the backend spoke then.
    """
    if flows.load(flow) is None:
        return _check_unbridged(flow, settings)
    exchange = _reopened(flow, settings)
    if isinstance(exchange, Result):
        return exchange
    asked = _compare("request", parse(flow.request.content or b"null"), parse(exchange.request))
    answered = _check_answer(flow, exchange)
    return Result(f"{asked.text}, {answered.text}", asked.different or answered.different)


def dry_run(flow: HTTPFlow, settings: Settings) -> Iterator[str]:
    """What today's code and settings would send for a flow, and what that changes; nothing is sent."""
    exchange = _reopened(flow, settings)
    if isinstance(exchange, Result):
        yield f"# {exchange.text}"
        return
    was = "what was sent" if flows.load(flow) else "what stands on the flow"
    yield f"# {summary(exchange.ledger)}"
    yield f"# - {was}   + what would be sent: {number(len(exchange.request))} bytes"
    yield from change_lines(_value(flow.request.content or b""), parse(exchange.request))
    answer = _answered(flow, exchange)
    if answer and flow.response:
        yield "# - what the client got   + what it would get"
        yield from change_lines(answer_value(flow.response.content), answer_value(answer.content))
    yield "# What would be sent"
    yield from pretty(parse(exchange.request))


def _reopened(flow: HTTPFlow, settings: Settings) -> Exchange | Result:
    """The exchange, made again from what the client sent; or why it cannot be."""
    stored = flows.load(flow)
    client = flow.request.content or b""
    if stored:
        settings = settings.model_copy(update={"backend": Backend(stored["backend"])})
        client = flows.unpack(stored.get("client_request"))
        if not client:
            return Result("the client's request was not kept; nothing to check")
    compact = flows.client_path(flow).endswith(COMPACT)
    now = int(flow.request.timestamp_start)
    try:
        return Exchange.open(client, settings, compact=compact, seed=flow.id, now=now)
    except ClientError as error:
        return Result(f"request: refused: {error.message}", different=True)


def _answered(flow: HTTPFlow, exchange: Exchange) -> Response | None:
    """What the client would get for the answer that was kept."""
    turn = turn_of(flow, 0)
    return respond(exchange, turn) if turn else None


def _check_answer(flow: HTTPFlow, exchange: Exchange) -> Result:
    made = _answered(flow, exchange)
    if made is None or not flow.response or flow.response.raw_content is None:
        return Result("no answer was kept")
    if made.status_code != flow.response.status_code:
        return Result(f"response differs at status: {flow.response.status_code} → {made.status_code}", different=True)
    if made.raw_content == flow.response.raw_content:
        return Result("response equal")
    return _compare("response", _value(flow.response.raw_content), _value(made.raw_content or b""))


def _check_unbridged(flow: HTTPFlow, settings: Settings) -> Result:
    """A flow that was recorded without the addon: whether its two bodies can be lowered and lifted."""
    if flows.KEY in flow.metadata:
        return Result(f"recorded in another format than {flows.VERSION}; record it again to check it")
    body = as_object(_value(flow.request.content or b""))
    chat = isinstance(body.get("messages"), list)
    settings = settings.model_copy(update={"backend": Backend.CHAT if chat else Backend.RESPONSES})
    asked = _asking_for(body) if chat else flow.request.content or b""
    try:
        exchange = Exchange.open(asked, settings, seed=flow.id)
    except ClientError as error:
        return Result(f"not bridged, and no request to lower: {error.message}")
    if chat:
        return Result(f"not bridged, a chat backend's request, nothing to lower; {_lifted(flow, exchange)}")
    changes = "can be lowered" if exchange.request != asked else "needs no lowering"
    return Result(
        f"not bridged; its request {changes} ({_rules(exchange.ledger, answering=False)}); {_lifted(flow, exchange)}"
    )


def _asking_for(body: Object) -> bytes:
    """A chat request → a client's that has the same tools, so that calls of them are known."""
    tools = [as_object(tool.get("function")) for tool in as_objects(body.get("tools"))]
    declared: list[JSON] = [{"type": "function", "name": as_text(tool.get("name")), "parameters": {}} for tool in tools]
    return dump({"model": body.get("model"), "stream": body.get("stream"), "input": "", "tools": declared}).encode()


def _lifted(flow: HTTPFlow, exchange: Exchange) -> str:
    """What becomes of the answer on such a flow."""
    if not flow.response or not flow.response.content:
        return "no answer was kept"
    kind = flow.response.headers.get("content-type", "")
    turn = Turn(0, "", None, flow.response.content, (), flow.response.status_code, kind, "", exchange.backend)
    made = respond(exchange, turn)
    if made.content == flow.response.content:
        return "its answer needs no lifting"
    return f"its answer can be lifted ({_rules(exchange.ledger, answering=True)})"


def _rules(ledger: Ledger, *, answering: bool) -> str:
    rules = dict.fromkeys(str(entry.rule) for entry in ledger if entry.answering is answering)
    return ", ".join(rules) or "nothing to do"


def _compare(side: str, old: JSON, new: JSON) -> Result:
    difference = first_difference(old, new)
    return Result(f"{side} equal") if difference is None else Result(f"{side} differs at {difference}", different=True)


def _value(body: bytes) -> JSON:
    """A JSON body, or the events of a stream."""
    reader = Reader()
    frames = [*reader.feed(body), *reader.close()]
    events: list[Object] = [frame.event for frame in frames if frame.event]
    if events:
        return {"events": list[JSON](events)}
    try:
        return parse(body)
    except ValueError:
        return body.decode("utf-8", "replace")
