"""What one long stream does to the memory of the process."""

from __future__ import annotations

import re
from pathlib import Path

from tests.bench.rig import ask, backend
from tests.support.process import mitmdump


def grown() -> int:
    """Bytes by which the most memory that mitmproxy had during a stream of 200 MB exceeds what it had before."""
    with backend() as port, mitmdump(f"http://127.0.0.1:{port}", "--set", "bridge_keep_bodies=0") as dump:
        for _ in range(3):
            ask(dump.port, "/v1/responses", "call", keep=False)
        before = memory(dump.pid, "VmRSS")
        Path(f"/proc/{dump.pid}/clear_refs").write_text("5")
        ask(dump.port, "/v1/responses", "long", keep=False)
        return memory(dump.pid, "VmHWM") - before


def memory(pid: int, field: str) -> int:
    """A figure of a process, in bytes: `VmRSS` is what it has now, `VmHWM` the most that it had."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) << 10
