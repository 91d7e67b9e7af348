"""The two modes of a machine, learned from executions of the ends by expectation maximisation."""

from dataclasses import replace
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats, Integers
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search.two_mode_noise import Modes, log_classes, log_likelihood, log_null, normal, pad
from perf_culprit.stats.conventions import NO_NOISE

PRIOR_EXECUTIONS: Final = 3.0  # of usual width, added to each mode: one seen a few times looks too narrow
PRIOR_WIDTH: Final = 0.35  # relative to the standard deviation of the whole noise
SMALLEST_FIT: Final = 16  # executions below which no shape is learned


def fit_modes(y: Floats, x: Floats, block: Integers) -> Modes | None:
    """Fit the two modes of executions `y` [n] of the ends (`x` 0 good, 1 bad); None if a normal fits as well.

    Two modes are used if their gain in log likelihood over one normal exceeds the Bayesian information criterion's
    price of four more parameters.
    """
    if len(y) < SMALLEST_FIT or max(np.ptp(y[x == side]) for side in np.unique(x)) < NO_NOISE:
        return None
    score, modes = _best(y, x, block)
    return modes if score - _normal_log_likelihood(y, x, block) > 2 * np.log(len(y)) + 1 else None


def log_bayes_factor(y: Floats, x: Floats, block: Integers) -> float:
    """Log BF of a positive step against none on executions of the ends, each with its best-fitting modes."""
    _, with_step = _best(y, x, block)
    _, without = _best(y, np.zeros_like(x), block)
    return float(log_classes(y, block, x[None], with_step, references=len(y))[0]) - log_null(y, block, without)


def _best(y: Floats, x: Floats, block: Integers) -> tuple[float, Modes]:
    """Return the likeliest modes, with or without offsets of rounds, and their log likelihood."""
    rounds = pad(y, x, block)
    fitted = _em(y, x, block)
    still = [replace(modes, offset_sd=0.0) for modes in fitted]
    moving = [modes for modes in fitted if modes.offset_sd > 0.1 * modes.slow_sd]
    scored = [
        (float(log_likelihood(rounds, modes, level=np.array([modes.level]), step=np.array([modes.step])).sum()), modes)
        for modes in (*still, *moving)
    ]
    return max(scored, key=lambda pair: pair[0])


def _normal_log_likelihood(y: Floats, x: Floats, block: Integers) -> float:
    """The largest log likelihood of one normal with a level, a step and an offset per round."""
    _, row, size = np.unique(block, return_inverse=True, return_counts=True)
    best = -np.inf
    for ratio in (0.0, 0.35, 0.7, 1.4, 2.8, 6.0):
        shrink = ratio**2 / (1 + ratio**2 * size)
        regressors = np.stack([np.ones_like(x), x]) if np.ptp(x) > 0 else np.ones((1, len(x)))
        both = np.vstack([regressors, y])
        sums = np.stack([np.bincount(row, weights=part) for part in both])
        gram = both @ both.T - (sums * shrink) @ sums.T
        k = len(regressors)
        sse = gram[k, k] - gram[k, :k] @ np.linalg.solve(gram[:k, :k] + 1e-12 * np.eye(k), gram[:k, k])
        variance = max(float(sse) / len(y), 1e-14)
        log_det = float(np.log1p(ratio**2 * size).sum())
        best = max(best, -0.5 * len(y) * (np.log(2 * np.pi * variance) + 1) - 0.5 * log_det)
    return best


def _width(share: Floats, residual: Floats, usual: float) -> Floats:
    squares = (share * residual**2).sum(axis=1, keepdims=True) + usual
    return np.asarray(np.sqrt(squares / (share.sum(axis=1, keepdims=True) + PRIOR_EXECUTIONS)))


