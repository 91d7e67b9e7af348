"""Files of a checkout that differ from its commit are found without a filter."""

import os
from pathlib import Path

import pytest

from perf_culprit import git
from tests.support.git_repository import run_git


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    run_git(folder, "init", "--quiet")
    for name in ("a.py", "b.py", "c.txt"):
        (folder / name).write_text(f"{name}\n")
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))  # an index trusts no file of its own second
    run_git(folder, "add", ".")
    run_git(folder, "commit", "--quiet", "--message", "one")
    return folder


def uncommitted(folder: Path) -> tuple[str, ...]:
    return git.uncommitted_files(folder, git.head_commit(folder))


def test_edited_removed_and_staged_files_are_named(checkout: Path) -> None:
    assert uncommitted(checkout) == ()
    (checkout / "a.py").write_text("longer than it was\n")
    (checkout / "b.py").unlink()
    (checkout / "d.py").write_text("staged\n")
    (checkout / "build.o").write_text("not tracked\n")
    run_git(checkout, "add", "d.py")
    assert uncommitted(checkout) == ("a.py", "b.py", "d.py")


def test_files_of_the_same_size_and_other_times_are_not_named(checkout: Path) -> None:
    (checkout / "a.py").write_text("A.py\n")
    (checkout / "b.py").touch()
    assert uncommitted(checkout) == ()


def test_files_that_git_leaves_alone_are_not_named(checkout: Path) -> None:
    run_git(checkout, "update-index", "--assume-unchanged", "a.py")
    run_git(checkout, "update-index", "--skip-worktree", "b.py")
    for name in ("a.py", "b.py"):
        (checkout / name).unlink()
    assert uncommitted(checkout) == ()


def test_no_filter_of_the_checkout_runs(checkout: Path, tmp_path: Path) -> None:
    run_git(checkout, "config", "filter.evil.clean", f"touch {tmp_path}/ran; cat")
    (checkout / ".git/info/attributes").write_text("*.py filter=evil\n")
    (checkout / "a.py").write_text("longer than it was\n")
    (checkout / "b.py").touch()
    assert uncommitted(checkout) == ("a.py",)
    assert not (tmp_path / "ran").exists()
    run_git(checkout, "status")
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("damage", ["version", "split", "cut", "none"])
def test_an_index_that_is_not_understood_says_nothing(checkout: Path, damage: str) -> None:
    index = checkout / ".git" / "index"
    if damage == "version":
        run_git(checkout, "update-index", "--index-version", "4")
    elif damage == "split":
        run_git(checkout, "update-index", "--split-index")
    elif damage == "cut":
        index.write_bytes(index.read_bytes()[:-60])
    else:
        index.unlink()
    assert uncommitted(checkout) == ()


def test_a_bare_repository_has_no_checkout(checkout: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "--quiet", "--bare", str(checkout), "bare")
    assert uncommitted(tmp_path / "bare") == ()
