"""A disk that fills up during a measurement is the machine's fault: no commit is blamed, and the next call is right."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from tests.support.git_repository import init_repository, run_git
from tests.support.measured_repository import COUNTER, RUN, line, measured_repository, temporary_folders

COMMITS, CULPRIT = 8, 5
LAST_WORDS = "cp: error writing 'x': No space left on device"
FILLED = f'read -r n < "${COUNTER}"; if [ -e "$FULL" ] && [ "$n" -gt 4 ]; then echo "{LAST_WORDS}" >&2; exit 1; fi'


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with temporary_folders(tmp_path, monkeypatch) as folder:
        monkeypatch.setenv("FULL", str(tmp_path / "full"))
        (tmp_path / "counter").write_text("0\n")
        (tmp_path / "full").touch()
        yield folder


@pytest.mark.slow  # whole searches
def test_a_search_blames_no_commit_and_is_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = measured_repository(tmp_path / "repository", line(COMMITS, step_at=CULPRIT))
    state = tmp_path / "state.json"
    ends = ("--repo", str(tmp_path / "repository"), "--good", hashes["c0"], "--bad", hashes["c7"])
    search = ("bisect", *ends, "--run", f"{FILLED}; {RUN}", "--prior", "uniform")
    assert main([*search, "--state", str(state)]) == 4
    assert "No space left on device" in capsys.readouterr().err
    (tmp_path / "full").unlink()
    assert main([*search, "--resume", str(state)]) == 0
    assert hashes["c5"][:7] in capsys.readouterr().out


def test_old_commits_are_left_for_the_next_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = measured_repository(tmp_path / "repository", line(4, step_at=2))
    run_git(tmp_path / "repository", "remote", "add", "origin", str(tmp_path / "origin.git"))
    init_repository(tmp_path / "origin.git", bare=True)
    options = ("--since", hashes["c0"], "--executions", "2", "--log", str(tmp_path / "log.txt"))
    backfill = ("backfill", "--repo", str(tmp_path / "repository"), "--run", f"{FILLED}; {RUN}", *options)
    assert main([*backfill]) == 4
    assert "free disk space" in capsys.readouterr().err
    (tmp_path / "full").unlink()
    assert main([*backfill]) == 0
    assert "0 gave no result, 0 are left" in capsys.readouterr().out
