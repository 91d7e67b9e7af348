"""Corrections for many tests at once, among which some p-values are small by chance."""

from collections.abc import Iterable

import numpy as np

from perf_culprit.arrays import Floats


def benjamini_hochberg(p_values: Floats) -> Floats:
    """q-values, shape (m,): the false discovery rate at which each test would be called [Benjamini & Hochberg 1995].

    Holds for independent and positively dependent tests. q >= p, and q keeps the order of p.
    """
    count = len(p_values)
    order = np.argsort(p_values)
    scaled = p_values[order] * count / np.arange(1, count + 1)
    q_values = np.empty(count)
    q_values[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    # Rounding of the product and the quotient may give a value below p where they cancel.
    return np.maximum(q_values, p_values)


def known_q_values(p_values: Floats) -> Floats:
    """q-values of the p-values (m,) that are not NaN; NaN for the others."""
    q_values = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    q_values[tested] = benjamini_hochberg(p_values[tested])
    return q_values


def numbers(values: Iterable[float | None]) -> Floats:
    """Convert values to an array, None to NaN."""
    return np.fromiter((np.nan if value is None else value for value in values), np.float64)


def number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
