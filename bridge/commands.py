"""The commands: what they show of flows, and what they write of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from mitmproxy import command, exceptions, types
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow

from bridge import fixtures
from bridge.checking import check, total
from bridge.exchange import Exchange
from bridge.settings import Settings
from bridge.views.bodies import bodies_of
from bridge.views.difference import difference_lines
from bridge.views.dryrun import dry_run
from bridge.views.export import export, first_free
from bridge.views.ledger import ledger_lines
from bridge.views.tools import tool_lines

logger = logging.getLogger("bridge")

MOST_LINES = 5_000
"""Lines of a dry run."""

type Show = Callable[[HTTPFlow], Iterator[str]]


class Commands:
    """`:bridge.explain @focus` and its like; mitmproxy completes and explains them."""

    name = "bridgecommands"

    def __init__(self, settings: Callable[[], Settings], live: Callable[[HTTPFlow], Exchange | None]) -> None:
        """`settings` of today; `live`: a flow → its exchange, while it is on its way."""
        self._settings = settings
        self._live = live

    @command.command("bridge.explain")  # type: ignore[untyped-decorator]
    def explain(self, flows: Sequence[Flow]) -> Sequence[str]:
        """Say which rules fired on flows, where, and why."""
        return _shown(flows, lambda flow: ledger_lines(bodies_of(flow, self._live(flow))))

    @command.command("bridge.tools")  # type: ignore[untyped-decorator]
    def tools(self, flows: Sequence[Flow]) -> Sequence[str]:
        """List the tools that flows declare, and what each is called at the backend."""
        return _shown(flows, lambda flow: tool_lines(bodies_of(flow, self._live(flow))))

    @command.command("bridge.diff")  # type: ignore[untyped-decorator]
    def diff(self, flows: Sequence[Flow]) -> Sequence[str]:
        """Show what differs between the client's and the backend's version of flows."""
        return _shown(flows, self._difference)

    @command.command("bridge.check")  # type: ignore[untyped-decorator]
    def check(self, flows: Sequence[Flow]) -> Sequence[str]:
        """Lower and lift flows again with today's settings, and say what differs; of one flow, show what would be sent.

        Nothing is sent.
        """
        chosen = _http(flows)
        results = [check(flow, self._settings()) for flow in chosen]
        lines = [f"{number}: {result.text}" for number, result in enumerate(results, 1)] + [total(results)]
        for line in lines:
            logger.info(f"bridge: {line}")
        return lines + (list(islice(dry_run(chosen[0], self._settings()), MOST_LINES)) if len(chosen) == 1 else [])

    @command.command("bridge.export")  # type: ignore[untyped-decorator]
    def export(self, flows: Sequence[Flow], folder: types.Path) -> None:
        """Write the four bodies of flows into a folder, and a curl line with the key as $OPENAI_API_KEY."""
        try:
            target = Path(folder).expanduser()
            target.mkdir(parents=True, exist_ok=True)
            written = [
                path
                for number, flow in enumerate(_http(flows), first_free(target))
                for path in export(flow, bodies_of(flow, self._live(flow)), target, number)
            ]
        except (OSError, RuntimeError) as error:
            raise exceptions.CommandError(f"{folder} cannot be written: {_why(error)}") from None
        logger.info(f"bridge: {len(written)} files in {target}")

    @command.command("bridge.fixture")  # type: ignore[untyped-decorator]
    def fixture(self, flows: Sequence[Flow], path: types.Path) -> None:
        """Write flows as a recording that holds nothing personal, and what is expected of them beside it."""
        write_fixture(_http(flows), path, self._settings())

    def _difference(self, flow: HTTPFlow) -> Iterator[str]:
        bodies = bodies_of(flow, self._live(flow))
        for response in (False, True):
            yield "# The response" if response else "# The request"
            yield from difference_lines(bodies, response=response)


def write_fixture(recorded: Sequence[HTTPFlow], path: str, settings: Settings) -> None:
    """Write a fixture, and say so."""
    try:
        target = Path(path).expanduser()
        report = fixtures.write(recorded, target, settings)
    except (OSError, RuntimeError) as error:
        raise exceptions.CommandError(f"{path} cannot be written: {_why(error)}") from None
    if not report.written:
        raise exceptions.CommandError(f"{path} is not written: {report}")
    logger.info(f"bridge: {target} and {target.with_suffix('.expected.json').name}: {report}")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _http(flows: Sequence[Flow]) -> list[HTTPFlow]:
    return [flow for flow in flows if isinstance(flow, HTTPFlow)]


def _shown(flows: Sequence[Flow], show: Show) -> list[str]:
    """The lines of each flow, with its number where there are several."""
    shown = _http(flows)
    lines = []
    for number, flow in enumerate(shown, 1):
        lines += [f"# Flow {number}"] if len(shown) > 1 else []
        lines += show(flow)
    return lines or ["# No HTTP flow is chosen."]
