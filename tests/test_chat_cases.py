"""Faults that users of chat backends reported, and what the client must get instead; each is named by its report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.blob import unseal
from bridge.carried import Carried
from bridge.jsonvalue import JSON
from tests.support.chat_wire import (
    LAST,
    USAGE,
    called,
    calls_of,
    chat,
    chunk,
    entry,
    judge,
    message,
    streamed,
    text_of,
    whole,
    wire,
)
from tests.support.sse_tools import Event, end_of, finished, function, of, parse, relayed, request, warnings

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n"
RUN = function("run")
LONG = "mcp__0a1b2c3d_0000_4000_8000_0123456789ab__"
SETTING = "change_the_protection_settings_of_a_project_deployment"
SEARCH: Event = {"type": "tool_search", "execution": "client", "description": "Finds tools."}
DONE = chunk("tool_calls")


def custom(name: str) -> Event:
    """A custom tool."""
    return {"type": "custom", "name": name, "format": {"type": "text"}}


def group(name: str, *tools: Event) -> Event:
    """A namespace."""
    return {"type": "namespace", "name": name, "description": "", "tools": list(tools)}


def carrier(*tools: Event) -> Event:
    """An item that carries tools."""
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


def asked(*tools: Event, items: Any = (), **fields: Any) -> Event:
    """A request with tools, and items before the user's message."""
    user = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}
    return request(tools=list(tools), input=[*items, user], **fields)


def starts(name: str, arguments: Any = "", identity: Any = "call_1", index: int = 0, **more: Any) -> Event:
    """A chunk that begins a call."""
    return called(entry(arguments, index=index, id=identity, name=name, type="function", **more))


def goes_on(arguments: Any, **fields: Any) -> Event:
    """A chunk that goes on with it."""
    return called(entry(arguments, **{"index": 0, **fields}))


def flat_names(body: Event) -> list[str]:
    """The names under which the backend is offered the tools."""
    return [tool["function"]["name"] for tool in json.loads(chat(body).request)["tools"]]


def got(body: Event, *chunks: Event | str, done: bool = True, **options: Any) -> list[Event]:
    """The client's events."""
    return streamed(*chunks, opened=chat(body, **options), done=done)


def short(item: Event) -> tuple[Any, ...]:
    """(type, namespace, name, text) of an item."""
    if item["type"] in ("message", "reasoning"):
        return item["type"], None, None, item["content"][0]["text"]
    return item["type"], item.get("namespace"), item.get("name"), item.get("arguments", item.get("input"))


def of_call(name: str, text: Any, kind: str = "function_call", namespace: str | None = None) -> tuple[Any, ...]:
    """The short form of a call."""
    return kind, namespace, name, text


def of_custom(name: str, text: str) -> tuple[Any, ...]:
    """The short form of a custom call."""
    return of_call(name, text, "custom_tool_call")


EXEC = carrier(group("functions", custom("exec"), function("wait")))
FLAT_LEAF = '{"q":"x"}'
SCRIPT = 'const r = await tools.run({c: "date"});\ntext(r.output);'
FOUND: list[Event] = [
    {"type": "tool_search_call", "call_id": "c1", "execution": "client", "status": "completed", "arguments": {}},
    {
        "type": "tool_search_output",
        "call_id": "c1",
        "execution": "client",
        "status": "completed",
        "tools": [group("mcp__cal__", function("add")), {"type": "function", "name": "ping", "parameters": None}],
    },
]
ALLOWED = {
    "type": "allowed_tools",
    "mode": "required",
    "tools": [{"type": "function", "name": "plan"}, {"type": "custom", "name": "apply_patch"}],
}
ONE_CALL = [of_call("run", '{"c":"date"}')]

