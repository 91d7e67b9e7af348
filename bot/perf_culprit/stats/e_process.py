"""Evidence that holds at any stopping time: rounds may be added until they suffice, and their evidence multiplies."""

from typing import Final

import numpy as np

from perf_culprit.stats.ragged import Floats

# How much is bet on a round of a large difference, from cautious to bold; their average loses little to the best one.
BETS: Final = (0.1, 0.3, 0.6, 0.9)


def e_values(differences: Floats, magnitudes: Floats) -> Floats:
    """(B,): e-values of B benchmarks against "nothing changed", after the R rounds whose differences are given.

    `differences` (B, R): target minus baseline in each round; NaN where the round measured one side only. Within a
    round the sides are exchangeable, so each difference is as likely to be negative. `magnitudes` (R,): a typical
    size of a round's differences, of all benchmarks in this round and earlier ones; it may depend on their sizes, not
    on their signs. If nothing changed, the expected e-value is at most 1 after any number of rounds chosen while
    looking, so the chance of ever reaching 1 / alpha is at most alpha (Ville 1939; Ramdas et al., Game-theoretic
    statistics and safe anytime-valid inference, 2023, 3).
    """
    scores = np.nan_to_num(np.tanh(differences / np.maximum(magnitudes, np.finfo(float).tiny)))
    wealth = [np.prod(1 + bet * scores, axis=1) for size in BETS for bet in (size, -size)]
    mean: Floats = np.mean(wealth, axis=0)
    return mean


def typical_magnitudes(differences: Floats) -> Floats:
    """(R,): the median size of all differences up to each round. `differences` (B, R), NaN where missing."""
    sizes = np.abs(differences)
    return np.array([np.nanmedian(sizes[:, : count + 1]) for count in range(sizes.shape[1])])
