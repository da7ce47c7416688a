"""What an exchange leaves behind in a running mitmproxy: nothing."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from mitmproxy.tools.dump import DumpMaster

from tests.support.proxy import Proxy


def left_behind(between: Proxy, seconds: float = 5) -> dict[str, Any]:
    """What is still there when it had time to go: sessions, timers, connections."""
    deadline = time.monotonic() + seconds
    while (found := between.inside(_found)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def _found(master: DumpMaster) -> dict[str, Any]:
    handlers = master.addons.get("proxyserver").connections
    found = {
        "sessions": [*master.addons.get("bridge")._sessions],
        "timers": [repr(task) for task in asyncio.all_tasks() if "keep_alive" in repr(task)],
        "connections": [str(connection) for handler in handlers.values() for connection in handler.transports],
    }
    return {name: what for name, what in found.items() if what}
