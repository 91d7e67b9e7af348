"""The detector that the data's shape asks for, chosen per metric name; docs/detectors/auto.md has the rule.

The baseline alone chooses, so that the target cannot choose its judge; and all benchmarks of one metric get the same
detector, so that they still share what they know of the variation between runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from perf_culprit.judge import anova, median_interval
from perf_culprit.judge.detector import BenchmarkDetector, DetectorOptions
from perf_culprit.judge.families import by_kind
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.model.finding import Evidence
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.stats.normality import MINIMUM_SAMPLES, normality
from perf_culprit.stats.order_interval import MINIMUM_SAMPLES as MEDIAN_SAMPLES
from perf_culprit.stats.order_interval import median_estimate
from perf_culprit.stats.ragged import Ragged

ID = "auto"

# The newest runs tell the shape; older ones would only cost time.
LOOKED_AT_RUNS = 5
# A benchmark's samples are taken for normal unless this test says otherwise.
NORMALITY_ALPHA = 0.01
# The median's standard error as a fraction of the mean's: ranks lose some certainty, which this has to make up for.
WORTHWHILE_RATIO = 0.8
# The rule follows the majority of a metric's benchmarks.
MAJORITY = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Which detector judges the metrics of one name, and why."""

    metric: str
    detector: BenchmarkDetector
    reason: Reason


def detect(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    """One evidence per pair, in order, each from the detector chosen for its metric; rounds need no choice."""
    if options.paired:
        return anova.detect(pairs, options)
    assess = {choice.metric: partial(choice.detector.detect, options=options) for choice in choose(pairs)}
    return by_kind(pairs, [pair.metric.name for pair in pairs], assess)


def remarks(pairs: Sequence[MetricPair], options: DetectorOptions) -> tuple[Reason, ...]:
    """What the report says about the choice."""
    return () if options.paired else tuple(entry.reason for entry in choose(pairs))


def choose(pairs: Sequence[MetricPair]) -> tuple[Choice, ...]:
    """One choice per metric name, in the order of their first pairs."""
    families: dict[str, list[MetricPair]] = {}
    for pair in pairs:
        families.setdefault(pair.metric.name, []).append(pair)
    return tuple(_choice(name, family) for name, family in families.items())


def _choice(metric: str, pairs: Sequence[MetricPair]) -> Choice:
    looked_at = [_newest_samples(pair) for pair in pairs]
    if not any(chain.from_iterable(looked_at)):
        return _chosen(anova, metric, Remark.AUTO_SUMMARIES)
    enough = [
        runs
        for pair, runs in zip(pairs, looked_at, strict=True)
        if len(pair.target.samples) >= MEDIAN_SAMPLES and sum(map(len, runs)) >= MINIMUM_SAMPLES
    ]
    if len(enough) <= MAJORITY * len(pairs):
        return _chosen(anova, metric, Remark.AUTO_TOO_FEW, minimum=MINIMUM_SAMPLES)
    residuals = _residuals(enough)
    varied = residuals.peaks() > 0
    if not varied.any():
        return _chosen(anova, metric, Remark.AUTO_CONSTANT)
    residuals = residuals.rows(np.flatnonzero(varied))
    count = len(residuals.sizes)
    odd = int((normality(residuals) < NORMALITY_ALPHA).sum())
    if odd <= MAJORITY * count:
        return _chosen(anova, metric, Remark.AUTO_NORMAL, normal=count - odd, count=count)
    # Standard error of the median over that of the mean, of the middle benchmark.
    moments = residuals.moments()
    of_mean = np.sqrt(moments.variance / moments.count)
    ratio = float(np.median(median_estimate(residuals).error / of_mean))
    if ratio >= WORTHWHILE_RATIO:
        return _chosen(anova, metric, Remark.AUTO_MEANS_AS_GOOD, odd=odd, count=count, ratio=ratio)
    return _chosen(median_interval, metric, Remark.AUTO_MEDIANS_BETTER, odd=odd, count=count, ratio=ratio)


def _chosen(detector: BenchmarkDetector, metric: str, code: Remark, **arguments: float) -> Choice:
    return Choice(metric=metric, detector=detector, reason=because(code, metric=metric, **arguments))


def _newest_samples(pair: MetricPair) -> list[tuple[float, ...]]:
    if pair.obstacle is not None:
        return []
    return [run.samples for run in pair.baseline if len(run.samples) > 1][-LOOKED_AT_RUNS:]


def _residuals(benchmarks: Sequence[Sequence[tuple[float, ...]]]) -> Ragged:
    """One row per benchmark: its samples' distances from their own run's median, as fractions of the largest."""
    runs = list(chain.from_iterable(benchmarks))
    values = np.fromiter(chain.from_iterable(runs), np.float64)
    by_run = Ragged(values, np.array([len(run) for run in runs], dtype=np.intp))
    sizes = np.array([sum(map(len, of_benchmark)) for of_benchmark in benchmarks], dtype=np.intp)
    peaks = Ragged(values, sizes).peaks()
    scale = np.repeat(np.where(peaks > 0, peaks, 1.0), sizes)
    return Ragged(values / scale - by_run.spread(by_run.medians()) / scale, sizes)
