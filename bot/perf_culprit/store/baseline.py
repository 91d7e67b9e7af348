"""The choice of a baseline: by ancestry, on the same hardware, since accepted changes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path
from typing import Final

from msgspec import structs

from perf_culprit import git
from perf_culprit.errors import UsageError
from perf_culprit.model.finding import Acceptance, Baseline, BaselineSource, RunChoice
from perf_culprit.model.reason import BaselineReason, Reason, because
from perf_culprit.model.run import HARDWARE_COMPONENTS, CounterTable, MetricKey, Run
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.store.ancestry import MERGE_BASE, TARGET_COMMIT, Ancestry, find_ancestry
from perf_culprit.store.protocol import History, NamedRun, UnreadableRun

_SHORT_HASH: Final = 7


@dataclass(kw_only=True, slots=True)
class Restarts:
    """Apply accepted changes to the stored runs, newest first. `positions` count commits in that direction.

    An acceptance with a benchmark takes effect once a run since it was chosen. Until then only the old level is
    available, and the acceptance is `pending`: the policy marks what it covers. `head` is the target's own commit.
    """

    accepted: Sequence[Acceptance] = ()
    positions: Mapping[str, int] = field(default_factory=dict)
    head: str | None = None
    _newest: dict[str, Acceptance] = field(default_factory=dict, init=False)
    _since: set[str] = field(default_factory=set, init=False)
    _cut: dict[str, Acceptance] = field(default_factory=dict, init=False)
    _newest_chosen: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Keep each benchmark's acceptance at the newest commit. If a commit has several, keep its last stored one."""
        for entry in self.accepted:
            if entry.benchmark is None or entry.commit not in self.positions:
                continue
            newest = self._newest.get(entry.benchmark)
            if newest is None or self.positions[entry.commit] <= self.positions[newest.commit]:
                self._newest[entry.benchmark] = entry

    def kept(self, keys: tuple[MetricKey, ...], position: int) -> tuple[MetricKey, ...]:
        """Return the stored run's metrics that may be baseline: benchmarks, and counters by table and name."""
        return tuple(key for key in keys if not self._is_before(key, position)) if self._newest else keys

    def forgiven(self, run: Run, position: int) -> Run:
        """Remove what was accepted after the run was judged: regressions, and the category that the benchmark left."""
        if not self._newest:
            return run
        regressions = tuple(key for key in run.regressions if not self._forgiven(key, run, position))
        benchmarks = tuple(
            structs.replace(benchmark, category=None)
            if benchmark.category and self._forgiven(benchmark.key, run, position)
            else benchmark
            for benchmark in run.benchmarks
        )
        return structs.replace(run, regressions=regressions, benchmarks=benchmarks)

    def choose(self, keys: Sequence[MetricKey], position: int) -> None:
        """Note that these metrics of the run at `position` became part of the baseline."""
        if self._newest_chosen is None:
            self._newest_chosen = position
        for key in keys if self._newest else ():
            self._since.update(name for name, entry in self._of(key) if position <= self.positions[entry.commit])

    @property
    def pending(self) -> tuple[Acceptance, ...]:
        """The acceptances at the target's own commit, and those without a run measured since."""
        return tuple(
            entry
            for entry in self.accepted
            if entry.commit == self.head or (entry.commit in self.positions and not self._was_measured(entry))
        )

    @property
    def notes(self) -> tuple[Reason, ...]:
        reasons = [
            because(
                BaselineReason.BEGINS_AT_ACCEPTED,
                benchmark=name,
                commit=entry.commit[:_SHORT_HASH],
                author=entry.author,
                why=entry.reason,
            )
            for name, entry in list(self._cut.items())[: TEXT_LIMITS.notes]
        ]
        more = len(self._cut) - len(reasons)
        return (*reasons, *([because(BaselineReason.MORE_ACCEPTED, count=more)] if more > 0 else []))

    def _of(self, key: MetricKey) -> list[tuple[str, Acceptance]]:
        """Return the acceptances of this metric: by its benchmark's or table's name, and by its full name."""
        return [(name, self._newest[name]) for name in (key.benchmark, key.full_name) if name in self._newest]

    def _is_before(self, key: MetricKey, position: int) -> bool:
        cuts = [
            (name, entry)
            for name, entry in self._of(key)
            if position > self.positions[entry.commit] and name in self._since
        ]
        self._cut.update(cuts)
        return bool(cuts)

    def _forgiven(self, key: MetricKey, run: Run, position: int) -> bool:
        """Whether the run was judged against the old level, before the new one was accepted."""
        return any(
            position <= self.positions[entry.commit]
            and (run.commit == entry.commit or (run.time is not None and run.time <= entry.time))
            for _, entry in self._of(key)
        )

    def _was_measured(self, entry: Acceptance) -> bool:
        if entry.benchmark is not None:
            return entry.benchmark in self._since
        return self._newest_chosen is not None and self._newest_chosen <= self.positions[entry.commit]


