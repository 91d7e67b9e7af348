"""What `find_changes` and `online_alarms` would have found in a series in which they found nothing."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bot.stats.change_point import FEWEST_VALUES, MINIMUM_STRENGTH
from bot.stats.change_point_effect import LeastEffect, least_effect_of
from bot.stats.change_point_evidence import LOCAL_REACH, SEPARATION_REACH, SPREAD_REACH, split_strength
from bot.stats.change_point_online import (
    ALARM_STRENGTH,
    FIRST_JUDGED,
    LEAST_RANK_SUM_Z,
    MEMORY,
    NEWEST,
    gate_strength,
    rank_sum_z,
)
from bot.stats.change_point_scan import (
    MERGE_REACH,
    MERGE_T,
    SHORTEST_SEGMENT,
    clip_blips,
    facing_t,
    on_level_scale,
    scale_unit,
)
from bot.stats.ragged import Floats

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

    `share`: of the median, None where that is zero.
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

    def found(start: int, size: float) -> bool:
        low = max(start - SPREAD_REACH, 0)
        split, high = start - low, start - low + runs
        # Clipped with the values behind them: at a series' end one odd value is three.
        clipped = clip_blips(_planted(values[low : start + SPREAD_REACH], least, split, size))[:high]
        return (
            facing_t(clipped, split, low=0, high=high, reach=MERGE_REACH, least_effect=least) >= MERGE_T
            and split_strength(clipped, split, low=0, high=high) >= MINIMUM_STRENGTH
        )

    smallest = _smallest(found, first=SHORTEST_SEGMENT, last=len(series) - runs, least=minimum_effect)
    return _step(series, smallest, runs=runs)


def detectable_alarm(series: Floats, *, minimum_effect: float) -> DetectableStep | None:
    """Of the online gate: a rise that alarms once it is `NEWEST` runs old. As `detectable_step`."""
    if len(series) <= FIRST_JUDGED:
        return None
    least = least_effect_of(series, minimum_effect)

    def found(start: int, size: float) -> bool:
        low, end = max(start - MEMORY, 0), start + NEWEST
        values = on_level_scale(series[low:end])
        planted = _planted(values, least, start - low, size)
        older, newest = planted[:-NEWEST], planted[-NEWEST:]
        return (
            rank_sum_z(older[-SEPARATION_REACH:], newest) >= LEAST_RANK_SUM_Z
            and gate_strength(older, newest, past=clip_blips(older)) >= ALARM_STRENGTH
        )

    smallest = _smallest(found, first=FIRST_JUDGED - NEWEST + 1, last=len(series) - NEWEST, least=minimum_effect)
    return _step(series, smallest, runs=NEWEST)


def _step(series: Floats, factor: float | None, *, runs: int) -> DetectableStep | None:
    """`factor`: of the level, or of the scale's unit where there are no logarithms."""
    if factor is None:
        return None
    median = float(abs(np.median(series)))
    size = factor * (median if series.min() > 0 else scale_unit(series))
    return DetectableStep(size=size, share=size / median if median else None, runs=runs)


def _planted(values: Floats, least: LeastEffect, start: int, size: float) -> Floats:
    planted = values.copy()
    planted[start:] += np.log1p(size) if least.logarithmic else size
    return planted


def _smallest(found: Callable[[int, float], bool], *, first: int, last: int, least: float) -> float | None:
    """The smallest size that is found at all places from `first` to `last`, by bisection on a grid of sizes."""
    smallest = max(least, SMALLEST)
    top = int(np.ceil(np.log(LARGEST / smallest) / np.log(GROWTH)))
    needed = 0
    for start in np.unique(np.linspace(first, last, PLACES).astype(int)).tolist():
        if found(start, smallest * GROWTH**needed):
            continue
        below, above = needed, top
        if not found(start, smallest * GROWTH**above):
            return None
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (below, middle) if found(start, smallest * GROWTH**middle) else (middle, above)
        needed = above
    return float(smallest * GROWTH**needed * MARGIN)
