"""Whole exchanges at random: tools × history × fragmentation × faults, over both APIs, against DESIGN's promises.

`HYPOTHESIS_PROFILE=long uv run pytest tests/test_machine.py` runs it for long.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.support import strict, strict_chat
from tests.support.chat_wire import LAST, called, chunk, entry, wire
from tests.support.sse_tools import (
    STREAM_TYPE,
    TERMINAL,
    USER,
    Event,
    call,
    call_events,
    chop,
    finished,
    frames,
    function,
    numbered,
    of,
    parse,
    text_events,
    wrapped,
)
from tests.support.sse_tools import stream as responses

REFUSALS = {"responses": strict.refusal, "chat": strict_chat.refusal}
WORDS = st.text("abcxyzäß😀_-. ", min_size=1, max_size=12)
PAYLOADS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.text('{"input": \\}<think>\r\n\x00', max_size=40),
    WORDS.map(wrapped),
    st.sampled_from(["", " ", "\ud800", "x\udfff", '{"input": "a"}', "\r\n", "\u2028", "\U0010ffff"]),
)
NAMES = ("exec", "apply_patch", "memo", "a tool with blanks", "n" * 80)
ENDS = ("ends", "is cut", "fails", "has an error", "calls by halves", "says nothing more")


def tools_of(names: list[str], namespace: str) -> list[Event]:
    """Custom tools, some of them in a namespace, and a function."""
    custom: list[Event] = [{"type": "custom", "name": name, "description": "Does it."} for name in names]
    half = len(custom) // 2
    spaced = [{"type": "namespace", "name": namespace, "description": "", "tools": custom[half:]}] if custom else []
    return [*custom[:half], *spaced, function("wait")]


class Exchanges(RuleBasedStateMachine):
    """One conversation: each turn lowers the history so far, answers it in pieces, and may break."""

    @initialize(
        wire_name=st.sampled_from(sorted(REFUSALS)),
        names=st.lists(st.sampled_from(NAMES), unique=True, min_size=1),
        namespace=st.sampled_from(["team", "functions", "mcp__docs", "ä b"]),
    )
    def begin(self, wire_name: str, names: list[str], namespace: str) -> None:
        """The settings and the tools of the session."""
        self.wire_name = wire_name
        self.settings = Settings.from_options({"backend": wire_name})
        self.names, self.namespace = names, namespace
        self.tools = tools_of(names, namespace)
        self.history: list[Event] = [USER]
        self.calls = 0

    @rule(text=WORDS)
    def say(self, text: str) -> None:
        """The user says something."""
        self.history.append({**USER, "content": [{"type": "input_text", "text": text}]})

    @rule(name=st.sampled_from(NAMES))
    def toggle(self, name: str) -> None:
        """Another tool set from now on."""
        kept = [each for each in self.names if each != name]
        self.names = kept if name in self.names and kept else [*kept, name]
        self.tools = tools_of(self.names, self.namespace)

    @rule(
        payloads=st.lists(PAYLOADS, max_size=3),
        text=WORDS,
        size=st.integers(1, 60),
        end=st.sampled_from(ENDS),
        data=st.data(),
    )
    def turn(self, payloads: list[str], text: str, size: int, end: str, data: st.DataObject) -> None:
        """A whole turn: ask, hear the answer in pieces, break it or not."""
        body = {"model": "m", "stream": True, "tools": self.tools, "input": self.history}
        exchange = self.lower(body)
        sent = [tool.get("function", tool)["name"] for tool in json.loads(exchange.request)["tools"]]
        made = [(data.draw(st.sampled_from([n for n in sent if n != "wait"])), payload) for payload in payloads]
        whole = self.answer(made, text, end)
        stop = data.draw(st.integers(0, len(whole))) if end in ("is cut", "fails") else len(whole)
        cuts = sorted(data.draw(st.lists(st.integers(0, stop), max_size=6)))
        left = self.hear(exchange, whole[:stop], [0, *cuts, stop], end)
        self.judge(left, made, end, complete=stop == len(whole))

    def lower(self, body: Event) -> Exchange:
        """The request, lowered: as a strict backend wants it, the same anywhere, and once is enough."""
        raw = json.dumps(body).encode()
        exchange, again = (Exchange.open(raw, self.settings, seed="s", now=1) for _ in range(2))
        assert exchange.request == again.request
        sent = json.loads(exchange.request)
        assert REFUSALS[self.wire_name](sent) is None
        if self.wire_name == "responses":
            assert Exchange.open(exchange.request, self.settings).request == exchange.request
        self.carried(sent)
        exchange.begin(200, STREAM_TYPE)
        return exchange

    def carried(self, sent: Any) -> None:
        """Every payload of the history stands in what is sent, in one wrapper."""
        said = [item["input"] for item in self.history if item["type"] == "custom_tool_call"]
        items = sent.get("input") or [made for each in sent["messages"] for made in each.get("tool_calls", [])]
        arguments = [made.get("arguments") or made.get("function", {}).get("arguments") for made in items]
        assert [json.loads(text)["input"] for text in arguments if text] == said

    def answer(self, made: list[tuple[str, str]], text: str, end: str) -> bytes:
        """The backend's stream: a message, then calls, the last one perhaps by halves."""
        start, self.calls = self.calls, self.calls + len(made)
        halved = end == "calls by halves"
        if self.wire_name == "chat":
            chunks = [chunk(content=piece) for piece in chop(text, 3)]
            for index, (name, payload) in enumerate(made):
                chunks.append(called(entry("", index=index, id=f"c{start + index}", type="function", name=name)))
                arguments = wrapped(payload)[: -2 if halved else None]
                chunks += [called(entry(piece, index=index)) for piece in chop(arguments, 5)]
            if end == "has an error":
                return wire(*chunks, {"error": {"message": "No.", "code": 500}})
            last = [] if end == "says nothing more" else [chunk("length" if halved else "tool_calls"), LAST]
            return wire(*chunks, *last, done=bool(last))
        parts = [text_events(chop(text, 3), 0)]
        for index, (name, payload) in enumerate(made, 1):
            arguments = wrapped(payload)[: -2 if halved else None]
            item = call(name, arguments, index, call_id=f"c{start + index - 1}", id=f"fc_{start + index}")
            parts.append(call_events({**item, "status": "incomplete"} if halved else item, chop(arguments, 5), index))
        events = responses(*parts)
        if end == "has an error":
            events[-1] = {"type": "error", "message": "No.", "code": "server_error", "param": None}
        return frames(numbered(events[:-1] if end == "says nothing more" else events))

    def hear(self, exchange: Exchange, whole: bytes, marks: list[int], end: str) -> list[Event]:
        """The client's events; nothing follows the end."""
        left = []
        for start, stop in pairwise(marks):
            left += exchange.feed(whole[start:stop])
            left += exchange.tick()
        left += exchange.fail("reset") if end == "fails" else exchange.close()
        assert not [piece for piece in (*exchange.tick(), *exchange.fail("late"), *exchange.feed(b"")) if piece]
        assert exchange.fault is None
        return parse(b"".join(left))

    def judge(self, events: list[Event], made: list[tuple[str, str]], end: str, *, complete: bool) -> None:
        """An honest end, the only one; finished calls are whole, and the client's own."""
        kinds = [event["type"] for event in events]
        assert [kind for kind in kinds if kind in TERMINAL] == kinds[-1:]
        calls = [item for item in finished(events) if item["type"] == "custom_tool_call"]
        assert [item["input"] for item in calls] == [payload for _, payload in made][: len(calls)]
        honest = end == "ends" or (complete and end in ("is cut", "fails"))
        if honest:
            assert kinds[-1] == "response.completed"
            assert len(calls) == len(made)
        elif end == "has an error" or (end == "calls by halves" and made):
            assert kinds[-1] in ("response.failed", "response.incomplete")
        elif end == "says nothing more" and not (self.wire_name == "chat" and made):
            # Whole calls at an orderly end of a chat stream are taken for its end.
            assert kinds[-1] == "response.failed"
        if end == "calls by halves":
            assert not calls
        self.add_up(events, calls)
        self.remember(events, honest=kinds[-1] == "response.completed")

    @staticmethod
    def add_up(events: list[Event], calls: list[Event]) -> None:
        """Deltas, `done` and item hold one payload."""
        for item in calls:
            mine = [event for event in events if event.get("item_id") == item["id"]]
            assert "".join(event["delta"] for event in of(mine, "custom_tool_call_input.delta")) == item["input"]
            assert [event["input"] for event in of(mine, "custom_tool_call_input.done")] == [item["input"]]

    def remember(self, events: list[Event], *, honest: bool) -> None:
        """A turn that was completed is replayed, its calls with outputs."""
        for item in finished(events) if honest else []:
            self.history.append({**item, "content": None} if item["type"] == "reasoning" else item)
            if item["type"] == "custom_tool_call":
                output = {"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "Done."}
                self.history.append(output)

    @invariant()
    def settings_stay(self) -> None:
        """The history is plain data that JSON carries."""
        assert json.loads(json.dumps(getattr(self, "history", []))) == getattr(self, "history", [])


TestExchanges = Exchanges.TestCase
TestExchanges.settings = settings(suppress_health_check=list(HealthCheck))
