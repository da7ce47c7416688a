"""llama.cpp and the weights of a small model, both from wheels, in a virtual environment of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.e2e.places import LLAMA_WHEELS, folder, llama_mark, llama_python


def install_llama() -> None:
    """Install the wheels; where they are, nothing happens."""
    home = folder("llama")
    if not llama_python():
        _install(home)
    print(f"llama: {llama_python()}")


def _install(home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    _uv("venv", "--quiet", "--clear", "--python", sys.executable, str(home))
    # Neither needs what it depends on: the one is called by its API, the other holds the weights that it reads.
    where = ("--quiet", "--python", str(home / "bin" / "python"), "--no-deps", "--only-binary", ":all:")
    _uv("pip", "install", *where, *LLAMA_WHEELS)
    llama_mark().touch()


def _uv(*arguments: str) -> None:
    subprocess.run(["uv", *arguments], check=True)
