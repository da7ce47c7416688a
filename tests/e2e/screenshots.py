"""The pictures of mitmweb in the README: `uv run python -m tests.e2e.screenshots`."""

from __future__ import annotations

import time
from pathlib import Path

from tests.e2e.browser import page
from tests.support.mitmweb import mitmweb
from tests.support.recordings import FOLDER

TARGET = Path(__file__).parents[1] / "screenshots"
SHOTS = (("summary", "Request", "Bridge Summary"), ("diff", "Response", "Bridge Diff"))


def main() -> None:
    """Take them."""
    TARGET.mkdir(exist_ok=True)
    with mitmweb(FOLDER / "codex-0.171.0-code-mode.mitm") as web:
        web.flows(1)
        with page(web.url) as shown:
            shown.open_flow(4)
            for name, side, view in SHOTS:
                shown.open_side(side)
                shown.open_view(view)
                time.sleep(0.5)  # the page lays itself out
                shown.shoot(TARGET / f"{name}.png")


if __name__ == "__main__":
    main()
