"""Many tests at once: what a small p-value is worth among thousands."""

from collections.abc import Mapping, Sequence

import numpy as np

from bot.stats.ragged import Floats


def benjamini_hochberg(p_values: Floats) -> Floats:
    """q-values, shape (m,): the false discovery rate at which each test would be called [Benjamini & Hochberg 1995].

    Holds for independent and positively dependent tests. q >= p, and q keeps the order of p.
    """
    count = len(p_values)
    order = np.argsort(p_values)
    scaled = p_values[order] * count / np.arange(1, count + 1)
    q_values = np.empty(count)
    q_values[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    # A product and a quotient may round below p where they cancel.
    return np.maximum(q_values, p_values)


def known_q_values(p_values: Sequence[float | None]) -> Mapping[int, float]:
    """By index, of the p-values that are known."""
    tested = [(index, p_value) for index, p_value in enumerate(p_values) if p_value is not None]
    q_values = benjamini_hochberg(np.array([p_value for _, p_value in tested]))
    return dict(zip((index for index, _ in tested), q_values.tolist(), strict=True))
