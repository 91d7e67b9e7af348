"""The commits that a bisection searches, and git's facts about them before anything is measured."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.explain.changed_code import changes_build, executed_changes, is_document_or_test
from perf_culprit.files import temporary_folder
from perf_culprit.model.bisection import ChangeFacts, CommitFacts, CommitRange, ExecutedCode
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import EnvironmentChange
from perf_culprit.read.results.surroundings import ecosystem_of, packages
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.prior import prior_by_commit

FETCHED_REFS: Final = "refs/perf-culprit/bisect"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidates:
    """The range, and the first lines of its commits' messages."""

    commit_range: CommitRange
    subjects: Mapping[str, str]


def find_candidates(
    repository: Path, *, good: str, bad: str, first_parent: bool = False, paths: Sequence[str] = ()
) -> Candidates:
    """Find the commits that may have introduced a change. Commits that change nothing under `paths` are excluded."""
    good, bad = git.resolve_commit(repository, good), git.resolve_commit(repository, bad)
    messages = git.messages(repository, good=good, bad=bad)
    graph = parse_parents(git.parents_text(repository, [good, bad]))
    try:
        commit_range = cut_range(
            graph,
            good=good,
            bad=bad,
            first_parent=first_parent,
            messages=messages,
            build_inputs=_build_inputs(repository, [good, *messages], paths),
        )
    except UsageError as error:
        if git.is_shallow(repository):
            raise UsageError(
                f"{error.message}; this is a shallow clone", place=str(repository), next_step=git.FETCH_ALL
            ) from None
        raise
    cut_off = set(commit_range.commits) & set(git.shallow_commits(repository))
    if cut_off:
        raise UsageError(
            f"the history between good and bad is cut off at {min(cut_off)[:12]}: this is a shallow clone",
            place=str(repository),
            next_step=git.FETCH_ALL,
        )
    if paths and len(commit_range.unchanged) == len(commit_range.commits):
        raise UsageError(
            f"no commit between good and bad changes {', '.join(paths)}",
            place="--paths",
            next_step="check the spelling; paths are relative to the top of the repository",
        )
    (_, headline) = git.headlines(repository, [good])[good]
    subjects = {commit: message.lstrip().partition("\n")[0] for commit, message in messages.items()}
    return Candidates(commit_range=commit_range, subjects={**subjects, good: headline})


def fetch_missing(repository: Path, revisions: Sequence[str], remote: git.Remote | None) -> None:
    """Fetch commits that the checkout lacks, such as those of forks: a host serves them by their full hash."""
    hashes = [revision for revision in dict.fromkeys(revisions) if git.FULL_HASH.fullmatch(revision)]
    missing = git.missing_commits(repository, hashes)
    if missing and remote is not None:
        git.fetch(repository, remote, [f"+{commit}:{FETCHED_REFS}/{commit}" for commit in missing])


def _build_inputs(repository: Path, commits: Sequence[str], paths: Sequence[str]) -> dict[str, str]:
    """Hash all inputs of the build, by commit: everything, or what lies under `paths`."""
    columns = [git.tree_names(repository, commits, path.strip("/")) for path in paths or ("",)]
    return {
        commit: hashlib.sha256("\n".join(str(name) for name in names).encode()).hexdigest()
        for commit, *names in zip(commits, *columns, strict=True)
    }


class Prior(StrEnum):
    """The start of a search: all candidates equally likely, or weighted by what each of them changed."""

    CHANGES = "changes"
    UNIFORM = "uniform"


def prior_of(repository: Path, commit_range: CommitRange, prior: Prior) -> Mapping[str, float] | None:
    """Return the prior in the form of `Search.start`. None for uniform."""
    return prior_from(commit_range, prior_facts(repository, commit_range, prior))


def prior_from(commit_range: CommitRange, facts: Mapping[str, ChangeFacts] | None) -> Mapping[str, float] | None:
    return None if facts is None else prior_by_commit(commit_range, facts)


