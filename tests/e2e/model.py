"""The scripted model: it says one step of its script a request, refuses what strict backends refuse, and remembers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.e2e.turns import Call, Heard, Turn
from tests.e2e.wire import Wire
from tests.support.backend import Asked, Reply, whole

MOST_REQUESTS = 40
"""More than any session needs: a client that goes on is refused, which ends it."""


@dataclass(frozen=True)
class Moment:
    """When a step is said: over which wire, with which number, and in answer to what."""

    wire: Wire
    number: int
    heard: Heard


type Step = Turn | Callable[[Moment], Turn | Reply]
type Aside = Callable[[Heard], Turn | None]


def nothing_aside(_: Heard) -> Turn | None:
    """Every request is of the main thread."""
    return None


class Model:
    """A backend's script for one test; its last step repeats. `aside` answers requests of other threads."""

    def __init__(self, wire: Wire, steps: Sequence[Step], aside: Aside = nothing_aside) -> None:
        self._wire, self._steps, self._aside = wire, steps, aside
        self._lock = threading.Lock()
        self.refused: list[str] = []
        self.heard: list[Heard] = []
        self.beside: list[Heard] = []
        self.made: list[Call] = []
        """The calls of whole turns."""
        self.others: list[Asked] = []
        """Requests that ask the model for nothing."""

    def __call__(self, asked: Asked) -> Reply:
        """The answer to a request."""
        with self._lock:
            if (asked.method, asked.path) != ("POST", self._wire.path):
                return self._other(asked)
            endless = "it was asked again and again" if len(self.heard) >= MOST_REQUESTS else None
            if reason := endless or self._wire.refusal(asked.body):
                self.refused.append(reason)
                return whole({"error": {"message": reason, "type": "invalid_request_error", "code": None}}, 400)
            return self._reply(self._wire.heard(asked))

    def _other(self, asked: Asked) -> Reply:
        self.others.append(asked)
        if asked.path.partition("?")[0].endswith("/models"):
            return whole({"object": "list", "data": []})
        return whole({"error": {"message": "There is nothing here."}}, 404)

    def _reply(self, heard: Heard) -> Reply:
        seed = len(self.heard) + len(self.beside) + 1
        if turn := self._aside(heard):
            self.beside.append(heard)
            return self._wire.answer(turn, seed)
        self.heard.append(heard)
        step = self._steps[min(len(self.heard), len(self._steps)) - 1]
        said = step if isinstance(step, Turn) else step(Moment(self._wire, seed, heard))
        if isinstance(said, Reply):
            return said
        self.made += said.calls
        return self._wire.answer(said, seed)

    def assert_replayed(self) -> None:
        """The last request of the main thread holds every call that was made, as it was made."""
        replayed, made = [[meant(call) for call in those] for those in (self.heard[-1].calls, self.made)]
        assert replayed == made, f"{replayed} are not {made}"


def meant(call: Call) -> tuple[str, object]:
    """A call without the layout of its JSON."""
    return call.name, json.loads(call.arguments)