CASES: dict[str, tuple[Event, list[Event | str], list[tuple[Any, ...]]]] = {
    "B005-custom-in-functions": (
        asked(items=[EXEC]),
        [starts("exec"), goes_on(json.dumps({"input": SCRIPT})), DONE, LAST],
        [of_custom("exec", SCRIPT)],
    ),
    "B009-name-emptied-later": (
        asked(RUN),
        [starts("run"), goes_on('{"c":', id="", name=""), goes_on('"date"}', id=None, name=None), DONE],
        ONE_CALL,
    ),
    "B021-no-finish-reason": (
        asked(RUN),
        [chunk(content="Hello "), chunk(content="there")],
        [("message", None, None, "Hello there")],
    ),
    "B035-name-in-every-chunk": (
        asked(RUN),
        [starts("run"), starts("run", '{"c":'), starts("run", '"date"}'), DONE],
        ONE_CALL,
    ),
    "B037-flushed-again": (
        asked(custom("apply_patch")),
        [starts("apply_patch"), *[goes_on(json.dumps({"input": PATCH}))] * 2, DONE],
        [of_custom("apply_patch", PATCH)],
    ),
    "B038-one-index": (
        asked(RUN),
        [starts("run", '{"c":"date"}'), starts("run", '{"c":"ls"}', "call_2"), DONE],
        [*ONE_CALL, of_call("run", '{"c":"ls"}')],
    ),
    "B044-control-characters": (
        asked(custom("apply_patch")),
        [starts("apply_patch"), goes_on(f'{{"input":"{PATCH}"}}'), DONE],
        [of_custom("apply_patch", PATCH)],
    ),
    "B050-name-with-its-namespace": (
        asked(items=[carrier(group("functions", custom("exec")))]),
        [starts("functions.exec", '{"input": "text(1)"}'), DONE],
        [of_custom("exec", "text(1)")],
    ),
    "B066-id-in-every-chunk": (
        asked(RUN),
        [starts("run", '{"c"'), goes_on(':"date"}', id="call_1"), DONE],
        ONE_CALL,
    ),
    "B067-nameless-second-entry": (
        asked(RUN),
        [starts("run"), goes_on('{"c":"date"}', index=1, id=None, name=None, type=None), DONE],
        ONE_CALL,
    ),
    "B070-finish-stop": (asked(RUN), [starts("run", '{"c":"date"}'), chunk("stop"), LAST], ONE_CALL),
    "B071-split-surrogates": (
        asked(custom("exec")),
        [
            starts("exec", '{"inp'),
            goes_on('ut": "t(\\"\\ud8'),
            goes_on("3d\\ude"),
            goes_on("00 \\u00e9 \\/ \\"),
            goes_on('n\\")"}'),
            DONE,
        ],
        [of_custom("exec", 't("😀 é / \n")')],
    ),
    "B072-odd-frames": (
        asked(RUN),
        [
            ": ping\r\n\r\n",
            'event: chunk\r\nid: 7\r\ndata:{"choices": [{"index": 0, "delta": {"content": "a"}}]}\r\n\r\n',
            'data: {"choices":\ndata: [{"index": 0, "delta": {"content": "b"}}]}\n\n',
            'data:{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n',
        ],
        [("message", None, None, "ab")],
    ),
    "B075-allowed-tools": (
        asked(RUN, custom("apply_patch"), function("plan"), tool_choice=ALLOWED),
        [starts("plan"), goes_on('{"n":"x"}'), DONE],
        [of_call("plan", '{"n":"x"}')],
    ),
    "B079-call-of-nobodys-tool": (
        asked(items=[carrier(group("functions", custom("exec")))]),
        [starts("run"), goes_on('{"c":"date"}'), DONE],
        ONE_CALL,
    ),
    "B087-namespace-declared-twice": (
        asked(
            RUN, group("app", function("a")), items=[carrier(group("app", function("a")), group("app", function("b")))]
        ),
        [chunk(content=""), chunk(content="ok"), chunk("stop")],
        [("message", None, None, "ok")],
    ),
    "B095-parallel-though-refused": (
        asked(RUN, parallel_tool_calls=False),
        [
            called(
                entry('{"c":"a"}', index=0, id="call_1", name="run"),
                entry('{"c":"b"}', index=1, id="call_2", name="run"),
            ),
            DONE,
        ],
        [of_call("run", '{"c":"a"}'), of_call("run", '{"c":"b"}')],
    ),
}


@pytest.mark.parametrize(("body", "chunks", "expected"), CASES.values(), ids=CASES)
def test_a_reported_stream_gives_the_right_items(
    body: Event, chunks: list[Event | str], expected: list[tuple[Any, ...]]
) -> None:
    events = got(body, *chunks)
    assert [short(item) for item in finished(events)] == expected
    assert end_of(events)["type"] == "response.completed"


NAMES: dict[str, tuple[Event, str, str, int]] = {
    "B006-mcp": (asked(RUN, group("mcp__docs__", function("lookup"))), "mcp__docs__", "lookup", 1),
    "B034-over-64": (asked(group(LONG, function(f"{SETTING}_1"), function(f"{SETTING}_2"))), LONG, f"{SETTING}_2", 1),
    "B049-found-by-search": (asked(RUN, SEARCH, items=FOUND), "mcp__cal__", "add", 2),
    "B064-illegal-characters": (
        asked(group("mcp__lab.docs__", function("read:page"), function("read.page"))),
        "mcp__lab.docs__",
        "read.page",
        1,
    ),
    "B098-reserved": (asked(group("web", function("run")), custom("python")), "web", "run", 0),
}


