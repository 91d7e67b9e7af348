"""A target sampled every second against stored medians: both sides in the same rows before anything is compared."""

import numpy as np
import pytest

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.common_rows import common_rows
from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import Remark
from perf_culprit.model.run import CounterTable, Direction, Metric, Run
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.store.retention import reduce_counters
from tests.support.counter_tables import same

CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}
INTERVALS = 144


def table(rng: np.random.Generator, *, rows: int, step_s: float = 1.0, counters: int = 4) -> CounterTable:
    return CounterTable(
        name="host",
        metrics=tuple(Metric(name=f"c{n}", unit="", direction=Direction.UNKNOWN) for n in range(counters)),
        times_s=1e9 + step_s * np.arange(rows, dtype=np.float64),
        values=rng.normal(50, 5, (rows, counters)),
    )


def stored(sampled: CounterTable) -> CounterTable:
    """The table as it is read back from the history."""
    run = reduce_counters(Run(counters=(sampled,)), INTERVALS)
    return decode_run(encode_run(run), place="f").counters[0]


def test_a_target_of_the_same_length_is_reduced_as_it_would_be_stored() -> None:
    rng = np.random.default_rng(0)
    target = table(rng, rows=2_000)
    common = common_rows(target, [stored(table(rng, rows=2_000))])
    assert same(common.target, stored(target))
    assert len(common.target.times_s) == INTERVALS


def test_tables_as_sampled_stay_as_they_are_whatever_their_rates() -> None:
    rng = np.random.default_rng(0)
    target, other = table(rng, rows=2_000), table(rng, rows=100, step_s=20)
    common = common_rows(target, [other])
    assert common.target is target
    assert common.baseline == (other,)
    assert common.notes == ()


def test_rows_stand_for_equal_times_where_the_tests_are_not_equally_long() -> None:
    rng = np.random.default_rng(0)
    common = common_rows(table(rng, rows=600), [stored(table(rng, rows=3_600)), table(rng, rows=140)])
    assert common.target.interval_s == pytest.approx(25, rel=0.01)
    assert [len(entry.times_s) for entry in common.baseline if entry is not None] == [INTERVALS, 6]
    assert common.parts == (6, 1)
    assert [note.code for note in common.notes] == [Remark.ROWS_REDUCED, Remark.OTHER_LENGTH]


def test_a_run_of_a_day_says_nothing_of_one_of_ten_minutes() -> None:
    rng = np.random.default_rng(0)
    common = common_rows(table(rng, rows=600), [stored(table(rng, rows=86_400)), stored(table(rng, rows=600))])
    assert common.baseline[0] is None
    assert common.target.interval_s == pytest.approx(599 / INTERVALS)


@pytest.mark.parametrize(("rows", "of_target"), [(2_000, 2_000), (3_600, 600), (600, 3_600)])
def test_unchanged_counters_of_long_tests_are_quiet_at_the_stated_rate(rows: int, of_target: int) -> None:
    """Five stored runs per trial: at most 4 of 20 targets may raise an alarm."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(20):
        runs = tuple(Run(counters=(stored(table(rng, rows=rows)),)) for _ in range(5))
        target = Run(counters=(table(rng, rows=of_target),))
        judged = judge(Baseline(runs=runs, source=BaselineSource.HISTORY), target, settings=PolicySettings())
        alarms += any(finding.verdict in CHANGES for finding in judged.findings)
    assert alarms <= 4


def test_the_medians_shown_are_of_the_rows_that_were_judged() -> None:
    rng = np.random.default_rng(1)
    target = table(rng, rows=2_000)
    runs = (Run(counters=(stored(table(rng, rows=2_000)),)),)
    (pair,) = pair_counters(Baseline(runs=runs, source=BaselineSource.HISTORY), Run(counters=(target,))).tables
    assert pair.medians(0)[-1] == np.median(stored(target).values[:, 0])
