"""What the end-to-end tests share: their parts, which may be absent, the stage, and the rows of the table."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.llama import Served, served
from tests.e2e.places import CODEX_VERSIONS, absence, codex_version
from tests.e2e.stage import Benches, Stage
from tests.e2e.wire import WIRES

PARTS = ("codex", "llama", "browser", "terminal", "balancer")
REQUIRED = os.environ.get("BRIDGE_E2E") == "required"
LACKING = "lacks what its row says"
ROW = "row of the compatibility table"
_ROWS: list[dict[str, str]] = []


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests whose part is not installed."""
    for part in _parts(item):
        if reason := absence(part):
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where these tests are required, skipping one fails; the table gets a row for each that ran."""
    report = yield
    if report.skipped and REQUIRED and _parts(item):
        report.outcome, report.longrepr = "failed", f"required, but skipped: {report.longrepr}"
    if report.when == "call" or report.failed:
        rows = [value for name, value in item.user_properties if name == ROW]
        outcome = "failed" if (LACKING, True) in item.user_properties else report.outcome
        _ROWS.extend({**json.loads(str(row)), "outcome": outcome} for row in rows)
    return report


def pytest_sessionfinish() -> None:
    """Write the rows where they are asked for."""
    if path := os.environ.get("BRIDGE_E2E_TABLE"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps(_ROWS, indent=1) + "\n")


@pytest.fixture(scope="session")
def benches() -> Iterator[Benches]:
    """Bridges and backends, until the tests end."""
    with ExitStack() as stack:
        yield Benches(stack)


@pytest.fixture(scope="session")
def real() -> Iterator[Served]:
    """llama.cpp, with a bridge for each wire in front."""
    with served() as running:
        yield running


@pytest.fixture
def lacking(request: pytest.FixtureRequest) -> Callable[[], None]:
    """To be called by a test that shows what a version lacks: it passes, and its row of the table says no."""
    return lambda: request.node.user_properties.append((LACKING, True))


@pytest.fixture(params=CODEX_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """A name of a version of Codex."""
    return str(request.param)


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    """A name of a wire."""
    return str(request.param)


@pytest.fixture
def stage(benches: Benches, version: str, wire: str, tmp_path: Path, request: pytest.FixtureRequest) -> Stage:
    """The stage of one test; the mark `feature` names its row in the table."""
    if mark := request.node.get_closest_marker("feature"):
        row = {"version": codex_version(version), "wire": wire, "feature": mark.args[0]}
        request.node.user_properties.append((ROW, json.dumps(row)))
    return Stage(benches, version, WIRES[wire], tmp_path)


def _parts(item: pytest.Item) -> list[str]:
    return [part for part in PARTS if item.get_closest_marker(part)]
