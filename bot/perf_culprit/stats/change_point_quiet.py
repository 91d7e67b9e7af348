"""The online gate's first look at many series at once: nearly all of them need no second one."""

import numpy as np

from perf_culprit.stats.change_point_evidence import (
    LEAST_T,
    LOCAL_REACH,
    LOCAL_WEIGHT,
    SEGMENT_WEIGHT,
    SEPARATION_REACH,
    SEPARATION_WEIGHT,
)
from perf_culprit.stats.change_point_online import CLIP_LIMIT, FIRST_JUDGED, MEMORY, NEWEST, WORTH_A_LOOK_T
from perf_culprit.stats.change_point_scan import (
    DECIMALS,
    LOG_FLOOR,
    MAD_TO_SIGMA,
    NO_SPREAD,
    clip_outliers,
    rising_weights,
)
from perf_culprit.stats.ragged import Floats

# Sums in another order round differently: what is this near to the limit gets its second look.
ROUNDING = 1e-6


def are_quiet(series: Floats, *, first_judged: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether `online_alarms` from `first_judged` on finds nothing in a row that is worth a look, shape (m,).

    `series`, shape (m, n): a series per row, oldest value first, all finite. Then it has no alarms.
    """
    quiet = np.ones(len(series), dtype=bool)
    for run in range(max(first_judged, FIRST_JUDGED), series.shape[1]):
        rows = np.flatnonzero(quiet)
        start = max(run - NEWEST + 1 - MEMORY, 0)
        near, newest, _ = _sides(_on_level_scale(series[rows, start : run + 1]))
        quiet[rows] = _local_t(near, newest) < WORTH_A_LOOK_T - ROUNDING
    return quiet


def newest_strengths(series: Floats) -> Floats:
    """`gate_strength` of the newest nine values against the 40 before them, per row of shape (m, n); (m,)."""
    values = _on_level_scale(series[:, -MEMORY - NEWEST :])
    near, newest, clipped = _sides(values[:, -SEPARATION_REACH - NEWEST :])
    segment_t = _weighted_t(clipped, newest, np.ones(clipped.shape[1]))
    older, newer = values[:, -SEPARATION_REACH - NEWEST : -NEWEST, None], values[:, None, -NEWEST:]
    below = (older < newer).mean(axis=(1, 2)) + (older == newer).mean(axis=(1, 2)) / 2
    past = clip_outliers(values[:, :-NEWEST])
    difference = np.abs(newest.mean(axis=1) - past[:, -LOCAL_REACH:].mean(axis=1))
    spread = np.concatenate([past, newest], axis=1).std(axis=1)
    share = np.divide(difference, spread, out=np.zeros(len(values)), where=spread > 0)
    return np.asarray(
        LOCAL_WEIGHT * np.log(_local_t(near, newest) + LEAST_T)
        + SEGMENT_WEIGHT * np.log(segment_t + LEAST_T)
        + SEPARATION_WEIGHT * np.abs(below - 0.5)
        + np.log1p(share)
    )


def _on_level_scale(series: Floats) -> Floats:
    """`change_point_scan.on_level_scale` of each row."""
    median = np.median(series, axis=1, keepdims=True)
    magnitudes = np.abs(series)
    unit = np.median(magnitudes, axis=1, keepdims=True)
    unit = np.where(unit == 0, magnitudes.max(axis=1, keepdims=True), unit)
    unit = np.where(unit == 0, 1.0, unit)
    positive = series.min(axis=1, keepdims=True) > 0
    ratio = np.where(positive, series / np.where(positive, median, 1.0), 1.0)
    values = np.where(positive, np.log(np.maximum(ratio, LOG_FLOOR)), series / unit)
    return np.asarray(np.round(values, DECIMALS))


def _sides(values: Floats) -> tuple[Floats, Floats, Floats]:
    """The nearest runs before the newest, the newest, and all before: clipped by the spread of these."""
    older, newest = values[:, :-NEWEST], values[:, -NEWEST:]
    median, newest_median = np.median(older, axis=1, keepdims=True), np.median(newest, axis=1, keepdims=True)
    limit = CLIP_LIMIT * MAD_TO_SIGMA * np.median(np.abs(older - median), axis=1, keepdims=True)
    clipped = median + np.clip(older - median, -limit, limit)
    return clipped[:, -LOCAL_REACH:], newest_median + np.clip(newest - newest_median, -limit, limit), clipped


def _local_t(near: Floats, newest: Floats) -> Floats:
    return _weighted_t(near, newest, rising_weights(near.shape[1], LOCAL_REACH))


def _weighted_t(left: Floats, right: Floats, weights: Floats) -> Floats:
    """`change_point_scan.weighted_t` of each row, the right sides unweighted."""
    left_mean, right_mean = left @ weights / weights.sum(), right.mean(axis=1)
    left_variance = (left - left_mean[:, None]) ** 2 @ weights / weights.sum()
    count, right_count = left.shape[1], right.shape[1]
    pooled = (left_variance * count + right.var(axis=1) * right_count) / max(count + right_count - 2, 1)
    size = weights.sum() ** 2 / (weights @ weights)
    return np.asarray(np.abs(right_mean - left_mean) / np.sqrt(pooled * (1 / size + 1 / right_count) + NO_SPREAD))
