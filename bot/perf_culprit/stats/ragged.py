"""Rows of unequal length in one flat array, so that a suite is computed at once instead of metric by metric."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from perf_culprit.arrays import Floats, Integers


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of each row: `count`, `mean` and `squares`, the sum of squared deviations from the mean. Shapes (m,)."""

    count: Floats
    mean: Floats
    squares: Floats

    @property
    def variance(self) -> Floats:
        """Variance of the samples, with n - 1; 0 for a row with a single sample."""
        return self.squares / np.maximum(self.count - 1, 1)


@dataclass(frozen=True, slots=True)
class Ragged:
    """`values` (n,) holds the rows one after the other; `sizes` (m,) their lengths, each at least 1, summing to n."""

    values: Floats
    sizes: Integers

    @property
    def starts(self) -> Integers:
        return np.cumsum(self.sizes) - self.sizes

    def sums(self) -> Floats:
        return np.add.reduceat(self.values, self.starts)

    def minima(self) -> Floats:
        return np.minimum.reduceat(self.values, self.starts)

    def peaks(self) -> Floats:
        """Return the largest absolute value of each row."""
        return np.maximum.reduceat(np.abs(self.values), self.starts)

    def spread(self, row_values: Floats) -> Floats:
        """Repeat one value per row (m,) for each of the row's values (n,)."""
        return np.repeat(row_values, self.sizes)

    def rows(self, chosen: Integers) -> "Ragged":
        """Return only the rows with these indices (k,), in ascending order."""
        is_chosen = np.zeros(len(self.sizes), dtype=np.bool_)
        is_chosen[chosen] = True
        return Ragged(self.values[np.repeat(is_chosen, self.sizes)], self.sizes[chosen])

    def joined(self, other: "Ragged") -> "Ragged":
        """Append the same row of `other` to each row."""
        sizes = self.sizes + other.sizes
        starts = np.cumsum(sizes) - sizes
        values = np.empty(len(self.values) + len(other.values))
        for part, first in ((self, starts), (other, starts + self.sizes)):
            values[np.arange(len(part.values)) + np.repeat(first - part.starts, part.sizes)] = part.values
        return Ragged(values, sizes)

    def ordered(self) -> "Ragged":
        """Sort every row in ascending order; rows of equal length are sorted as one matrix."""
        values = np.empty_like(self.values)
        for size in np.unique(self.sizes):
            chosen = np.repeat(self.sizes == size, self.sizes)
            values[chosen] = np.sort(self.values[chosen].reshape(-1, size), axis=1).ravel()
        return Ragged(values, self.sizes)

    def moments(self) -> Moments:
        """Compute in two passes, to keep a small spread on a large mean; a constant row has exactly no spread."""
        count = self.sizes.astype(np.float64)
        first = self.values[self.starts]
        # Centring on the first value makes the mean of a constant row exact.
        offset = Ragged(self.values - self.spread(first), self.sizes).sums() / count
        deviations = self.values - self.spread(first + offset)
        residual = Ragged(deviations, self.sizes).sums()
        squares = Ragged(deviations * deviations, self.sizes).sums() - residual * residual / count
        return Moments(count, first + offset, np.maximum(squares, 0.0))

    def means(self) -> Floats:
        return self.sums() / self.sizes

    def medians(self) -> Floats:
        return self._by_matrix(lambda matrix: np.median(matrix, axis=1, overwrite_input=True))

    def quantiles(self, share: float) -> Floats:
        return self._by_matrix(lambda matrix: np.quantile(matrix, share, axis=1))

    def _by_matrix(self, reduce: Callable[[Floats], Floats]) -> Floats:
        """Rows of equal length are one matrix, so each distinct length needs one partial sort."""
        reduced = np.empty(len(self.sizes))
        for size in np.unique(self.sizes):
            rows = self.sizes == size
            reduced[rows] = reduce(self.values[np.repeat(rows, self.sizes)].reshape(-1, size))
        return reduced


def pooled(parts: Moments, sizes: Integers) -> Moments:
    """Compute the moments of rows of `sizes` (m,) parts each from the parts' own moments (law of total variance)."""
    count = Ragged(parts.count, sizes).sums()
    first = parts.mean[np.cumsum(sizes) - sizes]
    centred = parts.mean - np.repeat(first, sizes)
    offset = Ragged(parts.count * centred, sizes).sums() / count
    between = parts.count * (centred - np.repeat(offset, sizes)) ** 2
    return Moments(count, first + offset, Ragged(parts.squares + between, sizes).sums())
