"""Scores that tell two shifted copies of one noise apart, learned from both sides' values without knowing the sides.

The best test between f(y) and f(y - d) adds up log f(y - d) / f(y) over one side's values [Neyman & Pearson 1933].
Here f is learned: the pooled values are half f, half f moved by d, so that f follows by expectation maximisation over
who is moved, with a kernel density as f. Two modes, tails and ties all show in f. No value's side is used, so whatever
is learned is the same for every arrangement of the sides, and a permutation test that adds up the scores stays exact.
"""

from typing import Final

import numpy as np

from perf_culprit.stats.ragged import Floats, Integers
from perf_culprit.stats.side_blocks import Blocks, Singles

# Bins per bandwidth: values are shared out between the two nearest bins, which keeps more than the kernel smooths away.
PER_BANDWIDTH: Final = 2
# 64 bandwidths hold two modes of a machine at 0.4 standard deviations a bandwidth; what lies beyond counts as there.
BINS: Final = 128
# The moves d that are tried, in bandwidths: from where noise is smooth to the far end of two modes.
MOVES: Final = (1, 2, 4, 8, 16)
# From "anybody may be moved": more rounds changed no power by more than a percentage point.
ITERATIONS: Final = 2
# Of the density, spread evenly: bounds what one value can say where no other value is.
EVEN_SHARE: Final = 0.02
# Relative: less is the rounding of logarithms, no noise.
LEAST_SPREAD: Final = 1e-10

# The normal kernel around each bin (bins, bins), as far as it matters: 4 bandwidths. What lies beyond the ends is lost.
_PEAK = 1 / (PER_BANDWIDTH * np.sqrt(2 * np.pi))
_PLACES = np.arange(BINS) / PER_BANDWIDTH
_FROM = np.abs(_PLACES[:, None] - _PLACES)
_KERNELS = np.where(_FROM <= 4, _PEAK * np.exp(-0.5 * _FROM**2), 0).astype(np.float32)


def bandwidths(values: Floats) -> Floats:
    """Silverman's rule of thumb per row (m,) of values (m, n), quartiles guarding against tails; 0 without spread."""
    low, high = np.percentile(values, (25, 75), axis=1)
    deviation, quartiles = values.std(axis=1, ddof=1), (high - low) / 1.349
    spread = np.where(quartiles > LEAST_SPREAD, np.minimum(deviation, quartiles), deviation)
    # Silverman 1986, (3.31): 0.9 * spread * n ** (-1/5).
    return np.where(spread > LEAST_SPREAD, 0.9 * spread * values.shape[1] ** -0.2, 0.0)


def standard_scores(values: Floats, blocks: Blocks) -> Singles:
    """(m, d, n): what each execution says for "moved", by d ways to look at it.

    Values (m, n) are looked at as they are, and without their round's mean: the first is better where rounds share
    a level, for two modes are told apart by their level, the second where they do not. Each way is scaled so that its
    sum over the target's executions has mean 0 and variance 1 over all arrangements; one that sees no difference is 0.
    """
    both = [move_scores(values), move_scores(blocks.centred(values))]
    scores = blocks.centred(np.concatenate(both, axis=1))
    variance = (scores * scores * blocks.weights).sum(axis=-1)
    scale = np.where(variance > LEAST_SPREAD, np.sqrt(np.maximum(variance, LEAST_SPREAD)), np.inf)
    return np.asarray(scores / scale[..., None], dtype=np.float32)


def move_scores(values: Floats) -> Singles:
    """(m, moves, n): log f(y - d) / f(y) of values (m, n) for each move d; 0 in rows without spread."""
    bandwidth = bandwidths(values)
    scale = np.where(bandwidth > 0, bandwidth, np.inf)[:, None]
    place = PER_BANDWIDTH * (values - np.median(values, axis=1, keepdims=True)) / scale + BINS / 2
    place = np.clip(place, 0, BINS - 1.001)
    left = place.astype(np.intp)
    share = (place - left).astype(np.float32)
    ratio = _log_ratios(_counts(left, share), values.shape[1])
    shape = (len(values), len(MOVES), values.shape[1])
    first = np.take_along_axis(ratio, np.broadcast_to(left[:, None], shape), axis=2)
    second = np.take_along_axis(ratio, np.broadcast_to(left[:, None] + 1, shape), axis=2)
    scores = first + (second - first) * share[:, None]
    scores[bandwidth == 0] = 0.0
    return scores


def _counts(left: Integers, share: Singles) -> Singles:
    """(m, bins): each value counts in the two bins beside it, by nearness."""
    rows = len(left)
    flat = (np.arange(rows)[:, None] * BINS + left).ravel()
    counts = np.bincount(flat, 1 - share.ravel(), rows * BINS) + np.bincount(flat + 1, share.ravel(), rows * BINS)
    return counts.reshape(rows, BINS).astype(np.float32)


def _log_ratios(counts: Singles, number: int) -> Singles:
    """(m, moves, bins) from counts (m, bins) of `number` values."""
    steps = [move * PER_BANDWIDTH for move in MOVES]
    shape = (len(counts), len(steps), BINS)
    stays = moves = moved = np.full(shape, 0.5, dtype=np.float32)
    even = EVEN_SHARE * number / BINS
    for _ in range(ITERATIONS):
        back, at_home = counts[:, None] * moved, counts[:, None] * (1 - moved)
        for index, step in enumerate(steps):
            at_home[:, index, :-step] += back[:, index, step:]
        # One product of two matrices, not one for each metric.
        density = (at_home.reshape(-1, BINS) @ _KERNELS).reshape(shape)
        ahead = np.zeros(shape, dtype=np.float32)
        for index, step in enumerate(steps):
            ahead[:, index, step:] = density[:, index, :-step]
        # Without the value's own part, which would confirm whatever is believed of it.
        stays = np.maximum(density - (1 - moved) * np.float32(_PEAK), 0) + np.float32(even)
        moves = np.maximum(ahead - moved * np.float32(_PEAK), 0) + np.float32(even)
        moved = moves / (stays + moves)
    return np.asarray(np.log(moves / stays), dtype=np.float32)
