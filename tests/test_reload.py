"""Touching addon.py while mitmproxy runs: the whole package is new, and what is on its way ends as it began."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.support.backend import CUT, Asked, Piece, Reply, backend, stream
from tests.support.process import Dump, mitmdump
from tests.support.proxy import ADDON
from tests.support.recordings import FOLDER
from tests.test_process import CALL, PATCH, TOOLS


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The addon, where it can be changed."""
    shutil.copytree(ADDON.parent / "bridge", tmp_path / "bridge", ignore=shutil.ignore_patterns("__pycache__"))
    return Path(shutil.copy(ADDON, tmp_path / ADDON.name))


def events(*between: object) -> Reply:
    """A stream with a call; what comes between its head and the call is sent as it is."""
    done = {"type": "response.output_item.done", "output_index": 0, "item": CALL, "sequence_number": 1}
    end = {"type": "response.completed", "response": {"id": "r", "status": "completed"}, "sequence_number": 2}
    first, *rest = stream({"type": "response.created", "response": {"id": "r"}, "sequence_number": 0}, done, end).pieces
    return Reply([first, *between, *rest], headers={"content-type": "text/event-stream"})


class Wait:
    """Pieces that come when they are let."""

    def __init__(self, reply: Reply) -> None:
        self.go_on = threading.Event()
        self._pieces = list(reply.pieces)

    def reply(self) -> Reply:
        """The first piece, and the rest later."""

        def pieces() -> Iterator[Piece]:
            yield self._pieces[0]
            self.go_on.wait(30)
            yield from self._pieces[1:]

        return Reply(pieces(), headers={"content-type": "text/event-stream"})


def reloaded(copied: Path, dump: Dump, old: str = '" → ', new: str = '" ==> ') -> None:
    """Change the package, touch the addon, and wait until mitmproxy has seen it."""
    ledger = copied.parent / "bridge" / "ledger.py"
    ledger.write_text(ledger.read_text().replace(old, new).replace("} → {", "} ==> {"))
    loads = "".join(dump.printed).count("Loading script")
    copied.touch()
    dump.wait_for("Loading script", loads + 1)


def ask(dump: Dump, said: str) -> Any:
    """A streamed request."""
    return dump.client().responses.create(model="m", input=said, tools=TOOLS, stream=True)


def test_the_package_is_loaded_anew_and_flows_on_their_way_end_as_they_began(copied: Path) -> None:
    waiting = Wait(events())

    def script(asked: Asked) -> Reply:
        return waiting.reply() if b"slow" in asked.raw else events()

    with backend(script) as running, mitmdump(running.url, addon=copied) as dump:
        slow = ask(dump, "slow")
        next(iter(slow))
        reloaded(copied, dump)
        list(ask(dump, "hi"))
        dump.wait_for("lowered 1 (apply_patch) ==> lifted 1 (apply_patch)")
        waiting.go_on.set()
        items = [event.item for event in slow if event.type == "response.output_item.done"]
        dump.wait_for("lowered 1 (apply_patch) → lifted 1 (apply_patch)")
        assert not [line for line in dump.printed if "Error" in line or "Traceback" in line]
    assert [json.loads(item.model_dump_json())["input"] for item in items] == [PATCH]


def test_a_stream_on_its_way_whose_backend_breaks_off_ends_as_failed(copied: Path) -> None:
    waiting = Wait(events(CUT))
    with backend(lambda _: waiting.reply()) as running, mitmdump(running.url, addon=copied) as dump:
        slow = ask(dump, "slow")
        next(iter(slow))
        reloaded(copied, dump)
        waiting.go_on.set()
        assert [event.type for event in slow][-1] == "response.failed"


def test_while_the_addon_cannot_be_loaded_nothing_is_sent(copied: Path) -> None:
    with backend(lambda _: events()) as running, mitmdump(running.url, addon=copied) as dump:
        reloaded(copied, dump, "from __future__", "from __broken__ import (")
        dump.wait_for("error in script")
        with pytest.raises(openai.APIStatusError, match="The bridge is not loaded") as refused:
            ask(dump, "hi")
        assert (refused.value.status_code, running.asked) == (503, [])
        reloaded(copied, dump, "from __broken__ import (", "from __future__")
        assert [event.type for event in ask(dump, "hi")][-1] == "response.completed"


def test_a_check_that_found_differences_does_not_end_on_a_reload(copied: Path) -> None:
    recording = str(FOLDER / "codex-0.154.0-parallel.mitm")
    arguments = (
        "-r",
        recording,
        "--set",
        "keepserving=true",
        "--set",
        "bridge_check=true",
        "--set",
        "bridge_grammar=drop",
    )
    with backend(lambda _: events()) as running, mitmdump(running.url, *arguments, addon=copied) as dump:
        dump.wait_for("request differs")
        reloaded(copied, dump)
        assert [event.type for event in ask(dump, "hi")][-1] == "response.completed"