DEFAULT_WINDOW = 30
# Hosted runners have a few types of processors. To fill the window from one type, read up to this multiple of it.
READ_PER_WINDOW = 10


@dataclass(kw_only=True, slots=True)
class Selection:
    """State of the walk over the stored runs. `runs` are the chosen ones, newest first.

    `newest` counts the commits from the first candidate to the newest chosen run.
    """

    runs: list[Run] = field(default_factory=list)
    choices: list[RunChoice] = field(default_factory=list)
    problems: list[Reason] = field(default_factory=list)
    unknown_hardware: Counter[str] = field(default_factory=Counter)
    left_out_for_hardware: int = 0
    read: int = 0
    newest: int | None = None
    restarts: Restarts

    def leave_out(self, stored: NamedRun | UnreadableRun, reason: Reason) -> None:
        self.choices.append(_choice(stored, reason, chosen=False))


def choose_baseline(
    history: History,
    repository: Path | None,
    *,
    target: Run,
    base: str | None,
    head: str | None = None,
    window: int = DEFAULT_WINDOW,
    remote: git.Remote | None = None,
    accepted: Sequence[Acceptance] = (),
) -> Baseline:
    """Choose up to `window` stored runs that `target` may be judged against.

    For a pull request `base` is its base branch, and the candidates are the commits in the merge base. For a push
    `base` is None, and the candidates are the ancestors of the target's commit. If the target is GitHub's merge of a
    pull request into `base`, `head` is the pull request's own commit. Then the candidates are the commits in `base`.
    `remote` serves shallow checkouts; without it they use their own remote, without a token. `accepted` are the
    suite's accepted changes: runs from before one are no baseline for what it names.
    """
    own = head or target.commit
    if own is None:
        raise UsageError(
            "the target has no commit, so the runs before it are unknown",
            next_step="measure inside a git checkout, or give the baseline as files",
        )
    stored = {
        commit: count for commit, count in history.commits(target.suite).items() if commit not in (target.commit, own)
    }
    start = base if head and base else own

    def enough(commits: Sequence[str]) -> bool:
        within = [commit for commit in commits if commit in stored]
        return len(within) == len(stored) or sum(stored[commit] for commit in within) >= window

    ancestry = find_ancestry(repository, head=start, base=base, remote=remote, enough=enough)
    candidates = [commit for commit in ancestry.commits if commit in stored]
    runs = history.runs(target.suite, candidates)
    selection = select_runs(runs, target=target, ancestry=ancestry, window=window, accepted=accepted, head=own)
    return Baseline(
        runs=tuple(reversed(selection.runs)),
        source=BaselineSource.HISTORY,
        base_commit=ancestry.base_commit,
        is_branched=base is not None,
        choices=tuple(selection.choices[: TEXT_LIMITS.choices]),
        notes=(*ancestry.notes, *_notes(selection, stored=stored, candidates=candidates, anchor=ancestry.anchor)),
        left_out_for_hardware=selection.left_out_for_hardware,
        accepted=selection.restarts.pending,
    )


def select_runs(
    stored_runs: Iterator[NamedRun | UnreadableRun],
    *,
    target: Run,
    ancestry: Ancestry,
    window: int,
    accepted: Sequence[Acceptance],
    head: str | None,
) -> Selection:
    """Walk from the newest stored run to the oldest that is still needed."""
    positions = {commit: position for position, commit in enumerate(ancestry.commits)}
    first = 0 if ancestry.anchor == MERGE_BASE else 1
    selection = Selection(restarts=Restarts(accepted=accepted, positions=positions, head=head))
    older = 0
    for stored in stored_runs:
        selection.read += 1
        if len(selection.runs) >= window:
            selection.leave_out(stored, because(BaselineReason.ENOUGH_NEWER_RUNS, window=window))
            older += 1
        else:
            position = positions[stored.commit]
            where = _distance(position + first, ancestry.anchor)
            _consider(stored, target=target, where=where, position=position, selection=selection)
        if older >= TEXT_LIMITS.older_runs or selection.read >= window * READ_PER_WINDOW:
            break
    return selection


def _consider(
    stored: NamedRun | UnreadableRun, *, target: Run, where: Reason, position: int, selection: Selection
) -> None:
    if isinstance(stored, UnreadableRun):
        selection.problems.append(because(BaselineReason.RUN_UNREADABLE, run=stored.id, problem=stored.problem))
        selection.leave_out(stored, because(BaselineReason.UNREADABLE, problem=stored.problem))
        return
    ours, theirs = target.environment, stored.run.environment
    if differences := theirs.differences(ours, HARDWARE_COMPONENTS):
        name = differences[0]
        there, here = (
            theirs.components[name][: TEXT_LIMITS.quoted_characters],
            ours.components[name][: TEXT_LIMITS.quoted_characters],
        )
        selection.left_out_for_hardware += 1
        selection.leave_out(stored, because(BaselineReason.OTHER_HARDWARE, there=there, here=here, component=name))
        return
    own_keys = stored.run.keys
    keys = selection.restarts.kept(own_keys, position)
    if not own_keys:
        selection.leave_out(stored, because(BaselineReason.NOTHING_LEFT))
        return
    if not keys:
        selection.leave_out(stored, because(BaselineReason.NO_METRIC_LEFT))
        return
    selection.restarts.choose(keys, position)
    if selection.newest is None:
        selection.newest = position
    dropped = len(own_keys) - len(keys)
    selection.unknown_hardware.update(
        name for name in HARDWARE_COMPONENTS if name not in theirs.components or name not in ours.components
    )
    run = selection.restarts.forgiven(stored.run, position)
    selection.runs.append(_only(run, frozenset(keys)) if dropped else run)
    chosen = because(where.code, **where.arguments, dropped=dropped) if dropped else where
    selection.choices.append(_choice(stored, chosen, chosen=True))


