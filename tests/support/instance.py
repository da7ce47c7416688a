"""The bridge in a process of its own: `python -m tests.support.instance` carries one exchange a line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bridge.errors import ClientError
from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.support.sse_tools import NOW, STREAM_TYPE


def carry(asked: Any) -> Any:
    """What leaves for the backend and for the client, the names, and the ledger; or the refusal."""
    body = asked["body"].encode("latin-1")
    try:
        opened = Exchange.open(body, Settings.from_options(asked["options"]), seed=asked["seed"], now=NOW)
    except ClientError as error:
        return {"refused": error.status, "body": error.body()}
    opened.begin(200, STREAM_TYPE)
    pieces = [piece.encode("latin-1") for piece in asked["pieces"]]
    if asked["whole"]:
        left = [opened.whole(b"".join(pieces), STREAM_TYPE).body]
    else:
        left = [part for piece in pieces for part in opened.feed(piece)]
        left += opened.close() if asked["ends"] else opened.fail("reset")
    said = [piece.decode("latin-1") for piece in left]
    return {
        "sent": opened.request.decode("latin-1"),
        "said": said,
        "names": opened.names.data(),
        "ledger": opened.ledger.data(),
    }


class Instance:
    """Such a process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, asked: Any) -> str:
        """What it says to one exchange."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


@contextmanager
def instance(hash_seed: int) -> Iterator[Instance]:
    """Run one that hashes strings in an order of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-m", "tests.support.instance"]
    process = subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    try:
        yield Instance(process)
    finally:
        process.stdin.close()
        process.wait(10)


def main() -> None:
    """One line for each, until standard input ends; the first tells the order in which it hashes."""
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(carry(asked) if asked else list({*"abcdefgh"})), flush=True)


if __name__ == "__main__":
    main()
