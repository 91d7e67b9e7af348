"""What every place that stores runs must do; a new back end joins BACK_ENDS and passes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from bot import git
from bot.errors import UsageError
from bot.history import History, StoredRun, open_git_branch
from bot.model.run import Run
from tests.support.git_repository import init_repository
from tests.support.stored_runs import make_run


def open_branch(folder: Path) -> AbstractContextManager[History]:
    return open_git_branch(git.Remote(url=str(init_repository(folder / "project.git", bare=True))))


BACK_ENDS: dict[str, Callable[[Path], AbstractContextManager[History]]] = {"git branch": open_branch}


@pytest.fixture(params=list(BACK_ENDS))
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[History]:
    with BACK_ENDS[request.param](tmp_path) as opened:
        yield opened


def stored(history: History, *commits: str, suite: str = "default") -> list[Run]:
    return [entry.run for entry in history.runs(suite, commits) if isinstance(entry, StoredRun)]


def test_nothing_recorded_is_an_empty_history(history: History) -> None:
    assert history.commits("default") == {}
    assert list(history.runs("default", ["1" * 40])) == []


def test_runs_follow_the_commits_order_and_are_newest_first_within_one(history: History) -> None:
    first, second = "a" * 40, "b" * 40
    for number, commit in [(1, first), (2, second), (3, first), (4, second)]:
        history.append(make_run(number, commit=commit))
    assert history.commits("default") == {first: 2, second: 2}
    expected = [make_run(4, commit=second), make_run(2, commit=second), make_run(3, commit=first)]
    assert stored(history, second, "c" * 40, first)[:3] == expected


def test_suites_are_apart_whatever_their_names(history: History) -> None:
    suites = ["default", "Default", "a/b", "a b", "..", ".git", "\u65e5\u672c", "x" * 200]
    for number, suite in enumerate(suites, start=1):
        history.append(make_run(number, suite=suite))
    for number, suite in enumerate(suites, start=1):
        assert stored(history, f"{number:040x}", suite=suite) == [make_run(number, suite=suite)]
        assert len(history.commits(suite)) == 1


@pytest.mark.parametrize("commit", [None, "abc1234", "main", "../" + "a" * 37])
def test_a_run_without_a_full_commit_is_refused(history: History, commit: str | None) -> None:
    run = Run(benchmarks=make_run(1).benchmarks, commit=commit)
    with pytest.raises(UsageError, match="full hash of its commit"):
        history.append(run)
    assert history.commits("default") == {}


def test_a_run_comes_back_as_it_was(history: History) -> None:
    run = make_run(1)
    name = history.append(run)
    (entry,) = history.runs("default", [f"{1:040x}"])
    assert entry == StoredRun(id=name, commit=f"{1:040x}", run=run)


def test_the_very_same_run_is_counted_once(history: History) -> None:
    assert history.append(make_run(1)) == history.append(make_run(1))
    assert history.commits("default") == {f"{1:040x}": 1}


def test_a_run_without_time_is_stored_once_too(history: History) -> None:
    run = replace(make_run(1), time=None)
    assert history.append(run) == history.append(run)
    assert stored(history, f"{1:040x}") == [run]
