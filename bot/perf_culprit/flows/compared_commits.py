"""The two commits that are compared: those of a GitHub job's event, or a release and a target."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from perf_culprit import git
from perf_culprit.errors import DataError, UsageError
from perf_culprit.github.runner_files import PULL_REQUEST_EVENTS, read_event, value_at


class BaselineOrigin(StrEnum):
    """The way in which a job's baseline commit was chosen."""

    MERGED_INTO = "merged_into"  # the first parent of GitHub's merge commit: the base branch as it is now
    MERGE_BASE = "merge_base"
    BEFORE_PUSH = "before_push"
    QUEUED_ON = "queued_on"
    PARENT = "parent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    """GitHub's merge `commit` of a pull request's `head` into `base`, the default checkout of actions/checkout."""

    commit: str
    base: str
    head: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceCommit:
    """A commit to compare with instead of the previous one, such as a release."""

    name: str
    commit: str


LATEST_RELEASE: Final = "latest-release"


def find_reference(repository: Path, revision: str, *, target: str = "HEAD") -> ReferenceCommit:
    """Resolve `revision`. `latest-release` is the newest tag among the commits before `target`."""
    if revision != LATEST_RELEASE or git.find_commit(repository, revision) is not None:
        return ReferenceCommit(name=revision, commit=git.resolve_commit(repository, revision))
    own = git.resolve_commit(repository, target)
    before = set(git.ancestors(repository, [own])) - {own}
    released = [
        ReferenceCommit(name=name, commit=commit) for name, commit in git.tags(repository).items() if commit in before
    ]
    if not released:
        raise UsageError(
            "no tag is among the commits before the target",
            place=f"{LATEST_RELEASE} in {repository}",
            next_step="check out with `fetch-depth: 0`, or name a tag or commit instead",
        )
    return released[-1]


def commits_between(repository: Path, *, base: str, head: str) -> frozenset[str]:
    """Return the commits that `head` contains and `base` does not."""
    return frozenset(git.ancestors(repository, [head])) - frozenset(git.ancestors(repository, [base]))


@dataclass(frozen=True, kw_only=True, slots=True)
class EventEnds:
    """The two commits to measure. `target` is checked out."""

    baseline: str
    target: str
    origin: BaselineOrigin


def merge_of(repository: Path, *, revision: str, head: str) -> Merge | None:
    """Return `revision` as GitHub's merge of `head` into its base; None if it is something else or missing here."""
    commit = git.find_commit(repository, revision)
    if commit is None or commit == head:
        return None
    parents = git.recorded_parents(repository, commit)
    return Merge(commit=commit, base=parents[0], head=head) if len(parents) == 2 and parents[1] == head else None


def event_ends(repository: Path, environ: Mapping[str, str]) -> EventEnds:
    """Return the commits that the job in `environ` compares: its checkout, and the commit that the event builds on."""
    path = environ.get("GITHUB_EVENT_PATH")
    if not path:
        raise UsageError(
            "no commits were named, and this is not a GitHub Actions job that has some",
            place="--commits",
            next_step="give the baseline first, then the target: --commits main HEAD",
        )
    event = read_event(Path(path))
    target = git.head_commit(repository)
    baseline, origin = _baseline(repository, target, name=environ.get("GITHUB_EVENT_NAME", ""), event=event)
    if git.find_commit(repository, baseline) is None:
        raise UsageError(
            f"the baseline {baseline[:12]} is not in this checkout",
            place=str(repository),
            next_step="check out with `fetch-depth: 0`",
        )
    return EventEnds(baseline=baseline, target=target, origin=origin)


def _baseline(repository: Path, target: str, *, name: str, event: Mapping[str, Any]) -> tuple[str, BaselineOrigin]:
    head, base = value_at(event, "pull_request", "head", "sha"), value_at(event, "pull_request", "base", "sha")
    if name in PULL_REQUEST_EVENTS and isinstance(head, str) and isinstance(base, str):
        if merge := merge_of(repository, revision=target, head=head):
            return merge.base, BaselineOrigin.MERGED_INTO
        if shared := _common_ancestor(repository, target, base):
            return shared, BaselineOrigin.MERGE_BASE
    below = value_at(event, "merge_group", "base_sha")
    if name == "merge_group" and isinstance(below, str):
        return below, BaselineOrigin.QUEUED_ON
    before = value_at(event, "before")
    # A new branch has forty zeros as its commit before. After a forced push, the common ancestor is the state before.
    if name == "push" and isinstance(before, str) and (shared := _common_ancestor(repository, target, before)):
        return shared, BaselineOrigin.BEFORE_PUSH
    default = value_at(event, "repository", "default_branch")
    shared = _common_ancestor(repository, target, f"origin/{default}") if isinstance(default, str) else None
    if shared is not None and shared != target:
        return shared, BaselineOrigin.MERGE_BASE
    parents = git.recorded_parents(repository, target)
    if not parents:
        raise DataError(
            "the first commit of a history has nothing to be compared with",
            place=f"commit {target[:12]}",
            next_step="nothing to do: the next push has",
        )
    return parents[0], BaselineOrigin.PARENT


def _common_ancestor(repository: Path, target: str, revision: str) -> str | None:
    """The best common ancestor; None if `revision` is missing here or shares none."""
    commit = git.find_commit(repository, revision)
    shared = git.merge_bases(repository, target, commit) if commit else ()
    return shared[0] if shared else None
