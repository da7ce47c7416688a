"""A recording in place of the backend, with the real Codex in front: the same session again, and nobody dialled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.codex import Codex, Ran, Setup
from tests.e2e.model import Model, nothing_aside
from tests.e2e.places import codex_binary
from tests.e2e.scripts import CODE_MODE, FILES, FUNCTIONS, NASTY
from tests.e2e.wire import WIRES
from tests.support.backend import backend
from tests.support.process import mitmdump

pytestmark = [pytest.mark.codex, pytest.mark.parametrize("version", ["latest"], indirect=True)]
NOWHERE = "http://127.0.0.1:9"
SESSIONS = {
    "code mode": (CODE_MODE, Setup("gpt-5.6-sol", files=FILES), "a.txt", f"{NASTY}\nworld\n"),
    "function tools": (FUNCTIONS, Setup(files=FILES), "hello.txt", f"{NASTY}\n"),
}


def run(version: str, port: int, folder: Path, setup: Setup) -> Ran:
    """A session in a folder of its own."""
    binary = codex_binary(version)
    assert binary
    folder.mkdir()
    return Codex(binary, port, folder, setup).run()


@pytest.mark.parametrize("name", SESSIONS)
def test_a_recorded_session_runs_again(version: str, wire: str, name: str, tmp_path: Path) -> None:
    steps, setup, file, content = SESSIONS[name]
    spoken, recording = WIRES[wire], tmp_path / "session.mitm"
    with (
        backend(Model(spoken, steps, nothing_aside)) as running,
        mitmdump(running.url, *spoken.settings, "-w", str(recording)) as dump,
    ):
        first = run(version, dump.port, tmp_path / "first", setup)
    with mitmdump(NOWHERE, *spoken.settings, "--set", f"bridge_replay={recording}") as dump:
        again = run(version, dump.port, tmp_path / "again", setup)
    assert (first.code, again.code) == (0, 0), again.complaints
    assert again.messages == first.messages
    assert again.text(file) == first.text(file) == content
