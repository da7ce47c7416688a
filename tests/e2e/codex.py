"""The Codex CLI: a home and a workspace of its own, `codex exec --json` in it, and what came of that."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIMEOUT = 60
QUIET: dict[str, Any] = {
    "check_for_update_on_startup": False,
    "approval_policy": "never",
    "sandbox_mode": "danger-full-access",
    "analytics.enabled": False,
    "otel.exporter": "none",
    "otel.metrics_exporter": "none",
}
ADVICE = ("Heads up: ", "Model metadata for ")
"""How items of type `error` begin that are none: advice after a compaction, and about a model that is not known."""
PROVIDER = "model_providers.bridge"
FREE = ("--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


@dataclass(frozen=True)
class Setup:
    """How a session differs from the plain one: `config` is by dotted key, `arguments` are more of `codex exec`."""

    model: str = "gpt-5.5"
    config: Mapping[str, Any] = field(default_factory=dict)
    provider: Mapping[str, Any] = field(default_factory=dict)
    builtin: bool = False
    """The provider that Codex brings, pointed at the bridge."""
    signed_in: bool = False
    """As after a sign-in with ChatGPT, in place of a key."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    prompt: str = "Do it."
    interrupted_at: str = ""
    """A file whose appearance makes the user interrupt the first run."""
    resumed_with: tuple[str, ...] | None = None
    """Further arguments of a second run that resumes the session of the first."""


@dataclass(frozen=True)
class Ran:
    """A finished run: its exit code, the events that it printed, what it said on stderr."""

    code: int
    events: list[dict[str, Any]]
    stderr: str
    seconds: float
    workspace: Path

    def items(self, kind: str) -> list[dict[str, Any]]:
        """The finished items of one type."""
        found = (event["item"] for event in self.events if event["type"] == "item.completed")
        return [item for item in found if item["type"] == kind]

    @property
    def messages(self) -> list[str]:
        """What the model said."""
        return [item["text"] for item in self.items("agent_message")]

    @property
    def files(self) -> set[str]:
        """The names of the files in the workspace."""
        return {path.name for path in self.workspace.iterdir()}

    @property
    def commands(self) -> list[tuple[str, int]]:
        """(output, exit code) of each shell command."""
        return [(item["aggregated_output"], item["exit_code"]) for item in self.items("command_execution")]

    @property
    def changes(self) -> list[str]:
        """The names of the files that patches changed."""
        done = [item for item in self.items("file_change") if item["status"] == "completed"]
        return [Path(change["path"]).name for item in done for change in item["changes"]]

    @property
    def complaints(self) -> str:
        """What the events say of errors."""
        failed = [event.get("message") or event["error"]["message"] for event in self.events if _is_error(event)]
        found = [item["message"] for item in self.items("error") if not item["message"].startswith(ADVICE)]
        return "\n".join(failed + found)

    def text(self, name: str) -> str:
        """A file of the workspace, its line ends as they are."""
        return (self.workspace / name).read_bytes().decode()


