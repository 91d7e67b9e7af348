"""Conversion of counters' values to levels, so that rules can be mined between them [F11, 5.2.2 and 6.1.2]."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perf_culprit.arrays import ABSENT, Floats, Integers

LevelTable = NDArray[np.int16]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LevelScale:
    """Each counter has `bins` of equal width from `low` to `high`, inclusive, and a level below and above. Shapes (m,).

    Level 0 is below, 1..bins are the bins, bins + 1 is above. A value up to `slack` beyond the ends still counts as in
    the outermost bin. Low and high are NaN for a counter without values: it has no levels.
    """

    low: Floats
    high: Floats
    bins: Integers
    slack: Floats

    @property
    def sizes(self) -> Integers:
        """The number of levels of each counter, shape (m,)."""
        return self.bins + 2


def three_level_scale(values: Floats) -> LevelScale:
    """Levels low, medium and high; medium is the median of the baseline ± one standard deviation [F11, figure 5-4].

    `values` (n, m), NaN where missing. Both ends belong to medium: median 74 and deviation 14 make it 60..88.
    """
    median, deviation = _columns(values, np.median), _columns(values, np.std)
    none = np.zeros_like(median)
    return LevelScale(
        low=median - deviation, high=median + deviation, bins=np.ones(len(median), dtype=np.intp), slack=none
    )


def equal_width_scale(values: Floats) -> LevelScale:
    """Bins from the least to the greatest value: max(1, round(2 ln u)) of u distinct values [F11, eq. 6-1, 6-2].

    `values` (n, m) of the whole repository. Two choices: the logarithm is natural, and a value far from all runs has a
    level of its own. Far means more than a bin's width beyond the ends; the source gives such values no level.
    """
    distinct = _columns(values, lambda column: len(np.unique(column)))
    bins = np.maximum(1, np.rint(2 * np.log(np.maximum(np.nan_to_num(distinct), 1)))).astype(np.intp)
    low, high = _columns(values, np.min), _columns(values, np.max)
    return LevelScale(low=low, high=high, bins=bins, slack=high / bins - low / bins)


def to_levels(values: Floats, scale: LevelScale) -> LevelTable:
    """Return the level of each value, shape (n, m); ABSENT where it is not finite or the counter has no scale."""
    with np.errstate(over="ignore", invalid="ignore"):
        span = scale.high - scale.low
    finite = np.isfinite(values) & np.isfinite(span)
    inside = np.clip(np.where(finite, values, 0.0), scale.low, scale.high)
    position = np.zeros_like(values)
    np.divide(inside - scale.low, span, out=position, where=finite & (span > 0))
    position *= scale.bins
    levels = np.clip(np.floor(position), 0, scale.bins - 1) + 1
    levels[finite & (values < scale.low - scale.slack)] = 0
    above = finite & (values > scale.high + scale.slack)
    levels = np.where(above, scale.bins + 1, levels)
    return np.where(finite, levels, ABSENT).astype(np.int16)


def _columns(values: Floats, statistic: Callable[[Floats], float]) -> Floats:
    results = np.full(values.shape[1], np.nan)
    with np.errstate(over="ignore", invalid="ignore"):  # the deviation may overflow: then the counter has no scale
        for index, column in enumerate(values.T):
            finite = column[np.isfinite(column)]
            if len(finite):
                results[index] = statistic(finite)
    return results
