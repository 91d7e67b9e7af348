"""Evidence from columns: what a test found of many metrics, one value of each per metric."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.unit_factors import least_change, milliseconds_per
from perf_culprit.model.finding import Evidence, Interval, Precision, Side
from perf_culprit.model.reason import Reason, Remark, Untested, because
from perf_culprit.model.run import Metric, MetricKey
from perf_culprit.stats.ragged import Booleans, Floats
from perf_culprit.stats.relative import Change

# No test: of numbers that vary with nothing but the program.
EXACT = "exact"
UNTESTED: Final = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tested:
    """Of m metrics; `level` is that of the intervals, `statistic` what stands for a side.

    `constant`: no number of a side differs from another; `exact`: nor can it. NaN of any column is "not known".
    """

    level: float
    statistic: str
    tests: Sequence[str]
    p_value: Floats
    change: Change
    constant: Booleans
    exact: Booleans
    samples_needed: Floats
    precision: Mapping[str, Floats]
    details: Mapping[str, Floats]


def evidence_of(
    pairs: Sequence[MetricPair],
    tested: Tested,
    *,
    baseline: Sequence[Side],
    target: Sequence[Side],
    notes: Callable[[int, Side], tuple[Reason, ...]] | None = None,
) -> list[Evidence]:
    """One per pair, in order. `notes`: by index and target."""
    change = tested.change
    columns = (tested.p_value, change.change, change.low, change.high, tested.samples_needed, tested.constant)
    rows = zip(
        pairs,
        tested.tests,
        zip(*(column.tolist() for column in (*columns, tested.exact)), strict=True),
        baseline,
        target,
        _named(tested.precision, len(pairs)),
        _named(tested.details, len(pairs)),
        strict=True,
    )
    return [
        _evidence(row, tested=tested, notes=notes(index, row[4]) if notes else ()) for index, row in enumerate(rows)
    ]


def _evidence(
    row: tuple[MetricPair, str, tuple[Any, ...], Side, Side, Mapping[str, Any], Mapping[str, float]],
    *,
    tested: Tested,
    notes: tuple[Reason, ...],
) -> Evidence:
    pair, test, numbers, before, after, precision, details = row
    metric = pair.metric
    p_value, moved, low, high, needed, constant, exact = numbers
    bounded = not math.isnan(low)
    coarse = constant and milliseconds_per(metric.unit) is not None
    least = least_change(metric.unit)
    return Evidence.of(
        key=pair.key,
        metric=metric,
        test=EXACT if exact else test,
        baseline=before,
        target=after,
        relative_change=None if math.isnan(moved) else moved,
        confidence_interval=Interval(low=max(low, least), high=high, level=tested.level) if bounded else None,
        p_value=p_value,
        samples_needed=None if exact or math.isnan(needed) else int(needed),
        evidence_reason=None if bounded else unbounded(before, tested.statistic),
        precision=Precision() if exact else Precision(**precision),
        details={} if exact else details,
        notes=(because(Remark.COARSE_CLOCK),) if coarse else notes,
    )


def _named(columns: Mapping[str, Floats], count: int) -> list[dict[str, float]]:
    """Per metric its numbers by name; what does not exist or is infinite is left out."""
    finite = {name: (numbers.tolist(), np.isfinite(numbers).tolist()) for name, numbers in columns.items()}
    return [{name: numbers[row] for name, (numbers, exists) in finite.items() if exists[row]} for row in range(count)]


def untested(
    key: MetricKey,
    metric: Metric,
    reason: Reason | None = None,
    *,
    baseline: Side | None = None,
    target: Side | None = None,
    change: float | None = None,
) -> Evidence:
    """Of a metric that no test is made of: described, where there is something to describe."""
    return Evidence.of(
        key=key,
        metric=metric,
        test=UNTESTED,
        baseline=baseline,
        target=target,
        relative_change=change,
        evidence_reason=reason,
    )


def exact(described: Evidence, change: float | None, *, spread: float, is_equal: bool, level: float) -> Evidence:
    """Of numbers that vary with nothing but the program, by no more than `spread`."""
    interval = None if change is None else Interval(low=change - spread, high=change + spread, level=level)
    p_value = 1.0 if is_equal else 0.0
    return replace(described, test=EXACT, relative_change=change, confidence_interval=interval, p_value=p_value)


def relative(target: float, baseline: float) -> float | None:
    """The change as a fraction of the baseline; None where that is (nearly) zero."""
    change = (target - baseline) / abs(baseline) if baseline else math.nan
    return change if math.isfinite(change) else None


def unbounded(baseline: Side | None, statistic: str) -> Reason:
    """Why a change has no interval."""
    zero = baseline is not None and baseline.value == 0
    return because(Untested.BASELINE_ZERO if zero else Untested.BASELINE_NEAR_ZERO, statistic=statistic)
