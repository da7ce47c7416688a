"""codex-relay and LiteLLM: installed in a virtual environment of their own, and started in front of a chat backend."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HOME = Path(__file__).parents[2] / ".bench"
RELAY = "0.5.8"
LITELLM = "1.108.7"
"""The newest release whose `proxy` extra can be installed: those after it require packages that are not published."""
PACKAGES = (f"codex-relay=={RELAY}", f"litellm[proxy]=={LITELLM}")
START = 120
"""Seconds that a server may take until it listens; LiteLLM takes 15."""


def install() -> None:
    """Both of them, about 600 MB; where these versions are, nothing happens."""
    mark = HOME / "installed"
    if mark.exists() and mark.read_text() == "\n".join(PACKAGES):
        return
    uv = os.environ.get("UV", "uv")
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(HOME)], check=True)
    subprocess.run([uv, "pip", "install", "--quiet", "--python", str(HOME / "bin" / "python"), *PACKAGES], check=True)
    mark.write_text("\n".join(PACKAGES))


@contextmanager
def relay(backend: str, folder: Path) -> Iterator[int]:
    """codex-relay in front of a backend, until the block ends: its port."""
    port = free_port()
    with served("codex-relay", port, folder, "--upstream", f"{backend}/v1", "--api-key", "none"):
        yield port


@contextmanager
def litellm(backend: str, models: tuple[str, ...], folder: Path) -> Iterator[tuple[int, str]]:
    """LiteLLM in front of a backend of such models, until the block ends: its port, and the key that it wants."""
    port, key = free_port(), f"sk-{secrets.token_hex(32)}"
    chat = {"api_base": f"{backend}/v1", "api_key": "none", "use_chat_completions_api": True}
    served_models = [{"model_name": name, "litellm_params": {"model": f"openai/{name}", **chat}} for name in models]
    # YAML holds JSON.
    (folder / "litellm.yaml").write_text(json.dumps({"model_list": served_models}))
    options = ("--config", "litellm.yaml", "--host", "127.0.0.1", "--telemetry", "False")
    environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": key}
    with served("litellm", port, folder, *options, environment=environment):
        yield port, key


def free_port() -> int:
    """One that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@contextmanager
def served(
    program: str, port: int, folder: Path, *options: str, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """A program that listens, until the block ends; what it prints goes to a file. RuntimeError if it never listens."""
    command = [str(HOME / "bin" / program), "--port", str(port), *options]
    printed = folder / f"{program}.log"
    with printed.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **(environment or {})}, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        if not listens(process, port):
            raise RuntimeError(f"{program} does not listen: {printed.read_text()[-2000:]}")
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()


def listens(process: subprocess.Popen[bytes], port: int) -> bool:
    """Whether it takes connections before it ends, and before patience does."""
    last = time.monotonic() + START
    while process.poll() is None and time.monotonic() < last:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.1)
        else:
            return True
    return False
