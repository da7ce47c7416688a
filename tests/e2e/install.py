"""Install what the end-to-end tests drive: `python -m tests.e2e.install codex`; what is there already stays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from tests.e2e.llama_install import install_llama
from tests.e2e.places import NEWEST, OLDEST, absence, codex_binary, folder

CODEX = "@openai/codex"


def install_codex() -> None:
    """The oldest supported release of Codex, and the newest that there is."""
    _install_packages("npm", "npm")
    newest = _npm("view", f"{CODEX}@{NEWEST}", "version").strip()
    for version in (OLDEST, newest):
        _install_release(version)
    (folder("codex") / NEWEST).write_text(f"{newest}\n")


def _install_release(version: str) -> None:
    if binary := codex_binary(version):
        print(f"codex {version}: {binary}")
        return
    target = folder("codex") / version
    target.mkdir(parents=True, exist_ok=True)
    # Its own package.json keeps npm from looking for a project in the folders above.
    (target / "package.json").write_text('{"private": true}\n')
    _npm("install", "--prefix", str(target), "--no-audit", "--no-fund", f"{CODEX}@{version}")
    binary = codex_binary(version)
    if not binary:
        raise SystemExit(f"{CODEX}@{version} brings no program for this platform")
    print(f"codex {version}: {binary}")


def install_browser() -> None:
    """Chromium and its driver."""
    _install_packages("browser", "chromium", "chromium-driver")


def install_terminal() -> None:
    """A terminal that tests can type into."""
    _install_packages("terminal", "tmux")


def install_balancer() -> None:
    """A load balancer."""
    _install_packages("balancer", "haproxy")


def _install_packages(part: str, *packages: str) -> None:
    """Debian's packages, where they can be installed; elsewhere it says what to do."""
    if absence(part) and shutil.which("apt-get") and os.geteuid() == 0:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=True, env=quiet)
        command = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=quiet)
    if missing := absence(part):
        raise SystemExit(f"{missing}; Debian has it in {', '.join(packages)}")
    print(f"{part}: {', '.join(packages)}")


def _npm(*arguments: str) -> str:
    return subprocess.run(["npm", *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


PARTS: dict[str, Callable[[], None]] = {
    "codex": install_codex,
    "llama": install_llama,
    "browser": install_browser,
    "terminal": install_terminal,
    "balancer": install_balancer,
}
"""Part → what installs it."""


def main(names: list[str]) -> None:
    """Install the named parts, or say which there are."""
    unknown = [name for name in names if name not in PARTS]
    if unknown or not names:
        raise SystemExit(f"usage: python -m tests.e2e.install {' '.join(f'[{name}]' for name in PARTS)}")
    for name in names:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
