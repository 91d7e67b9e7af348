"""Whether a bot that sees only the runs so far would raise an alarm."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_culprit.stats.change_point_effect import counts, first_changed, least_effect_of
from perf_culprit.stats.change_point_evidence import (
    LOCAL_REACH,
    SEPARATION_REACH,
    separation,
    share_of_spread,
    strength,
)
from perf_culprit.stats.change_point_scan import (
    MAD_TO_SIGMA,
    SHORTEST_SEGMENT,
    candidate_splits,
    clip_outliers,
    merge_segments,
    on_level_scale,
    rising_weights,
    weighted_t,
)
from perf_culprit.stats.ragged import Floats

# The gate judges the newest nine runs: fewer alarm on noise, more alarm later (tuning half).
NEWEST = 9
ALARM_STRENGTH = 5.7
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
    when later runs arrive. Any unit, any direction; figures in docs/detectors/change-point.md. `first_judged` is the
    first run that may alarm, `FIRST_JUDGED` at least. A change below `minimum_effect`, a share of the level before,
    raises no alarm, so no wait follows it and the baseline does not start again.
    """
    given = np.asarray(series, dtype=float)
    places = np.flatnonzero(np.isfinite(given))
    measured = given[places]
    alarms: list[Alarm] = []
    baseline_start, last_alarm = 0, -REFRACTORY - 1
    for run in range(max(first_judged, FIRST_JUDGED), len(measured)):
        if run - last_alarm <= REFRACTORY:
            continue
        split = run - NEWEST + 1
        memory_start = max(split - MEMORY, 0)
        values = on_level_scale(measured[memory_start : run + 1])
        older, newest = values[:-NEWEST], values[-NEWEST:]
        # Nearly all runs look like the twenty before them, and need no segmentation.
        if _local_t(older[max(baseline_start - memory_start, 0) :], newest) < WORTH_A_LOOK_T:
            continue
        least_effect = least_effect_of(measured[memory_start : run + 1], minimum_effect)
        past = clip_outliers(older)
        splits = merge_segments(past, candidate_splits(past, least_effect), least_effect)
        baseline_start = max(baseline_start, memory_start + (splits[-1] if splits else 0))
        baseline = older[baseline_start - memory_start :]
        if len(baseline) < SHORTEST_SEGMENT:
            continue
        levels = _levels(measured[baseline_start : run + 1], split - baseline_start)
        if not counts(*levels, minimum_effect):
            continue
        if rank_sum_z(baseline[-SEPARATION_REACH:], newest) < LEAST_RANK_SUM_Z:
            continue
        reached = gate_strength(baseline, newest, past=past)
        if reached >= ALARM_STRENGTH:
            low, high = max(baseline_start, split - LOCAL_REACH) - memory_start, len(values)
            around = range(high - 2 * NEWEST, high)
            first = first_changed(values, low=low, high=high, around=around)
            since = split if first is None else memory_start + first
            exact_levels = _levels(measured[baseline_start : run + 1], since - baseline_start)
            if counts(*exact_levels, minimum_effect):
                levels = exact_levels
            else:
                since = split
            before, after = levels
            alarms.append(
                Alarm(
                    index=int(places[run]),
                    change_index=int(places[since]),
                    baseline_index=int(places[baseline_start]),
                    relative_change=(after - before) / abs(before) if before else None,
                    strength=reached,
                )
            )
            baseline_start, last_alarm = split, run
    return tuple(alarms)


def _levels(values: Floats, split: int) -> tuple[float, float]:
    return float(np.median(values[:split][-SEPARATION_REACH:])), float(np.median(values[split:]))


def gate_strength(baseline: Floats, newest: Floats, *, past: Floats) -> float:
    """`strength` of the split between baseline values, shape (n,), and the newest ones, shape (m,).

    `past`: all values before the newest, changes included, their outliers clipped.
    """
    clipped, clipped_newest = _clipped(baseline, newest)
    return strength(
        _local_t(baseline, newest),
        weighted_t(
            clipped, clipped_newest, left_weights=np.ones(len(clipped)), right_weights=np.ones(len(clipped_newest))
        ),
        separation(baseline[-SEPARATION_REACH:], newest),
        share_of_spread(past[-LOCAL_REACH:], clipped_newest, np.concatenate([past, clipped_newest])),
    )


def rank_sum_z(baseline: Floats, newest: Floats) -> float:
    """Mann-Whitney's statistic in standard errors, on unclipped values: two modes of old overlap, a step does not."""
    left, right = len(baseline), len(newest)
    return separation(baseline, newest) / float(np.sqrt((left + right + 1) / (12 * left * right)))


def _local_t(baseline: Floats, newest: Floats) -> float:
    clipped, clipped_newest = _clipped(baseline, newest)
    near = clipped[-LOCAL_REACH:]
    return weighted_t(
        near,
        clipped_newest,
        left_weights=rising_weights(len(near), LOCAL_REACH),
        right_weights=np.ones(len(clipped_newest)),
    )


def _clipped(baseline: Floats, newest: Floats) -> tuple[Floats, Floats]:
    """Both sides clipped about their own medians, by the baseline's spread: the newest runs have none of their own."""
    median, newest_median = np.median(baseline), np.median(newest)
    limit = CLIP_LIMIT * MAD_TO_SIGMA * np.median(np.abs(baseline - median))
    return (
        np.asarray(median + np.clip(baseline - median, -limit, limit)),
        np.asarray(newest_median + np.clip(newest - newest_median, -limit, limit)),
    )
