"""mitmproxy's console as a person uses it, in tmux: open a flow, choose a view, run a command."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.proxy import ADDON
from tests.support.recordings import FOLDER

pytestmark = pytest.mark.terminal
PATIENCE = 20


class Terminal:
    """A session of tmux of its own."""

    def __init__(self, socket: Path) -> None:
        self._tmux = ["tmux", "-S", str(socket)]

    def start(self, *command: str) -> None:
        """Run a program in a window that is wide enough for tables."""
        self._run("-f", "/dev/null", "new-session", "-d", "-x", "180", "-y", "60", shlex.join(command))

    def type(self, text: str) -> None:
        """Type a line."""
        self._run("send-keys", text, "Enter")

    def press(self, key: str) -> None:
        """Press one key."""
        self._run("send-keys", key)

    def wait_for(self, text: str) -> str:
        """The screen, once a text stands on it."""
        until = time.monotonic() + PATIENCE
        while text not in (screen := self._run("capture-pane", "-p")):
            if time.monotonic() > until:
                raise TimeoutError(f"{text!r} never showed:\n{screen}")
            time.sleep(0.2)
        return screen

    def end(self) -> None:
        """End the session and what runs in it."""
        self._run("kill-server")

    def _run(self, *arguments: str) -> str:
        return subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """mitmproxy with a recording, its first flow open."""
    terminal = Terminal(tmp_path_factory.mktemp("tmux") / "socket")
    program = str(Path(sys.executable).parent / "mitmproxy")
    recording = FOLDER / "codex-0.171.0-code-mode.mitm"
    terminal.start(program, "-n", "-s", str(ADDON), "-r", str(recording))
    try:
        terminal.wait_for("/v1/responses")
        terminal.type("")
        terminal.wait_for("Flow Details")
        yield terminal
    finally:
        terminal.end()


@pytest.mark.parametrize(
    ("view", "line"),
    [
        ("bridge summary", "model: gpt-5.6-sol"),
        ("bridge ledger", "request   hoisted"),
        ("bridge client", "# What the client sent:"),
        ("bridge backend", "# What the backend got:"),
        ("bridge diff", "# - client   + backend"),
        ("bridge turn", "# Turn 1 of thread"),
    ],
)
def test_each_view_shows_its_first_lines(console: Terminal, view: str, line: str) -> None:
    console.type(f":console.flowview.mode.set '{view}'")
    assert f"[m:{view}]" in console.wait_for(line)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("bridge.explain @focus", "request   hoisted"),
        ("bridge.tools @focus", "collaboration__followup_task"),
        ("bridge.diff @focus", "# The request"),
        ("bridge.check @focus", "1: request equal, response equal"),
    ],
)
def test_commands_show_what_they_say(console: Terminal, command: str, line: str) -> None:
    console.type(f":{command}")
    try:
        assert "Data viewer" in console.wait_for(line)
    finally:
        console.press("q")
