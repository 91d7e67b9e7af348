"""Medians with Olive's confidence intervals, and the two conditions of a deviation [B17].

docs/detectors/median-interval.md has the reasons and the measured error rates.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy import special

from perf_culprit.judge import summary_tests
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.evidence_columns import evidence_of, untested
from perf_culprit.judge.families import by_kind
from perf_culprit.judge.medians import LEVELS, MedianStatistics, median_statistics
from perf_culprit.judge.metric_pairs import MetricPair, are_timed, metric_families
from perf_culprit.judge.sample_arrays import has_samples
from perf_culprit.judge.sample_levels import Metrics, tested
from perf_culprit.judge.statistic import MEDIAN
from perf_culprit.model.finding import Evidence, Side
from perf_culprit.model.reason import Remark, Untested, because
from perf_culprit.stats.order_interval import LEVEL, MINIMUM_SAMPLES, MedianEstimate
from perf_culprit.stats.ragged import Floats

ID = "median_interval"

# Two intervals of equal width just touch where their difference has this p-value (normal quantiles).
TOUCHING_ALPHA = 2 * float(special.ndtr(-math.sqrt(2) * float(special.ndtri(0.5 + LEVEL / 2))))


def detect(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    """One evidence per pair, in order; pairs without samples get the weaker tests of `summary`."""
    assess: dict[str, Callable[[Sequence[MetricPair]], Sequence[Evidence]]] = {
        "enough": partial(_by_samples, options=options),
        "none": partial(summary_tests.assess, options=options, preferred=MEDIAN),
        "few": lambda few: list(map(_too_few, few)),
    }
    return by_kind(pairs, list(map(_kind, pairs)), assess)


def _kind(pair: MetricPair) -> str:
    if pair.obstacle is not None or not has_samples(pair):
        return "none"
    return "enough" if min(_counts(pair)) >= MINIMUM_SAMPLES else "few"


def _counts(pair: MetricPair) -> tuple[int, int]:
    return len(pair.target.samples), sum(len(run.samples) for run in pair.baseline)


def _too_few(pair: MetricPair) -> Evidence:
    target, baseline = _counts(pair)
    name, count = ("target", target) if target < MINIMUM_SAMPLES else ("baseline", baseline)
    reason = because(Untested.TOO_FEW_FOR_MEDIAN, side=name, count=count, minimum=MINIMUM_SAMPLES)
    return untested(pair.key, pair.metric, reason)


def _by_samples(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    metrics = Metrics(families=metric_families(pairs), timed=are_timed(pairs), confidence=1 - options.settings.alpha)
    measured = median_statistics(pairs, metrics, paired=options.paired)
    columns = tested(
        measured.decision,
        measured.target.median,
        measured.baseline.median,
        statistic="median",
        tests=LEVELS,
        counts=measured.target_count,
        runs=measured.run_counts,
        p_of_samples=measured.deviation.difference.p_value,
        constant=measured.constant,
        metrics=metrics,
        details=_details(measured),
        effect=options.settings.minimum_effect,
        alpha=min(options.settings.alpha, TOUCHING_ALPHA),
    )
    overlapping = measured.deviation.excludes_zero & measured.deviation.overlap
    return evidence_of(
        pairs,
        columns,
        baseline=_sides(measured.baseline, measured.baseline_count, measured.run_counts),
        target=_sides(measured.target, measured.target_count, measured.target_run_counts),
        notes=lambda index, _: (because(Remark.INTERVALS_OVERLAP),) if overlapping[index] else (),
    )


def _sides(estimate: MedianEstimate, counts: Floats, runs: Floats) -> list[Side]:
    half_widths = estimate.bounds()[1] - estimate.median
    relative = np.full_like(half_widths, np.nan)
    np.divide(half_widths, np.abs(estimate.median), out=relative, where=estimate.median != 0)
    columns = (estimate.median, counts, runs, relative)
    return [
        Side(
            value=median,
            statistic="median",
            median=median,
            count=int(count),
            runs=int(of_runs),
            relative_half_width=None if math.isnan(half_width) else half_width,
        )
        for median, count, of_runs, half_width in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _details(measured: MedianStatistics) -> dict[str, Floats]:
    """The numbers behind the evidence by name."""
    bounds = [end for side in (measured.target, measured.baseline) for end in side.bounds()]
    return {
        "difference_excludes_zero": measured.deviation.excludes_zero.astype(np.float64),
        "intervals_overlap": measured.deviation.overlap.astype(np.float64),
        "p_difference": measured.deviation.difference.p_value,
        "p_median_test": measured.p_median_test,
        **dict(zip(("p_between_runs", "p_between_processes"), measured.decision.p_values[1:], strict=True)),
        **dict(zip(("target_low", "target_high", "baseline_low", "baseline_high"), bounds, strict=True)),
    }
