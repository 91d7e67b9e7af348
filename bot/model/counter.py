"""Counters: system quantities sampled during a run, each a series beside the others."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from bot.model.metric import Metric, MetricKey

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CounterTable:
    """Counters of one source that share their sampling instants. Tables of one run may differ in rate and clock.

    `times_s` (n,): seconds since 1970, or since the start where the file has no date; strictly increasing.
    `values` (n, m): column j is `metrics[j]`; NaN where a value is missing. `load` (n,): what was asked of the system
    at each instant (requests per second, users, …), where the source recorded it; NaN where missing.
    `name` tells the source from others of the run: a host, a file. Arrays are not written to. `interval_s`: each row
    holds medians of an interval this long and is identified by its first instant; None where rows are as sampled.
    """

    name: str
    metrics: tuple[Metric, ...]
    times_s: "Floats"
    values: "Floats"
    load: "Floats | None" = None
    load_name: str | None = None
    interval_s: float | None = None

    @property
    def keys(self) -> tuple[MetricKey, ...]:
        return tuple(MetricKey(self.name, metric.name) for metric in self.metrics)


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeSeries:
    """One counter of the target over time, for drawing: medians of equal intervals, NaN where one has no value.

    The first value is at `start_s` of the table's clock, the next `interval_s` later. `lower`, `upper`: the medium
    level's boundaries or the control limits. `violations`: spans of the same clock. `is_scaled`: to the load of the
    baseline.
    """

    values: tuple[float, ...]
    start_s: float
    interval_s: float
    lower: float
    upper: float
    violations: tuple[tuple[float, float], ...] = ()
    is_scaled: bool = False