@pytest.mark.parametrize(("body", "namespace", "name", "place"), NAMES.values(), ids=NAMES)
def test_a_flat_name_comes_back_as_it_was_declared(body: Event, namespace: str, name: str, place: int) -> None:
    flat = flat_names(body)[place]
    events = got(body, starts(flat, FLAT_LEAF), DONE)
    for event in [*of(events, "output_item.added"), *of(events, "output_item.done")]:
        assert (event["item"]["namespace"], event["item"]["name"]) == (namespace, name)
    assert flat == name or f'"{flat}"' not in json.dumps(events)


def test_b009_the_terminal_event_repeats_the_call() -> None:
    events = got(asked(RUN), starts("run"), goes_on('{"c":1}', name=""), DONE)
    assert end_of(events)["response"]["output"] == finished(events)
    assert calls_of(finished(events)) == [("call_1", "run", '{"c":1}')]


def test_b011_usage_by_chat_names_is_completed() -> None:
    body = {"prompt_tokens": 11, "completion_tokens": 2}
    usage = end_of(got(asked(RUN), chunk(content="hi"), chunk("stop", body)))["response"]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (11, 2, 13)
    assert "prompt_tokens" not in usage


def test_b014_silence_is_broken_by_events_that_a_timer_counts() -> None:
    opened = chat(asked(RUN))
    left = [*opened.tick(), *opened.tick(), *opened.feed(b": ping\n\n" + wire(chunk(content="ok"), chunk("stop")))]
    events = parse(b"".join([*left, *opened.tick(), *opened.close()]))
    judge(events)
    assert [event["type"] for event in events][:3] == [
        "response.created",
        "response.in_progress",
        "response.in_progress",
    ]


@pytest.mark.parametrize("finish", ["tool_calls", "length"])
def test_b023_a_truncated_call_is_not_run(finish: str) -> None:
    events = got(asked(custom("exec")), starts("exec", '{"input":"await run(1);\\nawait ru'), chunk(finish), LAST)
    response = end_of(events)["response"]
    assert (finished(events), response["output"]) == ([], [])
    assert response["status"] in ("failed", "incomplete")
    assert response.get("error") or response["incomplete_details"]["reason"] == "max_output_tokens"


@pytest.mark.parametrize("before", [[], [chunk(content="Hel")]], ids=["first", "amid"])
def test_b024_an_error_in_a_good_stream_keeps_code_and_words(before: list[Event]) -> None:
    error = {"message": "rate limited, try again in 2s", "code": "rate_limit_exceeded"}
    events = got(asked(RUN), *before, {"error": error})
    assert (end_of(events)["type"], end_of(events)["response"]["error"]) == ("response.failed", error)
    assert text_of(finished(events)) == []


COMPACTION: Event = {"type": "compaction_trigger"}


def test_b026_a_compaction_trigger_yields_one_compaction_item() -> None:
    body = {**asked(RUN), "input": [*asked(RUN)["input"], COMPACTION]}
    events = got(body, chunk(reasoning_content="hm"), chunk(content="Did "), chunk(content="it."), chunk("stop"), LAST)
    (item,) = finished(events)
    assert (item["type"], "Did it." in (unseal(item["encrypted_content"]) or "")) == ("compaction", True)
    assert end_of(events)["response"]["output"] == [item]
    assert end_of(events)["type"] == "response.completed"


def test_b041_arguments_that_are_an_object() -> None:
    calls = [
        entry({"c": "date"}, id="call_1", name="run", type="function"),
        entry({"input": PATCH}, id="call_2", name="apply_patch", type="function"),
    ]
    opened = chat(asked(RUN, custom("apply_patch"), stream=False), mode="application/json")
    items = whole(message("tool_calls", content=None, tool_calls=calls), opened)["output"]
    assert [short(item) for item in items] == [*ONE_CALL, of_custom("apply_patch", PATCH)]


def test_b045_characters_split_between_chunks_stay_whole() -> None:
    data = wire(chunk(content="北京"), chunk("stop"), ascii_only=False)
    middle = data.index("北".encode()) + 2
    assert text_of(finished(parse(relayed(data, chat(asked(RUN)), cuts=[middle])))) == ["北京"]


