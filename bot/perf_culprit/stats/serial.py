"""Units in the order in which they were measured resemble their neighbours: a machine drifts, heats up, gets a guest.

Base measured five times and then head five times look far apart on such a machine, and each side by itself quiet: what
drifts slowly is between the sides, not within them. The suite's other metrics drift too, and tell how much.
"""

from functools import cache
from typing import Final

import numpy as np

from perf_culprit.stats.ragged import Floats, Ragged

# Before anything is seen: the lag-one autocorrelation of two recorded series of executions (0.33 and 0.27,
# docs/error-rates.md), worth as much as this many neighbours.
PRIOR_CORRELATION: Final = 0.3
PRIOR_NEIGHBOURS: Final = 16
CORRELATIONS: Final[Floats] = np.linspace(0.0, 0.98, 50)
# Of longer sides the first so many units stand for all: what they show does not change any more.
MOST_UNITS: Final = 64


def serial_factor(target: Ragged, baseline: Ragged) -> Floats:
    """By how much the squared error of each difference of two means is underestimated, shape (m,), at least 1.

    The rows are metrics of one kind, the values of each in order; 1 where a side has a single unit. Both sides are
    taken for one first-order autoregression, the baseline's units first. Its correlation is the one that makes the
    expected products of neighbours, about their side's mean, what the suite's are, and one standard error more: too
    small a correlation calls what did not change, too large a one asks for a few more files.
    """
    several = np.minimum(target.sizes, baseline.sizes) > 1
    factor = np.ones(len(target.sizes))
    rows = np.flatnonzero(several)
    if not len(rows):
        return factor
    target, baseline = target.rows(rows), baseline.rows(rows)
    products, squares = (sum(column) for column in zip(*map(_neighbours, (target, baseline)), strict=True))
    neighbours = (target.sizes + baseline.sizes - 2).astype(np.float64)
    shown = np.divide(products, squares, out=np.zeros_like(products), where=squares > 0)
    weights = np.where(squares > 0, neighbours, 0.0)
    designs = list(zip(target.sizes.tolist(), baseline.sizes.tolist(), strict=True))
    expected = np.stack([_expected(*design)[0] for design in designs])
    prior = np.array([np.interp(PRIOR_CORRELATION, CORRELATIONS, row) for row in expected])
    worth = weights.sum() + PRIOR_NEIGHBOURS
    # The products of n neighbours that do not resemble each other have the standard error sqrt(n) [Bartlett 1946].
    seen = (weights @ shown + np.sqrt(weights.sum()) + PRIOR_NEIGHBOURS * prior.mean()) / worth
    weighed = (weights @ expected + PRIOR_NEIGHBOURS * expected.mean(axis=0)) / worth
    correlation = float(np.interp(seen, weighed, CORRELATIONS))
    factor[rows] = [max(float(np.interp(correlation, CORRELATIONS, _expected(*design)[1])), 1.0) for design in designs]
    return factor


def _neighbours(side: Ragged) -> tuple[Floats, Floats]:
    """Per row the sum of products of neighbours about the mean, and the sum of squares."""
    deviations = side.values - side.spread(side.moments().mean)
    products = np.zeros_like(deviations)
    products[:-1] = deviations[:-1] * deviations[1:]
    # The last of a row has no neighbour.
    products[side.starts + side.sizes - 1] = 0.0
    return Ragged(products, side.sizes).sums(), Ragged(deviations**2, side.sizes).sums()


@cache
def _expected(target: int, baseline: int) -> tuple[Floats, Floats]:
    """By CORRELATIONS: products of neighbours over squares, and the difference's squared error over the estimated."""
    sizes = (min(baseline, MOST_UNITS), min(target, MOST_UNITS))
    steps = np.abs(np.subtract.outer(np.arange(sum(sizes)), np.arange(sum(sizes))))
    contrast = np.concatenate([np.full(sizes[0], -1 / sizes[0]), np.full(sizes[1], 1 / sizes[1])])
    ratios, factors = [], []
    for correlation in CORRELATIONS:
        covariance = correlation**steps
        products = squares = 0.0
        for first, size in ((0, sizes[0]), (sizes[0], sizes[1])):
            centring = np.eye(size) - 1 / size
            of_side = centring @ covariance[first : first + size, first : first + size] @ centring
            products, squares = products + np.trace(of_side, 1), squares + np.trace(of_side)
        estimated = squares / (sum(sizes) - 2) * (1 / sizes[0] + 1 / sizes[1])
        ratios.append(products / squares)
        factors.append(contrast @ covariance @ contrast / estimated)
    return np.array(ratios), np.array(factors)
