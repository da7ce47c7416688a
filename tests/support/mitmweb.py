"""mitmweb with the addon and a recording, and its API as its own page uses it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.proxy import ADDON

PASSWORD = "letmein"


@dataclass(frozen=True)
class Web:
    """A running mitmweb."""

    port: int

    @property
    def url(self) -> str:
        """Its page, with the password that lets in."""
        return f"http://127.0.0.1:{self.port}/?token={PASSWORD}"

    def get(self, path: str) -> Any:
        """A JSON answer of the API."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{urllib.parse.quote(path)}")
        request.add_header("authorization", f"Bearer {PASSWORD}")
        # Past any proxy that the environment names: it is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=20) as answer:
            return json.load(answer)

    def flows(self, count: int) -> list[Any]:
        """The flows, once `count` of them are loaded."""
        for _ in range(100):
            if len(flows := self.get("/flows")) >= count:
                return list(flows)
            time.sleep(0.1)
        raise TimeoutError(f"{count} flows never came")


@contextmanager
def mitmweb(recording: Path) -> Iterator[Web]:
    """`mitmweb -n -s addon.py -r recording`, until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "mitmweb"), "-n", "-s", str(ADDON), "-r", str(recording)]
    command += ["--no-web-open-browser", "--web-host", "127.0.0.1", "--web-port", str(port)]
    command += ["--set", f"web_password={PASSWORD}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        _wait_for(port, process)
        yield Web(port)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=20)
        finally:
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[str]) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            raise RuntimeError(process.communicate()[0])
        time.sleep(0.1)
    raise TimeoutError("mitmweb did not listen")
