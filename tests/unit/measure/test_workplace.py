"""Executions: the places where a result is sought, and the cases without a result."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.measure.processes import Log
from perf_culprit.measure.runner import Commands, ExecutionError
from perf_culprit.measure.workplace import LOCK_NAME, MEASURE_FOLDER_PREFIX, Workplace, open_workplace
from perf_culprit.model.bisection import FailureKind
from perf_culprit.read.results.collect import collect
from tests.support.git_repository import import_commits, init_repository, run_git

JSON = '[{"name": "parse", "unit": "ms", "value": 5}]'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "repository")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of all temporary folders of a test, which must be empty at its end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def execute(repository: Path, run: str, *, build: str | None = None) -> tuple[Path, dict[str, tuple[float, ...]]]:
    """Execute `run` and return the result's path and, by benchmark, the samples or the single value."""
    commit = import_commits(repository, {"one": []})["one"]
    commands = Commands(run=run, build=build, run_timeout_seconds=10, build_timeout_seconds=10)
    with (
        Log(repository.parent / "log.txt") as log,
        open_workplace(repository, commands=commands, read=lambda path: collect([str(path)]), log=log) as workplace,
    ):
        path, result = workplace.execute(commit)
        return path, {entry.name: entry.samples or (entry.value,) for entry in result.benchmarks}


def test_standard_output_is_the_result_where_no_file_is_written(repository: Path) -> None:
    assert execute(repository, "echo 1.5; echo 2.5")[1] == {"result": (1.5, 2.5)}


def test_the_file_goes_before_standard_output(repository: Path) -> None:
    assert execute(repository, f"echo 99; echo '{JSON}' > $PERF_CULPRIT_OUTPUT")[1] == {"parse": (5.0,)}


def test_a_folder_of_results(repository: Path) -> None:
    script = f"mkdir $PERF_CULPRIT_OUTPUT; echo '{JSON}' > $PERF_CULPRIT_OUTPUT/a.json"
    assert execute(repository, script)[1] == {"parse": (5.0,)}


def test_the_command_knows_its_commit_and_stands_in_its_files(repository: Path) -> None:
    script = 'test "$(git rev-parse HEAD)" = "$PERF_CULPRIT_COMMIT"; wc -c < one.txt'
    assert execute(repository, script)[1] == {"result": (3.0,)}


def test_a_build_is_there_for_the_run(repository: Path) -> None:
    assert execute(repository, "cat made", build="echo 4 > made")[1] == {"result": (4.0,)}


@pytest.mark.parametrize(
    ("run", "build", "kind", "text"),
    [
        pytest.param("true", None, FailureKind.CRASHED, "printed no samples", id="nothing printed"),
        pytest.param(
            "ln -s /etc/hostname $PERF_CULPRIT_OUTPUT",
            None,
            FailureKind.CRASHED,
            "printed no samples",
            id="link to a file of the machine",
        ),
        pytest.param("echo hello", None, FailureKind.CRASHED, "no known format", id="no known format"),
        pytest.param(
            "echo oops >&2; exit 2", None, FailureKind.CRASHED, "exit code 2; its output ends with: oops", id="crash"
        ),
        pytest.param("echo 1", "echo no gcc; exit 1", FailureKind.BUILD, "build ended with exit code 1", id="build"),
    ],
)
def test_no_result(repository: Path, run: str, build: str | None, kind: FailureKind, text: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        execute(repository, run, build=build)
    assert caught.value.kind is kind
    assert text in str(caught.value)
    assert "log.txt" in str(caught.value)


def test_an_interrupt_leaves_nothing(repository: Path, temporary: Path) -> None:
    commit = import_commits(repository, {"one": []})["one"]

    def interrupted(_path: Path) -> None:
        assert len(list(temporary.iterdir())) == 1
        raise KeyboardInterrupt

    with Log(repository.parent / "log.txt") as log:
        place = open_workplace(repository, commands=Commands(run="echo 1"), read=interrupted, log=log)  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt), place as workplace:
            workplace.execute(commit)
    assert len(git.worktrees(repository)) == 1


def opened(repository: Path, log: Log) -> AbstractContextManager[Workplace]:
    return open_workplace(repository, commands=Commands(run="echo 1"), read=lambda p: collect([str(p)]), log=log)


