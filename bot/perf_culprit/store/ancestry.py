"""The stored runs that a target may be judged against, and the runs on a branch's first-parent line.

A target is judged against commits that its base contains. A shallow checkout lacks them. Then only the commits, without
files, are fetched from the remote into a private repository, in growing depth. The user's checkout stays unchanged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from perf_culprit import git
from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.files import temporary_folder
from perf_culprit.model.reason import BaselineReason, Reason, SeriesReason, because, left_out_reasons
from perf_culprit.model.run import HARDWARE_COMPONENTS, Run
from perf_culprit.store.protocol import History, NamedRun

# Commits fetched per branch; None is all. Most targets are near their base, and 1,000 commits are under a megabyte.
DEPTHS = (100, 1000, 10_000, None)
FETCHED_HEAD, FETCHED_BASE = "refs/perf-culprit/head", "refs/perf-culprit/base"
MERGE_BASE, TARGET_COMMIT = "merge base", "target commit"
FULL_CHECKOUT = "check out with `fetch-depth: 0`; `filter: blob:none` keeps that fast"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ancestry:
    """`commits` are candidates for a baseline, children before parents.

    `anchor` is the commit that distances count from: the merge base (a candidate) or the target commit (not one).
    `base_commit` is the commit that the candidates represent; None if there is no earlier commit.
    """

    commits: tuple[str, ...]
    base_commit: str | None
    anchor: str = MERGE_BASE
    notes: tuple[Reason, ...] = ()


def find_ancestry(
    repository: Path | None,
    *,
    head: str,
    base: str | None,
    remote: git.Remote | None = None,
    enough: Callable[[Sequence[str]], bool] = lambda _: False,
) -> Ancestry:
    """Find the candidates for `head`: all commits of its merge base with `base`, or its own ancestors without `base`.

    In a shallow checkout, or without one, fetch more from `remote` until `enough` accepts the candidates or all commits
    are fetched.
    """
    if repository is not None and not git.is_shallow(repository):
        head_commit = git.resolve_commit(repository, head)
        base_commit = None
        if base is not None:
            base_commit = git.find_commit(repository, base) or git.resolve_commit(repository, f"origin/{base}")
        return _ancestry(repository, head=head_commit, base=base_commit)
    return _fetched_ancestry(repository, head=head, base=base, remote=remote, enough=enough)


def _ancestry(repository: Path, *, head: str, base: str | None) -> Ancestry:
    if base is None:
        commits = tuple(commit for commit in git.ancestors(repository, [head]) if commit != head)
        first = git.parents(repository, head)
        return Ancestry(commits=commits, base_commit=first[0] if first else None, anchor=TARGET_COMMIT)
    if not (bases := git.merge_bases(repository, head, base)):
        note = because(BaselineReason.NO_COMMON_ANCESTOR, head=head[:12], base=base[:12])
        return Ancestry(commits=(), base_commit=None, notes=(note,))
    # After criss-cross merges there are several merge bases; both sides contain all of them.
    notes = () if len(bases) == 1 else (because(BaselineReason.SEVERAL_MERGE_BASES, count=len(bases)),)
    commits = git.ancestors(repository, bases)
    return Ancestry(commits=commits, base_commit=commits[0], notes=notes)


def _fetched_ancestry(
    repository: Path | None,
    *,
    head: str,
    base: str | None,
    remote: git.Remote | None,
    enough: Callable[[Sequence[str]], bool],
) -> Ancestry:
    url = git.default_remote_url(repository) if repository else None
    source = remote or (git.Remote(url=url) if url else None)
    if source is None:
        raise UsageError(
            "this checkout is shallow and has no remote, so the commits before it are unknown",
            place=str(repository),
            next_step=FULL_CHECKOUT,
        )
    head_commit = (git.find_commit(repository, head) if repository else None) or head
    refspecs = [f"+{head_commit}:{FETCHED_HEAD}"]
    if base is not None:
        refspecs.append(f"+{_remote_name(repository, base)}:{FETCHED_BASE}")
    with temporary_folder() as folder:
        private = git.init_private(folder / "commits.git")
        ancestry = Ancestry(commits=(), base_commit=None)
        for depth in DEPTHS:
            _fetch_commits(private, source, refspecs, depth=depth)
            base_commit = None if base is None else git.resolve_commit(private, FETCHED_BASE)
            fetched_head = git.resolve_commit(private, FETCHED_HEAD)
            ancestry = _ancestry(private, head=fetched_head, base=base_commit)
            is_enough = (
                ancestry.commits and enough(ancestry.commits) and _is_certain(private, fetched_head, base_commit)
            )
            if is_enough or not git.is_shallow(private):
                break
        return ancestry


def _is_certain(private: Path, head: str, base: str | None) -> bool:
    """Whether deeper fetching cannot find a better merge base: both sides already contain every cut-off commit."""
    if base is None:
        return True
    one_sided = set(git.ancestors(private, [head])) ^ set(git.ancestors(private, [base]))
    return one_sided.isdisjoint(git.shallow_commits(private))


def _remote_name(repository: Path | None, base: str) -> str:
    """Return the name to fetch from the remote: the commit if it exists locally, else the branch."""
    if repository and (local := git.find_commit(repository, base)):
        return local
    name = base.removeprefix("refs/heads/").removeprefix("origin/")
    return name if git.FULL_HASH.fullmatch(name) else f"refs/heads/{name}"


def _fetch_commits(private: Path, source: git.Remote, refspecs: Sequence[str], *, depth: int | None) -> None:
    try:
        is_fetched = git.fetch(
            private,
            source,
            refspecs,
            depth=depth,
            unshallow=depth is None and git.is_shallow(private),
            object_filter="tree:0",
        )
    except git.GitError as error:
        raise InfrastructureError(
            f"this checkout is shallow, and fetching the commits before it did not work: {error.message}",
            place=source.shown,
            next_step=FULL_CHECKOUT,
        ) from None
    if not is_fetched:
        raise UsageError(
            "the remote does not know the base branch or the target's commit",
            place=source.shown,
            next_step=f"check the name of the base branch and that the commit is pushed, or {FULL_CHECKOUT}",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MainLine:
    """`runs` are ordered by commit, oldest first, and by age within a commit. `notes` list what was left out."""

    runs: tuple[Run, ...]
    notes: tuple[Reason, ...] = ()


def main_line(
    history: History,
    repository: Path,
    *,
    suite: str,
    revision: str = "HEAD",
    any_hardware: bool = False,
    most: int | None = None,
    merged: bool = False,
) -> MainLine:
    """Return the runs of the commits on `revision`'s first-parent line, on the newest run's hardware.

    `most` limits them to the newest commits with runs. `merged` also includes commits of merged branches.
    """
    line = line_of(repository, revision, merged=merged)
    stored = history.commits(suite)
    on_line = [commit for commit in line if commit in stored]
    entries = list(history.runs(suite, on_line[:most]))
    newest_first = [entry.run for entry in entries if isinstance(entry, NamedRun)]
    runs = newest_first if any_hardware else _on_one_hardware(newest_first)
    elsewhere = sum(stored.values()) - sum(stored[commit] for commit in on_line)
    left_out = {
        SeriesReason.OFF_THE_LINE: elsewhere,
        SeriesReason.NOT_READABLE: len(entries) - len(newest_first),
        SeriesReason.HARDWARE_OF_OLDER: len(newest_first) - len(runs),
    }
    return MainLine(runs=tuple(reversed(runs)), notes=left_out_reasons(left_out))


def line_of(repository: Path, revision: str = "HEAD", *, merged: bool = False) -> tuple[str, ...]:
    """Return the commits on `revision`'s first-parent line, or all its ancestors if `merged`, newest first."""
    if git.is_shallow(repository):
        raise UsageError(
            "this checkout is shallow, so the order of the stored runs is unknown",
            place=str(repository),
            next_step="check out with `fetch-depth: 0`; `filter: blob:none` keeps that fast",
        )
    return git.ancestors(repository, [git.resolve_commit(repository, revision)], first_parent=not merged)


def _on_one_hardware(newest_first: Sequence[Run]) -> list[Run]:
    return [
        run for run in newest_first if not run.environment.differences(newest_first[0].environment, HARDWARE_COMPONENTS)
    ]
