"""From tuples of samples to arrays: everything the tests need, for all metrics at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.model.run import Benchmark, Summary
from perf_culprit.stats.ragged import Booleans, Floats, Integers, Moments, Ragged, pooled
from perf_culprit.stats.two_groups import levene

# A summary's headline number stands for a run's mean only under these names.
MEAN_STATISTICS = frozenset({"mean", "value"})


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleStatistics:
    """Per metric (m,).

    `target` and `baseline` pool the samples of all runs; the `..._within_squares` are about each run's own mean.
    `run_means` has one value per baseline run, also of runs that kept only a mean; `sampled_runs` counts those with
    samples. `..._inverse_counts` are the mean of 1 / n over a side's runs. The groups are the means of processes or
    forks. `constant`: no sample differs from another of its side.
    """

    target: Moments
    baseline: Moments
    target_median: Floats
    baseline_median: Floats
    levene_p: Floats
    within_squares: Floats
    target_within_squares: Floats
    sampled_runs: Floats
    inverse_counts: Floats
    target_inverse_counts: Floats
    run_means: Ragged
    target_means: Ragged
    target_groups: Ragged
    baseline_groups: Ragged

    @property
    def constant(self) -> Booleans:
        return np.asarray((self.target.squares == 0) & (self.baseline.squares == 0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Samples:
    """One row per metric; the baseline's runs stand one after the other.

    `run_sizes` are the runs' numbers of samples, `run_counts` (m,) the numbers of runs, `target_run_sizes` those of the
    target's. The group sizes are the processes' numbers of samples.
    """

    target: Ragged
    baseline: Ragged
    run_sizes: Integers
    run_counts: Integers
    target_run_sizes: Ragged
    target_group_sizes: Ragged
    baseline_group_sizes: Ragged

    @property
    def runs(self) -> Ragged:
        """One row per baseline run of each metric."""
        return Ragged(self.baseline.values, self.run_sizes)

    @property
    def target_runs(self) -> Ragged:
        """One row per run of the target of each metric."""
        return Ragged(self.target.values, self.target_run_sizes.values.astype(np.intp))


def has_samples(pair: MetricPair) -> bool:
    """Whether both sides have repeated samples, on the baseline's side in at least one run."""
    return len(pair.target.samples) > 1 and any(len(run.samples) > 1 for run in pair.baseline)


def samples_of(pairs: Sequence[MetricPair]) -> Samples:
    """The samples of pairs that have some, as arrays."""
    targets = [pair.targets for pair in pairs]
    runs = [[run for run in pair.baseline if run.samples] for pair in pairs]
    flat_runs = [run for of_pair in runs for run in of_pair]
    run_counts = _sizes(len(of_pair) for of_pair in runs)
    target = Ragged(_flat([pair.target for pair in pairs]), _sizes(len(pair.target.samples) for pair in pairs))
    run_sizes = _sizes(len(run.samples) for run in flat_runs)
    baseline = Ragged(_flat(flat_runs), Ragged(run_sizes.astype(np.float64), run_counts).sums().astype(np.intp))
    return Samples(
        target=target,
        baseline=baseline,
        run_sizes=run_sizes,
        run_counts=run_counts,
        target_run_sizes=_run_sizes(targets),
        target_group_sizes=_group_sizes(targets),
        baseline_group_sizes=_group_sizes(runs),
    )


def sample_statistics(pairs: Sequence[MetricPair]) -> SampleStatistics:
    """The statistics of pairs that have samples; `pairs` must not be empty."""
    samples = samples_of(pairs)
    target, baseline, run_counts = samples.target, samples.baseline, samples.run_counts
    per_run, per_target = samples.runs.moments(), samples.target_runs.moments()
    target_counts = samples.target_run_sizes.sizes
    return SampleStatistics(
        target=target.moments(),
        baseline=pooled(per_run, run_counts),
        target_median=target.medians(),
        baseline_median=baseline.medians(),
        levene_p=levene(target, baseline).p_value,
        within_squares=Ragged(per_run.squares, run_counts).sums(),
        target_within_squares=Ragged(per_target.squares, target_counts).sums(),
        sampled_runs=run_counts.astype(np.float64),
        inverse_counts=Ragged(1.0 / per_run.count, run_counts).means(),
        target_inverse_counts=Ragged(1.0 / per_target.count, target_counts).means(),
        run_means=values_of_runs(pairs, per_run.mean, summarized=_mean),
        target_means=Ragged(per_target.mean, target_counts),
        target_groups=group_values(target, samples.target_group_sizes, Ragged.means),
        baseline_groups=group_values(baseline, samples.baseline_group_sizes, Ragged.means),
    )


def values_of_runs(
    pairs: Sequence[MetricPair], of_sampled: Floats, *, summarized: Callable[[Summary], float | None]
) -> Ragged:
    """One value per baseline run: `of_sampled` in their order, and what `summarized` gives of the others, if any."""
    sampled = iter(of_sampled.tolist())
    rows = [
        [
            next(sampled) if value is None else value
            for run in pair.baseline
            if (value := None if run.summary is None else summarized(run.summary)) is not None or run.samples
        ]
        for pair in pairs
    ]
    return Ragged(np.array(list(chain.from_iterable(rows))), _sizes(len(row) for row in rows))


def _mean(summary: Summary) -> float | None:
    return summary.value if summary.statistic in MEAN_STATISTICS else None


def group_values(samples: Ragged, group_sizes: Ragged, reduced: Callable[[Ragged], Floats]) -> Ragged:
    """One value per process, such as its mean; the rows are the metrics."""
    groups = Ragged(samples.values, group_sizes.values.astype(np.intp))
    return Ragged(reduced(groups), group_sizes.sizes)


def _run_sizes(sides: Sequence[Sequence[Benchmark]]) -> Ragged:
    sizes = [[len(run.samples) for run in side] for side in sides]
    return Ragged(np.fromiter(chain.from_iterable(sizes), np.float64), _sizes(len(row) for row in sizes))


def _group_sizes(sides: Sequence[Sequence[Benchmark]]) -> Ragged:
    """The number of samples of each process; a benchmark without `group_sizes` is one group."""
    sizes = [[size for run in side for size in run.group_sizes or (len(run.samples),)] for side in sides]
    return Ragged(np.fromiter(chain.from_iterable(sizes), np.float64), _sizes(len(row) for row in sizes))


def _flat(benchmarks: Sequence[Benchmark]) -> Floats:
    total = sum(len(benchmark.samples) for benchmark in benchmarks)
    return np.fromiter(chain.from_iterable(benchmark.samples for benchmark in benchmarks), np.float64, total)


def _sizes(sizes: Iterator[int] | chain[int]) -> Integers:
    return np.fromiter(sizes, np.intp)
