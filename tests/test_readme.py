"""The README cannot rot: its commands are those that work, its option table is the settings'."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from bridge.settings import PREFIX, Settings
from tests.support.recordings import load

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The code blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def option_table() -> str:
    """The table that the README must hold."""
    rows = ["| option | default | what it does |", "|---|---|---|"]
    for name, _, default, text, choices in Settings.spec():
        shown = " ".join(f"`{entry}`" for entry in default) if isinstance(default, list) else f"`{default}`"
        shown = shown.lower() if isinstance(default, bool) else shown if default not in ("", []) else "none"
        named = f"`{PREFIX}{name}`" + (f" ({', '.join(choices)})" if choices else "")
        rows.append(f"| {named} | {shown} | {text} |".replace("([?]|$)", "([?]\\|$)"))
    return "\n".join(rows)


def test_the_option_table_is_the_settings() -> None:
    table = README.split("<!-- options -->\n")[1].split("<!-- /options -->")[0]
    assert table.strip() == option_table()


def test_a_recording_without_a_backend_comes_first() -> None:
    command = shlex.split(blocks("sh")[0])
    assert command[:4] == ["uv", "run", "mitmdump", "-n"]
    ended = subprocess.run(
        [str(Path(sys.executable).parent / "mitmdump"), *command[3:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    turns = len(load(ROOT / command[command.index("-C") + 1]))
    assert ended.stdout.count("bridge: hoisted") == turns


def test_the_main_command_comes_second_and_names_files_that_exist() -> None:
    command = shlex.split(blocks("sh")[1])
    assert command[:4] == ["uv", "run", "mitmdump", "-s"]
    assert (ROOT / command[4]).exists()


def test_the_test_command_is_the_one_that_ci_calls() -> None:
    assert blocks("sh")[2].strip() in (ROOT / ".ci" / "run").read_text()


def test_the_configuration_of_the_balancer_is_the_tested_one() -> None:
    assert f"```haproxy\n{(ROOT / 'tests' / 'e2e' / 'haproxy.cfg').read_text()}```" in README


def test_the_config_for_codex_is_toml_and_fits_the_port() -> None:
    provider = tomllib.loads(blocks("toml")[0])["model_providers"]["bridge"]
    assert (provider["base_url"], provider["wire_api"]) == ("http://127.0.0.1:8080/v1", "responses")
    assert "env_key" in provider
