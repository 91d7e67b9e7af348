"""Where series of runs changed, and when a bot that sees only the past would have said so."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain

import numpy as np
from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.series import ChangePoint, Series, SeriesAlarm, SeriesChanges, SeriesTable
from perf_culprit.stats.multiplicity import benjamini_hochberg
from perf_culprit.stats.steps import (
    FEWEST_VALUES,
    FIRST_JUDGED,
    detectable_alarm,
    detectable_step,
    find_changes,
    online_alarms,
)

# Of the whole-series rule: a change that is no longer among the discoveries of the table is left out.
FALSE_DISCOVERY_RATE = 0.05


def judge_series(table: SeriesTable, *, seed: int, online: bool) -> tuple[SeriesChanges, ...]:
    """One result per series, in order. Each starts from `seed`, so that it does not depend on the others.

    Too few values in every series are an error; in some those series lack values.
    """
    judged = tuple(judge_one(series, table.labels, seed=seed, online=online) for series in table.series)
    if all(entry.values_lacking for entry in judged):
        raise DataError(
            "; ".join(dict.fromkeys(map(_lack, judged[:3]))),
            place=table.place,
            next_step=f"give {FEWEST_VALUES} rows or more, oldest first, or compare two runs with many samples each",
        )
    return tuple(_with_power(entry) for entry in (discoveries(judged) if len(judged) > 1 else judged))


def judge_one(series: Series, labels: Sequence[str], *, seed: int, online: bool = False) -> SeriesChanges:
    """The changes of a series by itself; `discoveries` says which of several series' are left."""
    values = np.array(series.values)
    count = int(np.isfinite(values).sum())
    if count < FEWEST_VALUES:
        return SeriesChanges(series=series, values_lacking=FEWEST_VALUES - count)
    changes = tuple(
        ChangePoint(label=labels[change.index], **asdict(change))
        for change in find_changes(values, rng=np.random.default_rng(seed), minimum_effect=series.minimum_effect)
    )
    if not online:
        return SeriesChanges(series=series, changes=changes)
    return SeriesChanges(
        series=series,
        changes=changes,
        alarms=_alarms(series, labels),
        rows_lacking_online=max(FIRST_JUDGED + 1 - count, 0),
    )


def _lack(entry: SeriesChanges) -> str:
    count = FEWEST_VALUES - entry.values_lacking
    values = f"{count} {'value' if count == 1 else 'values'}"
    return f"{entry.series.name}: {values}, {FEWEST_VALUES} are needed; {entry.values_lacking} more would do"


def _with_power(entry: SeriesChanges) -> SeriesChanges:
    """Nothing found says little without what would have been found."""
    if entry.values_lacking or (entry.changes and (entry.alarms is None or entry.alarms)):
        return entry
    values = np.array(entry.series.values)
    finite, effect = values[np.isfinite(values)], entry.series.minimum_effect
    step = None if entry.changes else detectable_step(finite, minimum_effect=effect)
    alarm = detectable_alarm(finite, minimum_effect=effect) if entry.alarms == () else None
    return replace(entry, detectable=step, detectable_alarm=alarm)


def _alarms(series: Series, labels: Sequence[str]) -> tuple[SeriesAlarm, ...]:
    return tuple(
        SeriesAlarm(
            index=alarm.index,
            label=labels[alarm.index],
            change_index=alarm.change_index,
            change_label=labels[alarm.change_index],
            relative_change=alarm.relative_change,
            strength=alarm.strength,
        )
        for alarm in online_alarms(series.values, minimum_effect=series.minimum_effect)
    )


def discoveries(judged: Sequence[SeriesChanges]) -> tuple[SeriesChanges, ...]:
    """Benjamini-Hochberg once more, over the reported changes of all series."""
    within = np.array([change.q_value for change in chain.from_iterable(entry.changes for entry in judged)])
    adjusted = iter(benjamini_hochberg(within).tolist())
    return tuple(
        replace(
            entry,
            changes=tuple(
                change
                for change in (structs.replace(change, q_value=next(adjusted)) for change in entry.changes)
                if change.q_value <= FALSE_DISCOVERY_RATE
            ),
        )
        for entry in judged
    )
