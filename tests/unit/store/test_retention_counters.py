import numpy as np

from perf_culprit.model.run import CounterTable, Direction, Metric, Run
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.store.retention import Retention, compact, fit_file, reduce_counters
from tests.support.counter_tables import columns, same, table_of


def wide_table(*, rows: int, counters: int) -> CounterTable:
    random = np.random.default_rng(1)
    return CounterTable(
        name="host",
        metrics=tuple(Metric(name=f"c{i}", unit="", direction=Direction.UNKNOWN) for i in range(counters)),
        times_s=np.arange(1e9, 1e9 + 15 * rows, 15, dtype=np.float64),
        values=random.normal(size=(rows, counters)),
    )


def test_a_long_table_is_stored_as_medians_of_equal_intervals() -> None:
    run = Run(counters=(wide_table(rows=5760, counters=20),), notes=("first",))
    content, compacted = fit_file(run, encode_run(run), Retention())
    stored = decode_run(content, place="f")
    assert not compacted
    assert stored.notes == ("first", "its counters are medians of 144 equal intervals")
    assert stored.counters[0].values.shape == (144, 20)
    assert np.array_equal(stored.counters[0].values[0], np.median(run.counters[0].values[:40], axis=0))
    assert len(content) < len(encode_run(run)) / 30


def test_a_short_table_and_a_run_without_counters_stay_as_they_are() -> None:
    short = Run(counters=(wide_table(rows=144, counters=2),))
    for run in (short, Run()):
        assert fit_file(run, encode_run(run), Retention()) == (encode_run(run), False)
    assert reduce_counters(short, 144) is short


def test_only_the_long_one_of_two_tables_is_reduced() -> None:
    short, long = table_of(times_s=[1, 2], a=[5, 6]), table_of(name="b", times_s=[1, 2, 3, 4, 5], a=[1, 2, 3, 4, 5])
    reduced = reduce_counters(Run(counters=(short, long)), 2)
    assert same(reduced.counters[0], short)
    assert columns(reduced.counters[1]) == {"a": [1.5, 4]}
    assert reduced.counters[1].times_s.tolist() == [1, 3]


def test_gaps_missing_values_and_the_load_survive_the_reduction() -> None:
    table = table_of(times_s=[0, 1, 2, 90, 100], load=[1, 2, 3, np.nan, 7], a=[1, np.nan, 3, np.nan, np.nan])
    (reduced,) = reduce_counters(Run(counters=(table,)), 4).counters
    assert reduced.times_s.tolist() == [0, 90]
    assert columns(reduced) == {"a": [2, None]}
    assert reduced.load is not None
    assert reduced.load.tolist() == [2, 7]
    again = decode_run(encode_run(Run(counters=(reduced,))), place="f").counters[0]
    assert same(again, reduced)


def test_compacted_runs_have_no_counters_and_say_so() -> None:
    run = compact(Run(counters=(table_of(times_s=[1, 2], a=[5, 6]),), notes=("first",)))
    assert run.counters == ()
    assert run.notes == ("first", "its counters were dropped when it was compacted")
    assert compact(run) == run


def test_a_run_that_is_too_large_for_a_file_loses_its_counters() -> None:
    run = Run(counters=(wide_table(rows=100, counters=50),))
    content, compacted = fit_file(run, encode_run(run), Retention(file_bytes=5000))
    assert compacted
    stored = decode_run(content, place="f")
    assert stored.counters == ()
    assert len(stored.notes) == 2
