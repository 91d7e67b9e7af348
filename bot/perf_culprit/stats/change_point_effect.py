"""The smallest change that counts, on the scale of change points, and the very run that is the first of a level."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from perf_culprit.model.minimum_effect import reaches
from perf_culprit.stats.ragged import Booleans, Floats

# Levels are rounded to 10 decimals: a step of exactly the minimum effect counts.
ROUNDING: Final = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastEffect:
    """`share` of the level, such as 0.05. `logarithmic`: levels are logarithms.

    A step that does not reach it is no candidate, so that it can hide no other: without noise, even +0.1% has a t
    beyond all bounds.
    """

    share: float = 0.0
    logarithmic: bool = True

    def reached(self, before: npt.ArrayLike, after: npt.ArrayLike) -> Booleans:
        """Whether levels, of one shape, differ enough; of a fall and a rise between two levels either both or none."""
        low, high = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
        if self.logarithmic:
            least = np.asarray(np.log1p(self.share))
        else:
            least = self.share * np.minimum(np.abs(low), np.abs(high))
        return np.asarray(reaches(high - low, least * (1 - ROUNDING) - ROUNDING * (self.share > 0)))


ANY_EFFECT: Final = LeastEffect()


def least_effect_of(series: Floats, share: float) -> LeastEffect:
    """For the series, shape (n,), as `on_level_scale` transforms it: logarithms where all values are positive."""
    return LeastEffect(share=share, logarithmic=bool(series.min() > 0))


def counts(before: float, after: float, share: float) -> bool:
    """Whether the reported medians differ, by `share` of the first or more; from zero, any difference counts."""
    return after != before and reaches(after - before, share * abs(before) * (1 - ROUNDING))


# Beyond an outlier on either side.
FEWEST_BESIDE = 4


def first_changed(values: Floats, *, low: int, high: int, around: range) -> int | None:
    """The split of values[low:high] into two levels with the least squared error, of those in `around`.

    Unclipped values: clipping blunts the very edge. None where `around` leaves no split with four values on each side.
    """
    indices = np.arange(max(around.start, low + FEWEST_BESIDE), min(around.stop, high - FEWEST_BESIDE + 1))
    if not len(indices):
        return None
    window = values[low:high] - values[low:high].mean()
    left = indices - low
    sums = np.cumsum(window)[left - 1]
    # The explained sum of squares: the window's own sum is zero, so the right side's sum is the left's, negated.
    explained = sums**2 * (1 / left + 1 / (high - indices))
    return int(indices[np.argmax(explained)])
