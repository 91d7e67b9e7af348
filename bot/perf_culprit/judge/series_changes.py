"""Changes in series of runs, and the time at which a bot that sees only the past would have reported them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.series import ChangePoint, Series, SeriesAlarm, SeriesChanges, SeriesTable
from perf_culprit.stats.steps import FEWEST_VALUES, FIRST_JUDGED, detectable_step, online_alarms, steps


def judge_series(table: SeriesTable, *, online: bool) -> tuple[SeriesChanges, ...]:
    """Return one result per series, in order. Raise an error if every series has too few values."""
    all_changes = tuple(judge_one(series, table.labels, online=online) for series in table.series)
    if all(entry.values_lacking for entry in all_changes):
        raise DataError(
            "; ".join(dict.fromkeys(map(_lack, all_changes[:3]))),
            place=table.place,
            next_step=f"give {FEWEST_VALUES} rows or more, oldest first, or compare two runs with many samples each",
        )
    return tuple(map(_with_power, all_changes))


def judge_one(series: Series, labels: Sequence[str], *, online: bool = False) -> SeriesChanges:
    values = np.array(series.values)
    count = int(np.isfinite(values).sum())
    if count < FEWEST_VALUES:
        return SeriesChanges(series=series, values_lacking=FEWEST_VALUES - count)
    changes = tuple(_with_label(change, labels) for change in steps(values, minimum_effect=series.minimum_effect))
    if not online:
        return SeriesChanges(series=series, changes=changes)
    return SeriesChanges(
        series=series,
        changes=changes,
        alarms=_alarms(series, labels),
        rows_lacking_online=max(FIRST_JUDGED + 1 - count, 0),
    )


def _with_label(change: ChangePoint, labels: Sequence[str]) -> ChangePoint:
    return structs.replace(change, label=labels[change.index])


def _lack(entry: SeriesChanges) -> str:
    count = FEWEST_VALUES - entry.values_lacking
    values = f"{count} {'value' if count == 1 else 'values'}"
    return f"{entry.series.name}: {values}, {FEWEST_VALUES} are needed; {entry.values_lacking} more would do"


def _with_power(entry: SeriesChanges) -> SeriesChanges:
    """Add the detectable step: finding nothing is informative only with the size that would have been found."""
    if entry.values_lacking or (entry.changes and (entry.alarms is None or entry.alarms)):
        return entry
    values = np.array(entry.series.values)
    finite, effect = values[np.isfinite(values)], entry.series.minimum_effect
    step = None if entry.changes else detectable_step(finite, minimum_effect=effect)
    alarm = detectable_step(finite, minimum_effect=effect, online=True) if entry.alarms == () else None
    return replace(entry, detectable=step, detectable_alarm=alarm)


def _alarms(series: Series, labels: Sequence[str]) -> tuple[SeriesAlarm, ...]:
    return tuple(
        replace(alarm, label=labels[alarm.index], change=_with_label(alarm.change, labels))
        for alarm in online_alarms(series.values, minimum_effect=series.minimum_effect)
    )
