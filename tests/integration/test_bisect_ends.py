"""The ends of a bisection, with real git: names, defaults, and refusals."""

from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.dispatch.bisection_ends import bisection_ends
from perf_culprit.errors import UsageError
from tests.support.git_repository import chain, import_commits, init_repository, run_git

MAIN, BRANCH = 4, 3


@pytest.fixture
def served(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """main1 <- ... <- main4, branch1 <- ... <- branch3 from main2; the branch exists as a pull request only."""
    folder = init_repository(tmp_path / "served.git", bare=True)
    commits = import_commits(folder, {**chain("main", MAIN), **chain("branch", BRANCH, start=["main2"])})
    for name in commits:
        run_git(folder, "update-ref", "-d", f"refs/heads/{name}")
    run_git(folder, "update-ref", "refs/heads/main", commits["main4"])
    run_git(folder, "update-ref", "refs/pull/7/head", commits["branch3"])
    run_git(folder, "update-ref", "refs/tags/v1", commits["main1"])
    run_git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    run_git(folder, "config", "uploadpack.allowFilter", "true")
    return folder, commits


def ends(
    folder: Path, *, head: str | None, good: str | None = None, bad: str | None = None, branch: str = "main"
) -> tuple[str, str]:
    remote = git.Remote(url=str(folder))
    with bisection_ends(remote, branches=(branch, "main"), head=head, good=good, bad=bad) as opened:
        assert git.find_commit(opened.repository, opened.good) == opened.good
        return opened.good, opened.bad


def test_a_pull_request_is_searched_from_where_it_left_its_base(served: tuple[Path, dict[str, str]]) -> None:
    folder, commits = served
    assert ends(folder, head=commits["branch3"]) == (commits["main2"], commits["branch3"])


def test_ends_are_named_by_tag_branch_or_any_unique_hash(served: tuple[Path, dict[str, str]]) -> None:
    folder, commits = served
    head = commits["branch3"]
    assert ends(folder, head=head, good="v1") == (commits["main1"], head)
    assert ends(folder, head=head, bad=commits["branch2"][:12]) == (commits["main2"], commits["branch2"])
    assert ends(folder, head=None, good="v1", bad="main") == (commits["main1"], commits["main4"])


@pytest.mark.parametrize(
    ("head", "good", "bad", "message"),
    [
        (None, None, None, "both ends are needed"),
        (None, "v1", "branch3", "neither in this pull request nor on a branch"),
        (None, "v1", "no-such-name", "neither in this pull request nor on a branch"),
        (None, None, "main", "is on main already"),
    ],
)
def test_what_is_not_searched(
    served: tuple[Path, dict[str, str]], head: str | None, good: str | None, bad: str | None, message: str
) -> None:
    folder, commits = served
    with pytest.raises(UsageError, match=message):
        ends(folder, head=head, good=good, bad=commits.get(bad or "", bad))


def test_a_base_branch_that_is_gone(served: tuple[Path, dict[str, str]]) -> None:
    folder, commits = served
    with pytest.raises(UsageError, match="does not know gone"):
        ends(folder, head=commits["branch3"], branch="gone")
