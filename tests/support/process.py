"""mitmdump with the addon, as the process that a user starts."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import openai

from tests.support.proxy import ADDON


@dataclass
class Dump:
    """A mitmdump process: its port, and what it printed so far."""

    port: int
    printed: list[str] = field(default_factory=list)
    pid: int = 0

    def wait_for(self, text: str, count: int = 1) -> None:
        """Until it has printed a text so often."""
        for _ in range(200):
            if "".join(self.printed).count(text) >= count:
                return
            time.sleep(0.1)
        raise TimeoutError(f"never printed: {text}")

    def client(self) -> openai.OpenAI:
        """The SDK, pointed at it."""
        return openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="sk-test", max_retries=0)


@contextmanager
def mitmdump(target: str, *arguments: str, addon: Path = ADDON) -> Iterator[Dump]:
    """`mitmdump -s addon.py --mode reverse:target`, until the block ends."""
    command = [str(Path(sys.executable).parent / "mitmdump"), "-s", str(addon), "--mode", f"reverse:{target}"]
    command += ["--listen-host", "127.0.0.1", "-p", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    running = Dump(0, pid=process.pid)
    listening = threading.Event()

    def read() -> None:
        for line in process.stdout or ():
            running.printed.append(line)
            if found := re.search(r"listening at 127\.0\.0\.1:(\d+)", line):
                running.port = int(found[1])
                listening.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        assert listening.wait(30), running.printed
        yield running
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        finally:
            process.kill()
        reader.join(5)
