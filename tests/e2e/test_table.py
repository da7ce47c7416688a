"""The compatibility table of known results, and that it is written between its marks only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.table import Row, main, table

RESULTS: list[Row] = [
    {"version": "1.0", "wire": "responses", "feature": "patch", "outcome": "passed"},
    {"version": "1.0", "wire": "responses", "feature": "patch", "outcome": "failed"},
    {"version": "1.0", "wire": "chat", "feature": "patch", "outcome": "passed"},
    {"version": "1.0", "wire": "chat", "feature": "image", "outcome": "passed"},
    {"version": "1.0", "wire": "chat", "feature": "image", "outcome": "skipped"},
    {"version": "2.0", "wire": "chat", "feature": "image", "outcome": "skipped"},
]
TABLE = """\
|  | 1.0 responses | 1.0 chat | 2.0 chat |
| --- | :-: | :-: | :-: |
| patch | ✗ | ✓ | – |
| image | – | ✓ | – |"""


def test_one_failure_is_a_failure_and_what_did_not_run_has_a_dash() -> None:
    assert table(RESULTS) == TABLE


def test_it_is_written_between_its_marks(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text("before\n<!-- compatibility -->\nold \\1\n<!-- /compatibility -->\nafter\n")
    results.write_text(json.dumps(RESULTS))
    for _ in range(2):
        main(["--write", str(page), str(results)])
        assert page.read_text() == f"before\n<!-- compatibility -->\n{TABLE}\n<!-- /compatibility -->\nafter\n"


def test_it_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.json"
    results.write_text(json.dumps(RESULTS))
    main([str(results)])
    assert capsys.readouterr().out == f"{TABLE}\n"


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text("no marks\n")
    results.write_text("[]")
    with pytest.raises(SystemExit):
        main(["--write", str(page), str(results)])
    assert page.read_text() == "no marks\n"
