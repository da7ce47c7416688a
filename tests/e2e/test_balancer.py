"""Two instances behind HAProxy: a session goes on when one is killed, since neither remembers anything of it."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.balancer import INSTANCE, NAMES, PATIENCE, Fleet, Session, fleet, output
from tests.e2e.scripts import NASTY, THOUGHT
from tests.e2e.turns import Heard, Turn, calls, custom, function, says, script
from tests.e2e.wire import WIRES
from tests.support import sse_tools
from tests.support.backend import Piece, Reply
from tests.support.sse_tools import CARRIER, USER, Event

pytestmark = pytest.mark.balancer

LONG = "mcp__" + "far_away_" * 7
TOOLS: list[Event] = [
    {"type": "custom", "name": "apply_patch", "description": "Edits files."},
    {
        "type": "namespace",
        "name": LONG,
        "description": "",
        "tools": [sse_tools.function("look"), {"type": "custom", "name": "memo"}],
    },
    {"type": "namespace", "name": "docs.lab", "description": "", "tools": [sse_tools.function("look")]},
]
SUMMARY = f"Looked here and there. {NASTY}"


def flat(tools: tuple[str, ...], start: str, leaf: str) -> str:
    """The one hashed name of a tool."""
    (found,) = (name for name in tools if re.fullmatch(rf"{start}\w*__{leaf}_[0-9a-f]{{8}}", name))
    return found


def far(heard: Heard) -> Turn:
    """The model calls the tools whose names had to be hashed, as it was told them."""
    memo, look = flat(heard.tools, "mcp__far", "memo"), flat(heard.tools, "docs_lab", "look")
    return calls(custom(memo, NASTY), function(look, path=NASTY), reasoning=THOUGHT)


@pytest.fixture(params=WIRES)
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    """The fleet, for each wire."""
    with fleet(WIRES[request.param], tmp_path) as made:
        yield made


@pytest.fixture
def session(running: Fleet) -> Iterator[Session]:
    """A client of it."""
    made = Session(running.port, TOOLS, CARRIER)
    yield made
    made.close()


def made_at(heard: Heard) -> list[tuple[str, str]]:
    """(name, payload or arguments) of each call in the history that the model got."""
    return [(call.name, json.loads(call.arguments).get("input", call.arguments)) for call in heard.calls]


def thoughts(running: Fleet, heard: Heard) -> int:
    """How often the model's thought came back to it."""
    if running.model.wire.name == "chat":
        return [message.get("reasoning_content") for message in heard.body["messages"]].count(THOUGHT)
    parts = [part["text"] for item in heard.body["input"] for part in item.get("content") or [] if "text" in part]
    return parts.count(THOUGHT)


def test_a_session_survives_the_death_of_an_instance(running: Fleet, session: Session) -> None:
    model = running.model
    act = calls(script(NASTY), reasoning=THOUGHT)
    model.says.extend([act, far, says("Half."), says(SUMMARY), act, far, says("Done.", reasoning=THOUGHT)])

    _, run = session.ask(USER)
    assert (run["type"], run["name"], run["input"]) == ("custom_tool_call", "exec", NASTY)
    _, memo, look = session.ask(output(run, NASTY))
    assert (memo["type"], memo["namespace"], memo["name"], memo["input"]) == ("custom_tool_call", LONG, "memo", NASTY)
    assert (look["type"], look["namespace"], look["name"]) == ("function_call", "docs.lab", "look")
    assert json.loads(look["arguments"]) == {"path": NASTY}
    session.ask(output(memo, NASTY), output(look, NASTY))
    (compacted,) = session.ask({"type": "compaction_trigger"})
    assert compacted["type"] == "compaction"
    one, other = model.served_by()[:2]
    assert model.served_by() == [one, other, one, other]

    running.kill(other)
    session.history = [CARRIER, compacted]
    _, run = session.ask(USER)
    assert (run["name"], run["input"]) == ("exec", NASTY)
    _, memo, look = session.ask(output(run, NASTY))
    assert (memo["namespace"], memo["input"], look["namespace"]) == (LONG, NASTY, "docs.lab")
    *_, last = session.ask(output(memo, NASTY), output(look, NASTY))
    assert last["content"][0]["text"] == "Done."

    assert model.served_by()[4:] == [one, one, one]
    assert {heard.tools for heard in model.heard} == {model.heard[0].tools}
    tools = model.heard[0].tools
    expected = [("exec", NASTY), (flat(tools, "mcp__far", "memo"), NASTY)]
    for whole in (model.heard[2], model.heard[6]):
        *customs, (name, arguments) = made_at(whole)
        assert (customs, name, json.loads(arguments)) == (expected, flat(tools, "docs_lab", "look"), {"path": NASTY})
        assert whole.outputs == (NASTY, NASTY, NASTY)
        assert thoughts(running, whole) == 2
    for heard in model.heard[4:]:
        assert json.dumps(SUMMARY, ensure_ascii=False)[1:-1] in heard.text


def test_a_request_that_reached_an_instance_is_not_sent_twice(running: Fleet, session: Session) -> None:
    model = running.model

    def fatal(heard: Heard) -> Turn:
        running.kill(heard.headers[INSTANCE])
        return says("Too late.")

    model.says.extend([fatal, says("Here.")])
    session.history.append(USER)
    answer = session.open()
    assert (answer.status, len(model.heard)) == (502, 1)
    session.close()
    (said,) = session.ask()
    assert said["content"][0]["text"] == "Here."
    assert set(model.served_by()) == {*NAMES}


def test_only_the_stream_on_its_way_is_lost_and_an_instance_comes_back(running: Fleet, session: Session) -> None:
    model, killed = running.model, threading.Event()
    head = model.wire.reply([*model.wire.begin(), *model.wire.items(calls(script(NASTY)), 1)[:4]])

    def stuck(_: Heard) -> Reply:
        def pieces() -> Iterator[Piece]:
            yield from (piece for piece in head.pieces if isinstance(piece, bytes) and b"[DONE]" not in piece)
            killed.wait(PATIENCE)

        return Reply(pieces(), headers=head.headers)

    model.says.extend([stuck, calls(script(NASTY)), *[says("Here.")] * 200])
    session.history.append(USER)
    answer = session.open()
    assert answer.read1()
    (broken,) = model.served_by()
    (whole,) = {*NAMES} - {broken}
    running.kill(broken)
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        answer.read()
    killed.set()
    session.close()

    (run,) = session.ask()
    assert (run["input"], model.heard[0].calls, model.heard[1].calls) == (NASTY, (), ())
    session.ask(output(run))
    assert model.served_by() == [broken, whole, whole]
    assert made_at(model.heard[2]) == [("exec", NASTY)]

    running.start(broken)
    until = time.monotonic() + PATIENCE
    while model.served_by()[-2:] != [whole, broken] and time.monotonic() < until:
        session.ask(USER)
        time.sleep(0.2)
    assert model.served_by()[-2:] == [whole, broken]