def _em(y: Floats, x: Floats, block: Integers) -> list[Modes]:
    """Fit the two modes by expectation maximisation without the chain, from several starts at once (axis 0)."""
    _, row = np.unique(block, return_inverse=True)
    indicator = (row[:, None] == np.arange(row.max() + 1)).astype(np.float64)
    has_step = np.ptp(x) > 0
    shifts = _shifts(y, x) if has_step else (0.0,)
    residuals = [y - shift * x for shift in shifts]
    spread = min(float(np.std(residual)) for residual in residuals)
    smallest = max(0.02 * spread, 1e-7)
    # A mode seen a few times looks too narrow: add the equivalent of three executions of usual width.
    usual = PRIOR_EXECUTIONS * (PRIOR_WIDTH * spread) ** 2
    slow = np.vstack([_memberships(residual) for residual in residuals])
    step = np.repeat(np.array(shifts), len(slow) // len(shifts))[:, None]
    offset = np.zeros((len(slow), indicator.shape[1]))
    slow_sd = fast_sd = np.full((len(slow), 1), spread / 2)
    offset_sd = np.full((len(slow), 1), spread / 4)
    level = low = share = np.zeros((len(slow), 1))
    in_slow = in_fast = slow
    for _ in range(40):
        fast = 1 - slow
        rest = y - step * x - offset @ indicator.T
        share = np.clip(slow.mean(axis=1, keepdims=True), 1.5 / len(y), 1 - 1.5 / len(y))
        level = (slow * rest).sum(axis=1, keepdims=True) / slow.sum(axis=1, keepdims=True)
        low = (fast * rest).sum(axis=1, keepdims=True) / fast.sum(axis=1, keepdims=True)
        slow_sd = _width(slow, rest - level, usual)
        fast_sd = _width(fast, rest - low, usual)
        weight = slow / slow_sd**2 + fast / fast_sd**2
        center = (slow * level / slow_sd**2 + fast * low / fast_sd**2) / weight
        if has_step:
            aim = y - center - offset @ indicator.T
            step = (weight * x * aim).sum(axis=1, keepdims=True) / (weight * x).sum(axis=1, keepdims=True)
        per_block = weight @ indicator + 1 / offset_sd**2
        offset = (weight * (y - center - step * x)) @ indicator / per_block
        offset_sd = np.maximum(np.sqrt((offset**2 + 1 / per_block).mean(axis=1, keepdims=True)), smallest / 10)
        rest = y - step * x - offset @ indicator.T
        in_slow = share * normal(rest - level, slow_sd) + 1e-12
        in_fast = (1 - share) * normal(rest - low, fast_sd) + 1e-12
        slow = in_slow / (in_slow + in_fast)
    return [
        Modes(
            gap=float(level[s, 0] - low[s, 0]),
            slow_share=float(share[s, 0]),
            slow_sd=float(slow_sd[s, 0]),
            fast_sd=float(fast_sd[s, 0]),
            offset_sd=float(offset_sd[s, 0]),
            level=float(level[s, 0]),
            step=float(step[s, 0]),
        )
        for s in _likeliest(in_slow + in_fast, offset / offset_sd)
    ]


def _likeliest(densities: Floats, offsets: Floats) -> Integers:
    """Select the best starts by densities [starts, n] and rounds' offsets in standard deviations [starts, rounds]."""
    log_p = np.log(densities).sum(axis=1) - 0.5 * (offsets**2).sum(axis=1)
    return np.argsort(-log_p, kind="stable")[: WORK_LIMITS.mode_starts]


def _shifts(y: Floats, x: Floats) -> tuple[float, ...]:
    """Initial steps: the median of the differences, and those of either mode if both ends have two."""
    low, high = (np.quantile(y[x == 1], share) - np.quantile(y[x == 0], share) for share in (0.15, 0.85))
    return float(np.median(y[x == 1][:, None] - y[x == 0][None])), float(low), float(high)


def _memberships(residual: Floats) -> Floats:
    """Initial membership in the slow mode [starts, n]: everything above a quantile, or all except the outermost."""
    cuts = np.quantile(residual, [0.1, 0.25, 0.5, 0.75, 0.9])
    far = np.abs(residual - np.median(residual))
    guesses = np.vstack([*(residual > cut for cut in cuts), far < np.quantile(far, 0.85)])
    return np.asarray(0.05 + 0.9 * guesses)
