"""What `find_changes` and `online_alarms` would have found in a series in which they found nothing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from perf_culprit.stats.change_point_effect import LeastEffect, least_effect_of
from perf_culprit.stats.change_point_evidence import LOCAL_REACH, SEPARATION_REACH, SPREAD_REACH, split_strength
from perf_culprit.stats.change_point_online import (
    ALARM_STRENGTH,
    FIRST_JUDGED,
    LEAST_RANK_SUM_Z,
    MEMORY,
    NEWEST,
    gate_strength,
    rank_sum_z,
)
from perf_culprit.stats.change_point_scan import (
    MERGE_REACH,
    MERGE_T,
    SHORTEST_SEGMENT,
    clip_outliers,
    facing_t,
    on_level_scale,
    scale_unit,
)
from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.series_changes_search import FEWEST_VALUES, MINIMUM_STRENGTH

# Steps are planted at five places, so that one calm stretch does not speak for the whole series.
PLACES = 5
# Sizes of a twentieth more each are tried up to a thousandfold: what no such step shows is called unknown.
GROWTH = 1.05
SMALLEST, LARGEST = 1e-4, 1e3
# The places between differ a little from those that were tried.
MARGIN = 1.15


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectableStep:
    """A rise by `size`, in the series' unit, that lasts `runs` runs would be found at each place that was tried.

    `share`: of the median, None where that is zero. A `size` of 0 is any rise at all.
    """

    size: float
    share: float | None
    runs: int


def detectable_step(series: Floats, *, minimum_effect: float) -> DetectableStep | None:
    """Of the whole-series rule, for all finite values, shape (n,), without a change; None where not even x 1,000 would.

    Steps are planted into these very values and judged by the rule's limits, except for its p-value, which a step of
    that strength passes. Proven by planting in tests/unit/stats/test_change_point_power.py.
    """
    if len(series) < FEWEST_VALUES:
        return None
    runs = min(LOCAL_REACH, len(series) // 2)
    values, least = on_level_scale(series), least_effect_of(series, minimum_effect)

    def planted_at(start: int) -> Callable[[float], bool]:
        low = max(start - SPREAD_REACH, 0)
        split, high = start - low, start - low + runs
        # Clipped with the values behind them: at a series' end one odd value is three.
        around = values[low : start + SPREAD_REACH]

        def is_found(size: float) -> bool:
            planted = clip_outliers(_planted(around, least, split, size))[:high]
            return (
                facing_t(planted, split, low=0, high=high, reach=MERGE_REACH, least_effect=least) >= MERGE_T
                and split_strength(planted, split, low=0, high=high) >= MINIMUM_STRENGTH
            )

        return is_found

    places = _places(SHORTEST_SEGMENT, len(series) - runs)
    return _step(series, _smallest(map(planted_at, places), least=minimum_effect), runs=runs)


def detectable_alarm(series: Floats, *, minimum_effect: float) -> DetectableStep | None:
    """Of the online gate: a rise that alarms once it is `NEWEST` runs old. As `detectable_step`."""
    if len(series) <= FIRST_JUDGED:
        return None
    least = least_effect_of(series, minimum_effect)

    def planted_at(start: int) -> Callable[[float], bool]:
        values = on_level_scale(series[max(start - MEMORY, 0) : start + NEWEST])
        older, past = values[:-NEWEST], clip_outliers(values[:-NEWEST])

        def is_found(size: float) -> bool:
            newest = _planted(values[-NEWEST:], least, 0, size)
            return (
                rank_sum_z(older[-SEPARATION_REACH:], newest) >= LEAST_RANK_SUM_Z
                and gate_strength(older, newest, past=past) >= ALARM_STRENGTH
            )

        return is_found

    places = _places(FIRST_JUDGED - NEWEST + 1, len(series) - NEWEST)
    return _step(series, _smallest(map(planted_at, places), least=minimum_effect), runs=NEWEST)


def _step(series: Floats, factor: float | None, *, runs: int) -> DetectableStep | None:
    """`factor`: of the scale's unit, which is the level where all values are positive."""
    if factor is None:
        return None
    median = float(abs(np.median(series)))
    # Zeros alone have no unit: whatever rises from them stands out.
    size = factor * scale_unit(series) if series.any() else 0.0
    return DetectableStep(size=size, share=size / median if median else None, runs=runs)


def _planted(values: Floats, least: LeastEffect, start: int, size: float) -> Floats:
    planted = values.copy()
    planted[start:] += np.log1p(size) if least.logarithmic else size
    return planted


def _places(first: int, last: int) -> list[int]:
    return sorted({int(place) for place in np.linspace(first, last, PLACES)})


def _smallest(probes: Iterable[Callable[[float], bool]], *, least: float) -> float | None:
    """The smallest size that is found at all places, on a grid of sizes; None beyond `LARGEST`."""
    smallest = max(least, SMALLEST)
    needed = 0
    for is_found in probes:
        below, step = needed - 1, 1
        while not is_found(smallest * GROWTH**needed):
            below, needed, step = needed, needed + step, 2 * step
            if smallest * GROWTH**needed > LARGEST:
                return None
        while needed - below > 1:
            middle = (below + needed) // 2
            below, needed = (below, middle) if is_found(smallest * GROWTH**middle) else (middle, needed)
    return float(smallest * GROWTH**needed * MARGIN)
