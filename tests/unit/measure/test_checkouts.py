"""Worktrees: one per content, built once, always removed, and the user's own checkout left alone."""

from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.errors import InfrastructureError
from perf_culprit.measure.runner import ExecutionError
from perf_culprit.measure.workplace import BuildCache, Trees
from perf_culprit.model.bisection import FailureKind
from tests.support.git_repository import import_commits, init_repository, run_git


class Builds:
    """A build that records its commits and leaves a built file behind."""

    def __init__(self, *, fault: str | None = None, locked: bool = False) -> None:
        self.commits: list[str] = []
        self._fault = fault
        self._locked = locked

    def __call__(self, folder: Path, commit: str) -> None:
        self.commits.append(commit)
        (folder / "out").mkdir()
        (folder / "out" / "built").write_text(commit)
        if self._locked:
            (folder / "out").chmod(0o500)
        if self._fault:
            raise ExecutionError(FailureKind.BUILD, self._fault, place="here", next_step="none")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "repository")


def trees_of(repository: Path, builds: Builds, **options: object) -> Trees:
    folder = repository.parent / "worktrees"
    folder.mkdir(exist_ok=True)
    return Trees(repository, folder, build=builds, command="make", **options)  # type: ignore[arg-type]


def known_worktrees(repository: Path) -> int:
    return run_git(repository, "worktree", "list").count("\n") + 1


def test_each_content_is_built_once(repository: Path) -> None:
    commits = import_commits(repository, {"one": [], "two": ["one"]})
    run_git(repository, "checkout", "--quiet", "two")
    run_git(repository, "commit", "--quiet", "--allow-empty", "-m", "empty")
    empty = run_git(repository, "rev-parse", "HEAD")
    builds = Builds()
    trees = trees_of(repository, builds)
    first = trees.of(commits["two"])
    assert (first / "two.txt").read_text() == "two"
    assert trees.of(empty) == first
    assert trees.of(commits["one"]) != first
    assert trees.of(commits["two"]) == first
    assert builds.commits == [commits["two"], commits["one"]]
    trees.close()
    assert known_worktrees(repository) == 1
    assert list((repository.parent / "worktrees").iterdir()) == []


def test_a_dirty_checkout_is_not_touched(repository: Path) -> None:
    commits = import_commits(repository, {"one": [], "two": ["one"]})
    run_git(repository, "checkout", "--quiet", "two")
    (repository / "two.txt").write_text("changed by hand")
    (repository / "new.txt").write_text("new")
    before = run_git(repository, "status", "--porcelain")
    trees = trees_of(repository, Builds())
    assert not (trees.of(commits["one"]) / "new.txt").exists()
    trees.close()
    assert run_git(repository, "status", "--porcelain") == before
    assert run_git(repository, "rev-parse", "HEAD") == commits["two"]
    assert (repository / "two.txt").read_text() == "changed by hand"


def test_a_failed_build_is_not_tried_again(repository: Path) -> None:
    commits = import_commits(repository, {"one": []})
    builds = Builds(fault="no compiler")
    trees = trees_of(repository, builds)
    for _ in range(2):
        with pytest.raises(ExecutionError, match="no compiler"):
            trees.of(commits["one"])
    assert builds.commits == [commits["one"]]
    assert known_worktrees(repository) == 1


def test_the_least_recently_used_goes_first(repository: Path) -> None:
    commits = import_commits(repository, {"one": [], "two": ["one"], "three": ["two"]})
    builds = Builds()
    trees = trees_of(repository, builds, kept=2)
    one = trees.of(commits["one"])
    two = trees.of(commits["two"])
    trees.of(commits["one"])
    trees.of(commits["three"])
    assert one.exists()
    assert not two.exists()
    trees.of(commits["two"])
    assert builds.commits == [commits[name] for name in ("one", "two", "three", "two")]
    trees.close()


def test_a_folder_without_write_permission_is_removed_too(repository: Path) -> None:
    commits = import_commits(repository, {"one": []})
    trees = trees_of(repository, Builds(locked=True))
    path = trees.of(commits["one"])
    trees.close()
    assert not path.exists()
    assert known_worktrees(repository) == 1


def test_the_cache_gives_back_what_was_built(repository: Path, tmp_path: Path) -> None:
    commits = import_commits(repository, {"one": [], "two": ["one"]})
    cache = BuildCache(folder=tmp_path / "cache")
    builds = Builds()
    first = trees_of(repository, builds, cache=cache)
    made = (first.of(commits["two"]) / "out" / "built").stat().st_mtime_ns
    first.close()
    second = trees_of(repository, builds, cache=cache)
    path = second.of(commits["two"])
    assert (path / "out" / "built").read_text() == commits["two"]
    assert (path / "out" / "built").stat().st_mtime_ns == made
    assert (path / "one.txt").read_text() == "one"
    assert run_git(path, "status", "--porcelain") == "?? out/"
    assert run_git(path, "rev-parse", "HEAD") == commits["two"]
    assert builds.commits == [commits["two"]]
    second.close()
    assert known_worktrees(repository) == 1
    assert len(list(cache.folder.iterdir())) == 1


def test_a_cache_that_cannot_be_written(repository: Path, tmp_path: Path) -> None:
    commits = import_commits(repository, {"one": []})
    (tmp_path / "cache").write_text("a file")
    trees = trees_of(repository, Builds(), cache=BuildCache(folder=tmp_path / "cache"))
    with pytest.raises(InfrastructureError, match="cannot be kept"):
        trees.of(commits["one"])
    trees.close()
    assert known_worktrees(repository) == 1


def test_files_of_a_commit_that_is_not_here(repository: Path) -> None:
    import_commits(repository, {"one": []})
    with pytest.raises(InfrastructureError, match="fetch-depth"):
        trees_of(repository, Builds()).of("0" * 40)


def test_what_git_cannot_remove_is_removed_by_hand(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = import_commits(repository, {"one": []})
    trees = trees_of(repository, Builds(locked=True))
    path = trees.of(commits["one"])

    def refuse(*_: object) -> None:
        raise git.GitError("worktree", "Permission denied")

    monkeypatch.setattr(git, "remove_worktree", refuse)
    (path / "link").symlink_to(repository, target_is_directory=True)
    trees.close()
    assert not path.exists()
    assert (repository / ".git").is_dir()
    assert known_worktrees(repository) == 1
