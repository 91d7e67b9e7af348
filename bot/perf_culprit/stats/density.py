"""Where idle time ends: the lowest point of a counter's density between its idle and its load mode [N12, 4.2]."""

from typing import Final

import numpy as np

from perf_culprit.stats.ragged import Floats

GRID: Final = 256
# The density is looked at between these percentiles and three bandwidths beyond: outliers would stretch the grid.
OUTER_PERCENT: Final = (0.5, 99.5)
# Smaller modes are tails; a load mode smaller than this is a few spikes above what the counter mostly does.
LEAST_IDLE_SHARE: Final = 0.02
LEAST_LOAD_SHARE: Final = 0.25
# Of the lower peak: between two modes the density falls at least to this, else it is one broad mode.
DEEPEST_VALLEY: Final = 0.7
MINIMUM_SAMPLES: Final = 20


def idle_boundary(ordered: Floats) -> float | None:
    """Samples below this value are idle-time work; None where the density has a single peak.

    `ordered` (n,): sorted samples of magnitudes whose squares neither overflow nor vanish. Gaussian kernel density
    estimate on a grid of bins, bandwidth by Silverman's rule of thumb (R's nrd0, with the resolution of the counter as
    its least value, so that integers are no peaks).
    The boundary is the deepest local minimum between two peaks [N12, section 4.2.1].
    """
    if len(ordered) < MINIMUM_SAMPLES or ordered[0] == ordered[-1]:
        return None
    bandwidth = _bandwidth(ordered)
    low, high = (float(ordered[round(percent / 100 * (len(ordered) - 1))]) for percent in OUTER_PERCENT)
    low, high = low - 3 * bandwidth, high + 3 * bandwidth
    density = _density(ordered, low=low, high=high, bandwidth=bandwidth)
    left, right = np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1]
    lower_peak = np.minimum(left, right)
    depth = np.divide(density, lower_peak, out=np.ones(GRID), where=lower_peak > 0)
    boundaries = low + (np.arange(GRID) + 0.5) * (high - low) / GRID
    idle_share = np.searchsorted(ordered, boundaries) / len(ordered)
    modes = (idle_share >= LEAST_IDLE_SHARE) & (idle_share <= 1 - LEAST_LOAD_SHARE)
    depth[~modes] = 1.0
    deepest = int(np.argmin(depth))
    if depth[deepest] > DEEPEST_VALLEY:
        return None
    # An empty stretch between the modes is one wide minimum: its middle is as far from both as it gets.
    equally_deep = np.flatnonzero(modes & (density <= density[deepest]))
    return float(boundaries[equally_deep[len(equally_deep) // 2]])


def _bandwidth(ordered: Floats) -> float:
    """0.9 min(standard deviation, interquartile range / 1.34) n^(-1/5) [Silverman 1986, equation 3.31]."""
    count = len(ordered)
    quarter = count // 4
    spread = float(ordered[-1 - quarter] - ordered[quarter]) / 1.34
    deviation = float(ordered.std())
    width = 0.9 * min(deviation, spread or deviation) * count**-0.2
    gaps = np.diff(ordered)
    steps = gaps[gaps > 0]
    # Without ties the counter is continuous: no least step to look for.
    return width if len(steps) == len(gaps) else float(max(width, np.median(steps)))


def _density(ordered: Floats, *, low: float, high: float, bandwidth: float) -> Floats:
    """(GRID,): the histogram smoothed with the kernel; samples outside the grid are left out."""
    edges = np.linspace(low, high, GRID + 1)
    counts = np.diff(np.searchsorted(ordered, edges)).astype(np.float64)
    # A kernel longer than the grid would lengthen the result.
    reach = min(int(np.ceil(4 * bandwidth / (high - low) * GRID)), (GRID - 1) // 2)
    steps = np.arange(-reach, reach + 1) * ((high - low) / GRID / bandwidth)
    return np.convolve(counts, np.exp(-(steps**2) / 2), mode="same")
