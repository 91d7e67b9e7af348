"""history, measure -> collect -> history: measure old commits now and insert them among the stored runs."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.commands.measure_requests import Backfill
from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError
from perf_culprit.files import replace_file
from perf_culprit.flows.user_commands import shell_commands, with_quantities
from perf_culprit.machine.this_machine import this_machine
from perf_culprit.measure.runner import ExecutionError
from perf_culprit.measure.workplace import Workplace
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind, reaches
from perf_culprit.model.run import MetricKey, Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.progress import Say
from perf_culprit.read.results.merge import join_executions
from perf_culprit.read.results.surroundings import surroundings
from perf_culprit.store.opening import open_history
from perf_culprit.store.protocol import NamedRun, Store

MERGES: Final = "merge"
_RELEASES: Final = "release"

LevelByMetric = Mapping[MetricKey, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Backfilled:
    """The `commits` of HEAD's own line: `stored` had runs before, `recorded` have now, `failed` gave no result.

    `minutes`: the estimated time for those left, from one trial. None without a trial, or if it gave no result.
    """

    commits: int
    stored: int
    recorded: int
    failed: int
    left: int
    minutes: float | None = None


def measure_past(options: Backfill, *, config: Config, say: Say) -> Backfilled:
    """Measure commits without runs until none is left or the time is spent. Record each as soon as it is measured.

    The next call resumes from the recorded runs. Nothing else is kept, so it tries a failed commit again.
    """
    repository = options.repository
    commands, tool = shell_commands(config, options)
    commits = chosen_commits(repository, since=options.since, every=options.every)
    started = time.monotonic()
    with open_history(config.history, repository, url=options.history_url) as history:
        levels = _stored_levels(history, commits, suite=config.suite)
        stored = len(levels)
        todo = len(commits) - stored
        failed: set[int] = set()
        longest: float | None = None  # measure the first whatever the limit, so that repeated calls make progress
        with this_machine(
            repository, commands, config=config, tool=tool, log=options.log, cache=options.cache
        ) as workplace:
            if options.dry_run:
                place = next_place(len(commits), levels, failed)
                each = None if place is None else _minutes(workplace, commits[place], options, say)
                minutes = None if each is None else todo * each
                return Backfilled(commits=len(commits), stored=stored, recorded=0, failed=0, left=todo, minutes=minutes)
            while (place := next_place(len(commits), levels, failed, minimum_effect=config.minimum_effect)) is not None:
                begun = time.monotonic()
                if options.limit and longest is not None and begun + longest > started + 60 * options.limit:
                    say(f"the time is spent: {len(commits) - len(levels) - len(failed)} commits are left")
                    break
                commit = commits[place]
                say(f"{len(levels) - stored + len(failed) + 1} of {todo}: {commit[:12]}")
                try:
                    run = _measure(repository, workplace, commit, options, config)
                    (run,) = with_quantities(workplace, [run], rounds=1, say=say)
                except ExecutionError as error:
                    say(f"{commit[:12]} gave no result: {error.message}")
                    failed.add(place)
                    continue
                if options.output is None:
                    history.append(run)
                else:
                    replace_file(options.output / f"{commit}.json", encode_run(run))
                levels[place] = levels_of(run)
                longest = max(longest or 0.0, time.monotonic() - begun)
    return Backfilled(
        commits=len(commits),
        stored=stored,
        recorded=len(levels) - stored,
        failed=len(failed),
        left=len(commits) - len(levels) - len(failed),
    )


def chosen_commits(repository: Path, *, since: str, every: str) -> tuple[str, ...]:
    """Return commits of HEAD's own line from `since` on, oldest first. Releases may also lie on merged branches."""
    first = git.resolve_commit(repository, since)
    before = set(git.ancestors(repository, [first])) - {first}
    line = [
        commit
        for commit in git.ancestors(repository, [git.head_commit(repository)], first_parent=every != _RELEASES)
        if commit not in before
    ]
    if cut_off := set(line) & set(git.shallow_commits(repository)) - {first}:
        raise UsageError(
            f"the history since {since} is cut off at {min(cut_off)[:12]}: this is a shallow clone",
            next_step=git.FETCH_ALL,
        )
    if every == _RELEASES:
        tagged = set(git.tags(repository).values())
        line = [commit for commit in line if commit in tagged]
    elif every == MERGES:
        parents = (entry.split() for entry in git.parents_text(repository, line[:1]).splitlines())
        merges = {commit for commit, *of_commit in parents if len(of_commit) > 1}
        line = [commit for commit in line if commit in merges]
    elif every.isdecimal() and 0 < int(every) < 1_000_000:
        line = line[:: int(every)]
    else:
        raise UsageError(
            f"{every[:40]!r} is not a choice of commits", next_step="give --every merge, release or a number"
        )
    if not line:
        raise UsageError(
            f"HEAD holds no such commit since {since}", next_step="give an older --since, or another --every"
        )
    return tuple(reversed(line))


