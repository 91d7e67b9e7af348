"""When the level of a series changed: for the whole series, and for a bot that sees only the runs so far.

Both look at the same evidence on the same scale, and by it say what would have been seen in a series without a change.
Where every rule is from and how good it is: docs/detectors/change-point.md.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.series import Detectable
from perf_culprit.stats.multiplicity import benjamini_hochberg
from perf_culprit.stats.ragged import Booleans, Floats

# The scale, and outliers.

# A value further than 2 robust standard deviations from the median of 7 neighbours is clipped (Hampel's filter), so
# that up to three odd runs in a row move nothing.
BLIP_HALF_WIDTH = 3
BLIP_LIMIT = 2.0
# 1 / the 75% point of the normal distribution: turns a median absolute deviation into a standard deviation.
MAD_TO_SIGMA = 1.4826
# Logarithms below a thousandth of the median say "nearly zero", not how nearly.
LOG_FLOOR = 1e-3
# Rounding keeps ties ties when all values are multiplied by a constant.
DECIMALS = 10


def on_level_scale(series: Floats) -> Floats:
    """Series, shape (..., n), such that a constant factor changes nothing.

    Logarithms about the median where all values are positive, else values in units of the median absolute value.
    """
    ratio = series / scale_unit(series)
    is_positive = series.min(axis=-1, keepdims=True) > 0
    return np.asarray(np.round(np.where(is_positive, np.log(np.maximum(ratio, LOG_FLOOR)), ratio), DECIMALS))


def scale_unit(series: Floats) -> Floats:
    """What is 1 on the scale, shape (..., 1): the median absolute value, where it is not zero."""
    magnitudes = np.abs(series)
    unit = np.median(magnitudes, axis=-1, keepdims=True)
    unit = np.where(unit == 0, magnitudes.max(axis=-1, keepdims=True), unit)
    return np.where(unit == 0, 1.0, unit)


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


# The smallest change that counts.

# Levels are rounded to 10 decimals: a step of exactly the minimum effect counts.
ROUNDING: Final = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastEffect:
    """`share` of the level, such as 0.05. `logarithmic`: levels are logarithms.

    A step that does not reach it is no candidate, so that it can hide no other: without noise, even +0.1% has a t
    beyond all bounds.
    """

    share: float = 0.0
    logarithmic: bool = True

    def reached(self, before: npt.ArrayLike, after: npt.ArrayLike) -> Booleans:
        """Whether levels, of one shape, differ enough; of a fall and a rise between two levels either both or none."""
        low, high = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
        if self.logarithmic:
            least = np.asarray(np.log1p(self.share))
        else:
            least = self.share * np.minimum(np.abs(low), np.abs(high))
        return np.asarray(reaches(high - low, least * (1 - ROUNDING) - ROUNDING * (self.share > 0)))


ANY_EFFECT: Final = LeastEffect()


def least_effect_of(series: Floats, share: float) -> LeastEffect:
    """For the series, shape (n,), as `on_level_scale` transforms it: logarithms where all values are positive."""
    return LeastEffect(share=share, logarithmic=bool(series.min() > 0))


def counts(before: float, after: float, share: float) -> bool:
    """Whether the reported medians differ, by `share` of the first or more; from zero, any difference counts."""
    return after != before and reaches(after - before, share * abs(before) * (1 - ROUNDING))


def _relative(before: float, after: float) -> float | None:
    return (after - before) / abs(before) if before else None


# Student's t of a split, and the splits that are worth a look.

# Eight runs on each side is the least that the scan calls a level; 2.5 keeps every step worth a second look.
SHORTEST_SEGMENT = 8
CANDIDATE_T = 2.5
# Neighbouring segments are merged until every difference of their facing ends (40 runs, linear weights) reaches t = 5.
MERGE_REACH = 40
MERGE_T = 5.0
NO_SPREAD = 1e-18


@cache
def rising_weights(count: int, reach: int) -> Floats:
    """Linear weights, shape (count,), of the values before a split: 1 beside it, 0 from `reach` values away on.

    Asked for ten thousand times in a table; the few arrays are shared, and read only.
    """
    weights = np.arange(reach - count + 1, reach + 1) / reach
    weights.flags.writeable = False
    return weights


@cache
def _even_weights(count: int) -> Floats:
    weights = np.ones(count)
    weights.flags.writeable = False
    return weights


def weighted_t(
    left: Floats,
    right: Floats,
    *,
    left_weights: Floats | None = None,
    right_weights: Floats | None = None,
    least_effect: LeastEffect = ANY_EFFECT,
) -> Floats:
    """|Student's t| of weighted samples, shapes (..., n) and (..., m), by pooled variance and effective sizes [Kish].

    Assumes equal variances; a step between two constant samples gives a very large number, equal constants give 0,
    and so do means that differ by less than the least effect.
    """
    count, right_count = left.shape[-1], right.shape[-1]
    left_mean, left_variance, left_size = _moments(left, left_weights)
    right_mean, right_variance, right_size = _moments(right, right_weights)
    pooled = (left_variance * count + right_variance * right_count) / max(count + right_count - 2, 1)
    t = np.abs(right_mean - left_mean) / np.sqrt(pooled * (1 / left_size + 1 / right_size) + NO_SPREAD)
    return np.where(least_effect.reached(left_mean, right_mean), t, 0.0) if least_effect.share else t


def _moments(values: Floats, weights: Floats | None) -> tuple[Floats, Floats, float]:
    """Mean and variance, shape (...), and the effective number of values [Kish 1965]."""
    weights = _even_weights(values.shape[-1]) if weights is None else weights
    total = weights.sum()
    mean = values @ weights / total
    return mean, (values - mean[..., None]) ** 2 @ weights / total, total**2 / (weights @ weights)


def facing_t(
    values: Floats, split: int, *, low: int, high: int, reach: int, least_effect: LeastEffect = ANY_EFFECT
) -> float:
    """`weighted_t` of up to `reach` values on each side of `split` inside [low, high), nearer ones heavier."""
    left = values[max(low, split - reach) : split]
    right = values[split : min(high, split + reach)]
    return float(
        weighted_t(
            left,
            right,
            left_weights=rising_weights(len(left), reach),
            right_weights=rising_weights(len(right), reach)[::-1],
            least_effect=least_effect,
        )
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


def segment_splits(values: Floats, least_effect: LeastEffect) -> list[int]:
    """Peaks of the scan over windows of 8, 16 and 32 values, at least `SHORTEST_SEGMENT` apart, less the weak ones.

    The weakest is removed again and again until all reach `MERGE_T` (bottom-up).
    """
    bounds = [0, *_candidates(values, least_effect), len(values)]

    def t_of(position: int) -> float:
        low, split, high = bounds[position - 1 : position + 2]
        return facing_t(values, split, low=low, high=high, reach=MERGE_REACH, least_effect=least_effect)

    t = [t_of(position) for position in range(1, len(bounds) - 1)]
    while t and min(t) < MERGE_T:
        weakest = int(np.argmin(t))
        del bounds[weakest + 1], t[weakest]
        for neighbour in (weakest - 1, weakest):
            if 0 <= neighbour < len(t):
                t[neighbour] = t_of(neighbour + 1)
    return bounds[1:-1]


def _candidates(values: Floats, least_effect: LeastEffect) -> list[int]:
    t = np.max([scan(values, SHORTEST_SEGMENT * factor, least_effect) for factor in (1, 2, 4)], axis=0)
    inner = t[1:-1]
    peaks = np.flatnonzero((inner > CANDIDATE_T) & (inner >= t[:-2]) & (inner > t[2:])) + 1
    kept: list[int] = []
    for peak in peaks[np.argsort(-t[peaks], kind="stable")]:
        if all(abs(peak - other) >= SHORTEST_SEGMENT for other in kept):
            kept.append(int(peak))
    return sorted(kept)


# How strong a split is.

# strength = 0.5 ln t_local + 0.9 ln t_segment + 4 separation + ln (1 + share of spread): weights learned on the tuning
# half of the labelled series, rounded. Experts call a step a change from 5.7 on: the middle of the plateau there.
LOCAL_WEIGHT = 0.5
SEGMENT_WEIGHT = 0.9
SEPARATION_WEIGHT = 4.0
LEAST_T = 0.1
MINIMUM_STRENGTH = 5.7
LOCAL_REACH = 20
SEGMENT_REACH = 200
SEPARATION_REACH = 40
SPREAD_REACH = 400


def strength(t_local: npt.ArrayLike, t_segment: npt.ArrayLike, separation: Floats, share: Floats) -> Floats:
    """Of steps, shape (...): larger where it is steep here, lasts, its sides do not overlap, and it is no usual one."""
    return np.asarray(
        LOCAL_WEIGHT * np.log(np.asarray(t_local) + LEAST_T)
        + SEGMENT_WEIGHT * np.log(np.asarray(t_segment) + LEAST_T)
        + SEPARATION_WEIGHT * separation
        + np.log1p(share)
    )


def share_of_spread(near: Floats, after: Floats, around: Floats) -> Floats:
    """Difference of the means on both sides of a split in standard deviations of the series around it, steps included.

    Experts call a step a change by its size beside what the series does elsewhere; 0 where it never moves.
    """
    spread = np.asarray(around.std(axis=-1))
    difference = np.abs(after.mean(axis=-1) - near.mean(axis=-1))
    return np.asarray(np.divide(difference, spread, out=np.zeros(spread.shape), where=spread > 0))


def separation(left: Floats, right: Floats) -> Floats:
    """|P(right > left) + P(right = left) / 2 - 1/2| over all pairs: 0 (sides alike) to 0.5 (no overlap)."""
    near, far = left[..., None, :], right[..., :, None]
    below = (near < far).sum(axis=-1) + (near <= far).sum(axis=-1)
    return np.asarray(np.abs(below.mean(axis=-1) / (2 * left.shape[-1]) - 0.5))


def split_strength(values: Floats, split: int, *, low: int, high: int, levels: slice | None = None) -> float:
    """`strength` of `split` in the segment pair [low, high) of a whole series of clipped values.

    `levels`: where the two levels are compared for their share of the spread; by default the 20 runs on each side.
    """
    sides = levels or slice(max(split - LOCAL_REACH, 0), split + LOCAL_REACH)
    left, right = values[low:split], values[split:high]
    around = values[max(split - SPREAD_REACH, 0) : split + SPREAD_REACH]
    return float(
        strength(
            facing_t(values, split, low=0, high=len(values), reach=LOCAL_REACH),
            weighted_t(left[-SEGMENT_REACH:], right[:SEGMENT_REACH]),
            separation(left[-SEPARATION_REACH:], right[:SEPARATION_REACH]),
            share_of_spread(values[sides.start : split], values[split : sides.stop], around),
        )
    )


# Beyond an outlier on either side.
FEWEST_BESIDE = 4


def first_changed(
    values: Floats, *, low: int, high: int, around: range, fewest_beside: int = FEWEST_BESIDE
) -> int | None:
    """The split of values[low:high] into two levels with the least squared error, of those in `around`.

    Unclipped values: clipping blunts the very edge. None where `around` leaves no split with so many on each side.
    """
    indices = np.arange(max(around.start, low + fewest_beside), min(around.stop, high - fewest_beside + 1))
    if not len(indices):
        return None
    window = values[low:high] - values[low:high].mean()
    left = indices - low
    sums = np.cumsum(window)[left - 1]
    # The explained sum of squares: the window's own sum is zero, so the right side's sum is the left's, negated.
    explained = sums**2 * (1 / left + 1 / (high - indices))
    return int(indices[np.argmax(explained)])


# How often chance alone gives such a split.

# Blocks of 2 keep part of the dependence of neighbouring runs; 499 draws give p-values down to 0.002.
BLOCK_LENGTH = 2
PERMUTATIONS = 499


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 0, ties sharing their mean, shape (n,)."""
    order = np.sort(values)
    below = np.searchsorted(order, values, side="left")
    return np.asarray((below + np.searchsorted(order, values, side="right")) / 2.0)


