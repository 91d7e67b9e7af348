"""Medians at the levels at which samples are independent: all samples, whole runs, whole processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.sample_arrays import group_values, sample_statistics, samples_of, values_of_runs
from perf_culprit.judge.sample_levels import (
    MINIMUM_GROUPS,
    P_VALUES,
    Decision,
    Metrics,
    decide,
    doubted,
    level_of_units,
    most_cautious,
)
from perf_culprit.stats.order_interval import (
    Deviation,
    MedianEstimate,
    deviation,
    median_estimate,
    median_test,
    resolution,
    separated,
)
from perf_culprit.stats.ragged import Booleans, Floats, Ragged
from perf_culprit.stats.run_comparison import RunSizes, uncertain_share

# In the order of `Decision.p_values`.
LEVELS: Final = ("median_interval", "median_interval_between_runs", "median_interval_between_processes")


@dataclass(frozen=True, kw_only=True, slots=True)
class MedianStatistics:
    """Per metric (m,). `constant`: no sample differs from another of its side."""

    target: MedianEstimate
    baseline: MedianEstimate
    target_count: Floats
    baseline_count: Floats
    run_counts: Floats
    target_run_counts: Floats
    deviation: Deviation
    p_median_test: Floats
    decision: Decision
    constant: Booleans


@dataclass(frozen=True, slots=True)
class _Sampled:
    """What is left of the samples once every row is reduced to order statistics."""

    target: MedianEstimate
    baseline: MedianEstimate
    target_count: Floats
    baseline_count: Floats
    p_median_test: Floats
    separated: Booleans
    constant: Booleans
    run_medians: Ragged
    target_medians: Ragged
    inverse_counts: Floats
    target_inverse_counts: Floats
    target_groups: Ragged
    baseline_groups: Ragged


def median_statistics(pairs: Sequence[MetricPair], metrics: Metrics, *, paired: bool) -> MedianStatistics:
    """The statistics of pairs with at least two samples on each side; `pairs` must not be empty.

    `paired`: both sides were measured in turn on one machine.
    """
    sampled = _reduced(pairs)
    target, baseline = sampled.target, sampled.baseline
    outcome = deviation(target, baseline)
    size = np.where(baseline.median == 0, 1.0, np.abs(baseline.median))
    freedom = outcome.difference.degrees_of_freedom
    half_width = special.stdtrit(freedom, 0.5 + metrics.confidence / 2) * np.hypot(target.error, baseline.error) / size
    of_samples = [_p_of_samples(sampled, outcome), target.error**2, baseline.error**2, freedom]
    of_runs = _run_level(sampled, metrics, paired=paired)
    levels = (
        np.stack([*of_samples, half_width, np.zeros_like(half_width), of_samples[0], target.error**2]),
        of_runs if paired else doubted(of_runs, _lone_means(pairs, sampled, metrics)),
        _process_level(sampled, metrics, paired=paired),
    )
    return MedianStatistics(
        target=target,
        baseline=baseline,
        target_count=sampled.target_count,
        baseline_count=sampled.baseline_count,
        run_counts=sampled.run_medians.sizes.astype(np.float64),
        target_run_counts=sampled.target_medians.sizes.astype(np.float64),
        deviation=outcome,
        p_median_test=sampled.p_median_test,
        decision=most_cautious(levels),
        constant=sampled.constant,
    )


def _reduced(pairs: Sequence[MetricPair]) -> _Sampled:
    samples = samples_of(pairs)
    target, baseline = samples.target.ordered(), samples.baseline.ordered()
    finest = _finest(resolution(target), resolution(baseline))
    return _Sampled(
        target=_at_least(median_estimate(target), finest / 2),
        baseline=_at_least(median_estimate(baseline), finest / 2),
        target_count=target.sizes.astype(np.float64),
        baseline_count=baseline.sizes.astype(np.float64),
        p_median_test=median_test(target, baseline),
        separated=separated(target, baseline),
        constant=finest == 0,
        run_medians=values_of_runs(pairs, samples.runs.medians(), summarized=lambda summary: summary.median),
        target_medians=Ragged(samples.target_runs.medians(), samples.target_run_sizes.sizes),
        inverse_counts=Ragged(1.0 / samples.run_sizes, samples.run_counts).means(),
        target_inverse_counts=Ragged(1.0 / samples.target_run_sizes.values, samples.target_run_sizes.sizes).means(),
        target_groups=group_values(samples.target, samples.target_group_sizes, Ragged.medians),
        baseline_groups=group_values(samples.baseline, samples.baseline_group_sizes, Ragged.medians),
    )


def _p_of_samples(sampled: _Sampled, outcome: Deviation) -> Floats:
    """1 unless both conditions hold; then how sure one is of it.

    The ranks say that, for Olive's error is far too sure where no density stands at the median (two modes, a coarse
    clock) and, with its few degrees of freedom, far too timid elsewhere. Where a handful of samples is wholly
    separated, ranks cannot be sure of anything; the values may then say more.
    """
    by_value = sampled.separated | sampled.constant
    p_value = np.where(by_value, np.minimum(outcome.difference.p_value, sampled.p_median_test), sampled.p_median_test)
    return np.where(outcome.deviates, p_value, 1.0)


def _finest(first: Floats, second: Floats) -> Floats:
    return np.where((first > 0) & (second > 0), np.minimum(first, second), np.maximum(first, second))


def _at_least(estimate: MedianEstimate, error: Floats) -> MedianEstimate:
    """A clock cannot tell medians apart that differ by less than its step (choice: half a step as standard error)."""
    return MedianEstimate(estimate.median, np.maximum(estimate.error, error), estimate.degrees_of_freedom)


def _run_level(sampled: _Sampled, metrics: Metrics, *, paired: bool) -> Floats:
    """The target's runs, mostly one, against the baseline's by their medians; paired runs share a machine: no units."""
    one_sample = sampled.target.error**2 * sampled.target_count
    of_medians = uncertain_share(
        RunSizes(sampled.target_inverse_counts, sampled.target_medians.sizes),
        RunSizes(sampled.inverse_counts, sampled.run_medians.sizes),
    )
    return level_of_units(
        sampled.target_medians,
        sampled.run_medians,
        metrics,
        tested=(metrics.timed | ~sampled.constant) & (not paired),
        target_allowance=of_medians * one_sample,
        lessened=sampled.target.error**2,
    )


def _lone_means(pairs: Sequence[MetricPair], sampled: _Sampled, metrics: Metrics) -> Floats:
    """A `Level`'s p-values of means where each side is one run, else NaN.

    A median jumps where the share of a slow mode passes a half, which a busy machine does to one run of unchanged code.
    """
    columns = np.full((8, len(pairs)), np.nan)
    lone = np.flatnonzero(metrics.timed & (sampled.target_medians.sizes == 1) & (sampled.run_medians.sizes == 1))
    if len(lone):
        own = Metrics(families=metrics.families[lone], timed=metrics.timed[lone], confidence=metrics.confidence)
        of_means, _ = decide(sample_statistics([pairs[row] for row in lone.tolist()]), own)
        columns[np.array(P_VALUES)[:, None], lone] = np.nanmax(of_means.p_values, axis=0), of_means.p_without_modes
    return columns


def _process_level(sampled: _Sampled, metrics: Metrics, *, paired: bool) -> Floats:
    """Processes against processes by their medians. Of paired sides they are the units, however few there are."""
    fewest = 1 if paired else MINIMUM_GROUPS
    enough = np.minimum(sampled.target_groups.sizes, sampled.baseline_groups.sizes) >= fewest
    tested = enough & (metrics.timed | ~sampled.constant)
    return level_of_units(sampled.target_groups, sampled.baseline_groups, metrics, tested=tested, in_turn=paired)