def next_place(
    places: int,
    levels: Mapping[int, LevelByMetric],
    failed: set[int],
    *,
    minimum_effect: float = DEFAULTS[DataKind.BENCHMARK],
) -> int | None:
    """Return which of `places` (0 is the oldest) to measure next: first the ends, then middles of gaps.

    Alternate between the widest gap and the gap whose ends differ most, if they differ by `minimum_effect`. The latter
    should hold a step, but it may be noise, which must not take all the time.
    """
    open_places = [place for place in range(places) if place not in levels and place not in failed]
    if not open_places:
        return None
    places_with_level = sorted(levels)
    if not places_with_level or open_places[-1] > places_with_level[-1]:
        return open_places[-1]
    if open_places[0] < places_with_level[0]:
        return open_places[0]
    gaps = []
    for low, high in pairwise(places_with_level):
        inside = [place for place in open_places if low < place < high]
        if inside:
            gaps.append((step_between(levels[low], levels[high]), inside))
    widest = max(gaps, key=lambda gap: len(gap[1]))
    steepest = max(gaps, key=lambda gap: gap[0])
    _, inside = steepest if len(places_with_level) % 2 and reaches(steepest[0], minimum_effect) else widest
    return inside[len(inside) // 2]


def step_between(before: LevelByMetric, after: LevelByMetric) -> float:
    """Return the largest absolute log ratio of a metric that both have, or 0 if they share none."""
    shared = [(before[key], after[key]) for key in before.keys() & after.keys()]
    return max((abs(log(new / old)) for old, new in shared if old > 0 and new > 0), default=0.0)


def levels_of(run: Run) -> LevelByMetric:
    return {benchmark.key: benchmark.value for benchmark in run.benchmarks}


def _stored_levels(history: Store, commits: Sequence[str], *, suite: str) -> dict[int, LevelByMetric]:
    stored = history.commits(suite)
    wanted = [commit for commit in commits if commit in stored]
    places = {commit: place for place, commit in enumerate(commits)}
    levels: dict[int, LevelByMetric] = {places[commit]: {} for commit in wanted}
    for run in history.runs(suite, wanted):
        if isinstance(run, NamedRun) and not levels[places[run.commit]]:
            levels[places[run.commit]] = levels_of(run.run)
    return levels


def _minutes(workplace: Workplace, commit: str, options: Backfill, say: Say) -> float | None:
    """Estimate the minutes that a commit takes from one execution of this one; None if it gives no result."""
    say(f"try {commit[:12]}")
    begun = time.monotonic()
    try:
        workplace.prepare(commit)
        built = time.monotonic()
        _, run = workplace.execute(commit)
        executed = time.monotonic()
        with_quantities(workplace, [replace(run, commit=commit)], rounds=1, say=say)
    except ExecutionError as error:
        say(f"{commit[:12]} gave no result: {error.message}")
        return None
    return (built - begun + (1 + options.executions) * (executed - built) + time.monotonic() - executed) / 60


def _measure(repository: Path, workplace: Workplace, commit: str, options: Backfill, config: Config) -> Run:
    """Measure a commit. The run gets the commit's time, so that retention treats it as that old; a note has the day."""
    workplace.warm_up(commit)
    executed = [workplace.execute(commit) for _ in range(options.executions)]
    run = join_executions(
        [(str(path), result) for path, result in executed],
        rounds=range(1, options.executions + 1),
        suite=config.suite,
        commit=commit,
        time=git.commit_time(repository, commit),
    )
    environment = run.environment.merged(surroundings(workplace.tree(commit)))
    note = f"measured on {datetime.now(UTC):%Y-%m-%d}, by backfill"
    return replace(run, environment=environment, notes=(*run.notes, note))
