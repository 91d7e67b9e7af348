"""A table of series: the changes and alarms of each series, with rows that a user can look up."""

import numpy as np
import pytest

from perf_culprit.errors import DataError
from perf_culprit.judge.series_changes import judge_series
from perf_culprit.model.series import Series, SeriesTable
from perf_culprit.stats.steps import FEWEST_VALUES, FIRST_JUDGED

ROWS = 90
LABELS = tuple(f"build-{row}" for row in range(ROWS))


def table(*, rows: int = ROWS) -> SeriesTable:
    rng = np.random.default_rng(7)
    noise = rng.normal(0, 0.01, (2, rows))
    values = {"slower": 5 + noise[0] + 2.0 * (np.arange(rows) >= 60), "flat": 5 + noise[1]}
    values["new"] = np.where(np.arange(rows) < rows - FEWEST_VALUES + 3, np.nan, values["flat"])
    series = tuple(Series(name=name, values=tuple(own.tolist()), minimum_effect=0.02) for name, own in values.items())
    return SeriesTable(place="runs.csv", series=series, labels=LABELS[:rows])


def test_changes_and_alarms_are_told_by_their_rows() -> None:
    slower, flat, new = judge_series(table(), online=True)
    (change,) = slower.changes
    assert (change.index, change.label, change.kind) == (60, "build-60", "step")
    assert change.relative_change == pytest.approx(0.4, abs=0.01)
    assert slower.alarms is not None
    (alarm,) = slower.alarms
    assert (alarm.change.index, alarm.change.label) == (60, "build-60")
    assert 60 < alarm.index < 75
    assert alarm.label == f"build-{alarm.index}"
    assert (flat.changes, flat.alarms, flat.rows_lacking_online) == ((), (), 0)
    assert (new.changes, new.values_lacking) == ((), 3)
    assert slower.detectable is None
    assert flat.detectable is not None


def test_offline_nothing_is_told_of_alarms_and_short_series_lack_rows_online() -> None:
    assert all(entry.alarms is None for entry in judge_series(table(), online=False))
    short = table(rows=FIRST_JUDGED - 4)
    assert judge_series(short, online=True)[1].rows_lacking_online == 5


def test_a_table_of_too_few_rows_is_an_error_that_says_how_many_are_needed() -> None:
    with pytest.raises(DataError, match=f"slower: 9 values, {FEWEST_VALUES} are needed; {FEWEST_VALUES - 9} more"):
        judge_series(table(rows=9), online=False)
