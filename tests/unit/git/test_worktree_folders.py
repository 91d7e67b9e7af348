from pathlib import Path

import pytest

from perf_culprit import git
from tests.support.git_repository import import_commits, init_repository, run_git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "repository")


def test_names_of_content(repository: Path) -> None:
    commits = import_commits(repository, {"one": [], "two": ["one"]})
    both = [commits["one"], commits["two"]]
    trees = git.tree_names(repository, both)
    assert trees == tuple(run_git(repository, "rev-parse", f"{commit}^{{tree}}") for commit in both)
    first, second = git.tree_names(repository, both, "one.txt")
    assert first == second == run_git(repository, "rev-parse", f"{commits['one']}:one.txt")
    assert git.tree_names(repository, both, "two.txt")[0] is None
    assert git.tree_names(repository, ["0" * 40]) == (None,)
    with pytest.raises(git.GitError, match="not a path"):
        git.tree_names(repository, both, "a\nb")


def test_a_worktree_comes_and_goes(repository: Path, tmp_path: Path) -> None:
    commit = import_commits(repository, {"one": []})["one"]
    path = tmp_path / "with space"
    git.add_worktree(repository, path, commit)
    assert (path / "one.txt").read_text() == "one"
    assert git.worktrees(repository) == (repository, path)
    assert git.common_folder(path) == repository / ".git"
    (path / "dirty").write_text("x")
    run_git(repository, "worktree", "lock", str(path))
    git.remove_worktree(repository, path)
    assert git.worktrees(repository) == (repository,)
    assert not path.exists()


def test_an_empty_worktree_has_an_index(repository: Path, tmp_path: Path) -> None:
    commit = import_commits(repository, {"one": []})["one"]
    git.add_worktree(repository, tmp_path / "w", commit, checkout=False)
    assert run_git(tmp_path / "w", "status", "--porcelain") == "D one.txt"


def test_hooks_do_not_run(repository: Path, tmp_path: Path) -> None:
    commit = import_commits(repository, {"one": []})["one"]
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git.add_worktree(repository, tmp_path / "w", commit)
    assert not (tmp_path / "ran").exists()


def test_folders_that_are_gone_are_forgotten(repository: Path, tmp_path: Path) -> None:
    commit = import_commits(repository, {"one": []})["one"]
    git.add_worktree(repository, tmp_path / "w", commit)
    (tmp_path / "w").rename(tmp_path / "elsewhere")
    git.prune_worktrees(repository)
    assert git.worktrees(repository) == (repository,)


def test_a_commit_of_the_working_tree_leaves_index_and_references_alone(repository: Path) -> None:
    import_commits(repository, {"one": []})
    run_git(repository, "checkout", "--quiet", "one")
    head = git.head_commit(repository)
    (repository / ".gitignore").write_text("*.log\n")
    (repository / "one.txt").write_text("staged")
    run_git(repository, "add", "one.txt")
    (repository / "one.txt").write_text("later")
    (repository / "x.log").write_text("")
    before = run_git(repository, "status", "--porcelain"), run_git(repository, "for-each-ref")
    (repository / "folder").mkdir()
    commit = git.working_tree(repository / "folder")
    assert run_git(repository, "show", f"{commit}:one.txt") == "later"
    assert run_git(repository, "ls-tree", "--name-only", commit).split() == [".gitignore", "one.txt"]
    assert git.parents(repository, commit) == (head,)
    assert git.working_tree(repository) == commit
    assert (run_git(repository, "status", "--porcelain"), run_git(repository, "for-each-ref")) == before


def test_an_unchanged_working_tree_is_its_head(repository: Path) -> None:
    import_commits(repository, {"one": []})
    run_git(repository, "checkout", "--quiet", "one")
    assert git.working_tree(repository) == git.head_commit(repository)
