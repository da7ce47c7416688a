"""Every recording is a fixture: today's bridge makes of its bodies what stands in it, and what is expected of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow

from bridge.exchange import Exchange
from bridge.expected import expected_of
from tests.support import strict, strict_chat
from tests.support.recordings import FOLDER, bodies, load, settings_of

RECORDINGS = sorted(FOLDER.glob("*.mitm"))
SECRETS = re.compile(r"/(?:tmp|work)/|/root/(?!kid)|sk-[a-z0-9]|bearer|authorization|[\w.]+@[\w.]+\.\w+", re.IGNORECASE)


def turns() -> list[Any]:
    """Every flow of every recording."""
    return [
        pytest.param(flow, id=f"{path.stem}-{number}")
        for path in RECORDINGS
        for number, flow in enumerate(load(path), 1)
    ]


def reopened(flow: HTTPFlow) -> Exchange:
    """The exchange, made again from what the client sent."""
    now = int(flow.request.timestamp_start)
    return Exchange.open(bodies(flow)["client request"], settings_of(flow), seed=flow.id, now=now)


def test_there_are_recordings() -> None:
    assert RECORDINGS


@pytest.mark.parametrize("flow", turns())
def test_lowering_gives_the_recorded_request(flow: HTTPFlow) -> None:
    assert reopened(flow).request == bodies(flow)["backend request"]


@pytest.mark.parametrize("flow", turns())
def test_a_strict_backend_takes_the_request(flow: HTTPFlow) -> None:
    judge = strict_chat if "messages" in json.loads(bodies(flow)["backend request"]) else strict
    assert judge.refusal(json.loads(bodies(flow)["backend request"])) is None


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("flow", turns())
def test_lifting_gives_the_recorded_answer(flow: HTTPFlow, size: int) -> None:
    exchange, heard = reopened(flow), bodies(flow)["backend response"]
    exchange.begin(200, "text/event-stream")
    said = [left for cut in range(0, len(heard), size) for left in exchange.feed(heard[cut : cut + size])]
    assert b"".join(said + exchange.close()) == bodies(flow)["client response"]


@pytest.mark.parametrize("flow", turns())
def test_nothing_personal_is_in_it(flow: HTTPFlow) -> None:
    everything = [body.decode() for body in bodies(flow).values()] + [str(flow.request.headers), flow.request.url]
    assert [found.group() for text in everything for found in SECRETS.finditer(text)] == []


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_turn_is_as_expected(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    assert [expected_of(flow) for flow in load(path)] == expected


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_readme_says_how_it_was_made(path: Path) -> None:
    assert f"## `{path.name}`" in (FOLDER / "README.md").read_text()
