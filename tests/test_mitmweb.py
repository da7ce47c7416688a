"""The views through mitmweb's own API, and the commands as it lists and runs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.golden import golden_of
from tests.support.mitmweb import Web, mitmweb
from tests.support.recordings import FOLDER

RECORDING = FOLDER / "codex-0.171.0-code-mode.mitm"
TURNS = 15


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    """mitmweb with a recording."""
    with mitmweb(RECORDING) as running:
        running.flows(TURNS)
        yield running


def view(web: Web, name: str, side: str = "request") -> str:
    """The text of a view of the second turn."""
    flow = web.flows(TURNS)[1]
    answer = web.get(f"/flows/{flow['id']}/{side}/content/{name}.json")
    assert answer["view_name"] == name
    assert answer["syntax_highlight"] == "yaml"
    return str(answer["text"])


@pytest.mark.parametrize("name", ["Summary", "Ledger", "Turn"])
def test_views_are_what_was_looked_at(web: Web, name: str) -> None:
    shown = golden_of(RECORDING).read_text().split(f"==== turn 2, Bridge {name} ====\n")[1].split("\n\n====")[0]
    assert view(web, f"Bridge {name}").strip() == shown.strip()


@pytest.mark.parametrize("name", ["Client", "Backend", "Diff"])
def test_views_of_a_side_are_what_was_looked_at(web: Web, name: str) -> None:
    head = f"==== turn 2, Bridge {name} of the response ====\n"
    shown = golden_of(RECORDING).read_text().split(head)[1].split("\n\n====")[0]
    assert view(web, f"Bridge {name}", "response").strip() == shown.strip()
    assert view(web, f"Bridge {name}").startswith("#")


def test_auto_stays_json(web: Web) -> None:
    flow = web.flows(TURNS)[1]
    assert web.get(f"/flows/{flow['id']}/request/content/Auto.json")["view_name"] == "JSON"


def test_the_list_has_a_comment_and_a_marker(web: Web) -> None:
    flow = web.flows(TURNS)[1]
    assert flow["comment"].startswith("bridge: hoisted 9, flattened 9, lowered 1 (exec)")
    assert flow["marked"] == ""


def test_the_commands_are_listed_with_their_help(web: Web) -> None:
    commands = web.get("/commands")
    assert {name for name in commands if name.startswith("bridge.")} == {
        f"bridge.{name}" for name in ("check", "diff", "explain", "export", "fixture", "tools")
    }
    assert all(commands[name]["help"] for name in commands if name.startswith("bridge."))
