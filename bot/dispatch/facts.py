"""What git knows of the candidates of a bisection before anything is measured."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from bot import git
from bot.bisect.prior import prior_by_commit
from bot.collect import ecosystem_of, packages
from bot.diagnose.changed import changes_build, is_document_or_test
from bot.model.bisection import ChangeFacts, CommitRange
from bot.model.bisection_report import CommitFacts
from bot.model.environment import EnvironmentChange

MOST_CANDIDATES: Final = 500
MOST_BLOBS: Final = 200
MOST_UPDATES: Final = 50


class Prior(StrEnum):
    """What a search starts from: that every candidate is as likely, or what each of them changed."""

    CHANGES = "changes"
    UNIFORM = "uniform"


def prior_of(repository: Path, commit_range: CommitRange, prior: Prior) -> Mapping[str, float] | None:
    """As `Search.start` takes it; None for uniform, also where the changes are not here (a partial clone)."""
    if prior is Prior.UNIFORM:
        return None
    try:
        facts = change_facts(repository, commit_range)
    except git.GitError:
        return None
    return prior_by_commit(commit_range, facts)


def change_facts(repository: Path, commit_range: CommitRange) -> dict[str, ChangeFacts]:
    """By candidate; of all of them by two git calls. On the main line alone a merge stands for all that it brought."""
    commits = commit_range.commits
    first_parent = commit_range.first_parent
    changes = git.commit_changes(repository, commits, first_parent=first_parent)
    resolutions = {} if first_parent else git.merge_resolutions(repository, commits)
    return {commit: _facts(changes[commit], resolutions.get(commit)) for commit in commits}


def _facts(changes: Sequence[git.CountedChange], resolution: int | None) -> ChangeFacts:
    if resolution is not None:
        return ChangeFacts(churn=resolution, clean_merge=resolution == 0)
    paths = {path for one in changes for path in (one.change.path, one.change.old_path)}
    return ChangeFacts(
        churn=sum(one.lines for one in changes if not is_document_or_test(one.change.path)),
        changes_dependency=any(map(changes_build, paths)),
        only_documents=bool(paths) and all(map(is_document_or_test, paths)),
    )


def dependency_updates(
    repository: Path, commit_range: CommitRange, remote: git.Remote | None = None
) -> dict[str, tuple[EnvironmentChange, ...]]:
    """The packages that a candidate's change of a lock file brought, by candidate; nothing where they are not here.

    `remote` serves the files that a partial clone lacks, of the newest candidates only.
    """
    try:
        changed = git.commit_changes(repository, commit_range.commits, first_parent=commit_range.first_parent)
        locks = {
            commit: files
            for commit, changes in list(changed.items())[-MOST_CANDIDATES:]
            if (files := [one.change for one in changes if ecosystem_of(one.change.path.rpartition("/")[2])])
        }
        blobs = {blob for files in locks.values() for one in files for blob in (one.old_blob, one.blob) if blob}
        names = sorted(blobs)[:MOST_BLOBS]
        if not names:
            return {}
        texts = dict(zip(names, git.read_blobs(repository, names, remote=remote), strict=True))
    except git.GitError:
        return {}
    updates = {commit: _updated(files, texts) for commit, files in locks.items()}
    return {commit: update for commit, update in updates.items() if update}


def _updated(changes: Sequence[git.FileChange], texts: Mapping[str, bytes]) -> tuple[EnvironmentChange, ...]:
    updates: list[EnvironmentChange] = []
    for change in changes:
        name = change.path.rpartition("/")[2]
        before, after = (packages({name: texts.get(blob or "", b"")}) for blob in (change.old_blob, change.blob))
        updates += before.changes_to(after)
    return tuple(dict.fromkeys(updates))[:MOST_UPDATES]


def commit_facts(repository: Path, commit: str) -> CommitFacts:
    """Who wrote a named commit, and how much it changes."""
    author, date, (files, insertions, deletions) = git.authorship(repository, commit)
    return CommitFacts(author=author, date=date, files=files, insertions=insertions, deletions=deletions)
