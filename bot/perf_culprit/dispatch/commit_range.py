"""The commits that a bisection searches, and git's facts about them before anything is measured."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.errors import UsageError
from perf_culprit.explain.changed_code import changes_build, executed_changes, is_document_or_test
from perf_culprit.model.bisection import ChangeFacts, CommitFacts, CommitRange, ExecutedCode
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import EnvironmentChange
from perf_culprit.read.results.locked_packages import ecosystem_of, packages
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
