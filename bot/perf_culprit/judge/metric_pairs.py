"""Metrics to compare: each metric of the target with the same metric of the baseline's runs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise

from msgspec import structs

from perf_culprit.arrays import Integers
from perf_culprit.judge.families import families
from perf_culprit.judge.run_blocks import ONE_A_SIDE, Blocks, blocks_of
from perf_culprit.judge.statistic import unmeasurable
from perf_culprit.judge.unit_factors import conversion_factor
from perf_culprit.model.finding import Baseline
from perf_culprit.model.reason import OF_FAILURES, Reason, Untested, because
from perf_culprit.model.run import Benchmark, Direction, FailedSide, Lost, Metric, MetricKey, Run, Summary, short_hash
from perf_culprit.model.work_limits import WORK_LIMITS


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricPair:
    """One metric on both sides, in the target's unit.

    `metric` is used for judging: its direction may be the user's, not the tool's. `baseline` has one entry per run that
    measured the metric, oldest first, at least one. `positions` are those runs' places among all, `commits`
    their commits if known, `blocks` those of all runs. `obstacle` is the reason why the sides cannot be compared at
    all. `targets` are the target's runs: one per file if there are several files, otherwise one. `is_unsettled`: one of
    the runs may be the first of a new level (`Baseline.unsettled`).
    """

    key: MetricKey
    metric: Metric
    target: Benchmark
    baseline: tuple[Benchmark, ...]
    obstacle: Reason | None = None
    positions: tuple[int, ...] = ()
    commits: tuple[str | None, ...] = ()
    blocks: Blocks = ONE_A_SIDE
    is_unsettled: bool = False

    @property
    def targets(self) -> tuple[Benchmark, ...]:
        if not (len(self.blocks.target) > 1 and self.target.rounds):
            return (self.target,)
        ends = accumulate(self.target.group_sizes, initial=0)
        return tuple(
            structs.replace(self.target, samples=self.target.samples[start:end], group_sizes=(), rounds=())
            for start, end in pairwise(ends)
        )

    @property
    def placed(self) -> "list[tuple[tuple[int, bool, int], Benchmark]]":
        """Each run with its place: its block, whether it is the target's, its index there; the baseline's first."""
        after, targets = self.blocks.target, self.targets
        own = [number - 1 for number in self.target.rounds] if len(targets) > 1 else [0]
        placed = [
            ((self.blocks.of_baseline(at), False, at), run)
            for at, run in zip(self.positions, self.baseline, strict=True)
        ]
        return placed + [((after[at], True, at), run) for at, run in zip(own, targets, strict=True)]

    @property
    def series(self) -> tuple[float, ...]:
        """One value per run, oldest to newest, the target's last."""
        return (*(benchmark.value for benchmark in self.baseline), self.target.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairing:
    """`pairs` in the target's order; `missing` metrics are in the newest baseline run but not in the target.

    `lost`: what failed on one side only.
    """

    pairs: tuple[MetricPair, ...]
    missing: tuple[MetricKey, ...] = ()
    new: tuple[MetricKey, ...] = ()
    lost: tuple[Lost, ...] = ()


def pair_metrics(
    baseline: Baseline, target: Run, *, direction: Callable[[Metric, MetricKey], Direction] | None = None
) -> Pairing:
    """Pair the target's metrics with the baseline's.

    A run is no baseline for its `regressions` (`new_level` decides which). `direction` overrides a metric's.
    """
    # Plain tuples as keys: a suite's history has hundreds of thousands of entries, and a dataclass hashes slowly.
    runs: dict[tuple[str, str], tuple[list[Benchmark], list[int]]] = {}
    for position, run in enumerate(baseline.runs):
        regressed = {(key.benchmark, key.metric) for key in run.regressions}
        for benchmark in run.benchmarks:
            name = (benchmark.name, benchmark.metric.name)
            if name in runs and name not in regressed:
                runs[name][0].append(benchmark)
                runs[name][1].append(position)
            elif name not in regressed:
                runs[name] = [benchmark], [position]
    pairs, new, blocks = [], [], blocks_of(baseline, target)
    losses = lost_on_one_side(baseline, target)
    failures = {one.benchmark: one.reason for one in losses if one.kind in OF_FAILURES}
    # Usually the same for all metrics.
    shared: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[str | None, ...]]] = {}
    for benchmark in target.benchmarks:
        key, metric = benchmark.key, benchmark.metric
        if (earlier := runs.get((benchmark.name, metric.name))) is None:
            new.append(key)
            continue
        override = metric.direction if direction is None else direction(metric, key)
        if overridden := override is not metric.direction:
            metric = structs.replace(metric, direction=override)
        older = None
        if benchmark.version is not None:
            same = [(run, at) for run, at in zip(*earlier, strict=True) if benchmark.is_version_of(run)]
            older = None if same else earlier[0][-1].version
            earlier = ([run for run, _ in same], [at for _, at in same]) if same else earlier
        places = tuple(earlier[1])
        positions, commits = shared.setdefault(places, (places, tuple(baseline.runs[i].commit for i in places)))
        pairs.append(
            replace(
                _pair(
                    key,
                    metric,
                    benchmark,
                    earlier[0],
                    trusted_direction=overridden,
                    older=older,
                    obstacle=failures.get(key.benchmark),
                ),
                positions=positions,
                commits=commits,
                blocks=blocks,
                is_unsettled=key in baseline.unsettled,
            )
        )
    keys = {benchmark.key for benchmark in target.benchmarks}
    newest = baseline.runs[-1].benchmarks if baseline.runs else ()
    missing = tuple(dict.fromkeys(entry.key for entry in newest if entry.key not in keys))
    return Pairing(pairs=tuple(pairs), missing=missing, new=tuple(new), lost=losses)