def _only(run: Run, keys: frozenset[MetricKey]) -> Run:
    """Reduce the run to the metrics in `keys`, which belong to the baseline."""
    return structs.replace(
        run,
        benchmarks=tuple(benchmark for benchmark in run.benchmarks if benchmark.key in keys),
        counters=tuple(columns for table in run.counters if (columns := _columns(table, keys)) is not None),
    )


def _columns(table: CounterTable, keys: frozenset[MetricKey]) -> CounterTable | None:
    """Reduce the table to `keys`. Without counters left, keep a load, which others were measured under; else None."""
    columns = [column for column, key in enumerate(table.keys) if key in keys]
    if len(columns) == len(table.metrics):
        return table
    if not columns and table.load is None:
        return None
    return replace(table, metrics=tuple(table.metrics[column] for column in columns), values=table.values[:, columns])


def _choice(stored: NamedRun | UnreadableRun, reason: Reason, *, chosen: bool) -> RunChoice:
    time = stored.run.time if isinstance(stored, NamedRun) else None
    text = time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if time else None
    return RunChoice(commit=stored.commit, time=text, chosen=chosen, reason=reason)


def _distance(commits: int, anchor: str) -> Reason:
    if anchor != MERGE_BASE:
        return because(BaselineReason.BEFORE_TARGET, commits=commits)
    return (
        because(BaselineReason.BEFORE_MERGE_BASE, commits=commits) if commits else because(BaselineReason.AT_MERGE_BASE)
    )


def _notes(
    selection: Selection, *, stored: Mapping[str, int], candidates: Sequence[str], anchor: str
) -> Iterator[Reason]:
    yield from selection.restarts.notes
    yield from selection.problems[: TEXT_LIMITS.notes]
    if (more := len(selection.problems) - TEXT_LIMITS.notes) > 0:
        yield because(BaselineReason.MORE_UNREADABLE, count=more)
    if anchor == MERGE_BASE and selection.newest:
        yield because(BaselineReason.BASE_NOT_MEASURED, commits=selection.newest)
    for name, count in sorted(selection.unknown_hardware.items()):
        yield because(BaselineReason.UNKNOWN_COMPONENT, component=name, count=count)
    if (hidden := len(selection.choices) - TEXT_LIMITS.choices) > 0:
        yield because(BaselineReason.MORE_RUNS, count=hidden)
    in_reach = sum(stored[commit] for commit in candidates)
    if in_reach > selection.read:
        yield because(BaselineReason.OLDER_RUNS, count=in_reach - selection.read)
    if elsewhere := sum(stored.values()) - in_reach:
        yield because(BaselineReason.RUNS_ELSEWHERE, count=elsewhere, anchor=anchor)


def baseline_then(
    earlier: Sequence[Run], target: Run, *, window: int = DEFAULT_WINDOW, accepted: Sequence[Acceptance] = ()
) -> Baseline:
    """Choose a baseline as for a push. `earlier` is one line of commits before the target, oldest first.

    Acceptances count if they existed at the target's time; those of the target's own commit always count.
    """
    names = [run.commit or f"run {index}" for index, run in enumerate(earlier)]
    stored = [
        NamedRun(id=f"run {index}", commit=name, run=run)
        for index, (name, run) in enumerate(zip(names, earlier, strict=True))
        if target.commit is None or name != target.commit
    ]
    ancestry = Ancestry(
        commits=tuple(dict.fromkeys(entry.commit for entry in reversed(stored))),
        base_commit=stored[-1].commit if stored else None,
        anchor=TARGET_COMMIT,
    )
    in_force = tuple(
        entry for entry in accepted if entry.commit == target.commit or target.time is None or entry.time <= target.time
    )
    selection = select_runs(
        reversed(stored), target=target, ancestry=ancestry, window=window, accepted=in_force, head=target.commit
    )
    return Baseline(
        runs=tuple(reversed(selection.runs)),
        source=BaselineSource.HISTORY,
        base_commit=ancestry.base_commit,
        left_out_for_hardware=selection.left_out_for_hardware,
        accepted=selection.restarts.pending,
    )
