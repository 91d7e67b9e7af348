"""Bisections on a real branch: only their last reader replaces them, without force, and whole after any kill."""

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.store.branch_files import BisectionConflictError, GitBranchBisections
from perf_culprit.store.opening import open_git_branch
from tests.support.git_repository import init_repository, run_git
from tests.support.killed import dies_at_git_call
from tests.support.runner_pool import NAME, new_bisection
from tests.support.stored_runs import make_run

BRANCH = "refs/heads/perf-history"
BISECTION = new_bisection(size=4)
LATER = replace(BISECTION, fruitless=1)


@pytest.fixture
def served(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "served" / "project.git", bare=True)


def branch(served: Path, folder: Path, **options: Any) -> GitBranchBisections:
    return GitBranchBisections(git.Remote(url=str(served)), folder, random=Random(1), **options)


def test_a_bisection_comes_back_as_it_was_beside_the_runs(served: Path, tmp_path: Path) -> None:
    one, other = branch(served, tmp_path / "one"), branch(served, tmp_path / "other")
    assert one.load(NAME) is None
    version = one.store(BISECTION, expected=None)
    name = other.append(make_run(1))
    loaded = other.load(NAME)
    assert loaded is not None
    assert (loaded.bisection, loaded.version) == (BISECTION, version)
    other.store(LATER, expected=version)
    assert run_git(served, "ls-tree", "-r", "--name-only", BRANCH).splitlines() == [
        f"bisections/{NAME}.json",
        "perf-culprit.json",
        name,
    ]
    assert run_git(served, "rev-list", "--count", BRANCH) == "3"
    with open_git_branch(git.Remote(url=str(served))) as history:
        assert history.commits("default") == {f"{1:040x}": 1}


def test_another_bisection_or_run_in_between_is_no_conflict(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = branch(served, tmp_path / "one", sleep=lambda _: None), branch(served, tmp_path / "other")
    version = one.store(BISECTION, expected=None)
    push, writers = git.push, [lambda: other.append(make_run(2))]

    def push_second(*arguments: Any, **options: Any) -> None:
        if writers:
            writers.pop()()
        push(*arguments, **options)

    monkeypatch.setattr(git, "push", push_second)
    one.store(LATER, expected=version)
    assert run_git(served, "rev-list", "--count", BRANCH) == "3"
    loaded = other.load(NAME)
    assert loaded is not None
    assert loaded.bisection == LATER


def test_a_lost_answer_of_the_remote_is_no_conflict(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = branch(served, tmp_path / "one", sleep=lambda _: None)
    push = git.push

    def push_and_lose(*arguments: Any, **options: Any) -> None:
        push(*arguments, **options)
        raise git.GitError("push", "fatal: the remote end hung up unexpectedly")

    monkeypatch.setattr(git, "push", push_and_lose)
    one.store(BISECTION, expected=None)
    assert run_git(served, "rev-list", "--count", BRANCH) == "1"


def test_a_branch_that_was_rewritten_meanwhile_is_noticed_and_not_overwritten(served: Path, tmp_path: Path) -> None:
    one = branch(served, tmp_path / "one")
    version = one.store(BISECTION, expected=None)
    later = one.store(LATER, expected=version)
    # Put back by one commit, as somebody's `push --force` would.
    run_git(served, "update-ref", BRANCH, f"{BRANCH}^")
    with pytest.raises(BisectionConflictError, match="meanwhile"):
        one.store(replace(BISECTION, fruitless=2), expected=later)
    empty = run_git(served, "commit-tree", "-m", "x", run_git(served, "mktree"))
    run_git(served, "update-ref", "-d", BRANCH)
    with pytest.raises(BisectionConflictError, match="is gone"):
        one.store(replace(BISECTION, fruitless=2), expected=later)
    assert one.load(NAME) is None
    assert run_git(served, "cat-file", "-t", empty) == "commit"
    assert run_git(served, "for-each-ref") == ""


@pytest.mark.slow  # a store and a check of the whole repository for every git call that a store makes
def test_killed_at_any_git_call_the_branch_is_as_it_was_or_whole(served: Path, tmp_path: Path) -> None:
    version = branch(served, tmp_path / "first").store(BISECTION, expected=None)
    before = run_git(served, "rev-parse", BRANCH)
    for step in range(1, 100):
        bisections = branch(served, tmp_path / f"private{step}")
        if not dies_at_git_call(step, partial(bisections.store, LATER, expected=version)):
            break
        assert run_git(served, "rev-parse", BRANCH) == before
        assert run_git(served, "fsck", "--strict") == ""
    assert step > 5
    loaded = branch(served, tmp_path / "last").load(NAME)
    assert loaded is not None
    assert loaded.bisection == LATER