class Codex:
    """An installed Codex that talks to a bridge on a port."""

    def __init__(self, binary: Path, port: int, folder: Path, setup: Setup) -> None:
        self._binary, self._port, self._setup = binary, port, setup
        self.home, self.workspace = folder / "home", folder / "work"
        for made in (self.home, self.workspace):
            made.mkdir()
        for name, content in setup.files.items():
            (self.workspace / name).write_bytes(content)
        if setup.signed_in:
            (self.home / "auth.json").write_text(json.dumps(_sign_in()))
        self._write_config()

    def run(self) -> Ran:
        """The session, from its prompt to its end; of a resumed one the second run."""
        setup = self._setup
        ran = self._exec("exec", *FREE, *setup.arguments, setup.prompt, interrupted_at=setup.interrupted_at)
        if setup.resumed_with is None:
            return ran
        return self._exec("exec", "resume", "--last", *FREE, *setup.resumed_with, "Go on.")

    def catalog(self, slug: str) -> dict[str, Any]:
        """The entry of a model in the catalog that Codex brings."""
        command = [str(self._binary), "debug", "models"]
        with _sink() as sink:
            printed = subprocess.run(command, capture_output=True, check=True, timeout=TIMEOUT, env=self._env(sink))
        models: list[dict[str, Any]] = json.loads(printed.stdout)["models"]
        return next(model for model in models if model["slug"] == slug)

    def set(self, **config: Any) -> None:
        """Set more of the configuration."""
        self._setup = Setup(**{**vars(self._setup), "config": {**self._setup.config, **config}})
        self._write_config()

    def _exec(self, *arguments: str, interrupted_at: str = "") -> Ran:
        """Run to the end, within limits; outputs go to files, since a command in the background keeps pipes open."""
        out, err = self.home / "stdout", self.home / "stderr"
        began = time.monotonic()
        with _sink() as sink, out.open("w") as stdout, err.open("w") as stderr:
            process = subprocess.Popen(
                [str(self._binary), *arguments],
                cwd=self.workspace,
                env=self._env(sink),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )
            try:
                if interrupted_at:
                    self._interrupt(process, self.workspace / interrupted_at)
                code = process.wait(TIMEOUT)
            finally:
                process.kill()
        seconds = time.monotonic() - began
        events = [json.loads(line) for line in out.read_text().split("\n") if line.startswith("{")]
        return Ran(code, events, err.read_text(), seconds, self.workspace)

    def _interrupt(self, process: subprocess.Popen[bytes], when: Path) -> None:
        """Once a file is there, as a user does who presses Ctrl-C."""
        end = time.monotonic() + TIMEOUT
        while not when.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)

    def _env(self, sink: str) -> dict[str, str]:
        """Nothing of the user's, and no way out of the machine."""
        home = str(self.home)
        keys = {} if self._setup.signed_in else {"CODEX_API_KEY": "sk-test", "OPENAI_API_KEY": "sk-test"}
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), sink)
        local = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        place = {"PATH": os.environ["PATH"], "HOME": home, "CODEX_HOME": home, "LANG": "C.UTF-8"}
        return {**place, **keys, **proxies, **local}

    def _write_config(self) -> None:
        """Dotted keys and JSON are TOML too."""
        lines = [f"{key} = {json.dumps(value)}" for key, value in self._config().items()]
        (self.home / "config.toml").write_text("\n".join(lines) + "\n")

    def _config(self) -> dict[str, Any]:
        setup, origin = self._setup, f"http://127.0.0.1:{self._port}"
        config = {**QUIET, "model": setup.model, "chatgpt_base_url": f"{origin}/backend-api"}
        if setup.builtin:
            return {**config, "openai_base_url": f"{origin}/v1", **setup.config}
        named = {"name": "bridge", "base_url": f"{origin}/v1", "wire_api": "responses", **setup.provider}
        if not named.get("requires_openai_auth"):
            named["env_key"] = "OPENAI_API_KEY"
        provider = {f"{PROVIDER}.{key}": value for key, value in named.items()}
        return {**config, "model_provider": "bridge", **provider, **setup.config}


@contextmanager
def _sink() -> Iterator[str]:
    """A proxy that refuses each connection: a port that is taken, and that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def _is_error(event: dict[str, Any]) -> bool:
    return event["type"] in ("error", "turn.failed")


def _sign_in() -> dict[str, Any]:
    """What a sign-in with ChatGPT leaves, with tokens that nobody signed."""
    account = {"chatgpt_plan_type": "pro", "chatgpt_user_id": "user-1", "chatgpt_account_id": "account-1"}
    claims = {"email": "a@example.invalid", "exp": int(time.time()) + 86_400, "https://api.openai.com/auth": account}
    token = ".".join([_encoded({"alg": "none", "typ": "JWT"}), _encoded(claims), "c2ln"])
    tokens = {"id_token": token, "access_token": token, "refresh_token": "refresh", "account_id": "account-1"}
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": now}


def _encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
