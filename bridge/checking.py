"""Whether today's bridge makes of a flow's bodies what stands on the flow."""

from __future__ import annotations

from dataclasses import dataclass

from mitmproxy.http import HTTPFlow

from bridge import flows
from bridge.diff import first_difference
from bridge.errors import ClientError
from bridge.exchange import COMPACT, Exchange
from bridge.jsonvalue import JSON, Object, parse
from bridge.playback import respond, turn_of
from bridge.settings import Backend, Settings
from bridge.sse import Reader


@dataclass(frozen=True)
class Result:
    """What was checked of one flow; `different` if anything is not as it was."""

    text: str
    different: bool = False


def check(flow: HTTPFlow, settings: Settings) -> Result:
    """Lower and lift again, and compare: equal, or the path of the first difference.

    Today's settings hold, but for the API that the backend spoke then.
    """
    stored = flows.load(flow)
    if stored is None:
        return _check_unbridged(flow, settings)
    settings = settings.model_copy(update={"backend": Backend(stored["backend"])})
    client = flows.unpack(stored.get("client_request"))
    if not client:
        return Result("the client's request was not kept; nothing to check")
    compact = flows.client_path(flow).endswith(COMPACT)
    now = int(flow.request.timestamp_start)
    try:
        exchange = Exchange.open(client, settings, compact=compact, seed=flow.id, now=now)
    except ClientError as error:
        return Result(f"request: refused: {error.message}", different=True)
    asked = _compare("request", parse(flow.request.content or b"null"), parse(exchange.request))
    answered = _check_answer(flow, exchange)
    return Result(f"{asked.text}, {answered.text}", asked.different or answered.different)


def _check_answer(flow: HTTPFlow, exchange: Exchange) -> Result:
    turn = turn_of(flow, 0)
    if turn is None or not flow.response or flow.response.raw_content is None:
        return Result("no answer was kept")
    made = respond(exchange, turn)
    if made.status_code != flow.response.status_code:
        return Result(f"response differs at status: {flow.response.status_code} → {made.status_code}", different=True)
    if made.raw_content == flow.response.raw_content:
        return Result("response equal")
    return _compare("response", _value(flow.response.raw_content), _value(made.raw_content or b""))


def _check_unbridged(flow: HTTPFlow, settings: Settings) -> Result:
    """A flow that was recorded without the addon: its request can be lowered, if it is a client's."""
    try:
        exchange = Exchange.open(flow.request.content or b"", settings, seed=flow.id)
    except ClientError as error:
        return Result(f"not bridged, and no request to lower: {error.message}")
    rules = ", ".join(exchange.ledger.rules()) or "nothing to do"
    return Result(f"not bridged; its request can be lowered ({rules}), no answer to compare")


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
