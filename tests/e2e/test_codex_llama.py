"""The real Codex in front of the bridge, the real llama.cpp behind it: what the model itself calls, Codex does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.codex import Codex, Ran, Setup
from tests.e2e.llama import Served
from tests.e2e.places import codex_binary

pytestmark = [pytest.mark.codex, pytest.mark.llama]

PATCH = '*** Begin Patch\n*** Add File: written.txt\n+one "two"\n+\tthree\\four\n*** End Patch'
SCRIPT = "const r = await tools.exec_command({cmd: \"printf 'one two' > written.txt\"}); text(r.output);"


def run(real: Served, version: str, wire: str, folder: Path, setup: Setup) -> Ran:
    """A session with the model of the server."""
    binary = codex_binary(version)
    assert binary
    return Codex(binary, real.bridges[wire].port, folder, setup).run()


def test_a_patch_of_the_model_writes_a_file(real: Served, version: str, wire: str, tmp_path: Path) -> None:
    ran = run(real, version, wire, tmp_path, Setup("gpt-5.5", prompt=f"ECHO apply_patch\n{PATCH}"))
    assert (ran.code, ran.complaints) == (0, ""), ran.stderr
    assert ran.text("written.txt") == 'one "two"\n\tthree\\four\n'
    assert (ran.changes, ran.messages) == (["written.txt"], ["Done."])


def test_a_script_of_the_model_writes_a_file(real: Served, version: str, wire: str, tmp_path: Path) -> None:
    ran = run(real, version, wire, tmp_path, Setup("gpt-5.6-sol", prompt=f"ECHO exec\n{SCRIPT}"))
    assert (ran.code, ran.complaints) == (0, ""), ran.stderr
    assert ran.text("written.txt") == "one two"
    assert ran.messages == ["Done."]
