"""Which run is the first of the new level."""

import numpy as np

from bot.stats.ragged import Floats

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
