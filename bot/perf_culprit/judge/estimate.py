"""One run's value with its error, if known, from samples or from a tool's summary."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from perf_culprit.judge.statistic import MEAN, MEDIAN
from perf_culprit.model.finding import Side
from perf_culprit.model.run import Benchmark, Summary
from perf_culprit.stats.order_interval import normal_half_width


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueEstimate:
    """`error` is the standard error of `value`; unknown fields are None. `runs` counts the runs behind it."""

    value: float
    statistic: str
    count: int | None = None
    standard_deviation: float | None = None
    error: float | None = None
    runs: int = 1

    @property
    def moments(self) -> tuple[float, float, int] | None:
        """Mean, standard deviation and count, if this is a mean and all are known."""
        if self.statistic != MEAN or self.standard_deviation is None or self.count is None or self.count < 2:
            return None
        return self.value, self.standard_deviation, self.count

    def side(self) -> Side:
        return Side(
            value=self.value,
            statistic=self.statistic,
            mean=self.value if self.statistic == MEAN else None,
            median=self.value if self.statistic == MEDIAN else None,
            standard_deviation=self.standard_deviation,
            count=self.count or self.runs,
            runs=self.runs,
        )


def estimate(benchmark: Benchmark, statistic: str) -> ValueEstimate:
    """Compute the benchmark's `statistic`, from its samples if it has no summary."""
    if (summary := benchmark.summary) is None:
        return _of_samples(benchmark.samples, statistic)
    if statistic == MEDIAN != summary.statistic and summary.median is not None:
        return ValueEstimate(
            value=summary.median, statistic=MEDIAN, count=summary.count, standard_deviation=summary.standard_deviation
        )
    error, deviation = None, _deviation(summary)
    if summary.confidence_interval is not None and summary.confidence_level is not None:
        low, high = summary.confidence_interval
        error = abs(high - low) / 2 / normal_half_width(summary.confidence_level)
    elif summary.statistic == MEAN and deviation is not None and (summary.count or 0) > 1:
        error = deviation / math.sqrt(summary.count or 1)
    return ValueEstimate(
        value=summary.value,
        statistic=summary.statistic,
        count=summary.count,
        standard_deviation=deviation,
        error=error if error is not None and math.isfinite(error) else None,
    )


def _deviation(summary: Summary) -> float | None:
    """The stated deviation; else the largest one possible for this mean, minimum and maximum (Bhatia & Davis 2000)."""
    low, high, count = summary.minimum, summary.maximum, summary.count or 0
    if summary.standard_deviation is not None or summary.statistic != MEAN or low is None or high is None or count < 2:
        return summary.standard_deviation
    variance = (high - summary.value) * (summary.value - low) * count / (count - 1)
    return math.sqrt(variance) if variance >= 0 and math.isfinite(variance) else None


def averaged(estimates: Sequence[ValueEstimate]) -> ValueEstimate:
    """Return the mean of the runs' values; its error from their errors or from their scatter, whichever is larger."""
    values = [entry.value for entry in estimates]
    runs = len(values)
    mean = fmean(values)
    errors = [entry.error for entry in estimates if entry.error is not None]
    scatter = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (runs - 1)) if runs > 1 else None
    error = None
    if len(errors) == runs:
        error = max(math.hypot(*errors) / runs, (scatter or 0.0) / math.sqrt(runs))
    counts = [entry.count for entry in estimates if entry.count is not None]
    return ValueEstimate(
        value=mean,
        statistic=estimates[0].statistic,
        count=sum(counts) if len(counts) == runs else None,
        standard_deviation=scatter,
        error=error,
        runs=runs,
    )


def _of_samples(samples: Sequence[float], statistic: str) -> ValueEstimate:
    if statistic == MEDIAN:
        return ValueEstimate(value=median(samples), statistic=statistic, count=len(samples))
    if statistic in {"min", "minimum"}:
        return ValueEstimate(value=min(samples), statistic=statistic, count=len(samples))
    mean, count = fmean(samples), len(samples)
    if count < 2:
        return ValueEstimate(value=mean, statistic=MEAN, count=count)
    deviation = math.sqrt(math.fsum((sample - mean) ** 2 for sample in samples) / (count - 1))
    return ValueEstimate(
        value=mean, statistic=MEAN, count=count, standard_deviation=deviation, error=deviation / math.sqrt(count)
    )
