"""`perf-culprit backfill` on a real repository: stopped, resumed, and read by the commands that look back."""

from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.cli.entry import main
from perf_culprit.store.opening import open_git_branch
from perf_culprit.store.protocol import NamedRun
from tests.support.git_repository import init_repository, run_git

BENCH = """import pathlib
level = int(pathlib.Path("value").read_text())
assert level > 0
for n in range(3):
    print(f"BenchmarkParse-8 100 {level + n} ns/op")
"""
LEVELS = (100, 100, 100, 200, -1, 200, 200)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Seven commits, of which the fourth is slow and the fifth does not run; v1 is the second."""
    remote = init_repository(tmp_path / "remote.git", bare=True)
    project = init_repository(tmp_path / "project")
    run_git(project, "remote", "add", "origin", str(remote))
    (project / "bench.py").write_text(BENCH)
    for number, level in enumerate(LEVELS):
        (project / "value").write_text(f"{level}\n")
        (project / "number").write_text(f"{number}\n")
        run_git(project, "add", "-A")
        run_git(project, "commit", "-qm", f"commit {number}")
        if number in (1, 5):
            run_git(project, "tag", f"v{number}")
    return project


def backfill(project: Path, *options: str) -> int:
    arguments = ["--repo", str(project), "--log", str(project.parent / "log.txt"), "--run", "python bench.py"]
    return main(["backfill", *arguments, "--executions", "2", *options])


def stored(project: Path) -> dict[str, NamedRun]:
    line = list(reversed(git.ancestors(project, [git.head_commit(project)])))
    with open_git_branch(git.Remote(url=str(project.parent / "remote.git"))) as history:
        runs = [entry for entry in history.runs("default", line) if isinstance(entry, NamedRun)]
    return {str(line.index(entry.commit)): entry for entry in runs}


def test_what_was_stopped_is_resumed_and_each_commit_is_measured_once(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backfill(project, "--since", "v1", "--every", "release") == 0
    assert "2 commits since v1: 0 stored before\nrecorded 2, 0 gave no result" in capsys.readouterr().out
    assert sorted(stored(project)) == ["1", "5"]
    assert backfill(project, "--since", "v1", "--dry-run") == 0
    assert (
        "6 commits since v1: 2 stored before\nwould measure 4, each 2 times after a warm-up, about 0."
        in capsys.readouterr().out
    )
    assert sorted(stored(project)) == ["1", "5"]
    assert backfill(project, "--since", "v1") == 0
    assert "recorded 3, 1 gave no result, 0 are left" in capsys.readouterr().out
    runs = stored(project)
    assert sorted(runs) == ["1", "2", "3", "5", "6"]
    for number, entry in runs.items():
        (benchmark,) = entry.run.benchmarks
        assert benchmark.samples == tuple(LEVELS[int(number)] + n for n in (0.0, 1.0, 2.0)) * 2
        assert benchmark.group_sizes == (3, 3)
        assert entry.run.time == git.commit_time(project, entry.commit)
        assert any("by backfill" in note for note in entry.run.notes)
    assert backfill(project, "--since", "v1") == 3  # only what gives no result is left


def test_a_limit_too_short_for_one_commit_still_gets_on(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert backfill(project, "--since", "HEAD", "--minutes", "0.00001", "--also", "build-time,size:value") == 0
    output = capsys.readouterr()
    assert "1 commit since HEAD: 0 stored before\nrecorded 1, 0 gave no result, 0 are left" in output.out
    (entry,) = stored(project).values()
    assert [one.metric.name for one in entry.run.benchmarks] == ["time", "size:value"]
    assert "there is no build command to time" in "".join(entry.run.notes)


def test_a_shallow_clone_is_no_short_history(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """HEAD and v1 exist, as after `fetch-tags`, but the commits between them are missing."""
    shallow = project.parent / "shallow"
    run_git(project.parent, "clone", "-q", "--depth=1", f"file://{project}", str(shallow))
    run_git(shallow, "fetch", "-q", "--depth=1", "origin", "tag", "v1")
    assert backfill(shallow, "--since", "v1", "--dry-run") == 2
    assert "this is a shallow clone\nNext: fetch the whole history" in capsys.readouterr().err
    assert backfill(shallow, "--since", "HEAD", "--dry-run") == 0


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--since", "nowhere"), 2, "nowhere"),
        (("--since", "v1", "--every", "third"), 2, "give --every merge, release or a number"),
        (("--since", "v1", "--every", "merge"), 2, "HEAD holds no such commit since v1"),
    ],
)
def test_a_choice_that_is_none_is_told(
    project: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], code: int, message: str
) -> None:
    assert backfill(project, *options) == code
    assert message in capsys.readouterr().err
