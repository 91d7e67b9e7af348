import numpy as np
import pytest

from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import Untested, because
from perf_culprit.model.run import CounterTable, Direction, Metric, MetricKey, Run


def metric(name: str, *, unit: str = "%", direction: Direction = Direction.UNKNOWN) -> Metric:
    return Metric(name=name, unit=unit, direction=direction)


def table(metrics: list[Metric], *, level: float = 1.0, name: str = "host", rows: int = 3) -> CounterTable:
    values = level + np.arange(rows)[:, None] + 10.0 * np.arange(len(metrics))[None, :]
    return CounterTable(name=name, metrics=tuple(metrics), times_s=np.arange(rows, dtype=np.float64), values=values)


def run(*tables: CounterTable, regressions: tuple[MetricKey, ...] = ()) -> Run:
    return Run(counters=tables, regressions=regressions)


def baseline(*runs: Run) -> Baseline:
    return Baseline(runs=runs, source=BaselineSource.HISTORY)


CPU, MEMORY, DISK = metric("cpu"), metric("memory", unit="MB"), metric("disk")


def test_columns_are_found_by_name_whatever_their_order() -> None:
    pairing = pair_counters(baseline(run(table([MEMORY, CPU], level=5.0))), run(table([CPU, MEMORY])))
    (pair,) = pairing.tables
    assert pair.keys == (MetricKey("host", "cpu"), MetricKey("host", "memory"))
    assert pair.target_values(slice(None))[0].tolist() == [1.0, 11.0]
    assert pair.baseline[0].values(slice(None))[0].tolist() == [15.0, 5.0]


def test_a_counter_that_a_run_lacks_is_missing_there_and_read_from_the_others() -> None:
    pairing = pair_counters(baseline(run(table([CPU])), run(table([CPU, MEMORY]))), run(table([CPU, MEMORY])))
    (pair,) = pairing.tables
    assert np.isnan(pair.baseline[0].values(slice(None))[:, 1]).all()
    assert pair.medians(1) == (12.0, 12.0)


def test_units_are_brought_to_the_targets() -> None:
    pairing = pair_counters(baseline(run(table([metric("memory", unit="GB")]))), run(table([MEMORY])))
    (pair,) = pairing.tables
    assert pair.baseline[0].values(slice(None))[:, 0].tolist() == [1000.0, 2000.0, 3000.0]
    assert pair.obstacles == (None,)


def test_another_kind_of_unit_is_an_obstacle() -> None:
    pairing = pair_counters(baseline(run(table([metric("memory", unit="pages")]))), run(table([MEMORY])))
    assert pairing.tables[0].obstacles == (because(Untested.UNIT_CHANGED, before="pages", now="MB"),)


def test_a_changed_direction_is_an_obstacle_unless_the_user_said_one() -> None:
    old = baseline(run(table([metric("cpu", direction=Direction.LOWER_IS_BETTER)])))
    assert pair_counters(old, run(table([CPU]))).tables[0].obstacles == (
        because(Untested.DIRECTION_CHANGED, before="lower_is_better", now="unknown"),
    )
    told = pair_counters(old, run(table([CPU])), direction=lambda _metric, _key: Direction.HIGHER_IS_BETTER).tables[0]
    assert told.obstacles == (None,)
    assert told.metrics[0].direction is Direction.HIGHER_IS_BETTER


def test_new_and_missing_counters_are_named() -> None:
    pairing = pair_counters(baseline(run(table([CPU, MEMORY]))), run(table([CPU, DISK])))
    assert pairing.new == (MetricKey("host", "disk"),)
    assert pairing.missing == (MetricKey("host", "memory"),)


def test_nothing_in_common_is_no_pair() -> None:
    pairing = pair_counters(baseline(run(table([MEMORY]))), run(table([CPU])))
    assert pairing.tables == ()
    assert (pairing.new, pairing.missing) == ((MetricKey("host", "cpu"),), (MetricKey("host", "memory"),))


def test_only_tables_are_paired_whatever_their_names() -> None:
    pairing = pair_counters(baseline(run(table([CPU], name="monday.csv"))), run(table([CPU], name="friday.csv")))
    assert pairing.tables[0].keys == (MetricKey("friday.csv", "cpu"),)
    assert pairing.missing == ()


def test_of_several_tables_those_of_one_name_are_paired() -> None:
    old = run(table([CPU], name="web"), table([CPU], name="db", level=7.0))
    pairing = pair_counters(baseline(old), run(table([CPU], name="db"), table([CPU], name="cache")))
    (pair,) = pairing.tables
    assert pair.baseline[0].values(slice(None))[0, 0] == 7.0
    assert pairing.new == (MetricKey("cache", "cpu"),)
    assert pairing.missing == (MetricKey("web", "cpu"),)


def test_a_run_that_was_judged_a_regression_is_no_baseline_for_that_counter() -> None:
    bad = run(table([CPU, MEMORY]), regressions=(MetricKey("host", "cpu"),))
    pairing = pair_counters(baseline(bad), run(table([CPU, MEMORY])))
    assert pairing.tables[0].keys == (MetricKey("host", "memory"),)
    assert pairing.new == (MetricKey("host", "cpu"),)


@pytest.mark.parametrize("side", ["target", "baseline"])
def test_ignored_counters_are_left_out(side: str) -> None:
    old, new = run(table([CPU, MEMORY])), run(table([CPU]))
    if side == "target":
        old, new = new, old
    pairing = pair_counters(baseline(old), new, ignored=lambda key: key.metric == "memory")
    assert pairing.tables[0].keys == (MetricKey("host", "cpu"),)
    assert (pairing.new, pairing.missing) == ((), ())


def test_without_a_baseline_all_counters_are_new() -> None:
    pairing = pair_counters(baseline(), run(table([CPU])))
    assert (pairing.tables, pairing.new) == ((), (MetricKey("host", "cpu"),))