def prior_facts(
    repository: Path, commit_range: CommitRange, prior: Prior, executed: Collection[tuple[str, str]] = ()
) -> Mapping[str, ChangeFacts] | None:
    """Return the facts behind the prior. None for uniform, and if the changes are missing (a partial clone)."""
    if prior is Prior.UNIFORM:
        return None
    try:
        return change_facts(repository, commit_range, executed)
    except git.GitError:
        return None


def change_facts(
    repository: Path, commit_range: CommitRange, executed: Collection[tuple[str, str]] = ()
) -> dict[str, ChangeFacts]:
    """Return each candidate's facts, by two git calls for all. A first-parent merge stands for all that it merged.

    `executed`: files and functions that the benchmark executes. Two more calls find the candidates that change them.
    """
    commits = commit_range.commits
    first_parent = commit_range.first_parent
    changes = git.commit_changes(repository, commits, first_parent=first_parent)
    resolutions = {} if first_parent else git.merge_resolutions(repository, commits)
    files = {commit: [one.change for one in changes[commit]] for commit in commits if commit not in resolutions}
    code = executed_changes(repository, files, executed) if executed else {}
    return {commit: _facts(changes[commit], resolutions.get(commit), code.get(commit)) for commit in commits}


def _facts(
    changes: Sequence[git.CountedChange], resolution: int | None, executed: tuple[ExecutedCode, ...] | None
) -> ChangeFacts:
    if resolution is not None:
        return ChangeFacts(churn=resolution, clean_merge=resolution == 0)
    paths = {path for one in changes for path in (one.change.path, one.change.old_path)}
    return ChangeFacts(
        churn=sum(one.lines for one in changes if not is_document_or_test(one.change.path)),
        changes_dependency=any(map(changes_build, paths)),
        only_documents=bool(paths) and all(map(is_document_or_test, paths)) and not executed,
        executed=executed,
    )


def dependency_updates(
    repository: Path, commit_range: CommitRange, remote: git.Remote | None = None
) -> dict[str, tuple[EnvironmentChange, ...]]:
    """Return the package updates in each candidate's lock files. Empty if the files are missing here.

    `remote` serves the files that a partial clone lacks, of the newest candidates only.
    """
    try:
        changed = git.commit_changes(repository, commit_range.commits, first_parent=commit_range.first_parent)
        locks = {
            commit: files
            for commit, changes in list(changed.items())[-FILE_LIMITS.updated_candidates :]
            if (files := [one.change for one in changes if ecosystem_of(one.change.path.rpartition("/")[2])])
        }
        blobs = {blob for files in locks.values() for one in files for blob in (one.old_blob, one.blob) if blob}
        names = sorted(blobs)[: FILE_LIMITS.lock_files]
        if not names:
            return {}
        texts = dict(zip(names, git.read_blobs(repository, names, remote=remote), strict=True))
    except git.GitError:
        return {}
    updates = {commit: _updates(files, texts) for commit, files in locks.items()}
    return {commit: update for commit, update in updates.items() if update}


def _updates(changes: Sequence[git.FileChange], texts: Mapping[str, bytes]) -> tuple[EnvironmentChange, ...]:
    updates: list[EnvironmentChange] = []
    for change in changes:
        name = change.path.rpartition("/")[2]
        before, after = (packages({name: texts.get(blob or "", b"")}) for blob in (change.old_blob, change.blob))
        updates += before.changes_to(after)
    return tuple(dict.fromkeys(updates))[: FILE_LIMITS.updates]


def commit_facts(repository: Path, commit: str) -> CommitFacts:
    """Return a named commit's author and date, and how much it changes."""
    author, date, (files, insertions, deletions) = git.authorship(repository, commit)
    return CommitFacts(author=author, date=date, files=files, insertions=insertions, deletions=deletions)


# The ends of a bisection, in a private copy of the history without files.
#
# Only commits of the pull request or of a trusted branch are ever measured: GitHub serves the commits of every fork
# under the repository's own address.

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
