"""Find level changes in a series, by one rule for a whole series and for a bot that sees only the runs so far.

Origin, accuracy and limits of the rule: docs/detectors/change-point.md.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import erfc

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.series import ChangePoint, Detectable, SeriesAlarm
from perf_culprit.stats.conventions import ROUNDING, UPPER_QUARTILE

# The shortest level, and the shortest series in which two levels can be told from chance.
SHORTEST_LEVEL: Final = 8
FEWEST_VALUES: Final = 18
# Experts do not call a weaker step a change; the best value on the tuning half of the labelled series.
MINIMUM_STRENGTH: Final = 5.7
# Mann and Whitney's statistic in standard errors. A limit of 3 finds no more of the labels there, and doubles the share
# of unchanged two-mode series with a detected step; 3.5 finds fewer of the labels.
LEAST_Z: Final = 3.3
# Numbers of runs on each side: for the slope at a step, for its levels and ranks, for a drift, and for the spread.
# Each is twice the one before, and the spread is that of five such stretches: docs/detectors/change-point.md.
NEAR: Final = 20
BESIDE: Final = 2 * NEAR
FAR: Final = 2 * BESIDE
AROUND: Final = 5 * FAR

# Up to three outliers in a row have no effect: a value more than two robust standard deviations from its neighbours'
# median is clipped.
BLIP_HALF_WIDTH: Final = 3
BLIP_LIMIT: Final = 2.0 / UPPER_QUARTILE
# A logarithm below a thousandth of the median means "nearly zero"; its exact size does not matter.
LOG_FLOOR: Final = 1e-3
# Levels are rounded: ties stay ties when all values are multiplied, and a step of exactly the minimum effect counts.
DECIMALS: Final = 10


def on_level_scale(series: Floats) -> Floats:
    """Scale series, shape (..., n), so that a constant factor changes nothing.

    Logarithms about the median where all values are positive, else values in units of the median absolute value.
    """
    ratio = series / scale_unit(series)
    is_positive = series.min(axis=-1, keepdims=True) > 0
    return np.asarray(np.round(np.where(is_positive, np.log(np.maximum(ratio, LOG_FLOOR)), ratio), DECIMALS))


def scale_unit(series: Floats) -> Floats:
    """Value that is 1 on the scale, shape (..., 1): the median absolute value, or the largest one if that is zero."""
    magnitudes = np.abs(series)
    unit = np.median(magnitudes, axis=-1, keepdims=True)
    unit = np.where(unit == 0, magnitudes.max(axis=-1, keepdims=True), unit)
    return np.where(unit == 0, 1.0, unit)


def clip_outliers(values: Floats) -> Floats:
    """Clip values, shape (..., n), to the medians of their neighbours [Hampel 1974; Pearson 2002]."""
    edges = [(0, 0)] * (values.ndim - 1) + [(BLIP_HALF_WIDTH, BLIP_HALF_WIDTH)]
    padded = np.pad(values, edges, mode="edge")
    running_median = np.median(sliding_window_view(padded, 2 * BLIP_HALF_WIDTH + 1, axis=-1), axis=-1)
    residual = values - running_median
    limit = BLIP_LIMIT * np.median(np.abs(residual), axis=-1, keepdims=True)
    return np.asarray(running_median + np.clip(residual, -limit, limit))


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastEffect:
    """`share` of the level, such as 0.05. `logarithmic`: levels are logarithms.

    A smaller step is no candidate, so it cannot hide another step: without noise, even +0.1% has an unbounded t.
    """

    share: float = 0.0
    logarithmic: bool = True

    def reached(self, before: npt.ArrayLike, after: npt.ArrayLike) -> Booleans:
        """Return whether levels, of one shape, differ enough; the same for a fall and a rise between two levels."""
        low, high = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
        least = np.log1p(self.share) if self.logarithmic else self.share * np.minimum(np.abs(low), np.abs(high))
        return np.asarray(reaches(high - low, np.asarray(least) * (1 - ROUNDING) - ROUNDING * (self.share > 0)))


ANY_EFFECT: Final = LeastEffect()


def counts(before: float, after: float, share: float) -> bool:
    """Return whether the reported medians differ by at least `share` of the first; from zero, any difference counts."""
    return after != before and reaches(after - before, share * abs(before) * (1 - ROUNDING))


# Segments are merged until the facing ends of all neighbours reach this; half of it keeps every step worth examining.
MERGE_T: Final = 5.0


@cache
def _rising(count: int, reach: int) -> Floats:
    """Linear weights, shape (count,), of values before a split: 1 next to it, 0 from `reach` on; equal if it is 0."""
    return np.arange(reach - count + 1, reach + 1) / reach if reach else np.ones(count)


def split_t(left: Floats, right: Floats, *, reach: int = 0, least_effect: LeastEffect = ANY_EFFECT) -> Floats:
    """|Student's t| of samples, shapes (..., n) and (..., m); with `reach`, of their facing ends, nearer ones heavier.

    Uses the pooled variance and effective sizes [Kish 1965]. A step between two constant samples gives a very large
    number. Equal constants and means that differ by less than the least effect give 0.
    """
    left, right = (left[..., -reach:], right[..., :reach]) if reach else (left, right)
    count, right_count = left.shape[-1], right.shape[-1]
    mean, variance, size = _moments(left, _rising(count, reach))
    right_mean, right_variance, right_size = _moments(right, _rising(right_count, reach)[::-1])
    pooled = (variance * count + right_variance * right_count) / max(count + right_count - 2, 1)
    t = np.abs(right_mean - mean) / np.sqrt(pooled * (1 / size + 1 / right_size) + ROUNDING**2)
    return np.where(least_effect.reached(mean, right_mean), t, 0.0) if least_effect.share else t


def _moments(values: Floats, weights: Floats) -> tuple[Floats, Floats, float]:
    """Mean and variance, shape (...), and the effective number of values."""
    total = weights.sum()
    mean = values @ weights / total
    return mean, (values - mean[..., None]) ** 2 @ weights / total, total**2 / (weights @ weights)


def scan(values: Floats, window: int, least_effect: LeastEffect = ANY_EFFECT) -> Floats:
    """`split_t` of the `window` values before each index against those from it on, shape (n,); 0 near the ends."""
    result = np.zeros(len(values))
    if len(values) >= 2 * window:
        windows = sliding_window_view(values, window)
        t = split_t(windows[:-window], windows[window:], least_effect=least_effect)
        result[window : len(values) - window + 1] = t
    return result


def segment_splits(values: Floats, least_effect: LeastEffect) -> list[int]:
    """Return the peaks of the scan over windows of 8, 16 and 32 values, at least a level apart, without the weak ones.

    The weakest is removed repeatedly until all reach `MERGE_T` (bottom-up).
    """
    bounds = [0, *_candidates(values, least_effect), len(values)]

    def t_of(position: int) -> float:
        low, split, high = bounds[position - 1 : position + 2]
        return float(split_t(values[low:split], values[split:high], reach=BESIDE, least_effect=least_effect))

    t = [t_of(position) for position in range(1, len(bounds) - 1)]
    while t and min(t) < MERGE_T:
        weakest = int(np.argmin(t))
        del bounds[weakest + 1], t[weakest]
        for neighbour in (weakest - 1, weakest):
            if 0 <= neighbour < len(t):
                t[neighbour] = t_of(neighbour + 1)
    return bounds[1:-1]


def _candidates(values: Floats, least_effect: LeastEffect) -> list[int]:
    t = np.max([scan(values, SHORTEST_LEVEL * factor, least_effect) for factor in (1, 2, 4)], axis=0)
    inner = t[1:-1]
    peaks = np.flatnonzero((inner > MERGE_T / 2) & (inner >= t[:-2]) & (inner > t[2:])) + 1
    places: list[int] = []
    for peak in peaks[np.argsort(-t[peaks], kind="stable")]:
        if all(abs(peak - other) >= SHORTEST_LEVEL for other in places):
            places.append(int(peak))
    return sorted(places)


def without_short_ends(series: Floats) -> slice:
    """Return the part of finite values (n,) between short levels at its ends: these would hide a step next to them.

    An end is a short level if a clear step within seven values of it explains them better than one after eight.
    """
    if len(series) < FEWEST_VALUES:
        return slice(None)
    values = on_level_scale(series)
    return slice(_short_end(values), len(values) - _short_end(values[::-1]))


def _short_end(values: Floats) -> int:
    """Number of values before the first lasting level; 0 if that level begins at once."""
    t = [
        float(split_t(values[:split], values[split : split + SHORTEST_LEVEL])) for split in range(1, SHORTEST_LEVEL + 1)
    ]
    best = int(np.argmax(t))
    return best + 1 if best + 1 < SHORTEST_LEVEL and t[best] >= MERGE_T else 0


def strength(values: Floats, split: int, *, low: int = 0, high: int | None = None, reach: int = NEAR) -> Floats:
    """Strength of a step at `split` of clipped values, shape (..., n), between levels [low, split) and [split, high).

    It is larger for a step that is steep and lasting, has non-overlapping sides, and stands out from the rest of the
    series. The weights were learned on the tuning half of the labelled series, and rounded.
    """
    before, after = values[..., :split], values[..., split:]
    left, right = values[..., low:split], values[..., split:high]
    spread = np.asarray(values[..., max(split - AROUND, 0) : split + AROUND].std(axis=-1))
    size = np.abs(after[..., :reach].mean(axis=-1) - before[..., -reach:].mean(axis=-1))
    share = np.divide(size, spread, out=np.zeros(spread.shape), where=spread > 0)
    return np.asarray(
        0.5 * np.log(split_t(before, after, reach=NEAR) + 0.1)
        + 0.9 * np.log(split_t(left[..., -AROUND // 2 :], right[..., : AROUND // 2]) + 0.1)
        + 4.0 * separation(left[..., -BESIDE:], right[..., :BESIDE])
        + np.log1p(share)
    )


def rank_sum_z(values: Floats, split: int) -> float:
    """Rank-sum z of the unclipped runs before and after `split`: existing modes overlap, the sides of a step do not."""
    left, right = split, len(values) - split
    return float(separation(values[:split], values[split:]) / np.sqrt((left + right + 1) / (12 * left * right)))


def separation(left: Floats, right: Floats) -> Floats:
    """|P(right > left) + P(right = left) / 2 - 1/2| over all pairs: 0 (sides alike) to 0.5 (no overlap)."""
    near, far = left[..., None, :], right[..., :, None]
    below = (near < far).sum(axis=-1) + (near <= far).sum(axis=-1)
    return np.asarray(np.abs(below.mean(axis=-1) / (2 * left.shape[-1]) - 0.5))


def first_changed(values: Floats, *, low: int, high: int, around: range, fewest_beside: int = 4) -> int | None:
    """Return the split of values[low:high] into two levels with the least squared error, among the indices in `around`.

    Use unclipped values: clipping blurs the edge. None where `around` leaves no split with enough values on each side,
    by default more than an outlier.
    """
    indices = np.arange(max(around.start, low + fewest_beside), min(around.stop, high - fewest_beside + 1))
    if not len(indices):
        return None
    left = indices - low
    sums = np.cumsum(values[low:high] - values[low:high].mean())[left - 1]
    # The explained sum of squares: the window's sum is zero, so the right side's sum is minus the left's.
    return int(indices[np.argmax(sums**2 * (1 / left + 1 / (high - indices)))])


def is_drift(values: Floats) -> bool:
    """Return whether one ramp between two levels explains values, shape (n,), clearly better than one step.

    Least squares over all steps and all ramps of at least two levels' length, on a grid. "Clearly" is n ln(RSS step /
    RSS ramp) > 2 ln n, twice the penalty for the ramp's second end [Schwarz 1978]. Otherwise it is a step.
    """
    count, position = len(values), np.arange(len(values))
    ends = np.arange(0, count + 1, SHORTEST_LEVEL)
    start, end = (side.ravel()[:, None] for side in np.meshgrid(ends, ends, indexing="ij"))
    is_ramp = (end - start >= 2 * SHORTEST_LEVEL).ravel()
    if not is_ramp.any():
        return False
    ramps = np.clip((position - start[is_ramp]) / (end - start)[is_ramp], 0.0, 1.0)
    steps = (position >= np.arange(1, count)[:, None]).astype(float)
    step_error, ramp_error = _least_error(values, steps), _least_error(values, ramps)
    if step_error <= 0 or ramp_error <= 0:
        return step_error > 0
    return bool(count * np.log(step_error / ramp_error) > 2 * np.log(count))


def _least_error(values: Floats, profiles: Floats) -> float:
    """The smallest residual sum of squares of `values` on level + size * profile, over profiles (m, n)."""
    centred = values - values.mean()
    shapes = profiles - profiles.mean(axis=1, keepdims=True)
    return float(max(centred @ centred - ((shapes @ centred) ** 2 / (shapes**2).sum(axis=1)).max(), 0.0))


def _drifts_joined(changes: Sequence[ChangePoint]) -> list[ChangePoint]:
    """Join nearby changes of one direction that include a drift into one drift, at the place of the stronger."""
    joined: list[ChangePoint] = []
    for change in changes:
        drift = change
        while joined and _is_same_drift(joined[-1], drift):
            before, after = joined[-1].before, drift.after
            stronger = max(joined.pop(), drift, key=lambda one: one.strength)
            share = _relative(before, after)
            drift = replace(stronger, kind="drift", before=before, after=after, relative_change=share)
        joined.append(drift)
    return joined


def _is_same_drift(first: ChangePoint, second: ChangePoint) -> bool:
    is_same_way = (first.after > first.before) == (second.after > second.before)
    return "drift" in (first.kind, second.kind) and is_same_way and second.index - first.index <= FAR


@dataclass(frozen=True, kw_only=True, slots=True)
class _Runs:
    """`given` (n,), all finite; its `values` on the level scale; the same `clipped`."""

    given: Floats
    values: Floats
    clipped: Floats
    minimum_effect: float

    @classmethod
    def of(cls, series: Floats, minimum_effect: float) -> "_Runs":
        values = on_level_scale(series)
        return cls(given=series, values=values, clipped=clip_outliers(values), minimum_effect=minimum_effect)

    def splits(self, end: int | None = None) -> list[int]:
        """Return the splits of the runs before `end`, including both ends."""
        least_effect = LeastEffect(share=self.minimum_effect, logarithmic=bool(self.given.min() > 0))
        clipped = self.clipped[:end]
        return [0, *segment_splits(clipped, least_effect), len(clipped)]

    def step(self, low: int, split: int, high: int, *, least: float, around: int) -> ChangePoint | None:
        """Return the step from level [low, split) to [split, high), if it counts; its index is `around` the split."""
        start, end = max(low, split - BESIDE), min(high, split + BESIDE)
        reached = float(strength(self.clipped, split, low=low, high=high))
        if reached < least and is_drift(self.clipped[max(split - FAR, 0) : split + FAR]):
            # It changes little within 20 runs.
            reached = float(strength(self.clipped, split, low=low, high=high, reach=FAR))
        z = rank_sum_z(self.values[start:end], split - start)
        if reached < least or z < LEAST_Z:
            return None
        is_drifting = is_drift(self.clipped[max(low, split - FAR) : min(high, split + FAR)])
        near = slice(max(low, split - NEAR), min(high, split + NEAR))
        looked_at = range(split - around, split + around + 1)
        first = first_changed(self.values, low=near.start, high=near.stop, around=looked_at)
        index = split if is_drifting or first is None else first
        before, after = float(np.median(self.given[start:index])), float(np.median(self.given[index:end]))
        p_value = float(erfc(z / np.sqrt(2)))
        return ChangePoint(
            index=index,
            kind="drift" if is_drifting else "step",
            before=before,
            after=after,
            relative_change=_relative(before, after),
            p_value=p_value,
            q_value=p_value,
            strength=reached,
        )


def _relative(before: float, after: float) -> float | None:
    return (after - before) / abs(before) if before else None


def _finite(series: npt.ArrayLike) -> tuple[Floats, Integers]:
    """Return the finite values and their indices."""
    numbers = np.asarray(series, dtype=float)
    places = np.flatnonzero(np.isfinite(numbers))
    return numbers[places], places


def steps(series: npt.ArrayLike, *, minimum_effect: float = 0.0) -> tuple[ChangePoint, ...]:
    """Find the changes of a series, shape (n,), one value per commit or build, oldest first; any unit, any direction.

    Values that are not finite are skipped, but indices still count them. Assumes that runs are exchangeable between
    changes. Multiplying all values by a positive constant changes nothing. A level needs eight runs: a change within
    the first or last seven is not reported, and hides no other. `minimum_effect` is a share of the level before:
    smaller changes are neither reported nor hide others.
    """
    numbers, places = _finite(series)
    lasting = without_short_ends(numbers)
    changes = _steps_of(numbers, places, minimum_effect)
    if len(numbers[lasting]) < len(numbers):
        changes = max(changes, _steps_of(numbers[lasting], places[lasting], minimum_effect), key=len)
    return changes


def _steps_of(numbers: Floats, places: Integers, minimum_effect: float) -> tuple[ChangePoint, ...]:
    if len(numbers) < FEWEST_VALUES:
        return ()
    runs = _Runs.of(numbers, minimum_effect)
    bounds = runs.splits()
    steps = [
        runs.step(low, split, high, least=MINIMUM_STRENGTH, around=BLIP_HALF_WIDTH)
        for low, split, high in zip(bounds, bounds[1:], bounds[2:], strict=False)
    ]
    # Candidates too weak to be reported also count as tests.
    changes = [
        replace(one, index=int(places[one.index]), q_value=min(one.p_value * len(steps), 1.0))
        for one in steps
        if one is not None
    ]
    return tuple(one for one in _drifts_joined(changes) if counts(one.before, one.after, minimum_effect))


# Thirty runs precede the first judged one. Eight newest alarm more on noise, ten later; twelve pass after an alarm.
FIRST_JUDGED: Final = 30
NEWEST: Final = 9
REFRACTORY: Final = 12
MEMORY: Final = 120 + NEWEST
# A step that is only nine runs old must be slightly stronger for as few false alarms (tuning half).
ALARM_STRENGTH: Final = 5.9
# Nearly all newest runs look like the twenty before them and need no segmentation: F1 is 0.001 lower (tuning half).
WORTH_A_LOOK: Final = 0.3


def online_alarms(
    series: npt.ArrayLike, *, minimum_effect: float = 0.0, first_judged: int = FIRST_JUDGED
) -> tuple[SeriesAlarm, ...]:
    """Raise the alarms of a series, shape (n,), one value per run, oldest first, each from the runs up to it alone.

    The decision for a run never changes when later runs arrive. `first_judged` is the first run that may alarm, at
    least `FIRST_JUDGED`. A change below `minimum_effect` raises no alarm and therefore starts no wait.
    """
    numbers, places = _finite(series)
    alarms: list[SeriesAlarm] = []
    last = -REFRACTORY - 1
    for run in range(max(first_judged, FIRST_JUDGED), len(places)):
        start = max(run + 1 - MEMORY, 0)
        if run - last <= REFRACTORY or is_quiet(numbers[start : run + 1]):
            continue
        if (step := _newest_step(numbers[start : run + 1], minimum_effect)) is not None:
            since, change = step
            change = replace(change, index=int(places[start + change.index]))
            alarms.append(SeriesAlarm(index=int(places[run]), change=change, since=int(places[start + since])))
            last = run
    return tuple(alarms)


def _newest_step(numbers: Floats, minimum_effect: float) -> tuple[int, ChangePoint] | None:
    """Start of the previous level, and the step to the newest runs; None if there is no step that counts."""
    runs, split = _Runs.of(numbers, minimum_effect), len(numbers) - NEWEST
    low = runs.splits(split)[-2]
    if split - low < SHORTEST_LEVEL:
        return None
    step = runs.step(low, split, len(numbers), least=ALARM_STRENGTH, around=NEWEST)
    return (low, step) if step is not None and counts(step.before, step.after, minimum_effect) else None


def is_quiet(series: Floats) -> Booleans:
    """Return whether the newest values of series (..., n) overlap those before them: then they hold no new level."""
    older, newest = series[..., :-NEWEST], series[..., -NEWEST:]
    return np.asarray(separation(older[..., -NEAR:], newest) < WORTH_A_LOOK)


def newest_strengths(series: Floats) -> Floats:
    """`strength` of a step at the newest nine values, for each series of shape (..., n)."""
    clipped = clip_outliers(on_level_scale(series[..., -MEMORY:]))
    return strength(clipped, clipped.shape[-1] - NEWEST)


# Steps are planted at five places, so that one quiet stretch does not decide for the whole series. Sizes grow by a
# twentieth up to a thousandfold. The places in between differ slightly from the tested ones.
PLANTED_PLACES: Final = 5
GROWTH: Final = 1.05
LEAST_PLANTED: Final = 1e-4
LARGEST_FACTOR: Final = 1 / LOG_FLOOR
PLACE_MARGIN: Final = 1.15


def detectable_step(series: Floats, *, minimum_effect: float, online: bool = False) -> Detectable | None:
    """Return the smallest detectable step in unchanged finite values (n,); None if not even x 1,000 would be seen.

    Steps are planted into these values and judged by the rule; `online`: once they are `NEWEST` runs old.
    """
    series = series if online else series[without_short_ends(series)]
    if len(series) < (FIRST_JUDGED + 1 if online else FEWEST_VALUES):
        return None
    rows = NEWEST if online else min(NEAR, len(series) // 2)
    first = FIRST_JUDGED + 1 - NEWEST if online else SHORTEST_LEVEL
    unit = float(scale_unit(series)[0])
    smallest = max(minimum_effect, LEAST_PLANTED)
    sizes = smallest * GROWTH ** np.arange(int(np.log(LARGEST_FACTOR / smallest) / np.log(GROWTH)) + 1)

    def is_seen(start: int, size: float) -> bool:
        low, split = max(start - BESIDE - FAR, 0), min(start, BESIDE + FAR)
        planted = series[low : start + rows + (0 if online else BLIP_HALF_WIDTH)].copy()
        planted[split:] = planted[split:] * (1 + size) if series.min() > 0 else planted[split:] + size * unit
        if online:
            return _newest_step(planted, minimum_effect) is not None
        changes = steps(planted, minimum_effect=minimum_effect)
        return bool(changes) and abs(split - changes[-1].index) <= BLIP_HALF_WIDTH

    needed = 0
    for place in np.unique(np.linspace(first, len(series) - rows, PLANTED_PLACES).astype(int)).tolist():
        if needed < len(sizes) and not is_seen(place, sizes[needed]):
            needed = bisect_left(sizes, True, lo=needed + 1, key=lambda size: is_seen(place, size))
    if needed == len(sizes):
        return None
    # A series of zeros has no unit: any rise from it stands out.
    size = float(sizes[needed] * PLACE_MARGIN * unit) if series.any() else 0.0
    median = float(abs(np.median(series)))
    return Detectable(size=size, relative_change=size / median if median else None, rows=rows)
