"""A turn at a glance: warnings, model, tools, transcript, usage, timing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from mitmproxy.http import HTTPFlow

from bridge.jsonvalue import Object, as_object, as_text, read_object
from bridge.merged import Merged, first_output, merged
from bridge.settings import Backend
from bridge.thread import thread_of
from bridge.usage import complete
from bridge.views.bodies import Bodies, items_of
from bridge.views.ledger import warning_lines
from bridge.views.text import fold, number
from bridge.views.tools import tool_lines
from bridge.views.transcript import call_counts, transcript
from bridge.views.turn import turn_number


def summary_lines(flow: HTTPFlow, bodies: Bodies) -> Iterator[str]:
    """The summary of a whole flow."""
    request = read_object(bodies.asked if bodies.asked is not None else bodies.sent)
    answer = merged(bodies.said) if bodies.said is not None else None
    yield from _trouble(flow, answer)
    yield from warning_lines(bodies)
    yield from (f"# {note}" for note in bodies.notes)
    yield from _head(request, bodies)
    if answer:
        yield from _outcome(flow, bodies, answer)
    yield ""
    yield "tools:"
    yield from (f"  {line}" for line in tool_lines(bodies))
    yield ""
    items = items_of(request)
    yield f"request: {_counted(call_counts(items))}"
    yield from transcript(items)
    if answer and answer.items:
        yield ""
        yield f"answer: {_counted(call_counts(answer.items))}"
        yield from transcript(answer.items, len(items) + 1, is_answer=True)


def _head(request: Object, bodies: Bodies) -> Iterator[str]:
    sent = read_object(bodies.sent)
    asked_model, sent_model = as_text(request.get("model")), as_text(sent.get("model"))
    yield f"model: {asked_model or '(none)'}" + (f" → {sent_model}" if sent_model != asked_model else "")
    spoken = "Chat Completions" if bodies.wire is Backend.CHAT else "Responses"
    yield f"wire: {f'Responses → {spoken}' if bodies.bridged else f'{spoken}, not bridged'}"
    named = "(none named)" if bodies.asked is not None else "(not kept)"
    yield f"turn: {turn_number(items_of(request))} of thread {thread_of(request) or named}"


def _trouble(flow: HTTPFlow, answer: Merged | None) -> Iterator[str]:
    """Why this turn failed, if it did."""
    if flow.error:
        yield f"! the flow failed: {flow.error.msg}"
    if flow.response and flow.response.status_code >= 400:
        yield f"! HTTP {flow.response.status_code} {flow.response.reason}".rstrip()
    if answer:
        error = as_object(answer.response.get("error"))
        if error:
            yield f"! {answer.end or 'error'}: {_error(error)}"
        yield from (f"! the answer: {problem}" for problem in answer.problems)


def _error(error: Object) -> str:
    return f"{as_text(error.get('code')) or as_text(error.get('type'))}: {fold(as_text(error.get('message')), 300)}"


def _outcome(flow: HTTPFlow, bodies: Bodies, answer: Merged) -> Iterator[str]:
    yield f"ends: {answer.end or 'nothing'}"
    if usage := as_object(complete(answer.usage)):
        yield f"usage: {_tokens(usage, 'input', 'cached')}, {_tokens(usage, 'output', 'reasoning')}"
    if timing := list(_timing(flow, bodies)):
        yield f"timing: {', '.join(timing)}"


def _tokens(usage: Object, side: str, what: str) -> str:
    detail = as_object(usage.get(f"{side}_tokens_details")).get(f"{what}_tokens", 0)
    return f"{usage[f'{side}_tokens']} {side} tokens ({detail} {what})"


def _timing(flow: HTTPFlow, bodies: Bodies) -> Iterator[str]:
    """Milliseconds since the request; of the pieces of a stream, since its first."""
    chunks: list[list[int]] = bodies.stored.get("chunks") or []
    if flow.response and flow.response.timestamp_start:
        yield f"head after {_ms(flow.response.timestamp_start - flow.request.timestamp_start)}"
    if chunks and (begun := first_output(bodies.heard or b"")):
        ends = accumulate(size for _, size in chunks)
        first = next((when for (when, _), end in zip(chunks, ends, strict=True) if end >= begun), chunks[-1][0])
        yield f"first output {number(first)} ms and last event {number(chunks[-1][0])} ms behind the first event"
    if flow.response and flow.response.timestamp_end:
        yield f"end after {_ms(flow.response.timestamp_end - flow.request.timestamp_start)}"


def _ms(seconds: float) -> str:
    return f"{number(round(seconds * 1000))} ms"


def _counted(counts: Counter[str]) -> str:
    if not counts:
        return "no calls"
    shown = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{shown} call{'s' if counts.total() > 1 else ''}"