def abandon(repository: Path, temporary: Path, commit: str) -> Path:
    """Leave the folder of a killed process, with a worktree."""
    abandoned = temporary / f"{MEASURE_FOLDER_PREFIX}abandoned"
    abandoned.mkdir()
    (abandoned / LOCK_NAME).touch()
    run_git(repository, "worktree", "add", "--quiet", "--detach", str(abandoned / "001"), commit)
    return abandoned


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(repository: Path, temporary: Path) -> None:
    commit = import_commits(repository, {"one": []})["one"]
    abandoned = abandon(repository, temporary, commit)
    mine = temporary / "by-hand"
    run_git(repository, "worktree", "add", "--quiet", "--detach", str(mine), commit)
    with Log(repository.parent / "log.txt") as log, opened(repository, log) as first:
        first.prepare(commit)
        with opened(repository, log) as second:
            second.prepare(commit)
            assert first.execute(commit)[1].benchmarks[0].samples == (1.0,)
            assert not abandoned.exists()
            assert len(git.worktrees(repository)) == 4
    assert mine.exists()
    shutil.rmtree(mine)
    assert os.listdir(temporary) == []  # noqa: PTH208 - names only


def test_a_git_that_outlived_its_killed_process_adds_nothing_later(
    repository: Path, temporary: Path, tmp_path: Path
) -> None:
    """The git was still adding a worktree when the search was resumed, as happens on a busy machine."""
    commit = import_commits(repository, {"one": []})["one"]
    abandoned = abandon(repository, temporary, commit)
    slow_git = tmp_path / "git"
    slow_git.write_text('#!/bin/sh\nsleep 1\nexec git "$@"\n')
    slow_git.chmod(0o755)
    add = ["-C", str(repository), "worktree", "add", "--quiet", "--detach", "--", str(abandoned / "002"), commit]
    with (
        subprocess.Popen([slow_git, *add], process_group=0) as survivor,
        Log(repository.parent / "log.txt") as log,
        opened(repository, log) as workplace,
    ):
        workplace.prepare(commit)
        survivor.wait()
        assert not abandoned.exists()
        assert len(git.worktrees(repository)) == 2


def test_a_worktree_that_was_killed_half_made_is_forgotten(repository: Path, temporary: Path) -> None:
    """Git locks a worktree until it is complete, and never prunes a locked one."""
    commit = import_commits(repository, {"one": []})["one"]
    abandoned = abandon(repository, temporary, commit)
    run_git(repository, "worktree", "lock", "--reason", "initializing", str(abandoned / "001"))
    with Log(repository.parent / "log.txt") as log, opened(repository, log):
        assert len(git.worktrees(repository)) == 1


@pytest.mark.parametrize("is_folder_lost", [False, True])
def test_a_worktree_that_git_cannot_list_is_forgotten(
    repository: Path, temporary: Path, *, is_folder_lost: bool
) -> None:
    """Git was killed between two of its files, and refuses each list of worktrees since."""
    commit = import_commits(repository, {"one": []})["one"]
    abandoned = abandon(repository, temporary, commit)
    (repository / ".git" / "worktrees" / "001" / "commondir").write_text("")
    if is_folder_lost:
        shutil.rmtree(abandoned)
    with Log(repository.parent / "log.txt") as log, opened(repository, log) as workplace:
        workplace.prepare(commit)
        assert len(git.worktrees(repository)) == 2
    assert not abandoned.exists()


def test_the_worktrees_of_a_lost_folder_are_forgotten(repository: Path, temporary: Path) -> None:
    """The machine was restarted, and its temporary folders are gone."""
    commit = import_commits(repository, {"one": []})["one"]
    shutil.rmtree(abandon(repository, temporary, commit))
    with Log(repository.parent / "log.txt") as log, opened(repository, log):
        assert len(git.worktrees(repository)) == 1


def test_what_another_process_is_adding_stays(repository: Path) -> None:
    """Git makes a worktree's folder and then locks it. Another process that starts in between must not prune it."""
    commit = import_commits(repository, {"one": []})["one"]
    with Log(repository.parent / "log.txt") as log, opened(repository, log) as first:
        first.prepare(commit)
        begun = repository / ".git" / "worktrees" / "002-of-another"
        begun.mkdir()
        with opened(repository, log):
            assert begun.exists()
