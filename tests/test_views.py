"""What people see of a flow."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy import contentviews
from mitmproxy.addons.view import View
from mitmproxy.http import HTTPFlow, Request, Response
from mitmproxy.test import taddons
from mitmproxy.test.tflow import tdnsflow, tflow

from bridge import flows
from bridge.diff import MISSING, Change, changes
from bridge.exchange import Exchange
from bridge.ledger import Ledger, Rule
from bridge.merged import first_output, merged
from bridge.settings import Settings, Verbosity
from bridge.views import bodies as notes
from bridge.views import console
from bridge.views.bodies import Bodies, bodies_of
from bridge.views.colour import coloured
from bridge.views.contentviews import MOST_LINES, NO_FLOW, BridgeView, views
from bridge.views.difference import MOST, change_lines, difference_lines
from bridge.views.ledger import ledger_lines
from bridge.views.message import client_message
from bridge.views.summary import summary_lines
from bridge.views.text import fold, pretty
from bridge.views.tools import tool_lines
from bridge.views.transcript import call_counts, transcript
from bridge.views.turn import new_items, turn_lines, turn_number
from tests.support.golden import golden_of, text_of
from tests.support.recordings import FOLDER, load, recorded
from tests.support.sse_tools import frames

RECORDINGS = sorted(FOLDER.glob("*.mitm"))
ASK: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "client_metadata": {"thread_id": "t-1"},
    "tools": [
        {"type": "custom", "name": "exec", "format": {"type": "grammar", "syntax": "lark", "definition": "a: x"}}
    ],
    "input": "hi",
}
WORDS = """
input tools type role content messages choices output usage delta tool_calls function arguments response client_metadata
error name
""".split()  # noqa: SIM905


def all_views() -> list[BridgeView]:
    """The views, on flows that are not on their way and know no other."""
    return views(lambda _: None, lambda _: None)


def shown(flow: HTTPFlow, name: str, *, response: bool = False) -> str:
    """The text of a view."""
    (view,) = [view for view in all_views() if view.name == f"Bridge {name}"]
    message = flow.response if response else flow.request
    return view.prettify(b"", contentviews.Metadata(flow=flow, http_message=message))


def plain(body: Any, answer: bytes = b"", path: str = "/v1/responses", status: int = 200) -> HTTPFlow:
    """A flow that was never bridged."""
    flow = tflow()
    flow.request = Request.make("POST", f"http://127.0.0.1:8000{path}", json.dumps(body))
    flow.response = Response.make(status, answer) if answer else None
    return flow


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_views_of_a_recording_are_as_they_were_looked_at(path: Path) -> None:
    assert text_of(path) == golden_of(path).read_text()


class TestView:
    def test_their_names_and_colours(self) -> None:
        assert [view.name for view in all_views()] == [
            f"Bridge {name}" for name in ("Summary", "Ledger", "Client", "Backend", "Diff", "Turn")
        ]
        assert {view.syntax_highlight for view in all_views()} == {"yaml"}

    def test_auto_stays_json(self) -> None:
        for view in all_views():
            contentviews.add(view)
        flow = load(RECORDINGS[0])[0]
        with taddons.context() as context:
            context.options.add_option("protobuf_definitions", str, "", "")
            assert contentviews.prettify_message(flow.request, flow).view_name == "JSON"

    def test_what_is_no_http_flow(self) -> None:
        for flow in (None, tdnsflow()):
            assert all_views()[0].prettify(b"", contentviews.Metadata(flow=flow)) == NO_FLOW

    def test_a_fault_is_a_line(self) -> None:
        def render(*_: Any) -> Iterator[str]:
            raise ZeroDivisionError
            yield ""

        view = BridgeView("X", render, lambda _: None)
        assert "ZeroDivisionError" in view.prettify(b"", contentviews.Metadata(flow=tflow()))

    def test_long_text_ends_somewhere(self) -> None:
        flow = plain({"input": [{"type": "message", "role": "user", "content": "x"}] * MOST_LINES})
        lines = shown(flow, "Client").split("\n")
        assert len(lines) == MOST_LINES + 1
        assert "bridge.export" in lines[-1]

    @settings(max_examples=60, deadline=None)
    @given(
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9)),
            lambda inner: st.one_of(
                st.lists(inner, max_size=3),
                st.dictionaries(
                    st.sampled_from(WORDS),
                    inner,
                    max_size=4,
                ),
            ),
        ),
        st.one_of(
            st.binary(max_size=60), st.sampled_from([b'data: {"choices":1}\n\n', b"data: [1]\n\n", b"data:\n\n"])
        ),
        st.booleans(),
    )
    def test_they_never_raise(self, body: Any, answer: bytes, streamed: bool) -> None:
        data = b"data: " + json.dumps(body).encode() + b"\n\n" + answer if streamed else answer
        flow = plain(body, data or b"x")
        for view in all_views():
            for message in (flow.request, flow.response):
                text = view.prettify(b"", contentviews.Metadata(flow=flow, http_message=message))
                assert "cannot show" not in text


class TestFlows:
    def test_one_that_was_never_bridged(self) -> None:
        flow = plain(ASK, b'{"object":"response","output":[]}')
        assert notes.NOT_BRIDGED in shown(flow, "Summary")
        assert "wire: Responses, not bridged" in shown(flow, "Summary")
        assert "nothing differs" in shown(flow, "Diff")
        assert "# No rule fired." in shown(flow, "Ledger")

    def test_one_of_a_chat_client(self) -> None:
        calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}]
        messages = [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
            {"role": "assistant", "content": "x"},
        ]
        body = {"model": "m", "messages": messages, "tools": [{"type": "function", "function": {"name": "f"}}]}
        flow = plain(body, b'{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}')
        text = shown(flow, "Summary")
        assert "wire: Chat Completions, not bridged" in text
        assert "function  f  tools[0]" in text
        assert "   2  reasoning: hm" in text
        assert '   3  function call f c1: {"a":1}' in text
        assert "   4  output of 3: done" in text
        assert "ends: stop" in text

    def test_one_that_was_refused(self) -> None:
        flow = plain(ASK, b'{"error":{"message":"No.","code":"invalid_value"}}', status=400)
        flows.mark_refused(flow, 400, "input[3].call_id")
        assert notes.WAS_REFUSED in shown(flow, "Summary")
        assert "! error: invalid_value: No." in shown(flow, "Summary")
        assert "What the backend got: nothing is here." in shown(flow, "Backend")
        assert "One of the two versions is not here." in shown(flow, "Diff")
        assert (flow.comment, flow.marked) == ("bridge: refused with 400: input[3].call_id", ":warning:")

    def test_one_of_another_format(self) -> None:
        flow = plain(ASK)
        flow.metadata["bridge"] = {"version": 99}
        assert notes.NOT_READ in shown(flow, "Client")

    def test_one_whose_bodies_were_not_kept(self) -> None:
        flow = recorded(ASK, b'{"object":"response","output":[]}', Settings.from_options({"keep_bodies": "0"}))
        text = shown(flow, "Client")
        assert f"The client's request: {notes.NOT_KEPT}" in text
        assert f"The backend's response: {notes.NOT_KEPT}" in text
        assert "function  exec  tools[0]" in shown(flow, "Summary")

    def test_one_that_is_on_its_way(self) -> None:
        flow = recorded(ASK, b"{}")
        exchange = flows.open_exchange(flow, Settings())
        flow.response = None
        exchange.begin(200, "text/event-stream")
        exchange.feed(frames([{"type": "response.created", "response": {"id": "resp_1"}}]))
        view = views(lambda _: exchange, lambda _: None)[0]
        text = view.prettify(b"", contentviews.Metadata(flow=flow, http_message=flow.request))
        assert notes.COMING in text
        assert "It has no terminal event: it broke off." in text

    def test_one_that_failed(self) -> None:
        flow = recorded(ASK, b'{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}', status=429)
        flow.error = tflow(err=True).error
        text = shown(flow, "Summary").split("\n")
        assert text[3].startswith("! grammar exec")
        assert text[0:3] == [
            "! the flow failed: error",
            "! HTTP 429 Too Many Requests",
            "! error: rate_limit_exceeded: Slow down.",
        ]

    def test_one_that_holds_no_json(self) -> None:
        flow = tflow(resp=True)
        assert "# It is not JSON." in shown(flow, "Client")
        assert "# ! It is not JSON." in shown(flow, "Client", response=True)
        flow.request.content = b""
        assert "# ! It is empty." in "\n".join(client_message(Bodies(said=b""), response=True))

    def test_one_that_is_refused_today(self) -> None:
        same = {"type": "custom", "name": "exec"}
        flow = plain({"tools": [same, {**same, "type": "function"}], "input": []})
        assert "exec" in shown(flow, "Summary")
        assert "Declare it once" in "\n".join(tool_lines(bodies_of(flow)))

    def test_one_with_a_renamed_model_and_timed_pieces(self) -> None:
        created = frames([{"type": "response.created", "response": {"id": "r"}}])
        done = {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {"type": "message", "role": "assistant"},
        }
        end = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}
        flow = recorded(ASK, created + frames([done, end]), Settings.from_options({"model": "other"}))
        stored = flow.metadata["bridge"]
        stored["chunks"] = [
            [0, len(created)],
            [40, 20],
            [90, len(flows.unpack(stored["backend_response"])) - len(created) - 20],
        ]
        text = shown(flow, "Summary")
        assert "model: m → other" in text
        assert "first output 90 ms and last event 90 ms behind the first event" in text
        assert "head after 1,000 ms" in text


class TestText:
    @pytest.mark.parametrize(
        ("value", "lines"),
        [
            (
                {"a": 1, "b": [True, None], "c": {}, "d e": []},
                ["a: 1", "b:", "  - true", "  - null", "c: {}", '"d e": []'],
            ),
            ([{"a": 1, "b": "x"}, [1, [2]], {}, []], ["- a: 1", '  b: "x"', "- - 1", "  - - 2", "- {}", "- []"]),
            ({"text": "a\nb"}, ["text: |", "  a", "  b"]),
            ({"text": "a\rb\x1b"}, ["text: |", "  a\\rb\\u001b"]),
            (["a\n\tb"], ["- |", "    a", "    \tb"]),
            ("x", ['"x"']),
            (
                {"type": "function_call", "arguments": '{"input":"a\\nb"}'},
                ['type: "function_call"', "arguments:", "  input: |", "    a", "    b"],
            ),
            ({"arguments": "{broken"}, ['arguments: "{broken"']),
            ({"arguments": "[1]"}, ['arguments: "[1]"']),
        ],
    )
    def test_values_as_lines(self, value: Any, lines: list[str]) -> None:
        assert list(pretty(value)) == lines

    def test_prose_is_folded_with_its_length(self) -> None:
        assert list(pretty({"text": "x" * 5000})) == ["text: |", f"  {'x' * 240}", "  … 5,000 characters"]

    def test_payloads_are_shown_long_and_then_cut(self) -> None:
        call: Any = {"type": "custom_tool_call", "input": "line\n" * 290}
        assert len(list(pretty(call))) == 293
        (*_, last) = pretty({"type": "custom_tool_call_output", "output": [{"text": "line\n" * 9999}]})
        assert last.strip() == "… 49,995 characters, 10,000 lines"
        (*_, last) = pretty({"role": "tool", "content": "x" * 30_000})
        assert last.strip() == "… 30,000 characters, 1 lines"

    @pytest.mark.parametrize(
        ("text", "folded"),
        [("a\n b", "a b"), ("x" * 90, "x" * 80 + "… (90 characters)"), (" " * 400, "… (400 characters)"), ("", "")],
    )
    def test_fold(self, text: str, folded: str) -> None:
        assert fold(text) == folded


def call_delta(text: str, index: int = 0) -> Any:
    """A fragment of arguments."""
    return {"type": "response.function_call_arguments.delta", "output_index": index, "delta": text}


class TestMerged:
    def test_an_item_that_was_not_finished_is_shown_as_far_as_it_came(self) -> None:
        item = {"type": "function_call", "name": "f", "status": "in_progress", "arguments": ""}
        answer = merged(
            frames([{"type": "response.output_item.added", "output_index": 0, "item": item}, call_delta('{"a')])
        )
        assert answer.items == [{**item, "arguments": '{"a'}]
        assert answer.problems == ["It has no terminal event: it broke off."]

    def test_deltas_of_nothing_that_was_announced(self) -> None:
        assert merged(frames([call_delta("x", 3)])).items == [{"arguments": "x"}]

    def test_the_output_of_the_end_stands_in_for_items_that_never_came(self) -> None:
        output = [{"type": "message"}]
        answer = merged(frames([{"type": "response.completed", "response": {"id": "r", "output": output}}]))
        assert (answer.items, answer.response, answer.end) == (output, {"id": "r"}, "response.completed")

    def test_what_is_wrong_is_said(self) -> None:
        end = {"type": "response.completed", "response": {}}
        failed = {"type": "response.failed", "response": {}}
        odd = {"type": "response.new_thing"}
        body = frames([odd, {"type": "error", "message": "No."}, end, failed])
        answer = merged(body + b'data: {"n": 1}\n\n: hm\n\ndata: {broken\n\ndata: \xff\n\n\n\ndata: [DONE]\n\n')
        assert answer.problems == [
            "An error event: No.",
            "It ends twice: response.completed, then response.failed.",
            "Event 7 is no JSON object: '{broken'",
            "Event 8 is no JSON object: 'not UTF-8'",
            "Unknown event type: response.new_thing",
        ]
        assert answer.counts["comment"] == 1
        assert answer.counts["[DONE]"] == 1
        assert answer.counts["no type"] == 1

    def test_a_chat_stream(self) -> None:
        def chunk(finish: Any = None, **delta: Any) -> Any:
            return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}

        function = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{"}}
        custom = {"index": 1, "id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}
        body = frames(
            [
                chunk(role="assistant"),
                chunk(reasoning_content="h"),
                chunk(reasoning_content="m", content="a"),
                chunk(tool_calls=[function]),
                chunk(tool_calls=[{"index": 0, "function": {"arguments": "}"}}]),
                chunk(tool_calls=[custom], extra={"a": 1}),
                chunk(tool_calls=[{"index": 1, "custom": {"input": "y"}}]),
                chunk("tool_calls"),
                {"id": "c", "choices": [], "usage": {"prompt_tokens": 1}},
            ],
            named=False,
        )
        answer = merged(body + b"data: [DONE]\n\n")
        assert answer.items == [
            {
                "role": "assistant",
                "extra": {"a": 1},
                "reasoning_content": "hm",
                "content": "a",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "xy"}},
                ],
            }
        ]
        assert (answer.end, answer.usage, answer.problems) == ("tool_calls", {"prompt_tokens": 1}, [])
        assert answer.counts == {"chat chunk": 9, "[DONE]": 1}
        assert first_output(body) == len(frames([chunk(role="assistant"), chunk(reasoning_content="h")], named=False))

    def test_a_chat_stream_that_broke_off(self) -> None:
        answer = merged(frames([{"choices": [{"delta": {"content": "a"}}]}], named=False))
        assert answer.problems == ["It has no finish_reason: it broke off."]

    def test_a_stream_that_says_nothing(self) -> None:
        assert first_output(frames([{"type": "response.created", "response": {}}])) is None


class TestTranscript:
    def test_every_kind_of_item(self) -> None:
        items: list[Any] = [
            {
                "type": "additional_tools",
                "tools": [{"type": "namespace", "name": "n", "tools": [{}, {}]}, {"type": "x"}],
            },
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "a"}, {"type": "input_image"}],
            },
            {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"},
            {"type": "tool_search_call", "call_id": "s", "arguments": {"query": "x"}},
            {"type": "tool_search_output", "call_id": "s", "tools": [{"type": "function", "name": "f"}]},
            {"type": "custom_tool_call", "id": "only-id", "namespace": "n", "name": "g", "input": "p"},
            {"type": "function_call_output", "call_id": "gone", "output": "o"},
            {"type": "compaction", "encrypted_content": "abc"},
            {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            {"odd": 1},
        ]
        assert [line[6:] for line in transcript(items)] == [
            "carrier of 3 tools in n, x",
            "user: a [input_image]",
            "reasoning: (encrypted, 5 characters)",
            'tool_search call s: {"query":"x"}',
            "output of 4:  of 1 tools in f",
            "! without an output: custom call n.g only-id: p",
            "! output without a call gone: o",
            "compaction: (encrypted, 3 characters)",
            "assistant: no",
            "item without a type: ",
        ]
        assert call_counts(items) == {"tool_search": 1, "custom": 1}

    def test_the_calls_of_an_answer_wait_for_their_outputs(self) -> None:
        assert list(transcript([{"type": "function_call", "name": "f", "call_id": "c"}], 7, is_answer=True)) == [
            "   7  function call f c: "
        ]


USER: Any = {"type": "message", "role": "user", "content": "x"}
CALL: Any = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
OUTPUT: Any = {"type": "function_call_output", "call_id": "c", "output": "o"}


class TestTurn:
    def test_turns_are_counted_by_what_the_model_said(self) -> None:
        assert turn_number([USER]) == 1
        assert turn_number([USER, CALL, CALL, OUTPUT, OUTPUT, CALL, OUTPUT]) == 3

    def test_what_is_new_since_the_request_before(self) -> None:
        items, how = new_items({"input": [USER, CALL, OUTPUT]}, {"input": [{**USER, "id": "x"}]})
        assert items == [CALL, OUTPUT]
        assert how == "1 items as in the previous request of the thread"

    def test_what_is_new_as_far_as_one_request_tells(self) -> None:
        assert new_items({"input": [USER, CALL, OUTPUT]}, None)[0] == [OUTPUT]
        assert new_items({"input": [USER]}, None)[0] == [USER]

    def test_a_request_that_repeats_the_one_before(self) -> None:
        lines = list(turn_lines(bodies_of(plain({"input": [USER]})), {"input": [{**USER, "id": "x"}]}))
        assert lines[1].endswith("; it repeats the previous request of the thread")
        assert lines[2] == "new: []"

    def test_the_first_request(self) -> None:
        (_, how) = new_items({"input": [USER]}, None)
        assert how == "its first request"

    def test_the_request_before_is_found_among_the_flows(self) -> None:
        first, second, other = (plain({**ASK, "input": [USER] * count}) for count in (1, 2, 3))
        other.request.content = json.dumps({**ASK, "client_metadata": {"thread_id": "t-2", "of": "t-1"}}).encode()
        for when, flow in enumerate((first, other, second)):
            flow.request.timestamp_start = when
        with taddons.context(View()) as context:
            assert console.previous(second) is None
            context.master.addons.get("view").add([first, other, second, tdnsflow()])
            assert console.previous(second) == {**ASK, "input": [USER]}
            assert console.previous(first) is None
            nameless = plain({"input": "hi"})
            assert console.previous(nameless) is None


class TestDifference:
    @pytest.mark.parametrize(
        ("old", "new", "found"),
        [
            ({"a": 1}, {"a": 1}, []),
            ({"a": 1, "b": 2}, {"b": 3, "c": 4}, [("a", 1, MISSING), ("b", 2, 3), ("c", MISSING, 4)]),
            ([1, 2, 3], [2, 3], [("[0]", 1, MISSING)]),
            ([1, 2], [1, 9, 2, 8], [("[1]", MISSING, 9), ("[3]", MISSING, 8)]),
            ([{"a": 1}, 2], [{"a": 3}, 2], [("[0].a", 1, 3)]),
            (1, True, [("(whole)", 1, True)]),
        ],
    )
    def test_changes(self, old: Any, new: Any, found: list[Any]) -> None:
        assert list(changes(old, new)) == [Change(*each) for each in found]

    def test_long_lists_are_compared_place_by_place(self) -> None:
        assert len(list(changes([1] * 2000, [1] * 1999))) == 1

    def test_lines(self) -> None:
        old: Any = {"a": "x", "same": 1, "input": [CALL, USER], "b": {"c": 1}, "n": 1}
        new: Any = {"a": "y", "same": 1, "input": [USER], "text": "a\nb", "n": 2}
        assert list(change_lines(old, new)) == [
            '~ a: "x" → "y"',
            "- input[0]:",
            '-   type: "function_call"',
            '-   call_id: "c"',
            '-   name: "f"',
            '-   arguments: "{}"',
            "- b:",
            "-   c: 1",
            "- n: 1",
            "+ n: 2",
            "+ text: |",
            "+   a",
            "+   b",
            "= unchanged: same; 1 of 2 items",
        ]

    def test_much_is_cut(self) -> None:
        assert len(list(changes([{"a": 1}] * 300, [{"b": 1}] * 299))) == 599
        (*_, more, last) = change_lines({"x": list(range(MOST + 9))}, {"x": list(range(1, MOST + 10))})
        assert more == "… 9 more changes"
        assert last == "= unchanged: no field"
        assert len(list(change_lines({"x": list(range(99))}, {}))) == 42


class TestConsole:
    def test_colours_by_the_first_sign(self) -> None:
        assert list(coloured(["! a", "plain", ""])) == ["\x1b[33m! a\x1b[0m", "plain", ""]

    @pytest.mark.parametrize(
        ("verbosity", "parts"),
        [("line", []), ("ledger", ["request   lowered"]), ("diff", ["request   lowered", "~ tools[0].type"])],
    )
    def test_what_is_logged(self, verbosity: str, parts: list[str]) -> None:
        flow = recorded({**ASK, "input": [USER]}, b'{"object":"response","output":[]}')
        with taddons.context():
            text = "\n".join(console.details(flow, Verbosity(verbosity)))
        assert [part for part in ("request   lowered", "~ tools[0].type") if part in text] == parts


def test_paths_that_were_not_all_kept_are_marked() -> None:
    ledger = Ledger()
    for number in range(30):
        ledger.add(Rule.LOWERED, "x", f"tools[{number}]")
    (line,) = ledger_lines(Bodies(stored={"ledger": ledger.data()}))
    assert line == "request   lowered     30 × x  at tools[0], tools[1], tools[2], tools[3], …"


def test_a_comment_and_a_marker_of_a_person_stay() -> None:
    flow, ledger = recorded(ASK, b"{}"), Ledger()
    flows.annotate(flow, ledger)
    assert (flow.comment, flow.marked) == ("bridge: nothing to lower → nothing to lift", "")
    ledger.add(Rule.GRAMMAR, "exec", warning="never enforced")
    flows.annotate(flow, ledger)
    assert flow.marked == ""
    ledger.add(Rule.FAILED, "HTTP 500")
    flows.annotate(flow, ledger)
    assert (flow.comment, flow.marked) == (
        "bridge: grammar 1 (exec), failed 1 (HTTP 500) → nothing to lift, 1 warning",
        ":warning:",
    )
    again = copy.deepcopy(flow)
    again.comment, again.marked = "mine", ":grapes:"
    flows.annotate(again, Ledger())
    flows.mark_refused(again, 400, "tools")
    assert (again.comment, again.marked) == ("mine", ":grapes:")


def test_summary_lines_of_an_answer_with_no_usage() -> None:
    flow = plain(ASK, b'{"object":"response","status":"completed","output":[]}')
    assert not [line for line in summary_lines(flow, bodies_of(flow)) if line.startswith("usage")]


def test_a_version_that_is_not_here_is_not_compared() -> None:
    missing = ["# One of the two versions is not here."]
    assert list(difference_lines(Bodies(asked=b"{}"), response=False)) == missing
    assert list(difference_lines(Bodies(heard=b"{}"), response=True)) == missing


def test_a_request_without_tools_whose_client_s_side_was_not_kept() -> None:
    assert list(tool_lines(Bodies(sent=b"{}"))) == ["No tools are declared."]


def test_an_exchange_is_not_needed_to_show_a_flow() -> None:
    flow = recorded(ASK, b"{}")
    exchange = Exchange.open(json.dumps(ASK).encode(), Settings())
    assert bodies_of(flow, exchange).said == bodies_of(flow).said
    assert list(difference_lines(bodies_of(flow), response=True))
