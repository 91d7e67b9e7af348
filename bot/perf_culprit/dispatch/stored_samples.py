"""Stored runs as samples of a search, and a search's measurements as stored runs (docs/history.md)."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Final

from msgspec.structs import replace

from perf_culprit.model.bisection import CommitRange, SearchState
from perf_culprit.model.dispatch import BisectCommands, Bisection
from perf_culprit.model.run import Benchmark, Environment, Metric, MetricKey, Run
from perf_culprit.store.opening import OF_SEARCHES
from perf_culprit.store.protocol import History, NamedRun

JOB_PREFIX: Final = "bisect-"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBlocks:
    """`blocks`: a value per execution by commit, each block measured interleaved. `alone`: runs without a block."""

    blocks: tuple[Mapping[str, tuple[float, ...]], ...] = ()
    alone: int = 0
    other_hardware: int = 0
    other_commands: int = 0

    @property
    def executions(self) -> int:
        return sum(len(values) for block in self.blocks for values in block.values())


def bisect_suite(suite: str) -> str:
    """Return the suite that keeps runs of searches. No baseline is ever chosen from it.

    A search measures the commits that it suspects, between executions of other commits. So neither its choice of
    commits nor its conditions are those of a run of every push.
    """
    return f"{suite}{OF_SEARCHES}"


def stored_runs(history: History, commit_range: CommitRange, *, suite: str) -> tuple[Run, ...]:
    """Return the readable runs of the range's commits, from pushes and from earlier searches."""
    names = (commit_range.good, *commit_range.merge_bases, *commit_range.commits)
    runs: list[Run] = []
    for kind in (suite, bisect_suite(suite)):
        there = history.commits(kind)
        entries = history.runs(kind, [name for name in names if name in there])
        runs += [entry.run for entry in entries if isinstance(entry, NamedRun)]
    return tuple(runs)


def known_metrics(runs: Iterable[Run]) -> tuple[tuple[MetricKey, Metric], ...]:
    return tuple({entry.key: entry.metric for run in runs for entry in run.benchmarks}.items())


def usable_blocks(
    runs: Sequence[Run],
    commit_range: CommitRange,
    *,
    key: MetricKey,
    commands: BisectCommands,
    environment: Environment | None = None,
) -> StoredBlocks:
    """Find executions of two commits or more, interleaved: runs of one job, by round if it had rounds.

    A run measured alone is of no use: a machine's level moves by more than most regressions, so a search compares
    commits within a block. A search's runs count if they ran the same commands.
    """
    names = {commit_range.good, *commit_range.merge_bases, *commit_range.commits}
    jobs: defaultdict[str, list[tuple[str, Benchmark]]] = defaultdict(list)
    alone = other_hardware = other_commands = 0
    for run in runs:
        entry = next((entry for entry in run.benchmarks if entry.key == key), None)
        if entry is None or run.commit not in names:
            continue
        if environment is not None and run.environment.differences(environment):
            other_hardware += 1
        elif run.suite.endswith(OF_SEARCHES) and not (run.job or "").startswith(_job_prefix(commands)):
            other_commands += 1
        elif run.job is None or not entry.samples:
            alone += 1
        else:
            jobs[run.job].append((run.commit, entry))
    blocks: list[Mapping[str, tuple[float, ...]]] = []
    for members in jobs.values():
        of_run = _blocks(members)
        alone += 0 if of_run else len(members)
        # Older versions recorded a resumed search again as another job, including its earlier rounds.
        blocks += [block for block in of_run if block not in blocks] if members[0][1].rounds else of_run
    return StoredBlocks(blocks=tuple(blocks), alone=alone, other_hardware=other_hardware, other_commands=other_commands)


def _blocks(members: Sequence[tuple[str, Benchmark]]) -> list[Mapping[str, tuple[float, ...]]]:
    by_round: defaultdict[int, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for commit, entry in members:
        # A call that was killed has recorded some rounds, and the next one recorded them again.
        twice = {number for number, block in by_round.items() if number and commit in block}
        sizes = entry.group_sizes or (len(entry.samples),)
        start = 0
        for place, size in enumerate(sizes):
            number = entry.rounds[place] if entry.rounds else 0
            if number not in twice:
                by_round[number][commit].append(float(median(entry.samples[start : start + size])))
            start += size
    blocks = [
        {commit: tuple(value for value in values if value > 0) for commit, values in block.items()}
        for _, block in sorted(by_round.items())
    ]
    return [
        {commit: values for commit, values in block.items() if values}
        for block in blocks
        if sum(bool(values) for values in block.values()) > 1
    ]


def record_search(history: History, bisection: Bisection, *, recorded_rounds: int = 0) -> tuple[str, ...]:
    """Append one run per measured commit to the suite of searches, and return their names in the history.

    Recording a search again changes nothing there. The first `recorded_rounds` are left out: an earlier call recorded
    them. The environment is the part that all machines share.
    """
    if bisection.metric is None:
        return ()
    first, *others = bisection.environments or ({},)
    common = {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}
    runs = search_runs(
        bisection.search,
        key=bisection.key,
        metric=bisection.metric,
        suite=bisect_suite(bisection.suite),
        job=f"{_job_prefix(bisection.commands)}{bisection.id}",
        time=bisection.started_at,
        recorded_rounds=recorded_rounds,
    )
    return tuple(history.append(replace(run, environment=Environment(components=common))) for run in runs)


def search_runs(
    state: SearchState,
    *,
    key: MetricKey,
    metric: Metric,
    suite: str,
    job: str,
    time: datetime,
    recorded_rounds: int = 0,
) -> tuple[Run, ...]:
    """Return a run per measured commit, in the order of the history. Its groups are executions, with their rounds."""
    values: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, result in enumerate(state.results[recorded_rounds:], start=recorded_rounds + 1):
        for commit, numbers in result.values.items():
            values[commit] += [(number, value) for value in numbers]
    commit_range = state.commit_range
    order = dict.fromkeys((commit_range.good, *commit_range.merge_bases, *commit_range.commits))
    return tuple(
        Run(
            benchmarks=(
                Benchmark.of(
                    name=key.benchmark,
                    metric=metric,
                    samples=tuple(value for _, value in values[commit]),
                    group_sizes=(1,) * len(values[commit]),
                    rounds=tuple(number for number, _ in values[commit]),
                ),
            ),
            commit=commit,
            time=time,
            suite=suite,
            job=job,
            notes=("measured by a search for a culprit: no baseline",),
        )
        for commit in order
        if commit in values
    )


def _job_prefix(commands: BisectCommands) -> str:
    """Return a prefix that is equal for searches with the same commands: their numbers can be compared."""
    facts = "\x00".join(str(fact) for fact in (commands.run, commands.build, commands.count or commands.tool))
    return f"{JOB_PREFIX}{hashlib.sha256(facts.encode(errors='surrogateescape')).hexdigest()[:12]}-"
