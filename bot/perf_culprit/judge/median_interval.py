"""Medians with Olive's confidence intervals, and the two conditions of a deviation [B17].

A change is called if the engine calls it and both conditions hold; with `unit: sample` the conditions decide alone.
docs/detectors/median-interval.md has the rates.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.judge.by_sample import Published, SampleTest
from perf_culprit.judge.detector import Detector, DetectorOptions
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.statistic import MEDIAN
from perf_culprit.judge.suite_units import SuiteUnits
from perf_culprit.judge.unit_evidence import Description, named_numbers
from perf_culprit.model.finding import Evidence, Side
from perf_culprit.model.reason import Reason, Remark, Untested, VerdictReason, because
from perf_culprit.stats.order_interval import (
    MINIMUM_SAMPLES,
    MedianEstimate,
    median_deviation,
    median_estimate,
    median_test,
    resolution,
)
from perf_culprit.stats.ragged import Ragged


def _by_sample(evidence: Evidence, before: Side, after: Side, options: DetectorOptions) -> SampleTest | None:
    del before, after, options  # the source fixes the level
    own = evidence.details
    if "difference_low" not in own:
        return None
    return SampleTest(
        p_value=own["p_difference"],
        low=own["difference_low"],
        high=own["difference_high"],
        differs=bool(own["difference_excludes_zero"] and not own["intervals_overlap"]),
    )


def _describe(pairs: Sequence[MetricPair], suite: SuiteUnits, options: DetectorOptions) -> Sequence[Description]:
    del options  # the source fixes the level
    counts = suite.samples.sizes.reshape(-1, 2)
    enough = np.flatnonzero(counts.min(axis=1) >= MINIMUM_SAMPLES)
    described = {row: Description(obstacle=_too_few(*counts[row].tolist())) for row in range(len(pairs))}
    if len(enough):
        described |= dict(zip(enough.tolist(), _deviations(suite.target, suite.baseline, enough), strict=True))
    return [described[row] for row in range(len(pairs))]


def _too_few(baseline: int, target: int) -> Reason:
    side, count = ("target", target) if target < MINIMUM_SAMPLES else ("baseline", baseline)
    return because(Untested.TOO_FEW_FOR_MEDIAN, side=side, count=count, minimum=MINIMUM_SAMPLES)


def _deviations(target: Ragged, baseline: Ragged, enough: np.ndarray) -> list[Description]:
    target, baseline = target.rows(enough), baseline.rows(enough)
    finest = _finest(resolution(target), resolution(baseline))
    medians = [_at_least(median_estimate(side), finest / 2) for side in (target, baseline)]
    outcome = median_deviation(*medians)
    bounds = [end for side in medians for end in side.bounds()]
    details = {
        "difference_excludes_zero": outcome.excludes_zero.astype(np.float64),
        "intervals_overlap": outcome.overlap.astype(np.float64),
        "p_difference": outcome.difference.p_value,
        "difference_low": outcome.low,
        "difference_high": outcome.high,
        "p_median_test": median_test(target, baseline),
        **dict(zip(("target_low", "target_high", "baseline_low", "baseline_high"), bounds, strict=True)),
    }
    columns = (outcome.deviates, outcome.excludes_zero & outcome.overlap, *map(_half_widths, reversed(medians)))
    return [
        Description(
            details=own,
            notes=(because(Remark.INTERVALS_OVERLAP),) if overlaps else (),
            objection=None if deviates else because(VerdictReason.INTERVALS_MEET),
            half_widths=(before, after),
        )
        for own, deviates, overlaps, before, after in zip(
            named_numbers(details, len(enough)), *(column.tolist() for column in columns), strict=True
        )
    ]


def _half_widths(estimate: MedianEstimate) -> Floats:
    """Half-widths relative to the median; NaN for a median of zero."""
    width = estimate.bounds()[1] - estimate.median
    is_told = estimate.median != 0
    return np.divide(width, np.abs(estimate.median), out=np.full_like(width, np.nan), where=is_told)


def _finest(first: Floats, second: Floats) -> Floats:
    return np.where((first > 0) & (second > 0), np.minimum(first, second), np.maximum(first, second))


def _at_least(estimate: MedianEstimate, error: Floats) -> MedianEstimate:
    """Limit the error to at least half a step: a clock cannot tell closer medians apart (our choice)."""
    return MedianEstimate(estimate.median, np.maximum(estimate.error, error), estimate.degrees_of_freedom)


_PUBLISHED: Final = Published(
    name="median_interval", describe=_describe, statistic=MEDIAN, of_benchmarks=0.30, of_runs=0.90, test=_by_sample
)
DETECTOR: Final = Detector(detect=_PUBLISHED.detect)
