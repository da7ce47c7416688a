"""The bridge between a client's tools and a backend's. All but a few outer modules is sans-IO."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def _times() -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in _FOLDER.rglob("*.py")}


_LOADED = _times()


def is_stale() -> bool:
    """Whether a file of the package is another than when the package was loaded."""
    return _times() != _LOADED
