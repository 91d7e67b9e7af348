"""The demo, whole: it measures for real, so only what noise cannot change is asserted."""

import json
from pathlib import Path

import pytest

from bot.config import Config
from bot.demo import run, run_demo
from bot.demo.repository import DemoRepository, fresh_directory
from bot.errors import UsageError
from tests.support.git_repository import run_git

pytestmark = pytest.mark.slow  # measures a real benchmark in some fifty processes


def test_the_demo_tells_its_story_and_leaves_its_files(tmp_path: Path) -> None:
    told: list[str] = []
    pages = run_demo(tmp_path / "demo", say=told.append)
    text = "\n".join(told)
    report = json.loads((tmp_path / "demo" / "report.json").read_text())
    assert {finding["benchmark"] for finding in report["findings"]} == {"tokenize", "count", "index", "search", "wrap"}
    assert report["baseline_source"] == "paired"
    assert (tmp_path / "demo" / "comment.md").read_text() in text
    assert "<table" in (tmp_path / "demo" / "report.html").read_text()
    assert "First run" in text
    assert [page.relative_to(tmp_path / "demo").as_posix() for page in pages] == ["report.html", "dashboard/index.html"]
    assert all(page.is_file() for page in pages)
    index = (tmp_path / "demo" / "dashboard" / "data" / "index.js").read_text()
    (panel,) = json.loads(index.removeprefix("perfCulprit.index(").removesuffix(");\n"))["panels"]
    # Five runs of main and four of each commit of the pull request: enough to judge every series.
    assert len(panel["runs"]) == 25
    assert [series[-1] for series in panel["series"]] == [None] * 5
    tokenize = next(finding for finding in report["findings"] if finding["benchmark"] == "tokenize")
    # Never "excluded", however busy the machine is.
    assert tokenize["verdict"] in {"regression", "inconclusive"} or tokenize["reason"]["code"] == "nothing_seen"
    assert tokenize["relative_change"] > 0
    if report["conclusion"] != "regression":
        assert "[4/5] which commit: nothing to look for" in text
        return
    # A noisy machine may leave the commit or the method open, and names no other.
    diagnosis = report["diagnosis"]
    commits = run_git(tmp_path / "demo" / "repository", "log", "--format=%H %s", "main..fold-accents").splitlines()
    (culprit,) = (line.split()[0] for line in commits if "Fold accents" in line)
    assert diagnosis["commit"] in {None, culprit}
    assert {one["service"] for one in diagnosis["services"]} == {"statistics", "import", "search", "print"}
    suspects = [one["method"] for one in diagnosis["suspects"] if one["reasons"]]
    assert suspects[:1] in ([], ["textkit.tokenize"])


def test_the_demo_never_clears_a_folder_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("irreplaceable")
    with pytest.raises(UsageError, match="not made by the demo"):
        fresh_directory(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "irreplaceable"


def test_without_the_plotting_library_nothing_is_measured_for_a_dashboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.pipeline.dashboard.get_data", lambda *_: None)
    monkeypatch.setattr(run, "record_as_merged", lambda *_, **__: pytest.fail("measured"))
    told: list[str] = []
    repository = DemoRepository(work=tmp_path, remote=tmp_path, main=(), branch=())
    assert run._dashboard(repository, tmp_path / "dashboard", config=Config(), say=told.append) == ()
    assert "no dashboard" in told[0]
