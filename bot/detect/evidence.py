"""Evidence from columns: what a test found of many metrics, one value of each per metric."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bot.detect.pairs import MetricPair
from bot.detect.units import milliseconds_per
from bot.model.finding import Evidence, Interval, Precision, Side
from bot.model.reason import Reason, Remark, Untested, because
from bot.stats.median_interval import Booleans
from bot.stats.ragged import Floats
from bot.stats.relative import Change

# No test: of numbers that vary with nothing but the program.
EXACT = "exact"
# Nobody reads the details of more metrics, and they are a fifth of what is known of each.
MOST_DETAILED = 100_000
BLOCK = 10_000


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
    notes: Iterable[tuple[Reason, ...]],
) -> list[Evidence]:
    """One per pair, in order."""
    change, detailed = tested.change, len(pairs) <= MOST_DETAILED
    columns = (tested.p_value, change.change, change.low, change.high, tested.samples_needed, tested.constant)
    rows = zip(*(column.tolist() for column in columns), tested.exact.tolist(), strict=True)
    evidence = []
    for pair, test, row, before, after, precision, details, own_notes in zip(
        pairs,
        tested.tests,
        rows,
        baseline,
        target,
        _named(tested.precision, len(pairs)),
        _named(tested.details if detailed else {}, len(pairs)),
        notes,
        strict=True,
    ):
        p_value, moved, low, high, needed, constant, exact = row
        bounded = not math.isnan(low)
        coarse = constant and milliseconds_per(pair.metric.unit) is not None
        evidence.append(
            Evidence(
                key=pair.key,
                metric=pair.metric,
                test=EXACT if exact else test,
                baseline=before,
                target=after,
                relative_change=None if math.isnan(moved) else moved,
                confidence_interval=Interval(low=low, high=high, level=tested.level) if bounded else None,
                p_value=p_value,
                samples_needed=None if exact or math.isnan(needed) else int(needed),
                reason=None if bounded else unbounded(before, tested.statistic),
                precision=Precision() if exact else Precision(**precision),
                details={} if exact else details,
                notes=(because(Remark.COARSE_CLOCK),) if coarse else own_notes,
            )
        )
    return evidence


def _named(columns: Mapping[str, Floats], count: int) -> Iterator[dict[str, float]]:
    """Per metric its numbers by name; what does not exist or is infinite is left out."""
    for start in range(0, count, BLOCK):
        parts = {name: column[start : start + BLOCK] for name, column in columns.items()}
        finite = {name: (part.tolist(), np.isfinite(part).tolist()) for name, part in parts.items()}
        for row in range(min(BLOCK, count - start)):
            yield {name: values[row] for name, (values, is_finite) in finite.items() if is_finite[row]}


def unbounded(baseline: Side | None, statistic: str) -> Reason:
    """Why a change has no interval."""
    zero = baseline is not None and baseline.value == 0
    return because(Untested.BASELINE_ZERO if zero else Untested.BASELINE_NEAR_ZERO, statistic=statistic)
