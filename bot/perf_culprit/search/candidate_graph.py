"""The candidates between two commits, from the text of `git rev-list --parents`.

text = git rev-list --topo-order --parents GOOD BAD
commit_range = cut_range(parse_parents(text), good=GOOD, bad=BAD)
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.arrays import Booleans, Integers
from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.bisection import CommitRange
from perf_culprit.model.work_limits import WORK_LIMITS

RANGE_PLACE: Final = "the range of the bisection"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitGraph:
    """`commits` with all parents after their children; `parents[i]` are indices, without parents outside."""

    commits: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]

    def index(self, commit: str) -> int:
        try:
            return self.commits.index(commit)
        except ValueError:
            raise UsageError(
                f"commit {commit} is not in the history that was read",
                place=RANGE_PLACE,
                next_step="check both ends; in a shallow clone fetch the whole history",
            ) from None


def parse_parents(text: str) -> CommitGraph:
    """Parse the output of `git rev-list --topo-order --parents`: "<commit> <parent>…" per line.

    Raises:
        DataError: a commit comes after its parent, or the text is too long.
    """
    rows = [line.split() for line in text.splitlines() if line]
    if len(rows) > WORK_LIMITS.commits:
        raise DataError(
            f"more than {WORK_LIMITS.commits} commits",
            place=RANGE_PLACE,
            next_step="choose a good commit closer to the bad one",
        )
    rows = [[row[0].lstrip("-"), *row[1:]] for row in rows]
    index = {row[0]: position for position, row in enumerate(rows)}
    parents = tuple(tuple(index[name] for name in row[1:] if name in index) for row in rows)
    if any(parent <= child for child, its_parents in enumerate(parents) for parent in its_parents):
        raise DataError("commits are not in topological order", place=RANGE_PLACE, next_step="use `--topo-order`")
    return CommitGraph(commits=tuple(index), parents=parents)


def cut_range(
    graph: CommitGraph,
    *,
    good: str,
    bad: str,
    first_parent: bool = False,
    messages: Mapping[str, str] | None = None,
    build_inputs: Mapping[str, str] | None = None,
) -> CommitRange:
    """Return the candidates: ancestors of `bad` and itself, without those of `good` and itself.

    `messages` by commit: "This reverts commit <hash>" reverts the change of the named candidate. `build_inputs` by
    commit: a hash of the build's inputs. A commit with its only parent's hash cannot be the culprit (git's TREESAME).
    `first_parent` keeps the mainline only. If `good` is no ancestor of `bad`, `merge_bases` must be measured first.

    Raises:
        UsageError: good = bad, good descends from bad, unrelated histories, or an end is missing.
    """
    good_at, bad_at = graph.index(good), graph.index(bad)
    if good_at == bad_at:
        raise UsageError("good and bad are the same commit", place=RANGE_PLACE, next_step="give two different commits")
    on_good = _ancestors(graph, good_at, first_parent=False)
    if on_good[bad_at]:
        raise UsageError(
            "the good commit descends from the bad one",
            place=RANGE_PLACE,
            next_step="swap good and bad, or check the ends",
        )
    of_bad = _ancestors(graph, bad_at, first_parent=False)
    common = on_good & of_bad
    if not common.any():
        raise UsageError("good and bad have no common history", place=RANGE_PLACE, next_step="check both ends")
    wanted = _ancestors(graph, bad_at, first_parent=True) if first_parent else of_bad
    members = np.flatnonzero(wanted & ~on_good)[::-1]
    position = {int(member): place for place, member in enumerate(members)}
    parents = tuple(
        tuple(position[parent] for parent in _parents(graph, int(member), first_parent) if parent in position)
        for member in members
    )
    commits = tuple(graph.commits[member] for member in members)
    merge_bases = () if common[good_at] else _heads(graph, common)
    return CommitRange(
        good=good,
        bad=bad,
        commits=commits,
        parents=parents,
        reverts=_reverts(commits, messages or {}),
        unchanged=_unchanged_candidates(graph, members, first_parent, build_inputs or {}),
        merge_bases=merge_bases,
        outside=_outside(graph, members, ends=(good, *merge_bases)),
        first_parent=first_parent,
    )


def _outside(graph: CommitGraph, members: Integers, *, ends: Collection[str]) -> dict[str, str]:
    """The first parents that are neither candidates nor `ends`, by candidate."""
    inside = {*(graph.commits[member] for member in members), *ends}
    first = {graph.commits[member]: graph.parents[member][:1] for member in members}
    return {
        commit: graph.commits[parent]
        for commit, parents in first.items()
        for parent in parents
        if graph.commits[parent] not in inside
    }


def _parents(graph: CommitGraph, member: int, first_parent: bool) -> tuple[int, ...]:
    return graph.parents[member][:1] if first_parent else graph.parents[member]


def _ancestors(graph: CommitGraph, start: int, *, first_parent: bool) -> Booleans:
    """Whether each commit is `start` or one of its ancestors."""
    reached = bytearray(len(graph.commits))
    reached[start] = 1
    for child in range(start, len(reached)):
        if reached[child]:
            for parent in _parents(graph, child, first_parent):
                reached[parent] = 1
    return np.frombuffer(reached, dtype=np.bool_)


def _heads(graph: CommitGraph, common: Booleans) -> tuple[str, ...]:
    """Return the merge bases: common ancestors from which no other common ancestor descends."""
    covered = np.zeros_like(common)
    for child in np.flatnonzero(common):
        covered[list(graph.parents[child])] = True
    return tuple(graph.commits[head] for head in np.flatnonzero(common & ~covered))


def _reverts(commits: tuple[str, ...], messages: Mapping[str, str]) -> tuple[tuple[int, int], ...]:
    position = {commit: place for place, commit in enumerate(commits)}
    pairs = (
        (place, position[name])
        for place, commit in enumerate(commits)
        for name in reverted_commits(messages.get(commit, ""))
        if position.get(name, place) < place
    )
    return tuple(pairs)


def reverted_commits(message: str) -> Iterable[str]:
    """Yield the full hashes that git's own revert message names."""
    for part in message.split("This reverts commit ")[1:]:
        name = part[:64].split(maxsplit=1)[0].rstrip(".,") if part[:64].strip() else ""
        if name:
            yield name


def _unchanged_candidates(
    graph: CommitGraph, members: Integers, first_parent: bool, build_inputs: Mapping[str, str]
) -> tuple[int, ...]:
    """Candidates whose only parent (in the range or just before it) has the same known build inputs."""

    def same(member: int) -> bool:
        parents = _parents(graph, member, first_parent)
        own = build_inputs.get(graph.commits[member])
        return own is not None and len(parents) == 1 and build_inputs.get(graph.commits[parents[0]]) == own

    return tuple(place for place, member in enumerate(members) if same(int(member)))
