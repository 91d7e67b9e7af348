"""The demo, whole: it measures for real, so only what noise cannot change is asserted."""

import json
from pathlib import Path

import pytest

from bot.demo import run_demo
from bot.demo.repository import fresh_directory
from bot.errors import UsageError

pytestmark = pytest.mark.slow  # measures a real benchmark in some fifty processes


def test_the_demo_tells_its_story_and_leaves_its_files(tmp_path: Path) -> None:
    said: list[str] = []
    run_demo(tmp_path / "demo", say=said.append)
    text = "\n".join(said)
    report = json.loads((tmp_path / "demo" / "report.json").read_text())
    assert {finding["benchmark"] for finding in report["findings"]} == {"tokenize", "count", "index", "search", "wrap"}
    assert report["baseline_source"] == "paired"
    assert (tmp_path / "demo" / "comment.md").read_text() in text
    assert "<table" in (tmp_path / "demo" / "report.html").read_text()
    assert "First run" in text
    tokenize = next(finding for finding in report["findings"] if finding["benchmark"] == "tokenize")
    # Never "excluded", however busy the machine is.
    assert tokenize["verdict"] in {"regression", "inconclusive"} or tokenize["reason"]["code"] == "nothing_seen"
    assert tokenize["relative_change"] > 0


def test_the_demo_never_clears_a_folder_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("irreplaceable")
    with pytest.raises(UsageError, match="not made by the demo"):
        fresh_directory(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "irreplaceable"
