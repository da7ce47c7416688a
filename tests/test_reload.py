"""Touching addon.py while mitmproxy runs: the whole package is new, and what is on its way ends as it began."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest

from tests.support.backend import Asked, Reply, backend, stream
from tests.support.process import mitmdump
from tests.support.proxy import ADDON
from tests.test_process import CALL, PATCH, TOOLS


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The addon, where it can be changed."""
    shutil.copytree(ADDON.parent / "bridge", tmp_path / "bridge", ignore=shutil.ignore_patterns("__pycache__"))
    return Path(shutil.copy(ADDON, tmp_path / ADDON.name))


def test_the_package_is_loaded_anew_and_flows_on_their_way_end_as_they_began(copied: Path) -> None:
    go_on = threading.Event()

    def script(asked: Asked) -> Reply:
        done = {"type": "response.output_item.done", "output_index": 0, "item": CALL, "sequence_number": 1}
        end = {"type": "response.completed", "response": {"id": "r", "status": "completed"}, "sequence_number": 2}
        first, *rest = stream(
            {"type": "response.created", "response": {"id": "r"}, "sequence_number": 0}, done, end
        ).pieces

        def pieces() -> object:
            yield first
            if "slow" in asked.raw.decode():
                go_on.wait(20)
            yield from rest

        return Reply(pieces(), headers={"content-type": "text/event-stream"})  # type: ignore[arg-type]

    with backend(script) as running, mitmdump(running.url, addon=copied) as dump:
        slow = dump.client().responses.create(model="m", input="slow", tools=TOOLS, stream=True)
        next(iter(slow))
        ledger = copied.parent / "bridge" / "ledger.py"
        ledger.write_text(ledger.read_text().replace('" → ', '" ==> ').replace("} → {", "} ==> {"))
        copied.touch()
        dump.wait_for("Loading script", 2)
        list(dump.client().responses.create(model="m", input="hi", tools=TOOLS, stream=True))
        dump.wait_for("lowered 1 (apply_patch) ==> lifted 1 (apply_patch)")
        go_on.set()
        items = [event.item for event in slow if event.type == "response.output_item.done"]
        dump.wait_for("lowered 1 (apply_patch) → lifted 1 (apply_patch)")
        assert not [line for line in dump.printed if "Error" in line or "Traceback" in line]
    assert [json.loads(item.model_dump_json())["input"] for item in items] == [PATCH]