def test_b048_a_search_is_lifted_with_object_arguments() -> None:
    (item,) = finished(got(asked(RUN, SEARCH), starts("tool_search"), goes_on('{"query":"q","limit":3}'), DONE))
    assert {key: value for key, value in item.items() if key != "id"} == {
        "type": "tool_search_call",
        "status": "completed",
        "execution": "client",
        "call_id": "call_1",
        "arguments": {"query": "q", "limit": 3},
    }


def test_b059_mirrored_reasoning_and_think_tags_count_once() -> None:
    chunks = [
        chunk(content="<thi", reasoning="Plan", reasoning_content="Plan"),
        chunk(content="nk>Plan A</th", reasoning=" A", reasoning_content=" A"),
        chunk(content="ink>So 1 < 2"),
        chunk("stop"),
    ]
    assert [short(item)[3] for item in finished(got(asked(RUN), *chunks, think_tags=True))] == ["Plan A", "So 1 < 2"]


def test_b069_a_finish_reason_beside_the_last_piece() -> None:
    last = entry('"date"}', index=0, id="call_1", name="run")
    events = got(asked(RUN), starts("run", '{"c":'), {**called(last, finish="tool_calls"), "usage": USAGE})
    usage = end_of(events)["response"]["usage"]
    assert [short(item) for item in finished(events)] == ONE_CALL
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (20, 5, 25)


def test_b071_every_delta_is_text_that_utf8_can_carry() -> None:
    body, chunks, _ = CASES["B071-split-surrogates"]
    deltas = [event["delta"] for event in of(got(body, *chunks), "custom_tool_call_input.delta")]
    assert "".join(deltas).encode() == "".join(delta.encode().decode() for delta in deltas).encode()


def test_b073_the_done_marker_is_not_needed() -> None:
    response = end_of(got(asked(RUN), chunk(content="hi"), chunk("stop"), LAST, done=False))["response"]
    assert (response["status"], response["usage"]["total_tokens"], response.get("error")) == ("completed", 25, None)


def test_b075_the_echo_is_the_clients_own() -> None:
    body, chunks, _ = CASES["B075-allowed-tools"]
    response = end_of(got(body, *chunks))["response"]
    assert response["tool_choice"] == ALLOWED


def test_b079_a_call_of_nobodys_tool_is_named() -> None:
    body, chunks, _ = CASES["B079-call-of-nobodys-tool"]
    opened = chat(body)
    streamed(*chunks, opened=opened)
    assert [what for what, _ in warnings(opened, "unknown")] == ["run"]


def test_b081_one_layer_comes_off_a_payload_that_looks_wrapped() -> None:
    payload = '{"input": "x"}'
    calls = [entry(json.dumps({"input": payload}), id="call_1", name="send", type="function")]
    opened = chat(asked(custom("send"), stream=False), mode="application/json")
    assert [short(item) for item in whole(message("tool_calls", tool_calls=calls), opened)["output"]] == [
        of_custom("send", payload)
    ]


def test_b086_a_signature_is_carried_in_a_blob_and_nowhere_else() -> None:
    signed: dict[str, JSON] = {"google": {"thought_signature": "c2ln"}}
    call, carried = finished(got(asked(RUN), starts("run", "{}", extra_content=signed), DONE))
    assert "extra_content" not in call
    assert Carried.unpack(carried["encrypted_content"]) == Carried(extras={"call_1": signed})


def test_b086_a_carried_signature_goes_back_with_its_call() -> None:
    signed: dict[str, JSON] = {"google": {"thought_signature": "c2ln"}}
    items = finished(got(asked(RUN), starts("run", "{}", extra_content=signed), DONE))
    output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    sent = json.loads(chat(asked(RUN, items=[*items, output])).request)
    calls = [call for each in sent["messages"] for call in each.get("tool_calls", [])]
    assert [call["extra_content"] for call in calls] == [signed]


def test_b088_ids_have_their_prefix_and_a_long_call_id_is_shortened_the_same_way_always() -> None:
    identity = "mcp__a_server_with_a_long_name__tool-123e4567-e89b-12d3-a456-426614174000"
    chunks = [starts("apply_patch", json.dumps({"input": PATCH}), identity), DONE]
    first, again = (finished(got(asked(custom("apply_patch")), *chunks))[0] for _ in range(2))
    assert first == again
    assert (first["id"].startswith("ctc_"), 0 < len(first["call_id"]) <= 64) == (True, True)
