"""Refusals and omissions of the demo; tests/e2e/test_wheel.py runs the whole demo."""

from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.config.settings import Config
from perf_culprit.demo import story
from perf_culprit.demo.demo_repository import DemoRepository, fresh_directory
from perf_culprit.errors import EXIT_USAGE, UsageError


def test_the_demo_never_clears_a_folder_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("irreplaceable")
    with pytest.raises(UsageError, match="not made by the demo"):
        fresh_directory(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "irreplaceable"


def test_a_file_in_the_place_of_the_demo_s_folder_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text("irreplaceable")
    assert main(["demo", "--directory", str(file)]) == EXIT_USAGE
    assert f"{file}: is a file, not a folder\nNext: give another place with --directory" in capsys.readouterr().err


def test_without_the_plotting_library_nothing_is_measured_for_a_dashboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perf_culprit.flows.site.get_data", lambda *_: None)
    monkeypatch.setattr(story, "record_as_merged", lambda *_, **__: pytest.fail("measured"))
    told: list[str] = []
    repository = DemoRepository(work=tmp_path, remote=tmp_path, main=(), branch=())
    assert story._dashboard(repository, tmp_path / "dashboard", config=Config(), say=told.append) == ()
    assert "no dashboard" in told[0]
