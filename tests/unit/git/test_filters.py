"""Filters that change files at checkout: a repository's own filters run in no worktree, Git LFS does."""

from pathlib import Path

import pytest

from perf_culprit import git
from tests.support.git_repository import init_repository, run_git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    repository = init_repository(tmp_path / "code")
    (repository / ".gitattributes").write_text("*.bin filter=f\n")
    (repository / "x.bin").write_text("as committed")
    run_git(repository, "add", "--all")
    run_git(repository, "commit", "--quiet", "--message", "x")
    return repository


@pytest.fixture
def lfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git-lfs").write_text("#!/bin/sh\nprintf large\n")
    (tmp_path / "git-lfs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))


@pytest.mark.parametrize(
    ("scope", "name", "program", "content"),
    [
        ("local", "smudge", "sed s/committed/{}/", "as committed"),
        ("local", "process", "false", "as committed"),
        ("local", "smudge", "git-lfs smudge -- %f", "large"),
        ("local", "smudge", "git-lfs smudge -- %f; echo more", "as committed"),
        ("person", "smudge", "sed s/committed/{}/", "as {}"),
    ],
)
@pytest.mark.usefixtures("lfs")
def test_a_worktree_obeys_the_filters_of_a_person_and_git_lfs(
    repository: Path, scope: str, name: str, program: str, content: str
) -> None:
    folder = repository.parent
    file = repository / ".git/config" if scope == "local" else folder / "gitconfig"
    run_git(repository, "config", "--file", str(file), f"filter.f.{name}", program)
    run_git(repository, "config", "--file", str(file), "filter.f.required", "true")
    git.add_worktree(repository, folder / "tree", git.head_commit(repository))
    assert (folder / "tree/x.bin").read_text() == content


@pytest.mark.usefixtures("lfs")
def test_a_commit_of_the_working_tree_runs_no_filter_of_the_repository(repository: Path, tmp_path: Path) -> None:
    run_git(repository, "config", "filter.f.clean", f"touch {tmp_path}/ran")
    (repository / "x.bin").write_text("uncommitted")
    commit = git.working_tree(repository)
    assert run_git(repository, "show", f"{commit}:x.bin") == "uncommitted"
    assert not (tmp_path / "ran").exists()
