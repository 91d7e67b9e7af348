"""When a stored series really changed: steps and drifts with their size and significance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from perf_culprit.stats.change_point_effect import LeastEffect, counts, first_changed, least_effect_of
from perf_culprit.stats.change_point_evidence import LOCAL_REACH, SEPARATION_REACH, permutation_p_value, split_strength
from perf_culprit.stats.change_point_scan import (
    BLIP_HALF_WIDTH,
    candidate_splits,
    clip_outliers,
    merge_segments,
    on_level_scale,
)
from perf_culprit.stats.multiplicity import benjamini_hochberg
from perf_culprit.stats.ragged import Floats, Integers

# The strength from which experts call a step a change: the middle of the plateau on the tuning half.
MINIMUM_STRENGTH = 5.7
# Of fewer, a reordering by chance looks like the greatest step too often (16 values: p = 0.03).
FEWEST_VALUES = 18
# False discovery rate over all candidates of one series: 5% would double the false alarms of two-mode noise.
ALPHA = 0.03


class ChangeKind(StrEnum):
    """How the level moved. Blips (up to three odd runs) are no change."""

    STEP = "step"
    DRIFT = "drift"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """`index` is the first run of the new level; of a drift, its steepest place.

    `before` and `after` are medians of up to 40 runs on each side, in the series' unit; `relative_change` is
    (after - before) / |before|, None where `before` is zero. `q_value` is over all candidates of the series.
    """

    index: int
    kind: ChangeKind
    before: float
    after: float
    relative_change: float | None
    strength: float
    p_value: float
    q_value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Split:
    """A candidate in its segment pair [low, high)."""

    index: int
    low: int
    high: int
    strength: float


def find_changes(series: npt.ArrayLike, *, rng: np.random.Generator, minimum_effect: float = 0.0) -> tuple[Change, ...]:
    """The changes of a series, shape (n,), one value per commit or build, oldest first; any unit, any direction.

    Values that are not finite are left out and keep their places in the count. Assumes that between changes blocks of
    neighbouring runs are exchangeable. Multiplying all values by a positive constant changes nothing. A level needs
    eight runs: a change within the last seven is not seen yet. `minimum_effect` is a share of the level before: smaller
    changes are neither reported nor hide others. Where from and how good: docs/detectors/change-point.md.
    """
    given = np.asarray(series, dtype=float)
    places = np.flatnonzero(np.isfinite(given))
    if len(places) < FEWEST_VALUES:
        return ()
    finite = given[places]
    values = on_level_scale(finite)
    clipped = clip_outliers(values)
    splits = _split_pairs(clipped, least_effect_of(finite, minimum_effect))
    strong = [split for split in splits if split.strength >= MINIMUM_STRENGTH]
    # Candidates too weak to be reported count as tests that found nothing: the q-values stay valid.
    p_values = np.ones(len(splits))
    p_values[: len(strong)] = [permutation_p_value(values[_within(split, SEPARATION_REACH)], rng) for split in strong]
    q_values = benjamini_hochberg(p_values)
    changes = [
        _change(split, finite=finite, values=values, clipped=clipped, places=places, p_value=p_value, q_value=q_value)
        for split, p_value, q_value in zip(strong, p_values.tolist(), q_values.tolist(), strict=False)
        if q_value <= ALPHA
    ]
    return tuple(change for change in _drifts_joined(changes) if counts(change.before, change.after, minimum_effect))


def _split_pairs(clipped: Floats, least_effect: LeastEffect) -> list[_Split]:
    splits = merge_segments(clipped, candidate_splits(clipped, least_effect), least_effect)
    bounds = [0, *splits, len(clipped)]
    return [
        _Split(
            index=index,
            low=low,
            high=high,
            strength=_strength(clipped, index, low=low, high=high, needed=MINIMUM_STRENGTH),
        )
        for low, index, high in zip(bounds[:-2], bounds[1:-1], bounds[2:], strict=True)
    ]


def _strength(clipped: Floats, index: int, *, low: int, high: int, needed: float) -> float:
    """A drift moves little within 20 runs: what is too weak as a step is taken by its levels further out."""
    as_step = split_strength(clipped, index, low=low, high=high)
    reach = slice(max(index - DRIFT_REACH, 0), index + DRIFT_REACH)
    if as_step >= needed or not is_drift(clipped[reach]):
        return as_step
    return max(as_step, split_strength(clipped, index, low=low, high=high, levels=reach))


def _within(split: _Split, reach: int) -> slice:
    return slice(max(split.low, split.index - reach), min(split.high, split.index + reach))


def _change(
    split: _Split, *, finite: Floats, values: Floats, clipped: Floats, places: Integers, p_value: float, q_value: float
) -> Change:
    drifting = is_drift(clipped[_within(split, DRIFT_REACH)])
    index = split.index if drifting else _first_changed(split, values)
    around = _within(split, SEPARATION_REACH)
    before = float(np.median(finite[around.start : index]))
    after = float(np.median(finite[index : around.stop]))
    return Change(
        index=int(places[index]),
        kind=ChangeKind.DRIFT if drifting else ChangeKind.STEP,
        before=before,
        after=after,
        relative_change=(after - before) / abs(before) if before else None,
        strength=split.strength,
        p_value=p_value,
        q_value=q_value,
    )


def _first_changed(split: _Split, values: Floats) -> int:
    """The split was placed by windows: which run it is, is decided by the runs themselves."""
    near = _within(split, LOCAL_REACH)
    around = range(split.index - BLIP_HALF_WIDTH, split.index + BLIP_HALF_WIDTH + 1)
    first = first_changed(values, low=near.start, high=near.stop, around=around)
    return split.index if first is None else first


def _drifts_joined(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Near neighbours of one direction, a drift among them, are one drift."""
    joined = list(changes)
    position = 0
    while position < len(joined) - 1:
        first, second = joined[position : position + 2]
        if _same_drift(first, second):
            joined[position : position + 2] = [_whole_drift(first, second)]
            position = max(position - 1, 0)
        else:
            position += 1
    return tuple(joined)


def _same_drift(first: Change, second: Change) -> bool:
    drifting = ChangeKind.DRIFT in (first.kind, second.kind)
    same_direction = (first.after > first.before) == (second.after > second.before)
    return drifting and same_direction and second.index - first.index <= DRIFT_REACH


def _whole_drift(first: Change, second: Change) -> Change:
    """From the first level to the last, at the place of the stronger."""
    stronger = max(first, second, key=lambda change: change.strength)
    return replace(
        stronger,
        kind=ChangeKind.DRIFT,
        before=first.before,
        after=second.after,
        relative_change=(second.after - first.before) / abs(first.before) if first.before else None,
    )


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
    if ramp_error <= 0:
        return step_error > 0
    return bool(count * np.log(step_error / ramp_error) > 2 * np.log(count)) if step_error > 0 else False


def _least_error(values: Floats, profiles: Floats) -> float:
    """The smallest residual sum of squares of `values` on level + size * profile, over profiles (m, n)."""
    centred = values - values.mean()
    shapes = profiles - profiles.mean(axis=1, keepdims=True)
    explained = (shapes @ centred) ** 2 / (shapes**2).sum(axis=1)
    return float(max(centred @ centred - explained.max(), 0.0))
