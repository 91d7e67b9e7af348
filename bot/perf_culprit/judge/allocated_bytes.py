"""Bytes per operation: what a whole run allocated, divided by a number of operations that differs from run to run."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.suite_units import SuiteUnits
from perf_culprit.judge.unit_factors import is_bytes_per_operation
from perf_culprit.model.finding import Side
from perf_culprit.model.reason import Reason, VerdictReason, because
from perf_culprit.stats.ragged import Floats

SMALLEST_ALLOCATION: Final = 8.0  # Go's smallest size class


def least_told(pairs: Sequence[MetricPair], suite: SuiteUnits) -> Floats:
    """(m,): the logarithm of the smallest change that is an allocation; 0 of other units."""
    size = np.where(suite.size > 0, suite.size, SMALLEST_ALLOCATION)
    least: Floats = np.where(
        [is_bytes_per_operation(pair.metric.unit) for pair in pairs], np.log1p(SMALLEST_ALLOCATION / size), 0.0
    )
    return least


def smaller_than_allocation(pair: MetricPair, baseline: Side, target: Side) -> Reason | None:
    """Why a difference is none: it is smaller than anything that an operation can allocate."""
    difference = round(abs(target.value - baseline.value), 3)
    if not is_bytes_per_operation(pair.metric.unit) or not 0 < difference < SMALLEST_ALLOCATION:
        return None
    return because(VerdictReason.SMALLER_THAN_ALLOCATION, bytes=SMALLEST_ALLOCATION)
