"""The harness itself, without the programs that it drives: its wires speak as the bridge understands them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.e2e.places import ROOT
from tests.e2e.scripts import NASTY
from tests.e2e.turns import calls, function, script
from tests.e2e.wire import WIRES
from tests.support.sse_tools import STREAM_TYPE, end_of, finished, parse, request

TURN = calls(script(NASTY), function("team__spawn", a=1), message=NASTY, reasoning=NASTY)
NEEDS = "import pytest\n@pytest.mark.codex\ndef test_it() -> None: ...\n"


@pytest.mark.parametrize("name", WIRES)
def test_a_turn_reaches_the_client_as_it_was_written(name: str) -> None:
    wire = WIRES[name]
    backend = {"backend": name} if name == "chat" else {}
    opened = Exchange.open(json.dumps(request()).encode(), Settings.model_validate(backend))
    opened.begin(200, STREAM_TYPE)
    pieces = [piece for piece in wire.answer(TURN, 3).pieces if isinstance(piece, bytes)]
    events = parse(b"".join([left for piece in pieces for left in opened.feed(piece)] + opened.close()))
    reasoning, message, first, second = finished(events)
    assert end_of(events)["type"] == "response.completed"
    assert reasoning["content"][0]["text"] == NASTY
    assert message["content"][0]["text"] == NASTY
    assert (first["type"], first["name"], first["input"]) == ("custom_tool_call", "exec", NASTY)
    assert (second["namespace"], second["name"], json.loads(second["arguments"])) == ("team", "spawn", {"a": 1})


def test_a_skip_is_a_failure_where_the_tests_are_required(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(NEEDS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.e2e.conftest", "-c", str(ROOT / "pyproject.toml")]
    absent = {"BRIDGE_E2E": "required", "BRIDGE_E2E_DIR": str(tmp_path / "none"), "BRIDGE_E2E_TABLE": ""}
    ended = subprocess.run(
        [*command, f"--rootdir={tmp_path}", "-m", "codex", "-p", "no:cacheprovider", str(tmp_path / "test_it.py")],
        cwd=ROOT,
        env={**os.environ, **absent},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert "1 error" in ended.stdout
    assert "python -m tests.e2e.install codex" in ended.stdout
