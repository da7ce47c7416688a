"""mitmweb itself, in a real browser: load a recording, open each view, see its first lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.browser import Page, page
from tests.support.mitmweb import mitmweb
from tests.support.recordings import FOLDER

pytestmark = pytest.mark.browser
TURNS = 15


@pytest.fixture(scope="module")
def opened() -> Iterator[Page]:
    """The page, with the fourth turn of a session open."""
    with mitmweb(FOLDER / "codex-0.171.0-code-mode.mitm") as web:
        web.flows(TURNS)
        with page(web.url) as shown:
            shown.open_flow(4)
            yield shown


@pytest.mark.parametrize(
    ("side", "view", "lines"),
    [
        ("Request", "Bridge Summary", ["! grammar exec:", "model: gpt-5.6-sol", "turn: 4 of thread"]),
        ("Request", "Bridge Ledger", ["! grammar exec:", "request   hoisted      9 ×"]),
        ("Request", "Bridge Client", ["# What the client sent:", 'type: "additional_tools"']),
        ("Request", "Bridge Backend", ["# What the backend got:", 'model: "gpt-5.6-sol"']),
        ("Request", "Bridge Diff", ["# - client   + backend", "- input[0]:"]),
        ("Request", "Bridge Turn", ["# Turn 4 of thread", "items as in the previous request of the thread"]),
        ("Response", "Bridge Client", ["# What the client got:", 'type: "custom_tool_call"']),
        ("Response", "Bridge Backend", ["# What the backend sent:", 'type: "function_call"']),
        (
            "Response",
            "Bridge Diff",
            ["# - backend   + client", '~ output[0].type: "function_call" → "custom_tool_call"'],
        ),
    ],
)
def test_each_view_shows_its_first_lines(opened: Page, side: str, view: str, lines: list[str]) -> None:
    opened.open_side(side)
    text = opened.open_view(view)
    assert [line for line in lines if line not in text] == []
