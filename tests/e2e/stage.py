"""Where a session is played: Codex, the bridge as a process, the scripted model, each with the others' addresses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.codex import Codex, Ran, Setup
from tests.e2e.model import Aside, Model, Step, nothing_aside
from tests.e2e.places import codex_binary
from tests.e2e.wire import Wire
from tests.support.backend import Asked, Backend, Reply, backend, whole
from tests.support.process import Dump, mitmdump

TROUBLE = ("Traceback", "Addon error", "Error in")
"""What mitmproxy prints when an addon fails."""
PATIENCE = 5.0


class Bench:
    """A bridge in front of a backend whose script is changed from test to test: starting one takes a second."""

    def __init__(self, stack: ExitStack, settings: tuple[str, ...]) -> None:
        self.script: Callable[[Asked], Reply] = lambda _: whole({}, 503)
        self.backend: Backend = stack.enter_context(backend(lambda asked: self.script(asked)))
        self.dump: Dump = stack.enter_context(mitmdump(self.backend.url, *settings))


class Benches:
    """One bench for each set of options, started when it is first asked for."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._benches: dict[tuple[str, ...], Bench] = {}

    def get(self, settings: tuple[str, ...]) -> Bench:
        """The bench with these options."""
        if settings not in self._benches:
            self._benches[settings] = Bench(self._stack, settings)
        return self._benches[settings]


@dataclass(frozen=True)
class Played:
    """What Codex did, what its model was asked, and what the bridge printed meanwhile."""

    ran: Ran
    model: Model
    dump: Dump
    before: int
    """How many lines the bridge had printed when it began."""

    @property
    def printed(self) -> str:
        """What the bridge printed since."""
        return "".join(self.dump.printed[self.before :])

    def assert_told(self, words: str) -> None:
        """The bridge printed that; what it prints arrives a little later than what it sends."""
        end = time.monotonic() + PATIENCE
        while words not in self.printed and time.monotonic() < end:
            time.sleep(0.02)
        assert words in self.printed, self.printed

    def assert_done(self, requests: int) -> None:
        """The turn ended well, after so many requests of the main thread."""
        assert self.ran.code == 0, (self.ran.complaints, self.ran.stderr)
        assert self.ran.events[-1]["type"] == "turn.completed"
        assert not self.ran.complaints, self.ran.complaints
        assert len(self.model.heard) == requests, [heard.text for heard in self.model.heard]


@dataclass(frozen=True)
class Stage:
    """A version of Codex and a wire."""

    benches: Benches
    version: str
    wire: Wire
    folder: Path

    def play(
        self,
        steps: Sequence[Step],
        setup: Setup | None = None,
        *,
        aside: Aside = nothing_aside,
        settings: tuple[str, ...] = (),
        change: Callable[[Codex], None] = lambda _: None,
    ) -> Played:
        """Run a session; `change` has the last word on Codex's configuration."""
        bench = self.benches.get((*self.wire.settings, *settings))
        bench.script = model = Model(self.wire, steps, aside)
        before = len(bench.dump.printed)
        binary = codex_binary(self.version)
        assert binary
        codex = Codex(binary, bench.dump.port, self.folder, setup or Setup())
        change(codex)
        played = Played(codex.run(), model, bench.dump, before)
        assert model.refused == [], model.refused
        assert not [word for word in TROUBLE if word in played.printed], played.printed
        return played
