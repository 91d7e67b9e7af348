"""The median's confidence interval from order statistics, and the two conditions of a deviation [B17, Olive 2005].

All functions take the per-metric numbers as arrays of shape (m,).
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.stats.conventions import LEVEL
from perf_culprit.stats.ragged import Ragged
from perf_culprit.stats.two_groups import TestResult, satterthwaite, student_t

# [B17, section III] requires five executions; with fewer, the interval ends at the outermost samples.
MINIMUM_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class MedianEstimate:
    """`median`, its standard `error` and the `degrees_of_freedom` of that error, shapes (m,)."""

    median: Floats
    error: Floats
    degrees_of_freedom: Floats

    def bounds(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        half_width = special.stdtrit(self.degrees_of_freedom, 0.5 + level / 2) * self.error
        return self.median - half_width, self.median + half_width

    def part(self, start: int, end: int | None) -> "MedianEstimate":
        return MedianEstimate(self.median[start:end], self.error[start:end], self.degrees_of_freedom[start:end])


@dataclass(frozen=True, slots=True)
class Deviation:
    """`difference` tests the two medians; `excludes_zero` and `overlap` (m,) are the two conditions at one level.

    `low` and `high` (m,) bound the difference.
    """

    difference: TestResult
    low: Floats
    high: Floats
    excludes_zero: Booleans
    overlap: Booleans

    @property
    def deviates(self) -> Booleans:
        return self.excludes_zero & ~self.overlap


def normal_half_width(level: float) -> float:
    """Half the width of a normal confidence interval of `level`, in standard errors."""
    return float(special.ndtri(0.5 + level / 2))


def interval_ranks(sizes: Integers) -> tuple[Integers, Integers]:
    """Return L and U (m,) for rows of n samples: L = floor(n/2) - ceil(sqrt(n/4)), U = n - L [Olive 2005]."""
    lower = sizes // 2 - np.ceil(np.sqrt(sizes / 4)).astype(np.intp)
    return lower, sizes - lower


def median_estimate(samples: Ragged) -> MedianEstimate:
    """Return each row's median and standard error: SE = (Y_U - Y_(L+1)) / 2, U - L - 1 degrees of freedom [Olive 2005].

    Y are the sorted samples, counted from 1. Assumes independent samples of one distribution that has a density at its
    median. The error may be zero where samples are tied at the median. Every row needs two samples.
    """
    if samples.sizes.min() < 2:
        raise ValueError("the interval of a median needs at least two samples per row")
    ordered = samples.ordered()
    lower, upper = interval_ranks(samples.sizes)
    starts = samples.starts
    # Halve first, so that the distance of two huge numbers does not overflow.
    error = ordered.values[starts + upper - 1] / 2 - ordered.values[starts + lower] / 2
    middle = ordered.values[starts + (samples.sizes - 1) // 2] / 2 + ordered.values[starts + samples.sizes // 2] / 2
    return MedianEstimate(middle, error, (upper - lower - 1).astype(np.float64))


def mean_estimate(samples: Ragged) -> MedianEstimate:
    """Return the mean of each row instead of the median, with its standard error: the comparison that [B17] makes."""
    sizes, moments = samples.sizes.astype(np.float64), samples.moments()
    return MedianEstimate(samples.means(), np.sqrt(moments.variance / sizes), sizes - 1)


def median_deviation(target: MedianEstimate, baseline: MedianEstimate, *, level: float = LEVEL) -> Deviation:
    """Check both conditions of a deviation: the difference's interval excludes zero, the two do not overlap [B17].

    The source does not define the difference's degrees of freedom; we use Welch-Satterthwaite's. If neither side varies
    at its median, p is 1 for equal medians and 0 for different ones.
    """
    variances = target.error**2, baseline.error**2
    freedom = satterthwaite(variances[0], target.degrees_of_freedom, variances[1], baseline.degrees_of_freedom)
    between = target.median - baseline.median
    difference = student_t(between, variances[0] + variances[1], freedom)
    half_width = special.stdtrit(freedom, 0.5 + level / 2) * np.sqrt(variances[0] + variances[1])
    overlap = intervals_overlap(target.bounds(level), baseline.bounds(level))
    excludes_zero = difference.p_value < 1 - level
    return Deviation(difference, between - half_width, between + half_width, excludes_zero, overlap)


def intervals_overlap(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Booleans:
    """Return whether two intervals, each given as its lower and upper bounds (m,), share a point."""
    return np.asarray((first[0] <= second[1]) & (second[0] <= first[1]))


def median_test(target: Ragged, baseline: Ragged) -> Floats:
    """p-values (m,) of Mood's median test: are both sides above the pooled median equally often [Mood 1954]?

    Assumes only exchangeable samples. Yates' continuity correction makes it conservative in small samples. Samples tied
    with the median go to the side that makes the two parts more equal. The pooled samples alone decide this.
    """
    pooled = target.joined(baseline)
    total = pooled.sizes.astype(np.float64)
    medians = pooled.medians()
    over = Ragged((pooled.values > pooled.spread(medians)).astype(np.float64), pooled.sizes).sums()
    not_under = Ragged((pooled.values >= pooled.spread(medians)).astype(np.float64), pooled.sizes).sums()
    counts_ties = np.abs(not_under - total / 2) < np.abs(over - total / 2)

    def above(side: Ragged) -> Floats:
        cut, ties = side.spread(medians), np.repeat(counts_ties, side.sizes)
        return Ragged(((side.values > cut) | (ties & (side.values == cut))).astype(np.float64), side.sizes).sums()

    first, second = above(target), above(baseline)
    sizes = target.sizes.astype(np.float64), baseline.sizes.astype(np.float64)
    cross = np.abs(first * (sizes[1] - second) - second * (sizes[0] - first))
    product = sizes[0] * sizes[1] * (first + second) * (total - first - second)
    corrected = np.maximum(cross - total / 2, 0.0) ** 2 * total
    statistic = np.divide(corrected, product, out=np.zeros_like(total), where=product > 0)
    p_value: Floats = special.chdtrc(1.0, statistic)
    return p_value


def resolution(samples: Ragged) -> Floats:
    """Return the smallest distance between different samples of a row, shape (m,); 0 where all are equal."""
    ordered = samples.ordered().values
    steps = np.diff(ordered, append=np.inf)
    steps[np.cumsum(samples.sizes) - 1] = np.inf
    steps[steps == 0] = np.inf
    smallest = np.minimum.reduceat(steps, samples.starts)
    return np.where(np.isfinite(smallest), smallest, 0.0)
