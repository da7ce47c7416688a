"""The whole thing as a user runs it: the mitmdump command, the OpenAI SDK as client, a strict scripted backend."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.support.backend import Asked, Backend, Reply, backend, stream, whole
from tests.support.process import Dump, mitmdump
from tests.support.proxy import ADDON
from tests.support.strict import refusal

PATCH = '*** Begin Patch\n*** Add File: a.txt\n+grüße \\ "x"\r\n*** End Patch\n'
TOOLS: list[Any] = [
    {"type": "custom", "name": "apply_patch", "description": "Edit files.", "format": {"type": "text"}},
    {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False},
]
CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "apply_patch",
    "arguments": json.dumps({"input": PATCH}),
    "status": "completed",
}


def numbered(*events: dict[str, Any]) -> Reply:
    """Events with their sequence numbers."""
    return stream(*({**event, "sequence_number": number} for number, event in enumerate(events)))


def model(asked: Asked) -> Reply:
    """A function-only backend: 400 for anything else, one call of apply_patch for the rest."""
    if reason := refusal(asked.body):
        return whole({"error": {"message": reason, "type": "invalid_request_error", "param": None, "code": None}}, 400)
    begun: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "model": asked.body["model"],
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": asked.body["tools"],
    }
    done = {**begun, "status": "completed", "output": [CALL]}
    if not asked.body.get("stream"):
        return whole(done)
    where = {"item_id": "fc_1", "output_index": 0}
    halves = CALL["arguments"][:20], CALL["arguments"][20:]
    delta = {"type": "response.function_call_arguments.delta", **where}
    return numbered(
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "arguments": ""}},
        *({**delta, "delta": half} for half in halves),
        {"type": "response.function_call_arguments.done", **where, "arguments": CALL["arguments"]},
        {"type": "response.output_item.done", "output_index": 0, "item": CALL},
        {"type": "response.completed", "response": done},
    )


@pytest.fixture(name="both", scope="module")
def _both() -> Iterator[tuple[Backend, Dump]]:
    with backend(model) as running, mitmdump(running.url) as dump:
        yield running, dump


def test_the_sdk_gets_a_whole_custom_call(both: tuple[Backend, Dump]) -> None:
    _, dump = both
    response = dump.client().responses.create(model="m", input="Go.", tools=TOOLS)
    (item,) = response.output
    assert item.type == "custom_tool_call"
    assert item.input == PATCH
    assert [tool.type for tool in response.tools] == ["custom", "function"]


def test_the_sdk_streams_a_custom_call(both: tuple[Backend, Dump]) -> None:
    _, dump = both
    events = list(dump.client().responses.create(model="m", input="Go.", tools=TOOLS, stream=True))
    deltas = [event.delta for event in events if event.type == "response.custom_tool_call_input.delta"]
    assert "".join(deltas) == PATCH
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_the_sdk_accumulates_a_stream(both: tuple[Backend, Dump]) -> None:
    _, dump = both
    with dump.client().responses.stream(model="m", input="Go.", tools=TOOLS) as running:
        (item,) = running.get_final_response().output
    assert item.type == "custom_tool_call"
    assert item.input == PATCH


def test_a_refusal_of_the_bridge_is_an_error_of_the_sdk(both: tuple[Backend, Dump]) -> None:
    _, dump = both
    twice: Any = [*TOOLS, {"type": "function", "name": "apply_patch", "parameters": None, "strict": False}]
    with pytest.raises(openai.BadRequestError, match=r"tools\[2\]"):
        dump.client().responses.create(model="m", input="Go.", tools=twice)


def test_the_second_turn_is_taken_by_the_backend(both: tuple[Backend, Dump]) -> None:
    running, dump = both
    history: Any = [
        {"type": "message", "role": "user", "content": "Go."},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "apply_patch", "input": PATCH},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done."},
    ]
    dump.client().responses.create(model="m", input=history, tools=TOOLS)
    assert json.loads(running.asked[-1].body["input"][1]["arguments"]) == {"input": PATCH}


def test_one_line_a_request_is_printed_and_no_key(both: tuple[Backend, Dump]) -> None:
    _, dump = both
    dump.client().responses.create(model="m", input="Go.", tools=TOOLS)
    printed = "".join(dump.printed)
    assert "bridge: lowered 1 (apply_patch) → lifted 1 (apply_patch)" in printed
    assert "sk-test" not in printed


def test_a_list_option_takes_several_entries() -> None:
    settings = ("--set", "bridge_body=max_output_tokens=9", "--set", 'bridge_body=user:="u"')
    with backend(model) as running, mitmdump(running.url, *settings) as dump:
        dump.client().responses.create(model="m", input="Go.", tools=TOOLS)
    assert (running.asked[0].body["max_output_tokens"], running.asked[0].body["user"]) == (9, "u")


def test_a_wrong_setting_ends_the_command() -> None:
    command = [str(Path(sys.executable).parent / "mitmdump"), "-n", "-s", str(ADDON), "--set", "bridge_images=blue"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, env={**os.environ}, check=False)
    assert ended.returncode != 0
    assert "bridge_images" in ended.stdout + ended.stderr
