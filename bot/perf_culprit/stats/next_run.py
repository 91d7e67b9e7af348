"""Limits for one more run of the same kind, predicted from the existing runs."""

import numpy as np
from scipy import special

from perf_culprit.arrays import Floats


def prediction_limits(values: Floats, *, alpha: float) -> tuple[Floats, Floats]:
    """Return the lowest and highest value expected of one more run, shapes (m,), from those of n runs, shape (n, m).

    Student's mean ± t * s * sqrt(1 + 1 / n): one more normal value falls outside with probability `alpha`. NaN values
    are ignored. Infinite, so that nothing is excluded, where fewer than two values remain. Assumes independent runs.
    """
    finite = np.isfinite(values)
    count = finite.sum(axis=0)
    divisor, freedom = np.maximum(count, 1), np.maximum(count - 1, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.where(finite, values, 0.0).sum(axis=0) / divisor
        squares = np.where(finite, (values - mean) ** 2, 0.0).sum(axis=0)
        width = special.stdtrit(freedom, 1 - alpha / 2) * np.sqrt(squares / freedom * (1 + 1 / divisor))
        usable = (count > 1) & np.isfinite(width)  # a single value has no spread
        return np.where(usable, mean - width, -np.inf), np.where(usable, mean + width, np.inf)
