"""Modes of samples: the end of a counter's idle time [N12, 4.2], and the shape of a benchmark's [B17, figure 3]."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats

GRID: Final = 256
# The density is evaluated between these percentiles and three bandwidths beyond: outliers would stretch the grid.
OUTER_PERCENT: Final = (0.5, 99.5)
# Smaller modes are tails; a smaller load mode is a few spikes above the counter's usual value.
LEAST_IDLE_SHARE: Final = 0.02
LEAST_LOAD_SHARE: Final = 0.25
# Share of the lower peak: between two modes the density falls at least to this, otherwise it is one broad mode.
DEEPEST_VALLEY: Final = 0.7
FEWEST_FOR_DENSITY: Final = 20
SMALLEST_MODE: Final = 0.1  # of the samples, in a description of their shape


@dataclass(frozen=True, slots=True)
class Shape:
    """Number of modes, adjusted skewness, and the p-value of Shapiro and Wilk's test of a normal distribution."""

    modes: int
    skewness: float
    normal_p: float


def shape_of(ordered: Floats) -> Shape | None:
    """Describe `ordered` (n,), sorted; None of fewer than 20 samples, or of equal ones [B17, figure 3].

    A mode has a tenth of the samples. A second one shows in 5% of series of 20 normal samples, in 0.5% of those of 50.
    """
    from scipy import stats

    if len(ordered) < FEWEST_FOR_DENSITY or ordered[0] == ordered[-1]:
        return None
    scaled = (ordered - ordered.mean()) / ordered.std()
    return Shape(_modes(scaled), float(stats.skew(scaled, bias=False)), float(stats.shapiro(scaled).pvalue))


def _modes(ordered: Floats) -> int:
    density, boundaries = _smooth(ordered)
    cuts, peak, low, cut = [0.0], 0.0, 0.0, 0.0
    for height, share in zip(density, np.searchsorted(ordered, boundaries) / len(ordered), strict=True):
        if peak and height < low:
            low, cut = height, float(share)
        elif low < DEEPEST_VALLEY * min(peak, height) and min(cut - cuts[-1], 1 - cut) >= SMALLEST_MODE:
            cuts, peak, low = [*cuts, cut], height, height
        elif height > peak:
            peak = low = height
    return len(cuts)


def idle_boundary(ordered: Floats) -> float | None:
    """Samples below this value are idle-time work; None where the density has a single peak.

    `ordered` (n,): sorted samples of magnitudes whose squares neither overflow nor vanish. The density is a Gaussian
    kernel estimate on a grid of bins. The bandwidth follows Silverman's rule of thumb (R's nrd0), but is at least the
    counter's resolution, so that integers are no peaks. The boundary is the deepest local minimum between two peaks
    [N12, section 4.2.1].
    """
    if len(ordered) < FEWEST_FOR_DENSITY or ordered[0] == ordered[-1]:
        return None
    density, boundaries = _smooth(ordered)
    left, right = np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1]
    lower_peak = np.minimum(left, right)
    depth = np.divide(density, lower_peak, out=np.ones(GRID), where=lower_peak > 0)
    idle_share = np.searchsorted(ordered, boundaries) / len(ordered)
    modes = (idle_share >= LEAST_IDLE_SHARE) & (idle_share <= 1 - LEAST_LOAD_SHARE)
    depth[~modes] = 1.0
    deepest = int(np.argmin(depth))
    if depth[deepest] > DEEPEST_VALLEY:
        return None
    # An empty stretch between the modes is one wide minimum: take its middle, which is farthest from both.
    equally_deep = np.flatnonzero(modes & (density <= density[deepest]))
    return float(boundaries[equally_deep[len(equally_deep) // 2]])


def _smooth(ordered: Floats) -> tuple[Floats, Floats]:
    """The density and its places, (GRID,) each."""
    bandwidth = _bandwidth(ordered)
    low, high = (float(ordered[round(percent / 100 * (len(ordered) - 1))]) for percent in OUTER_PERCENT)
    low, high = low - 3 * bandwidth, high + 3 * bandwidth
    density = _density(ordered, low=low, high=high, bandwidth=bandwidth)
    return density, low + (np.arange(GRID) + 0.5) * (high - low) / GRID


def _bandwidth(ordered: Floats) -> float:
    """0.9 min(standard deviation, interquartile range / 1.34) n^(-1/5) [Silverman 1986, equation 3.31]."""
    count = len(ordered)
    quarter = count // 4
    spread = float(ordered[-1 - quarter] - ordered[quarter]) / 1.34
    deviation = float(ordered.std())
    width = 0.9 * min(deviation, spread or deviation) * count**-0.2
    gaps = np.diff(ordered)
    steps = gaps[gaps > 0]
    # Without ties the counter is continuous and has no smallest step.
    return width if len(steps) == len(gaps) else float(max(width, np.median(steps)))


def _density(ordered: Floats, *, low: float, high: float, bandwidth: float) -> Floats:
    """(GRID,): the histogram smoothed with the kernel; samples outside the grid are left out."""
    edges = np.linspace(low, high, GRID + 1)
    counts = np.diff(np.searchsorted(ordered, edges)).astype(np.float64)
    # A kernel longer than the grid would lengthen the result.
    reach = min(int(np.ceil(4 * bandwidth / (high - low) * GRID)), (GRID - 1) // 2)
    steps = np.arange(-reach, reach + 1) * ((high - low) / GRID / bandwidth)
    return np.convolve(counts, np.exp(-(steps**2) / 2), mode="same")