def lost_on_one_side(baseline: Baseline, target: Run) -> tuple[Lost, ...]:
    """Return what failed on one side only. An older baseline run that measured a benchmark replaces a failed one."""
    newest = {one.benchmark: one for one in baseline.runs[-1].lost} if baseline.runs else {}
    earlier_names = {one.name for run in baseline.runs[:-1] for one in run.benchmarks}
    there = {one.name for one in target.benchmarks}
    ours = {one.benchmark: one for one in target.lost}
    theirs = (one for name, one in newest.items() if name not in earlier_names and (name in there or not name))
    lost = [
        *(structs.replace(one, side=FailedSide.TARGET) for name, one in ours.items() if name not in newest),
        *(structs.replace(one, side=FailedSide.BASELINE) for one in theirs if one.benchmark not in ours),
    ]
    return tuple(sorted(lost, key=lambda one: not one.benchmark))


def some_samples(runs: Sequence[Benchmark]) -> tuple[float, ...]:
    """Choose samples to draw: the runs' samples sorted by size, thinned out if there are many."""
    return some_of(sorted(chain.from_iterable(run.samples for run in runs)))


def some_of(ordered: Sequence[float]) -> tuple[float, ...]:
    """Return a limited number of them, evenly spaced in rank."""
    last, most = len(ordered) - 1, min(len(ordered), WORK_LIMITS.drawn_values)
    return tuple(ordered[round(i * last / (most - 1))] for i in range(most)) if last else tuple(ordered)


def metric_families(pairs: Sequence[MetricPair]) -> Integers:
    """Number the metric names, shape (m,): metrics of one name share the prior of their variances."""
    return families((pair.metric.name for pair in pairs), alone=(pair.is_unsettled for pair in pairs))


def _pair(
    key: MetricKey,
    metric: Metric,
    target: Benchmark,
    earlier: list[Benchmark],
    *,
    trusted_direction: bool,
    older: str | None,
    obstacle: Reason | None,
) -> MetricPair:
    """Pair one metric. `older`: another version of the benchmark, if all earlier runs measured other versions."""
    converted = tuple(earlier)
    if not all(benchmark.metric == target.metric for benchmark in earlier):
        # If there are several obstacles, report the newest run's.
        obstacle = obstacle or obstacle_of(target.metric, [run.metric for run in reversed(earlier)], trusted_direction)
        factors = [conversion_factor(run.metric.unit, metric.unit) for run in earlier]
        converted = tuple(
            run if factor in {None, 1.0} else scale_benchmark(run, metric, factor or 1.0)
            for run, factor in zip(earlier, factors, strict=True)
        )
    if older is not None:
        obstacle = because(Untested.BENCHMARK_CHANGED, before=short_hash(older), now=short_hash(str(target.version)))
    if obstacle is None:
        obstacle = _unmeasurable(target, converted)
    return MetricPair(key=key, metric=metric, target=target, baseline=converted, obstacle=obstacle)


def _unmeasurable(target: Benchmark, baseline: Sequence[Benchmark]) -> Reason | None:
    for side, benchmark in (*(("baseline", run) for run in baseline), ("target", target)):
        if (number := unmeasurable(benchmark)) is not None:
            return because(Untested.UNMEASURABLE_NUMBERS, side=side, number=number)
    return None


def obstacle_of(metric: Metric, earlier: Iterable[Metric], trusted_direction: bool) -> Reason | None:
    """Reason why `metric` cannot be compared with the `earlier` ones, from the first that differs; None if it can."""
    for other in earlier:
        if conversion_factor(other.unit, metric.unit) is None:
            return because(Untested.UNIT_CHANGED, before=other.unit or "none", now=metric.unit or "none")
        if other.direction is not metric.direction and not trusted_direction:
            return because(Untested.DIRECTION_CHANGED, before=other.direction.value, now=metric.direction.value)
    return None


def scale_benchmark(benchmark: Benchmark, metric: Metric, factor: float) -> Benchmark:
    """Multiply all numbers of the benchmark by the factor, and set its `metric`."""
    summary = benchmark.summary
    return structs.replace(
        benchmark.with_metric(metric),
        samples=tuple(sample * factor for sample in benchmark.samples),
        summary=None if summary is None else _scaled_summary(summary, factor),
    )


def _scaled_summary(summary: Summary, factor: float) -> Summary:
    def scaled(value: float | None) -> float | None:
        return None if value is None else value * factor

    interval = summary.confidence_interval
    return structs.replace(
        summary,
        value=summary.value * factor,
        standard_deviation=scaled(summary.standard_deviation),
        minimum=scaled(summary.minimum),
        maximum=scaled(summary.maximum),
        median=scaled(summary.median),
        confidence_interval=None if interval is None else (interval[0] * factor, interval[1] * factor),
    )
