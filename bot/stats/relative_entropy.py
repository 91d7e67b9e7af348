"""How surprising an observed share is."""

import numpy as np

from bot.stats.ragged import Floats


def relative_entropy(observed: Floats, expected: Floats) -> Floats:
    """Of two shares, elementwise: q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)); infinite where p excludes q.

    Chernoff's bound: the chance of a share at least as far from p as q, on the same side, in n independent trials is
    at most exp(-n * entropy) [Chernoff 1952, Hoeffding 1963].
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        happened = np.where(observed > 0, observed * np.log(observed / expected), 0.0)
        not_happened = np.where(observed < 1, (1 - observed) * np.log((1 - observed) / (1 - expected)), 0.0)
    entropy: Floats = np.maximum(happened + not_happened, 0.0)
    return entropy


def lowest_plausible_share(observed: Floats, counts: Floats, *, alpha: float) -> Floats:
    """Lower confidence bound of a share seen in `counts` independent trials, elementwise, by Chernoff's bound.

    Below it the chance of a share as high as `observed` is less than `alpha`. Conservative: the exact binomial bound is
    higher.
    """
    low, high = np.zeros_like(observed), observed.copy()
    needed = -np.log(alpha) / np.maximum(counts, 1)
    for _ in range(40):  # halves the error each time, so twelve digits
        middle = (low + high) / 2
        too_low = relative_entropy(observed, middle) > needed
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return low
