"""Bytes per operation: the allocation of a whole run, divided by a number of operations that varies between runs."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.suite_units import SuiteUnits
from perf_culprit.judge.unit_factors import is_bytes_per_operation
from perf_culprit.model.finding import Side
from perf_culprit.model.reason import Reason, VerdictReason, because

SMALLEST_ALLOCATION: Final = 8.0  # Go's smallest size class


def least_told(pairs: Sequence[MetricPair], suite: SuiteUnits) -> Floats:
    """(m,): the logarithm of the smallest change that can be an allocation; 0 for other units."""
    size = np.where(suite.size > 0, suite.size, SMALLEST_ALLOCATION)
    least: Floats = np.where(
        [is_bytes_per_operation(pair.metric.unit) for pair in pairs], np.log1p(SMALLEST_ALLOCATION / size), 0.0
    )
    return least


def smaller_than_allocation(pair: MetricPair, baseline: Side, target: Side) -> Reason | None:
    """Return the reason to ignore a difference that is smaller than any allocation of an operation; otherwise None."""
    difference = round(abs(target.value - baseline.value), 3)
    if not is_bytes_per_operation(pair.metric.unit) or not 0 < difference < SMALLEST_ALLOCATION:
        return None
    return because(VerdictReason.SMALLER_THAN_ALLOCATION, bytes=SMALLEST_ALLOCATION)
