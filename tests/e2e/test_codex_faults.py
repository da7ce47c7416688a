"""How the real Codex CLI takes a backend's faults through the bridge: nothing runs by halves, twice, or forever."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.e2e.codex import Setup
from tests.e2e.faults import (
    CALLS,
    MALFORMED,
    ONCE,
    OVERFLOW,
    PATCH,
    PLACES,
    SCRIPT,
    cut,
    error_in_stream,
    limit_in,
    refused,
    silent,
    unless_called,
)
from tests.e2e.model import Step
from tests.e2e.places import OLDEST
from tests.e2e.stage import Played, Stage
from tests.e2e.turns import Call, calls, says, shell

pytestmark = pytest.mark.codex
LITE = "gpt-5.6-sol"
FEW_RETRIES = {"stream_max_retries": 1, "request_max_retries": 1}
MODELS = {"a function": "gpt-5.5", "a patch": "gpt-5.5", "a script": LITE}
newest = pytest.mark.parametrize("version", ["latest"], indirect=True)
LIMITS = [
    ("responses", "incomplete", False, False),
    ("responses", "status", True, False),
    ("responses", "", True, True),
    ("chat", "length", True, False),
    ("chat", "stop", True, True),
    ("chat", "", True, True),
]
"""Of an answer that ends at the output limit: the wire, how the end is told, whether the call is marked as done, and
whether Codex asks again: it does where nobody says that it was the limit."""


def play(stage: Stage, what: str, *steps: Step) -> Played:
    """A session with the model that has the tool."""
    return stage.play(steps, Setup(MODELS[what], provider=FEW_RETRIES))


def assert_ran_once(played: Played, requests: int) -> None:
    """The call ran once, the turn ended well, and Codex did not ask more often than that needs."""
    assert played.ran.code == 0, (played.ran.complaints, played.ran.stderr)
    assert played.ran.files == {"log.txt"}, played.ran.complaints
    assert played.ran.text("log.txt") == "once\n"
    assert len(played.model.heard) <= requests
    assert played.ran.messages[-1] == "Done."


def assert_gave_up(played: Played, told: str) -> None:
    """Nothing ran, Codex asked again once at most, and says why."""
    assert played.ran.code != 0
    assert played.ran.files == set()
    assert len(played.model.heard) <= 1 + FEW_RETRIES["stream_max_retries"]
    assert told in played.ran.complaints


@newest
@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize(("wire", "dialect", "announced", "again"), LIMITS, indirect=["wire"])
def test_the_output_limit_inside_a_call(stage: Stage, what: str, dialect: str, announced: bool, again: bool) -> None:
    call = CALLS[what]
    played = play(stage, what, limit_in(call, dialect, announced=announced), unless_called(call))
    if again:
        assert_ran_once(played, 3)
    else:
        assert_gave_up(played, "max_output_tokens")


@pytest.mark.parametrize(("wire", "dialect", "announced", "_"), LIMITS, indirect=["wire"])
def test_the_output_limit_every_time(stage: Stage, dialect: str, announced: bool, _: bool) -> None:
    played = play(stage, "a script", limit_in(CALLS["a script"], dialect, announced=announced))
    assert_gave_up(played, "max_output_tokens")


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("place", PLACES)
def test_a_stream_that_is_cut(stage: Stage, place: str, what: str) -> None:
    call = CALLS[what]
    played = play(stage, what, cut(place, call), unless_called(call))
    assert_ran_once(played, 3)


@newest
def test_a_stream_that_is_cut_every_time(stage: Stage) -> None:
    played = play(stage, "a script", cut("inside a call", CALLS["a script"]))
    assert_gave_up(played, "stream disconnected before completion")


@newest
def test_an_error_inside_a_stream(stage: Stage) -> None:
    call = CALLS["a script"]
    played = play(stage, "a script", error_in_stream("server_error", "The engine is dead."), unless_called(call))
    assert_ran_once(played, 3)


def test_an_error_inside_each_stream(stage: Stage) -> None:
    played = play(stage, "a script", error_in_stream("server_error", "The engine is dead."))
    assert_gave_up(played, "The engine is dead.")


OVERFLOWS = {"in the status": refused(400, OVERFLOW), "in the stream": error_in_stream("invalid_request", OVERFLOW)}


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(where, marks=pytest.mark.feature(f"compaction, when the context is said to be full {where}"))
        for where in OVERFLOWS
    ],
)
def test_a_context_that_overflows(stage: Stage, where: str, lacking: Callable[[], None]) -> None:
    steps = (calls(shell("echo first-step")), OVERFLOWS[where], says("SUMMARY of the work"), says("Done."))
    played = stage.play(steps, Setup(provider=FEW_RETRIES, resumed_with=()))
    if where == "in the status" and stage.version == OLDEST:
        # 0.154 does not read the code of a 400: the turn fails, and the next one asks with the whole history.
        assert len(played.model.heard) == 3
        assert "first-step" in played.model.heard[-1].text
        lacking()
        return
    assert played.ran.code == 0, (played.ran.complaints, played.ran.stderr)
    assert len(played.model.heard) == len(steps)
    assert "SUMMARY of the work" in played.model.heard[-1].text
    assert "first-step" not in played.model.heard[-1].text


LATER = "Rate limit reached. Please try again in 1.5s."
BUSY = {
    "in the status": refused(429, "Slow down.", "rate_limit_exceeded", retry_after="2"),
    "in the stream": error_in_stream("rate_limit_exceeded", LATER),
}


@newest
@pytest.mark.parametrize("where", BUSY)
def test_a_backend_that_is_busy_is_waited_for(stage: Stage, where: str) -> None:
    call = CALLS["a script"]
    played = play(stage, "a script", BUSY[where], unless_called(call))
    assert_ran_once(played, 3)
    first, second = played.model.heard[:2]
    assert second.at - first.at >= 1.4


@newest
def test_a_silence_that_is_longer_than_codex_waits(stage: Stage) -> None:
    setup = Setup(LITE, provider={**FEW_RETRIES, "stream_idle_timeout_ms": 3000})
    steps = silent(3.5, calls(CALLS["a script"])), says("Done.")
    played = stage.play(steps, setup, settings=("--set", "bridge_keepalive=1"))
    assert_ran_once(played, 2)
    assert not played.ran.complaints


@newest
def test_without_keepalive_codex_gives_up_on_the_same_silence(stage: Stage) -> None:
    setup = Setup(LITE, provider={"stream_max_retries": 0, "request_max_retries": 0, "stream_idle_timeout_ms": 3000})
    steps = silent(3.5, calls(CALLS["a script"])), says("Done.")
    played = stage.play(steps, setup, settings=("--set", "bridge_keepalive=0"))
    assert played.ran.code != 0
    assert "idle timeout" in played.ran.complaints


@newest
@pytest.mark.parametrize("kind", MALFORMED)
@pytest.mark.parametrize(("what", "payload"), [("a script", SCRIPT), ("a patch", PATCH)])
def test_malformed_arguments(stage: Stage, what: str, payload: str, kind: str) -> None:
    malformed, name = MALFORMED[kind], CALLS[what].name
    played = play(stage, what, calls(Call(name, malformed.write(payload))), says("Done."))
    assert played.ran.code == 0, played.ran.complaints
    assert played.ran.messages == ["Done."]
    assert len(played.model.heard) == 2
    (replayed,) = played.model.heard[-1].calls
    if malformed.runs:
        assert json.loads(replayed.arguments) == {"input": payload}
        assert_ran_once(played, 2)
    else:
        assert replayed.name == name
        assert played.model.heard[-1].outputs[0].strip()
        assert played.ran.files == set()


@newest
@pytest.mark.parametrize("arguments", ["echo once", "", "{}", '{"cmd": 5}', "[]"])
def test_malformed_arguments_of_a_function(stage: Stage, arguments: str) -> None:
    played = play(stage, "a function", calls(Call("exec_command", arguments)), says("Done."))
    assert played.ran.code == 0, played.ran.complaints
    assert played.ran.files == set()
    assert len(played.model.heard) == 2
    assert played.model.heard[-1].outputs[0].strip()


@newest
def test_call_markup_in_the_text_calls_nothing(stage: Stage) -> None:
    markup = f'<tool_call>{{"name": "exec", "arguments": {CALLS["a script"].arguments}}}</tool_call>'
    played = play(stage, "a script", says(markup))
    assert played.ran.code == 0
    assert played.ran.messages == [markup]
    assert played.ran.files == set()
    assert len(played.model.heard) == 1


def test_a_turn_that_is_interrupted_inside_a_call(stage: Stage) -> None:
    steps = calls(shell(f"{ONCE}; sleep 21"), shell("sleep 21")), says("Done.")
    played = stage.play(steps, Setup(interrupted_at="log.txt", resumed_with=()))
    assert_ran_once(played, 2)
    assert len(played.model.heard[-1].calls) == len(played.model.heard[-1].outputs)
