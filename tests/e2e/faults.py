"""How backends fail: steps of a script that break off, end at a limit, or say an error; and malformed arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tests.e2e.model import Moment, Step
from tests.e2e.scripts import adds, in_script
from tests.e2e.turns import Call, Turn, calls, custom, says, script, shell
from tests.support.backend import CUT, Piece, Reply, whole
from tests.support.sse_tools import Event

type Fault = Callable[[Moment], Reply]

ONCE = "echo once >> log.txt # and that is all"
"""Shows how often it ran, even if its end is missing."""
SCRIPT = in_script("exec_command", {"cmd": ONCE}, "text(r.output);\n// That is all.")
PATCH = adds("log.txt", "once")
OVERFLOW = "This model's maximum context length is 131072 tokens. However, your request has 140000 input tokens."
MISSING = 9
"""Characters that are missing from the arguments of a call that breaks off."""


def unless_called(call: Call) -> Step:
    """A model that makes a call until it finds it in its history."""
    return lambda moment: says("Done.") if moment.heard.calls else calls(call)


def _short(call: Call) -> Turn:
    return Turn((replace(call, arguments=call.arguments[:-MISSING]),))


def _open(events: Iterable[Event]) -> list[Event]:
    """Events of which nothing is done."""
    return [event for event in events if not event.get("type", "").endswith(".done")]


def limit_in(call: Call, dialect: str, *, announced: bool) -> Fault:
    """The output limit inside a call; `announced`: whether the call is marked as done all the same."""

    def reply(moment: Moment) -> Reply:
        wire, turn = moment.wire, _short(call)
        items = wire.items(turn, moment.number)
        return wire.reply([*wire.begin(), *(items if announced else _open(items)), *wire.end(turn, dialect)])

    return reply


def _before(moment: Moment, _: Call) -> list[Event]:
    return moment.wire.items(says("I will"), moment.number)


def _inside(moment: Moment, call: Call) -> list[Event]:
    return _open(moment.wire.items(_short(call), moment.number))


def _behind(moment: Moment, call: Call) -> list[Event]:
    return moment.wire.items(calls(call), moment.number)


PLACES: dict[str, Callable[[Moment, Call], list[Event]]] = {
    "before a call": _before,
    "inside a call": _inside,
    "behind a call": _behind,
}
"""Where a stream breaks off → what came until then."""


def cut(place: str, call: Call) -> Fault:
    """The connection breaks off."""
    return lambda moment: _ends(moment, [*PLACES[place](moment, call), CUT])


def error_in_stream(code: str, message: str) -> Fault:
    """An error after the head of an answer that began well."""
    return lambda moment: _ends(moment, list(moment.wire.failure(code, message)))


def silent(seconds: float, turn: Turn) -> Fault:
    """A turn that takes its time, after the head and before the end."""

    def reply(moment: Moment) -> Reply:
        wire = moment.wire
        said = [*wire.items(turn, moment.number), seconds, *wire.end(turn)]
        return wire.reply([*wire.begin(), seconds, *said])

    return reply


def _ends(moment: Moment, pieces: list[Event | Piece]) -> Reply:
    return moment.wire.reply([*moment.wire.begin(), *pieces])


def refused(status: int, message: str, code: str | None = None, **headers: str) -> Fault:
    """An answer that is an error."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    return lambda _: whole(body, status, **headers)


@dataclass(frozen=True)
class Malformed:
    """A way to write arguments for a payload, and whether the payload can be known from them."""

    write: Callable[[str], str]
    runs: bool


def _fixed(arguments: str) -> Malformed:
    return Malformed(lambda _: arguments, runs=False)


MALFORMED: dict[str, Malformed] = {
    "no JSON": Malformed(lambda payload: payload, runs=True),
    "empty": _fixed(""),
    "an empty object": _fixed("{}"),
    "an extra key": Malformed(lambda payload: json.dumps({"input": payload, "lang": "x"}), runs=True),
    "an extra key first": Malformed(lambda payload: json.dumps({"lang": "x", "input": payload}), runs=True),
    "another key": Malformed(lambda payload: json.dumps({"code": payload}), runs=True),
    "a number": _fixed('{"input": 5}'),
    "a boolean": _fixed('{"input": true}'),
    "null": _fixed('{"input": null}'),
    "an object": _fixed('{"input": {"a": 1}}'),
    "a list": _fixed('{"input": [1]}'),
    "a bare string": Malformed(json.dumps, runs=True),
    "the same object twice": Malformed(lambda payload: json.dumps({"input": payload}) * 2, runs=True),
    "raw control characters": Malformed(lambda payload: f'{{"input": "{_loosely(payload)}"}}', runs=True),
}


def _loosely(payload: str) -> str:
    """The inside of a JSON string in which line ends stand as they are."""
    return json.dumps(payload)[1:-1].replace("\\n", "\n")


CALLS: dict[str, Call] = {
    "a function": shell(ONCE),
    "a script": script(SCRIPT),
    "a patch": custom("apply_patch", PATCH),
}
"""Calls that leave one line in the log."""
