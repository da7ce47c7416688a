"""Whether the package's files are others than when it was loaded; an outer module, since it looks at the disk."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def _times() -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in _FOLDER.rglob("*.py")}


_LOADED = _times()


def is_stale() -> bool:
    """Compares the times of all files with those at the first import of this module."""
    return _times() != _LOADED
