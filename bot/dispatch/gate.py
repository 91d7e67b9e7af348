"""Steps of stored runs that are too small for one run to show: nine in a row at a worse level do, or nine groups."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from bot.stats.change_point_evidence import SEPARATION_REACH
from bot.stats.change_point_online import FIRST_JUDGED, NEWEST, online_alarms

# Runs before and after which the level moves by less than this share of the minimum effect need no closer look.
ROUGHLY: Final = 0.75
# Runs whose means are judged.
GROUPS: Final = (1, 2, 4)


def gated_steps(
    values: Sequence[float], *, worse_sign: int, window: int, minimum_effect: float
) -> tuple[tuple[int, int], ...]:
    """Oldest first: which run is the first at the worse level, and which of the newest `window` says so.

    `values`: one positive number per run, oldest first. `worse_sign`: 1 where more is worse, -1 where less is. Means of
    two and of four runs, one after the other, show in noise what single runs do not. False alarms and what is found how
    late: docs/detectors/change-point.md, docs/tracking-issues.md.
    """
    given = np.asarray(values, dtype=np.float64)
    steps = set()
    for size in GROUPS:
        skipped = len(given) % size
        means = given[skipped:].reshape(-1, size).mean(axis=1)
        gated = _gated(means, worse_sign=worse_sign, window=max(window // size, 1), minimum_effect=minimum_effect)
        # The step may lie within a group, and then as well within the one before.
        steps |= {
            (max(skipped + size * since - size + 1, 1), skipped + size * raised + size - 1) for since, raised in gated
        }
    return tuple(sorted(steps))


def _gated(
    given: npt.NDArray[np.float64], *, worse_sign: int, window: int, minimum_effect: float
) -> tuple[tuple[int, int], ...]:
    if len(given) <= FIRST_JUDGED:
        return ()
    reach = min(SEPARATION_REACH, len(given) - NEWEST)
    logs = np.log(given[-window - NEWEST - reach :]) * worse_sign
    newest = np.median(sliding_window_view(logs[reach:], NEWEST), axis=1)
    older = np.median(sliding_window_view(logs[:-NEWEST], reach), axis=1)
    moved = np.flatnonzero(newest - older >= ROUGHLY * np.log1p(minimum_effect)) + len(given) - len(newest)
    if not len(moved):
        return ()
    alarms = online_alarms(given[: moved[-1] + 1], minimum_effect=minimum_effect, first_judged=int(moved[0]))
    return tuple(
        (alarm.change_index, alarm.index) for alarm in alarms if (alarm.relative_change or 0.0) * worse_sign > 0
    )
