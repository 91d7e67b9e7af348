"""The ends of a bisection, in a private copy of the history without files.

Only commits of the pull request or of a trusted branch are ever measured. GitHub serves the commits of every fork under
the repository's own address.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.files import temporary_folder

HEAD_REF: Final = "refs/perf-culprit/head"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ends:
    """The ends of a search as full hashes. `repository` is deleted after the block."""

    repository: Path
    good: str
    bad: str


@contextmanager
def bisection_ends(
    remote: git.Remote,
    *,
    branches: tuple[str, ...],
    head: str | None,
    good: str | None,
    bad: str | None,
    place: str = "/perf-bisect, good",
) -> Iterator[Ends]:
    """Resolve both ends. `branches` are trusted, the pull request's target branch first. `head` is the pull request's.

    The default of `bad` is the head, that of `good` the merge base of the bad end and the first branch.
    """
    with temporary_folder() as folder:
        repository = git.init_private(folder / "history.git")
        tips = _fetched_tips(repository, remote, branches=branches, head=head)
        bad_commit = head if bad is None else _find(repository, remote, bad, tips=tips, place="/perf-bisect, bad")
        if bad_commit is None:
            raise UsageError(
                "in an issue both ends are needed", place="/perf-bisect", next_step="write good=COMMIT bad=COMMIT"
            )
        if good is None:
            good_commit = _merge_base(repository, bad_commit, tips[0], branch=branches[0])
        else:
            good_commit = _find(repository, remote, good, tips=tips, place=place)
        yield Ends(repository=repository, good=good_commit, bad=bad_commit)


@contextmanager
def default_branch_commits(remote: git.Remote, branch: str) -> Iterator[Path]:
    """Open a private copy of the branch's history without files."""
    with git.open_kept_folder(f"commits of {remote.url}") as folder:
        repository = git.init_private(folder / "commits.git")
        _fetched_tips(repository, remote, branches=(branch,), head=None)
        yield repository


def _fetched_tips(
    repository: Path, remote: git.Remote, *, branches: tuple[str, ...], head: str | None
) -> tuple[str, ...]:
    references = [f"+refs/heads/{branch}:refs/heads/{branch}" for branch in dict.fromkeys(branches)]
    references += [] if head is None else [f"+{head}:{HEAD_REF}"]
    if not git.fetch(repository, remote, references, object_filter="blob:none"):
        gone = [branch for branch in branches if git.remote_branch(repository, remote, branch) is None]
        # The default branch exists: git took an error page for an empty repository.
        if not gone or branches[-1] in gone:
            raise InfrastructureError(
                f"the server showed git no {branches[-1]}", place=remote.shown, next_step="run the job again later"
            )
        raise UsageError(
            f"the remote does not know {' or '.join(gone)}",
            place=remote.shown,
            next_step="check that the pull request's base branch still exists",
        )
    tips = tuple(git.resolve_commit(repository, f"refs/heads/{branch}") for branch in branches)
    return tips if head is None else (*tips, head)


def _find(repository: Path, remote: git.Remote, revision: str, *, tips: tuple[str, ...], place: str) -> str:
    commit = git.find_commit(repository, revision)
    if commit is None and not git.FULL_HASH.fullmatch(revision):
        for kind in ("tags", "heads"):
            reference = f"refs/{kind}/{revision}"
            if git.fetch(repository, remote, [f"+{reference}:{reference}"], object_filter="blob:none"):
                commit = git.find_commit(repository, reference)
                break
    if commit is None or not any(git.is_ancestor(repository, commit, tip) for tip in tips):
        raise UsageError(
            f"`{revision}` is neither in this pull request nor on a branch that is searched",
            place=place,
            next_step="name a commit of the pull request, of its base branch or of the default branch",
        )
    return commit


def _merge_base(repository: Path, bad: str, base: str, *, branch: str) -> str:
    bases = git.merge_bases(repository, bad, base)
    if not bases:
        raise UsageError(
            f"the bad end shares no history with {branch}", place="/perf-bisect", next_step="write good=COMMIT"
        )
    if bases[0] == bad:
        raise UsageError(
            f"the bad end is on {branch} already, so nothing says where to begin",
            place="/perf-bisect",
            next_step="write good=COMMIT",
        )
    return bases[0]
