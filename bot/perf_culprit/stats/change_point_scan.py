"""Where a series may have changed: outliers clipped, a scan for steps, and weak neighbours merged."""

from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from perf_culprit.stats.change_point_effect import ANY_EFFECT, LeastEffect
from perf_culprit.stats.ragged import Floats

# A value further than 2 robust standard deviations from the median of 7 neighbours is clipped (Hampel's filter), so
# that up to three odd runs in a row move nothing.
BLIP_HALF_WIDTH = 3
BLIP_LIMIT = 2.0
# 1 / the 75% point of the normal distribution: turns a median absolute deviation into a standard deviation.
MAD_TO_SIGMA = 1.4826
# Eight runs on each side is the least that the scan calls a level; 2.5 keeps every step worth a second look.
SHORTEST_SEGMENT = 8
CANDIDATE_T = 2.5
# Neighbouring segments are merged until every difference of their facing ends (40 runs, linear weights) reaches t = 5.
MERGE_REACH = 40
MERGE_T = 5.0
# Logarithms below a thousandth of the median say "nearly zero", not how nearly.
LOG_FLOOR = 1e-3
# Rounding keeps ties ties when all values are multiplied by a constant.
DECIMALS = 10
NO_SPREAD = 1e-18


def on_level_scale(series: Floats) -> Floats:
    """The series, shape (n,), such that a constant factor changes nothing.

    Logarithms about the median where all values are positive, else values in units of the median absolute value.
    """
    if series.min() > 0:
        median = np.median(series)
        return np.asarray(np.round(np.log(np.maximum(series / median, LOG_FLOOR)), DECIMALS), dtype=float)
    return np.asarray(np.round(series / scale_unit(series), DECIMALS), dtype=float)


def scale_unit(series: Floats) -> float:
    """What is 1 on the scale of a series that has no logarithms: the median absolute value, where it is not zero."""
    return float(np.median(np.abs(series)) or np.abs(series).max() or 1.0)


def clip_outliers(values: Floats) -> Floats:
    """Values, shape (..., n), clipped to their neighbours' median +- `BLIP_LIMIT` robust standard deviations.

    The standard deviation is that of the whole series about its running median [Hampel 1974; Pearson 2002].
    """
    edges = [(0, 0)] * (values.ndim - 1) + [(BLIP_HALF_WIDTH, BLIP_HALF_WIDTH)]
    padded = np.pad(values, edges, mode="edge")
    running_median = np.median(sliding_window_view(padded, 2 * BLIP_HALF_WIDTH + 1, axis=-1), axis=-1)
    residual = values - running_median
    limit = BLIP_LIMIT * MAD_TO_SIGMA * np.median(np.abs(residual), axis=-1, keepdims=True)
    return np.asarray(running_median + np.clip(residual, -limit, limit))


@cache
def rising_weights(count: int, reach: int) -> Floats:
    """Linear weights, shape (count,), of the values before a split: 1 beside it, 0 from `reach` values away on.

    Asked for ten thousand times in a table; the few arrays are shared, and read only.
    """
    weights = np.arange(reach - count + 1, reach + 1) / reach
    weights.flags.writeable = False
    return weights


def weighted_t(
    left: Floats, right: Floats, *, left_weights: Floats, right_weights: Floats, least_effect: LeastEffect = ANY_EFFECT
) -> float:
    """|Student's t| of two weighted samples with pooled variance and effective sample sizes [Kish 1965].

    Assumes equal variances; a step between two constant samples gives a very large number, equal constants give 0,
    and so do means that differ by less than the least effect.
    """
    left_sum, right_sum = left_weights.sum(), right_weights.sum()
    left_mean, right_mean = left_weights @ left / left_sum, right_weights @ right / right_sum
    if least_effect.share and not least_effect.reached(left_mean, right_mean):
        return 0.0
    left_variance = left_weights @ (left - left_mean) ** 2 / left_sum
    right_variance = right_weights @ (right - right_mean) ** 2 / right_sum
    freedom = max(len(left) + len(right) - 2, 1)
    pooled = (left_variance * len(left) + right_variance * len(right)) / freedom
    left_size, right_size = left_sum**2 / (left_weights @ left_weights), right_sum**2 / (right_weights @ right_weights)
    return float(abs(right_mean - left_mean) / np.sqrt(pooled * (1 / left_size + 1 / right_size) + NO_SPREAD))


def facing_t(
    values: Floats, split: int, *, low: int, high: int, reach: int, least_effect: LeastEffect = ANY_EFFECT
) -> float:
    """`weighted_t` of up to `reach` values on each side of `split` inside [low, high), nearer ones heavier."""
    left = values[max(low, split - reach) : split]
    right = values[split : min(high, split + reach)]
    return weighted_t(
        left,
        right,
        left_weights=rising_weights(len(left), reach),
        right_weights=rising_weights(len(right), reach)[::-1],
        least_effect=least_effect,
    )


def scan(values: Floats, window: int, least_effect: LeastEffect = ANY_EFFECT) -> Floats:
    """|Student's t| of the `window` values before against those from each index on, shape (n,).

    0 near the ends, and where the means differ by less than the least effect.
    """
    result = np.zeros(len(values))
    if len(values) < 2 * window:
        return result
    windows = sliding_window_view(values, window)
    mean, variance = windows.mean(axis=1), windows.var(axis=1)
    pooled = (variance[:-window] + variance[window:]) / 2 * window / (window - 1)
    difference = np.abs(mean[window:] - mean[:-window])
    t = difference / np.sqrt(pooled * 2 / window + NO_SPREAD)
    result[window : len(values) - window + 1] = np.where(least_effect.reached(mean[:-window], mean[window:]), t, 0.0)
    return result


def candidate_splits(values: Floats, least_effect: LeastEffect = ANY_EFFECT) -> list[int]:
    """Local peaks of the scan over windows of 8, 16 and 32 values, at least `SHORTEST_SEGMENT` apart, in order."""
    strength = np.max([scan(values, SHORTEST_SEGMENT * factor, least_effect) for factor in (1, 2, 4)], axis=0)
    inner = strength[1:-1]
    peaks = np.flatnonzero((inner > CANDIDATE_T) & (inner >= strength[:-2]) & (inner > strength[2:])) + 1
    kept: list[int] = []
    for peak in peaks[np.argsort(-strength[peaks], kind="stable")]:
        if all(abs(peak - other) >= SHORTEST_SEGMENT for other in kept):
            kept.append(int(peak))
    return sorted(kept)


def merge_segments(values: Floats, splits: list[int], least_effect: LeastEffect = ANY_EFFECT) -> list[int]:
    """Splits that remain when the weakest is removed again and again until all reach `MERGE_T` (bottom-up)."""
    bounds = [0, *splits, len(values)]

    def strength(position: int) -> float:
        return facing_t(
            values,
            bounds[position],
            low=bounds[position - 1],
            high=bounds[position + 1],
            reach=MERGE_REACH,
            least_effect=least_effect,
        )

    strengths = [strength(position) for position in range(1, len(bounds) - 1)]
    while strengths and min(strengths) < MERGE_T:
        weakest = int(np.argmin(strengths))
        del bounds[weakest + 1], strengths[weakest]
        for neighbour in (weakest - 1, weakest):
            if 0 <= neighbour < len(strengths):
                strengths[neighbour] = strength(neighbour + 1)
    return bounds[1:-1]
