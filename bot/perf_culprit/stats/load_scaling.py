"""Scale samples to one load, so that runs under different load can be compared [N12, section 4.1]."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats, Integers
from perf_culprit.model.work_limits import WORK_LIMITS

# METHODS 2.5 and [N12, section 4.1.2]: random splits into two thirds to fit and one third to predict.
SPLITS: Final = 50
# With fewer points, a third has no usable rank correlation; the fit is then tested on the points it was made from.
SMALLEST_SPLIT: Final = 9
# METHODS 2.5: a fit whose predictions correlate less with the measured values is rejected.
LEAST_SPEARMAN: Final = 0.5
FEWEST_LOADS: Final = 5  # a line through fewer points always fits
# A prediction below this share of the prediction at the reference load would scale a sample's noise up tenfold.
NEAR_ZERO: Final = 0.1


@dataclass(frozen=True, slots=True)
class LinearLoad:
    """value = slope * load + intercept."""

    slope: float
    intercept: float

    def at(self, load: Floats) -> Floats:
        return self.slope * load + self.intercept


@dataclass(frozen=True, slots=True)
class FitQuality:
    """`r_squared` of the fit to all samples; `spearman` and `mean_error` of predictions, means over the splits.

    `spearman` correlates predicted with measured values; `mean_error` is a fraction of the measured level.
    """

    r_squared: float
    spearman: float
    mean_error: float


def fit_load(load: Floats, values: Floats) -> LinearLoad:
    """Fit `values` (n,) on `load` (n,) by least squares, all finite; slope 0 where the load never varies.

    30% at 4,000 and 32% at 4,100 requests per minute give slope 0.02 and intercept -50 [N12, section 4.1.1].
    """
    mean_load, mean = float(load.mean()), float(values.mean())
    deviations = load - mean_load
    # Sums of products, not dot products: those start threads, which costs more than it saves at this size.
    squares = float((deviations * deviations).sum())
    slope = float((deviations * (values - mean)).sum()) / squares if squares > 0 else 0.0
    return LinearLoad(slope, mean - slope * mean_load)


def fit_quality(load: Floats, values: Floats, *, model: LinearLoad) -> FitQuality:
    """Measure how well a straight line predicts `values` (n,) from `load` (n,), n >= 2 [N12, section 4.1.2].

    R² is that of `model` on all samples. Spearman's correlation and the error are means over 50 random 2:1 splits of at
    most 300 samples. The splits are the same every time. An undefined correlation (of a constant) counts as 0.
    """
    residual, total = values - model.at(load), values - values.mean()
    squares = float((total * total).sum())
    r_squared = 1 - float((residual * residual).sum()) / squares if squares > 0 else 0.0
    if len(load) > WORK_LIMITS.tested_samples:
        chosen = _random_places(len(load))
        load, values = load[chosen], values[chosen]
    splits = _splits(len(load))
    fitted = 2 * len(load) // 3 if len(load) >= SMALLEST_SPLIT else len(load)
    train, test = splits[:, :fitted], splits[:, fitted:] if len(load) >= SMALLEST_SPLIT else splits
    loads, actual = load[test], values[test]
    slope, intercept = _fit_rows(load[train], values[train])
    predicted = slope[:, None] * loads + intercept[:, None]
    level = np.abs(actual).mean(axis=1)
    errors = np.divide(np.abs(predicted - actual).mean(axis=1), level, out=np.zeros_like(level), where=level > 0)
    # The ranks of a line's values are those of its argument, forwards or backwards.
    ranks = _row_correlations(_row_ranks(load, test), _row_ranks(values, test)) * np.sign(slope)
    return FitQuality(r_squared, float(ranks.mean()), float(errors.mean()))


def scaling_factors(load: Floats, *, model: LinearLoad, reference: float) -> Floats:
    """Return the factors that scale values at `load` (n,) to the `reference` load [N12, section 4.1.1, equation 2].

    (slope * reference + intercept) / (slope * load + intercept). NaN where the load is unknown, and where the
    prediction is near zero or has the other sign: such a sample cannot be scaled.
    """
    at_reference = model.slope * reference + model.intercept
    factors = np.full(len(load), np.nan)
    ratio = np.full(len(load), np.nan)
    np.divide(model.at(load), at_reference, out=ratio, where=at_reference != 0)
    np.divide(1.0, ratio, out=factors, where=ratio > NEAR_ZERO)
    return factors


@lru_cache(maxsize=32)
def _random_places(count: int) -> Integers:
    """Choose samples at random, not every k-th, because load often has a period."""
    return np.random.default_rng(0).choice(count, WORK_LIMITS.tested_samples, replace=False)


@lru_cache(maxsize=32)
def _splits(count: int) -> Integers:
    """(SPLITS, count): permutations; the first two thirds of a row are fitted."""
    return np.random.default_rng(0).permuted(np.tile(np.arange(count), (SPLITS, 1)), axis=1)


def _fit_rows(load: Floats, values: Floats) -> tuple[Floats, Floats]:
    mean_load, mean = load.mean(axis=1), values.mean(axis=1)
    deviations = load - mean_load[:, None]
    squares = (deviations**2).sum(axis=1)
    products = (deviations * (values - mean[:, None])).sum(axis=1)
    slope = np.divide(products, squares, out=np.zeros_like(squares), where=squares > 0)
    return slope, mean - slope * mean_load


def _row_ranks(values: Floats, chosen: Integers) -> Floats:
    """Rank values[chosen] within each row of `chosen`, ties with their mean rank, without sorting each row."""
    _, codes = np.unique(values, return_inverse=True)
    rows, distinct = len(chosen), int(codes.max()) + 1
    picked = codes[chosen]
    counts = np.bincount((picked + np.arange(rows)[:, None] * distinct).ravel(), minlength=rows * distinct)
    counts = counts.reshape(rows, distinct)
    ranks = np.cumsum(counts, axis=1) - (counts - 1) / 2
    ranked: Floats = np.take_along_axis(ranks, picked, axis=1)
    return ranked


def _row_correlations(left: Floats, right: Floats) -> Floats:
    left, right = left - left.mean(axis=1, keepdims=True), right - right.mean(axis=1, keepdims=True)
    norms = np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    correlations: Floats = np.zeros_like(norms)
    np.divide((left * right).sum(axis=1), norms, out=correlations, where=norms > 0)
    return correlations
