"""Counts of whole commands: exact enough that one stored run can judge, but never assumed less noisy than observed.

docs/measure.md#counts describes the measurements.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.arrays import Floats
from perf_culprit.judge.detector import Assessed, Detector, DetectorOptions
from perf_culprit.judge.estimate import averaged, estimate
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.statistic import MEAN
from perf_culprit.model.count import is_count
from perf_culprit.model.finding import Evidence, Interval, Precision
from perf_culprit.stats.conventions import FEW_RUNS, LEVEL, POWER

TEST: Final = "counts"
# Error assumed for a run's count before two were seen: a scaled inverse chi-square prior [Smyth 2004]. Its two degrees
# of freedom leave 1% for a command of ten times this spread.
PRIOR_SPREAD: Final = 2e-4
PRIOR_FREEDOM: Final = 2.0


def detect(pairs: Sequence[MetricPair], options: DetectorOptions, detector: Detector) -> Assessed:
    """Return one evidence per pair, in order; counts are judged here, all others by `detector`."""
    counted = {index for index, pair in enumerate(pairs) if _is_counted(pair)}
    if not counted:
        return detector.detect(pairs, options)
    others = [index for index in range(len(pairs)) if index not in counted]
    assessed = detector.detect([pairs[index] for index in others], options) if others else Assessed([])
    evidence = dict(zip(others, assessed.evidence, strict=True))
    evidence |= {index: _test(pairs[index], options, metrics=len(counted)) for index in counted}
    return replace(assessed, evidence=[evidence[index] for index in range(len(pairs))])


def _is_counted(pair: MetricPair) -> bool:
    benchmarks = (pair.target, *pair.baseline)
    return (
        is_count(pair.metric)
        and pair.obstacle is None
        and all(benchmark.samples and min(benchmark.samples) > 0 for benchmark in benchmarks)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Errors:
    """Squared errors of the logarithm's change and their degrees of freedom, (k,): from the prior and from the data."""

    difference: float
    squared: Floats
    freedom: Floats

    def distance(self, share: float) -> float:
        """Return the distance exceeded with this probability, both sides together, under the least certain error."""
        return float((special.stdtrit(self.freedom, 1 - share / 2) * np.sqrt(self.squared)).max())

    @property
    def p_value(self) -> float:
        errors = np.sqrt(np.maximum(self.squared, np.finfo(np.float64).tiny))
        return float(2 * special.stdtr(self.freedom, -abs(self.difference) / errors).max())


def _test(pair: MetricPair, options: DetectorOptions, *, metrics: int) -> Evidence:
    """Run three t-tests of logarithms and keep the least significant, with Bonferroni over the suite's counts."""
    errors, least = _errors(pair), math.log1p(options.settings.of(pair.key).minimum_effect)
    p_value, change, half = errors.p_value, errors.difference, errors.distance(1 - LEVEL)
    rate = min(p_value * metrics, 1.0) if abs(change) >= least else 1.0
    low, high = change - half, change + half
    if rate > options.settings.suspected:
        low, high = min(low, least), max(high, -least)
    visible = max(errors.distance(options.settings.suspected / metrics), least) + errors.distance(2 * (1 - POWER))
    falls = -1 if pair.metric.direction.worse_sign < 0 else 1
    baseline = averaged([estimate(run, MEAN) for run in pair.baseline])
    return Evidence.of(
        key=pair.key,
        metric=pair.metric,
        test=TEST,
        baseline=baseline.side(),
        target=estimate(pair.target, MEAN).side(),
        relative_change=math.expm1(change),
        confidence_interval=Interval(low=math.expm1(low), high=math.expm1(high), level=LEVEL),
        p_value=p_value,
        rate=rate,
        precision=Precision(visible_change=abs(math.expm1(falls * visible))),
    )


def _errors(pair: MetricPair) -> _Errors:
    """Errors from the prior alone, from the spread of executions within runs, and from that of the baseline's runs."""
    target, *runs = (np.log(run.samples) for run in (pair.target, *pair.baseline))
    means = np.array([run.mean() for run in runs])
    count = len(runs)
    squared = [PRIOR_SPREAD**2 * (1 + 1 / count)]
    freedom = [PRIOR_FREEDOM]
    if within := sum(len(run) - 1 for run in (target, *runs)):
        variance = sum(float(((run - run.mean()) ** 2).sum()) for run in (target, *runs)) / within
        squared.append(variance * (1 / len(target) + sum(1 / len(run) for run in runs) / count**2))
        freedom.append(within)
    if count >= FEW_RUNS:
        squared.append(float(means.var(ddof=1)) * (1 + 1 / count))
        freedom.append(count - 1)
    return _Errors(difference=float(target.mean() - means.mean()), squared=np.array(squared), freedom=np.array(freedom))
