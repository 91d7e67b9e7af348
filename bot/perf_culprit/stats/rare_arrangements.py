"""Tiny p-values of permutation tests: the rare arrangements are drawn on purpose, and weighted back.

Each score is tilted so that the arrangements drawn centre where its sum reaches the observed statistic; a mixture of
the tilts is drawn from (importance sampling with exponential tilting, the sampling form of a saddlepoint
approximation). The observed arrangement counts with its own weight, which keeps the p-value valid for any number of
draws [Harrison 2012, Biometrika 99].
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.side_blocks import Blocks, Singles

# Tiny p-values come out within about 10%.
DRAWS_PER_TILT: Final = 100
# Sums have variance 1: a stronger tilt draws the most extreme arrangement alone.
STRONGEST_TILT: Final = 40.0
HALVINGS: Final = 25
SEED: Final = 3


def rare_p_value(scores: Singles, blocks: Blocks, patterns: Sequence[Singles], *, at_least: float) -> float:
    """P(the largest absolute sum over the target's executions >= `at_least`) over all arrangements.

    `scores` (d, n) with variance 1 and mean 0 within rounds; `patterns` are the arrangements of each round.
    """
    # Per round (d, ways): the sums of its arrangements.
    sums = [scores[:, rows].astype(np.float64) @ ways.T for rows, ways in zip(blocks.rows, patterns, strict=True)]
    tilted = [np.concatenate([of_round, -of_round]) for of_round in sums]
    reachable = sum(of_round.max(axis=1) for of_round in tilted) >= at_least
    tilted = [of_round[reachable] for of_round in tilted]
    strength = _strengths(tilted, at_least)
    log_mean = _log_means(tilted, strength)
    drawn = _drawn_sums(sums, tilted, strength)
    observed = scores.astype(np.float64) @ blocks.is_target
    totals = np.concatenate([drawn, observed[:, None]], axis=1)
    both = np.concatenate([totals, -totals])[reachable]
    exponents = strength[:, None] * both - log_mean[:, None]
    peak = exponents.max(axis=0)
    weights = np.exp(-peak) / np.exp(exponents - peak).mean(axis=0)
    # The observed arrangement is always as extreme as itself.
    extreme = np.append(np.abs(drawn).max(axis=0) >= at_least, True)
    return min(1.0, float((weights * extreme).mean()))


def _log_means(tilted: Sequence[Floats], strength: Floats) -> Floats:
    """Per tilt: log of the mean of exp(strength * sum) over all arrangements."""
    total = np.zeros(len(strength))
    for of_round in tilted:
        exponents = strength[:, None] * of_round
        peak = exponents.max(axis=1)
        total += peak + np.log(np.exp(exponents - peak[:, None]).mean(axis=1))
    return total


def _strengths(tilted: Sequence[Floats], aim: float) -> Floats:
    """Per tilt: the strength at which the mean sum is `aim`, by bisection, for the mean grows with it."""
    low, high = np.zeros(len(tilted[0])), np.full(len(tilted[0]), STRONGEST_TILT)
    # Rounds of one size at once.
    alike = [np.stack([one for one in tilted if one.shape[1] == ways]) for ways in {one.shape[1] for one in tilted}]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        mean = sum((_probabilities(rounds, middle) * rounds).sum(axis=(0, 2)) for rounds in alike)
        low, high = np.where(mean < aim, middle, low), np.where(mean < aim, high, middle)
    return np.asarray((low + high) / 2)


def _probabilities(of_round: Floats, strength: Floats) -> Floats:
    """Of the arrangements (..., tilts, ways) of a round, drawn from each tilt."""
    exponents = strength[:, None] * of_round
    likely = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
    probabilities: Floats = likely / likely.sum(axis=-1, keepdims=True)
    return probabilities


def _drawn_sums(sums: Sequence[Floats], tilted: Sequence[Floats], strength: Floats) -> Floats:
    """(d, tilts * draws): the sums of arrangements drawn from each tilt in turn."""
    rng = np.random.default_rng(SEED)
    total = np.zeros((len(sums[0]), len(strength) * DRAWS_PER_TILT))
    for of_round, of_tilts in zip(sums, tilted, strict=True):
        cumulative = _probabilities(of_tilts, strength).cumsum(axis=1)
        chance = rng.random((len(strength), DRAWS_PER_TILT, 1))
        chosen = (chance > cumulative[:, None, :-1]).sum(axis=2).ravel()
        total += of_round[:, chosen]
    return total
