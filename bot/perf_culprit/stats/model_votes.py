"""One answer from many models, by votes or by the similarity of their environments [F11, 6.1.4]."""

from collections.abc import Sequence

import numpy as np

from perf_culprit.arrays import Booleans, Floats


def bagging_threshold(models: int) -> float:
    """Return the largest share of votes below one half: larger shares are reported [F11, 6.1.4.1]."""
    return max((models + 1) // 2 - 1, 0) / max(models, 1)


def stacking_weights(similarities: Sequence[Sequence[int]]) -> Floats:
    """Weights of the models, summing to 1: the Euclidean lengths of their 0/1 similarity vectors [F11, 6.1.4.2].

    Vectors with 3 and 2 ones weigh 0.5505 and 0.4495. If no model shares anything, all weigh the same (our choice).
    """
    lengths = np.array([np.sqrt(np.sum(vector)) for vector in similarities], dtype=np.float64)
    return normalised(lengths)


def normalised(weights: Floats) -> Floats:
    """Scale non-negative weights to the sum 1; equal weights if all are zero."""
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / max(len(weights), 1))


def votes(flags: Booleans, weights: Floats, present: Booleans) -> Floats:
    """Weight share of the models that flag each counter, among those that have it: shape (m,); NaN if none has it.

    `flags` and `present` (models, m), `weights` (models,). Rounded to 12 digits, so that half of equal weights is 0.5.
    """
    cast = weights @ present
    share = np.full(flags.shape[1], np.nan)
    np.divide(weights @ (flags & present), cast, out=share, where=cast > 0)
    return np.round(share, 12)
