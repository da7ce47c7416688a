"""Whole sessions of the real Codex CLI through the bridge, in front of a backend that takes function tools only."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.e2e import mcp_server
from tests.e2e.codex import Codex, Setup
from tests.e2e.model import Step
from tests.e2e.places import NEWEST
from tests.e2e.scripts import (
    AGENTS,
    CODE_MODE,
    FILES,
    FUNCTIONS,
    MCP_FUNCTIONS,
    NASTY,
    PARALLEL,
    THOUGHT,
    TOOL_SEARCH,
    adds,
    in_script,
)
from tests.e2e.stage import Played, Stage
from tests.e2e.turns import MANY_TOKENS, Heard, Turn, calls, custom, says, script, shell

pytestmark = pytest.mark.codex
LITE = "gpt-5.6-sol"
"""A model that gets code mode, its tools in a carrier."""
UNKNOWN = "my-local-model"
MCP: Mapping[str, Any] = {
    "mcp_servers.small.command": sys.executable,
    "mcp_servers.small.args": [mcp_server.__file__],
}
COMPACTING = {"model_auto_compact_token_limit": 20_000}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.feature("code mode: shell, patch, image, errors, wait, notify, parallel")
def test_code_mode(stage: Stage) -> None:
    played = stage.play(CODE_MODE, Setup(LITE, files=FILES))
    played.assert_done(len(CODE_MODE))
    played.model.assert_replayed()
    assert played.ran.text("a.txt") == f"{NASTY}\nworld\n"
    assert played.ran.messages == ["Looking around.", "All done."]
    assert played.ran.commands == [("hi\nhello file\n", 0)]
    outputs = played.model.heard[-1].outputs
    found = ["hello file", "", "seen", "boom", "SyntaxError", "early", "late", "a note", "", "", "one", "two", "999"]
    assert [word for word, output in zip(found, outputs, strict=False) if word not in output] == []
    assert THOUGHT in played.model.heard[-1].text
    assert outputs[-1].count(NASTY.replace("`", "")) == 2


@pytest.mark.feature("function tools and apply_patch")
def test_function_tools_and_apply_patch(stage: Stage) -> None:
    played = stage.play(FUNCTIONS, Setup(files=FILES))
    played.assert_done(len(FUNCTIONS))
    played.model.assert_replayed()
    assert played.ran.text("hello.txt") == f"{NASTY}\n"
    assert played.ran.text("beside.txt") == "hello\n"
    assert sorted(played.ran.changes) == ["beside.txt", "hello.txt"]
    assert ("two\n", 3) in played.ran.commands
    assert played.ran.messages == ["I will look.", "Done."]


@pytest.mark.feature("parallel calls")
def test_parallel_calls(stage: Stage) -> None:
    played = stage.play(PARALLEL, Setup(files=FILES))
    played.assert_done(len(PARALLEL))
    played.model.assert_replayed()
    assert (played.ran.text("p1.txt"), played.ran.text("p2.txt")) == ("one\n", f"{NASTY}\n")
    first, second = played.model.heard[-1].outputs[:2]
    assert ("A" in first, "B" in second) == (True, True)


@pytest.mark.feature("MCP server, tools in a namespace")
def test_mcp_functions(stage: Stage) -> None:
    played = stage.play(MCP_FUNCTIONS, Setup(UNKNOWN, config=MCP))
    played.assert_done(len(MCP_FUNCTIONS))
    played.model.assert_replayed()
    echoed, _, failed = played.model.heard[-1].outputs
    assert f"echo: {NASTY}" in echoed
    assert "it failed" in failed
    assert [item["tool"] for item in played.ran.items("mcp_tool_call")] == ["echo", "picture", "fail"]


@pytest.mark.feature("tool search")
def test_tool_search(stage: Stage) -> None:
    played = stage.play(TOOL_SEARCH, Setup(config=MCP))
    played.assert_done(len(TOOL_SEARCH))
    played.model.assert_replayed()
    before, after = played.model.heard[0].tools, played.model.heard[1].tools
    assert "mcp__small__echo" in set(after) - set(before)
    assert f"echo: {NASTY}" in played.model.heard[-1].outputs[-1]


@pytest.mark.feature("MCP server, from a script")
def test_mcp_in_code_mode(stage: Stage) -> None:
    steps = calls(script(in_script("mcp__small__echo", {"text": NASTY}, "text(r.content[0].text);"))), says("Done.")
    played = stage.play(steps, Setup(LITE, config=MCP))
    played.assert_done(2)
    played.model.assert_replayed()
    assert f"echo: {NASTY}" in played.model.heard[-1].outputs[0]


def _child(heard: Heard) -> Turn | None:
    """Another agent says hi; Codex names it in a header."""
    told = heard.headers.get("x-codex-turn-metadata", "")
    of_child = "x-openai-subagent" in heard.headers or '"thread_source":"subagent' in told
    return says("The child says hi.") if of_child else None


@pytest.mark.feature("multi-agent")
def test_multi_agent(stage: Stage) -> None:
    played = stage.play(AGENTS, Setup(LITE), aside=_child)
    played.assert_done(len(AGENTS))
    played.model.assert_replayed()
    assert len(played.model.beside) == 1
    assert "Child task: say hi." in played.model.beside[0].text
    assert "The child says hi." in played.model.heard[-1].text


@pytest.mark.feature("resumed session, another tool set")
def test_a_resumed_session_with_another_tool_set(stage: Stage) -> None:
    def house_model(codex: Codex) -> None:
        lite = {"slug": UNKNOWN, "use_responses_lite": True, "supports_search_tool": False}
        path = codex.home / "catalog.json"
        path.write_text(json.dumps({"models": [{**codex.catalog("gpt-5.5"), **lite}]}))
        codex.set(model_catalog_json=str(path))

    more = [part for key, value in MCP.items() for part in ("-c", f"{key}={json.dumps(value)}")]
    steps: tuple[Step, ...] = (
        calls(custom("apply_patch", adds("a.txt", NASTY))),
        says("First done."),
        calls(custom("apply_patch", adds("b.txt", NASTY)), shell("echo more")),
        says("Second done."),
    )
    played = stage.play(steps, Setup(UNKNOWN, resumed_with=tuple(more)), change=house_model)
    played.assert_done(len(steps))
    played.model.assert_replayed()
    assert played.ran.text("a.txt") == played.ran.text("b.txt") == f"{NASTY}\n"
    before, after = played.model.heard[0].tools, played.model.heard[-1].tools
    assert "mcp__small__echo" in set(after) - set(before)
    # Newer versions leave the first carrier and add a second; older ones begin anew with one.
    assert stage.version != NEWEST or after[: len(before)] == before


def _assert_compacted(played: Played, before: str) -> None:
    """The last request stands on the summary, not on what was before."""
    played.assert_done(3)
    assert before in played.model.heard[1].text
    assert "SUMMARY of the work" in played.model.heard[2].text
    assert before not in played.model.heard[2].text
    assert played.ran.messages[-1] == "Done."


SHELL_FIRST = calls(shell("echo first-step"), tokens=MANY_TOKENS)
SCRIPT_FIRST = calls(script('text("first-step");'), tokens=MANY_TOKENS)
SUMMARY = says("SUMMARY of the work", reasoning="What was it?")


@pytest.mark.feature("compaction, custom provider")
@pytest.mark.parametrize(("model", "first"), [("gpt-5.5", SHELL_FIRST), (LITE, SCRIPT_FIRST)])
def test_compaction_with_a_custom_provider(stage: Stage, model: str, first: Turn) -> None:
    played = stage.play((first, SUMMARY, says("Done.")), Setup(model, config=COMPACTING))
    _assert_compacted(played, "first-step")


@pytest.mark.feature("compaction, built-in provider")
def test_compaction_with_the_builtin_provider(stage: Stage) -> None:
    setup = Setup(builtin=True, config=COMPACTING)
    played = stage.play((SHELL_FIRST, SUMMARY, says("Done.")), setup)
    played.assert_told("summary sealed")
    _assert_compacted(played, "first-step")


@pytest.mark.feature("WebSocket-first provider falls back")
def test_a_websocket_falls_back_at_once(stage: Stage) -> None:
    steps = calls(shell("echo once >> log.txt")), says("Done.")
    played = stage.play(steps, Setup(provider={"supports_websockets": True}))
    played.assert_done(2)
    assert played.ran.text("log.txt") == "once\n"
    assert not [asked for asked in played.model.others if "upgrade" in asked.headers]
    played.assert_told("426 Upgrade Required")
    assert played.printed.count("426 Upgrade Required") == 1


@pytest.mark.feature("ChatGPT sign-in, zstd bodies")
def test_a_zstd_body(stage: Stage) -> None:
    steps = calls(custom("apply_patch", adds("a.txt", NASTY))), says("Done.")
    played = stage.play(steps, Setup(builtin=True, signed_in=True))
    played.assert_done(2)
    played.assert_told("decoded 1 (zstd)")
    played.model.assert_replayed()
    assert played.ran.text("a.txt") == f"{NASTY}\n"


@pytest.mark.feature("--output-schema")
def test_an_output_schema(stage: Stage) -> None:
    files = {"schema.json": json.dumps(SCHEMA).encode()}
    played = stage.play((says('{"a": "b"}'),), Setup(files=files, arguments=("--output-schema", "schema.json")))
    played.assert_done(1)
    assert SCHEMA in _values(played.model.heard[0].body)
    assert played.ran.messages == ['{"a": "b"}']


@pytest.mark.feature("image in the prompt")
def test_an_image_prompt(stage: Stage) -> None:
    played = stage.play((says("A red square."),), Setup(files=FILES, arguments=("--image=pixel.png",)))
    played.assert_done(1)
    assert f"data:image/png;base64,{base64.b64encode(FILES['pixel.png']).decode()}" in played.model.heard[0].text
    assert played.ran.messages == ["A red square."]


def _values(value: Any) -> list[Any]:
    """Everything in a body."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(found for entry in inner for found in _values(entry))]