def _largest_rank_sum(ranks: Floats) -> Floats:
    """Pettitt's K of each row, shape (m, n) -> (m,): the largest |rank sum - its expectation| over all splits.

    Source: Pettitt 1979, A non-parametric approach to the change-point problem, section 2.
    """
    return np.asarray(np.abs(np.cumsum(ranks - ranks.mean(axis=1, keepdims=True), axis=1)).max(axis=1))


def _permutation_p_value(values: Floats, rng: np.random.Generator) -> float:
    """How often reordered runs hold a change as large as these do: (extreme + 1) / (n + 1).

    `values`, shape (n,): the unclipped runs around one split. Assumes that without a change, pairs of neighbours are
    exchangeable; any distribution, any direction.
    """
    count, ranks = len(values), mid_ranks(values)
    blocks = np.argsort(rng.random((PERMUTATIONS, -(-count // BLOCK_LENGTH))), axis=1)
    orders = blocks[:, :, None] * BLOCK_LENGTH + np.arange(BLOCK_LENGTH)
    # The last block may be shorter: what lies beyond the end is left out of each order.
    drawn = _largest_rank_sum(ranks[orders[orders < count].reshape(PERMUTATIONS, count)])
    extreme = int(np.count_nonzero(drawn >= _largest_rank_sum(ranks[None, :])[0] - 1e-9))
    return (extreme + 1) / (PERMUTATIONS + 1)


# The whole series.

# Of fewer, a reordering by chance looks like the greatest step too often (16 values: p = 0.03).
FEWEST_VALUES = 18
# False discovery rate over all candidates of one series: 5% would double the false alarms of two-mode noise.
ALPHA = 0.03


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """`index` is the first run of the new level; of a drift, its steepest place.

    `before` and `after` are medians of up to 40 runs on each side, in the series' unit; `relative_change` is
    (after - before) / |before|, None where `before` is zero. `q_value` is over all candidates of the series.
    """

    index: int
    kind: Literal["step", "drift"]
    before: float
    after: float
    relative_change: float | None
    p_value: float
    q_value: float
    strength: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Split:
    """A candidate in its segment pair [low, high)."""

    index: int
    low: int
    high: int
    strength: float

    def within(self, reach: int) -> slice:
        return slice(max(self.low, self.index - reach), min(self.high, self.index + reach))


def find_changes(series: npt.ArrayLike, *, rng: np.random.Generator, minimum_effect: float = 0.0) -> tuple[Change, ...]:
    """The changes of a series, shape (n,), one value per commit or build, oldest first; any unit, any direction.

    Values that are not finite are left out and keep their places in the count. Assumes that between changes blocks of
    neighbouring runs are exchangeable. Multiplying all values by a positive constant changes nothing. A level needs
    eight runs: a change within the last seven is not seen yet. `minimum_effect` is a share of the level before: smaller
    changes are neither reported nor hide others.
    """
    given = np.asarray(series, dtype=float)
    places = np.flatnonzero(np.isfinite(given))
    if len(places) < FEWEST_VALUES:
        return ()
    finite = given[places]
    values = on_level_scale(finite)
    clipped = clip_outliers(values)
    splits = _splits(clipped, least_effect_of(finite, minimum_effect))
    strong = [split for split in splits if split.strength >= MINIMUM_STRENGTH]
    # Candidates too weak to be reported count as tests that found nothing: the q-values stay valid.
    p_values = np.ones(len(splits))
    p_values[: len(strong)] = [_permutation_p_value(values[split.within(SEPARATION_REACH)], rng) for split in strong]
    q_values = benjamini_hochberg(p_values)
    changes: list[Change] = []
    for split, p_value, q_value in zip(strong, p_values.tolist(), q_values.tolist(), strict=False):
        if q_value > ALPHA:
            continue
        is_drifting = is_drift(clipped[split.within(DRIFT_REACH)])
        index = split.index if is_drifting else _first_changed(split, values)
        around = split.within(SEPARATION_REACH)
        before, after = float(np.median(finite[around.start : index])), float(np.median(finite[index : around.stop]))
        changes.append(
            Change(
                index=int(places[index]),
                kind="drift" if is_drifting else "step",
                before=before,
                after=after,
                relative_change=_relative(before, after),
                p_value=p_value,
                q_value=q_value,
                strength=split.strength,
            )
        )
    return tuple(change for change in _drifts_joined(changes) if counts(change.before, change.after, minimum_effect))


def _splits(clipped: Floats, least_effect: LeastEffect) -> list[_Split]:
    bounds = [0, *segment_splits(clipped, least_effect), len(clipped)]
    return [
        _Split(index=index, low=low, high=high, strength=_strength(clipped, index, low=low, high=high))
        for low, index, high in zip(bounds[:-2], bounds[1:-1], bounds[2:], strict=True)
    ]


def _strength(clipped: Floats, index: int, *, low: int, high: int) -> float:
    """A drift moves little within 20 runs: what is too weak as a step is taken by its levels further out."""
    as_step = split_strength(clipped, index, low=low, high=high)
    reach = slice(max(index - DRIFT_REACH, 0), index + DRIFT_REACH)
    if as_step >= MINIMUM_STRENGTH or not is_drift(clipped[reach]):
        return as_step
    return max(as_step, split_strength(clipped, index, low=low, high=high, levels=reach))


def _first_changed(split: _Split, values: Floats) -> int:
    """The split was placed by windows: which run it is, is decided by the runs themselves."""
    near = split.within(LOCAL_REACH)
    around = range(split.index - BLIP_HALF_WIDTH, split.index + BLIP_HALF_WIDTH + 1)
    first = first_changed(values, low=near.start, high=near.stop, around=around)
    return split.index if first is None else first


def _drifts_joined(changes: Sequence[Change]) -> list[Change]:
    """Near neighbours of one direction, a drift among them, are one drift: at the place of the stronger."""
    joined: list[Change] = []
    for change in changes:
        second = change
        while joined and _is_same_drift(first := joined[-1], second):
            joined.pop()
            second = replace(
                max(first, second, key=lambda one: one.strength),
                kind="drift",
                before=first.before,
                after=second.after,
                relative_change=_relative(first.before, second.after),
            )
        joined.append(second)
    return joined


def _is_same_drift(first: Change, second: Change) -> bool:
    same_direction = (first.after > first.before) == (second.after > second.before)
    return "drift" in (first.kind, second.kind) and same_direction and second.index - first.index <= DRIFT_REACH


# Looked at on each side of the change; a ramp's ends are tried every 8 runs, and a ramp takes 16 runs or more.
DRIFT_REACH = 80
RAMP_GRID = 8
SHORTEST_RAMP = 16


def is_drift(values: Floats) -> bool:
    """Whether one ramp between two levels explains values, shape (n,), clearly better than one step.

    Least squares over all steps and all ramps of a grid; clearly is n ln(RSS step / RSS ramp) > 2 ln n, the price of
    the ramp's second end doubled (Schwarz 1978), so that a doubtful change is a step.
    """
    count = len(values)
    position = np.arange(count)
    ends = np.arange(0, count + 1, RAMP_GRID)
    start, end = (side.ravel() for side in np.meshgrid(ends, ends, indexing="ij"))
    long_enough = end - start >= SHORTEST_RAMP
    if not long_enough.any():
        return False
    start, end = start[long_enough, None], end[long_enough, None]
    ramps = np.clip((position - start) / (end - start), 0.0, 1.0)
    steps = (position >= np.arange(1, count)[:, None]).astype(float)
    step_error, ramp_error = _least_error(values, steps), _least_error(values, ramps)
    if step_error <= 0 or ramp_error <= 0:
        return step_error > 0
    return bool(count * np.log(step_error / ramp_error) > 2 * np.log(count))


def _least_error(values: Floats, profiles: Floats) -> float:
    """The smallest residual sum of squares of `values` on level + size * profile, over profiles (m, n)."""
    centred = values - values.mean()
    shapes = profiles - profiles.mean(axis=1, keepdims=True)
    explained = (shapes @ centred) ** 2 / (shapes**2).sum(axis=1)
    return float(max(centred @ centred - explained.max(), 0.0))


# The online gate.

# It judges the newest nine runs: fewer alarm on noise, more alarm later (tuning half).
NEWEST = 9
# Thirty runs come before the first judged one; twelve pass after an alarm.
FIRST_JUDGED = 30
REFRACTORY = 12
# The baseline is what followed the last change among the 120 runs before the newest.
MEMORY = 120
# Two-sided p = 0.0005: clipping alone takes a run of the rarer of two modes for a step.
LEAST_RANK_SUM_Z = 3.5
# Odd runs are clipped less than in a whole series: the newest runs have no neighbours on their right.
CLIP_LIMIT = 2.5
WORTH_A_LOOK_T = 2.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """Raised with run `index`, for a change that the gate puts at run `change_index`.

    The level before it lasts from run `baseline_index`.
    """

    index: int
    change_index: int
    baseline_index: int
    relative_change: float | None
    strength: float


def online_alarms(
    series: npt.ArrayLike, *, minimum_effect: float = 0.0, first_judged: int = FIRST_JUDGED
) -> tuple[Alarm, ...]:
    """The alarms of a series, shape (n,), one value per run, oldest first, each raised from the runs up to it alone.

    Values that are not finite are left out and keep their places in the count. The decision for a run never changes
    when later runs arrive. Any unit, any direction. `first_judged` is the first run that may alarm, `FIRST_JUDGED` at
    least. A change below `minimum_effect`, a share of the level before, raises no alarm, so no wait follows it and the
    baseline does not start again.
    """
    given = np.asarray(series, dtype=float)
    places = np.flatnonzero(np.isfinite(given))
    measured = given[places]
    alarms: list[Alarm] = []
    baseline, last_alarm = 0, -REFRACTORY - 1
    for run in range(max(first_judged, FIRST_JUDGED), len(measured)):
        if run - last_alarm <= REFRACTORY:
            continue
        split = run - NEWEST + 1
        start = max(split - MEMORY, 0)
        memory = measured[start : run + 1]
        values = on_level_scale(memory)
        # Nearly all runs look like the twenty before them, and need no segmentation.
        if _gate_t(values[max(baseline - start, 0) : -NEWEST], values[-NEWEST:]) < WORTH_A_LOOK_T:
            continue
        least_effect = least_effect_of(memory, minimum_effect)
        past = clip_outliers(values[:-NEWEST])
        baseline = max(baseline, start, *(start + end for end in segment_splits(past, least_effect)))
        reached = _gate(memory, values, past, baseline - start, minimum_effect)
        if reached is not None:
            since, before, after = _since(memory, values, baseline - start, minimum_effect)
            alarms.append(
                Alarm(
                    index=int(places[run]),
                    change_index=int(places[start + since]),
                    baseline_index=int(places[baseline]),
                    relative_change=_relative(before, after),
                    strength=reached,
                )
            )
            baseline, last_alarm = split, run
    return tuple(alarms)


def _gate(memory: Floats, values: Floats, past: Floats, start: int, minimum_effect: float) -> float | None:
    """How strong the newest runs' difference from those since `start` is; None where it is none that alarms."""
    baseline, newest = values[start:-NEWEST], values[-NEWEST:]
    if len(baseline) < SHORTEST_SEGMENT or not counts(*_levels(memory, start, len(past)), minimum_effect):
        return None
    if rank_sum_z(baseline[-SEPARATION_REACH:], newest) < LEAST_RANK_SUM_Z:
        return None
    reached = float(gate_strength(baseline, newest, past=past))
    return reached if reached >= MINIMUM_STRENGTH else None


def _since(memory: Floats, values: Floats, start: int, minimum_effect: float) -> tuple[int, float, float]:
    """The first run of the new level, and both levels: where these differ too little, of the newest runs."""
    split, high = len(values) - NEWEST, len(values)
    near = max(start, split - LOCAL_REACH)
    since = first_changed(values, low=near, high=high, around=range(high - 2 * NEWEST, high))
    exact = _levels(memory, start, split if since is None else since)
    if since is None or not counts(*exact, minimum_effect):
        return split, *_levels(memory, start, split)
    return since, *exact


def _levels(memory: Floats, start: int, split: int) -> tuple[float, float]:
    return float(np.median(memory[start:split][-SEPARATION_REACH:])), float(np.median(memory[split:]))


def gate_strength(baseline: Floats, newest: Floats, *, past: Floats) -> Floats:
    """`strength` of the splits between baseline values, shape (..., n), and the newest ones, shape (..., m).

    `past`: all values before the newest, changes included, their outliers clipped.
    """
    clipped, clipped_newest = _gate_sides(baseline, newest)
    around = np.concatenate([past, clipped_newest], axis=-1)
    return strength(
        _gate_t(baseline, newest),
        weighted_t(clipped, clipped_newest),
        separation(baseline[..., -SEPARATION_REACH:], newest),
        share_of_spread(past[..., -LOCAL_REACH:], clipped_newest, around),
    )


def rank_sum_z(baseline: Floats, newest: Floats) -> float:
    """Mann-Whitney's statistic in standard errors, on unclipped values: two modes of old overlap, a step does not."""
    left, right = len(baseline), len(newest)
    return float(separation(baseline, newest) / np.sqrt((left + right + 1) / (12 * left * right)))


def _gate_t(baseline: Floats, newest: Floats) -> Floats:
    clipped, clipped_newest = _gate_sides(baseline, newest)
    near = clipped[..., -LOCAL_REACH:]
    return weighted_t(near, clipped_newest, left_weights=rising_weights(near.shape[-1], LOCAL_REACH))


def _gate_sides(baseline: Floats, newest: Floats) -> tuple[Floats, Floats]:
    """Both sides clipped about their own medians, by the baseline's spread: the newest runs have none of their own."""
    median, newest_median = (np.median(side, axis=-1, keepdims=True) for side in (baseline, newest))
    limit = CLIP_LIMIT * MAD_TO_SIGMA * np.median(np.abs(baseline - median), axis=-1, keepdims=True)
    return (
        np.asarray(median + np.clip(baseline - median, -limit, limit)),
        np.asarray(newest_median + np.clip(newest - newest_median, -limit, limit)),
    )


# The gate's first look at many series at once: nearly all of them need no second one.

# Sums in another order round differently: what is this near to the limit gets its second look.
SECOND_LOOK: Final = 1e-6


def are_quiet(series: Floats, *, first_judged: int) -> Booleans:
    """Whether `online_alarms` from `first_judged` on finds nothing in a row that is worth a look, shape (m,).

    `series`, shape (m, n): a series per row, oldest value first, all finite. Then it has no alarms.
    """
    quiet = np.ones(len(series), dtype=bool)
    for run in range(max(first_judged, FIRST_JUDGED), series.shape[1]):
        rows = np.flatnonzero(quiet)
        values = on_level_scale(series[rows, max(run - NEWEST + 1 - MEMORY, 0) : run + 1])
        quiet[rows] = _gate_t(values[:, :-NEWEST], values[:, -NEWEST:]) < WORTH_A_LOOK_T - SECOND_LOOK
    return quiet


def newest_strengths(series: Floats) -> Floats:
    """`gate_strength` of the newest nine values against the 40 before them, per row of shape (m, n); (m,)."""
    values = on_level_scale(series[:, -MEMORY - NEWEST :])
    older, newest = values[:, :-NEWEST], values[:, -NEWEST:]
    return gate_strength(older[:, -SEPARATION_REACH:], newest, past=clip_outliers(older))


# What would have been seen where nothing was.

# Steps are planted at five places, so that one calm stretch does not speak for the whole series.
PLACES = 5
# Sizes of a twentieth more each are tried up to a thousandfold: what no such step shows is called unknown.
GROWTH = 1.05
SMALLEST, LARGEST = 1e-4, 1e3
# The places between differ a little from those that were tried.
MARGIN = 1.15


def detectable_step(series: Floats, *, minimum_effect: float) -> Detectable | None:
    """Of the whole-series rule, for all finite values, shape (n,), without a change; None where not even x 1,000 would.

    Steps are planted into these very values and judged by the rule's limits, except for its p-value, which a step of
    that strength passes. Proven by planting in tests/unit/stats/test_change_point_power.py.
    """
    if len(series) < FEWEST_VALUES:
        return None
    runs = min(LOCAL_REACH, len(series) // 2)
    values, least = on_level_scale(series), least_effect_of(series, minimum_effect)

    def is_seen(start: int, size: float) -> bool:
        low = max(start - SPREAD_REACH, 0)
        split, high = start - low, start - low + runs
        # Clipped with the values behind them: at a series' end one odd value is three.
        planted = clip_outliers(_planted(values[low : start + SPREAD_REACH], least, split, size))[:high]
        return (
            facing_t(planted, split, low=0, high=high, reach=MERGE_REACH, least_effect=least) >= MERGE_T
            and split_strength(planted, split, low=0, high=high) >= MINIMUM_STRENGTH
        )

    return _smallest(series, is_seen, SHORTEST_SEGMENT, runs=runs, least=minimum_effect)


def detectable_alarm(series: Floats, *, minimum_effect: float) -> Detectable | None:
    """Of the online gate: a rise that alarms once it is `NEWEST` runs old. As `detectable_step`."""
    if len(series) <= FIRST_JUDGED:
        return None
    least = least_effect_of(series, minimum_effect)

    def is_seen(start: int, size: float) -> bool:
        values = on_level_scale(series[max(start - MEMORY, 0) : start + NEWEST])
        older, newest = values[:-NEWEST], _planted(values[-NEWEST:], least, 0, size)
        return (
            rank_sum_z(older[-SEPARATION_REACH:], newest) >= LEAST_RANK_SUM_Z
            and float(gate_strength(older, newest, past=clip_outliers(older))) >= MINIMUM_STRENGTH
        )

    return _smallest(series, is_seen, FIRST_JUDGED - NEWEST + 1, runs=NEWEST, least=minimum_effect)


def _planted(values: Floats, least: LeastEffect, start: int, size: float) -> Floats:
    planted = values.copy()
    planted[start:] += np.log1p(size) if least.logarithmic else size
    return planted


def _smallest(
    series: Floats, is_seen: Callable[[int, float], bool], first: int, *, runs: int, least: float
) -> Detectable | None:
    """The smallest size, of the scale's unit, that is seen at all places from `first` on; None beyond `LARGEST`."""
    smallest = max(least, SMALLEST)
    sizes = smallest * GROWTH ** np.arange(int(np.log(LARGEST / smallest) / np.log(GROWTH)) + 1)
    needed = 0
    for place in np.unique(np.linspace(first, len(series) - runs, PLACES).astype(int)).tolist():
        if needed < len(sizes) and not is_seen(place, sizes[needed]):
            needed = bisect_left(sizes, True, lo=needed + 1, key=lambda size: is_seen(place, size))
    if needed == len(sizes):
        return None
    # Zeros alone have no unit: whatever rises from them stands out.
    size = float(sizes[needed] * MARGIN * scale_unit(series)[0]) if series.any() else 0.0
    median = float(abs(np.median(series)))
    return Detectable(size=size, relative_change=size / median if median else None, rows=runs)
