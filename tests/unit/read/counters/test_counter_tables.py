"""Numbers and times from foreign files, and tables of them."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.counters import counter_tables as table_module
from perf_culprit.read.counters.counter_tables import Clock, Readings, build_table, counter
from tests.support.counter_tables import columns

INSTANT_S = 1795227572.0


@pytest.mark.parametrize(
    "text",
    [
        *("1795227572", "1795227572.0", "1795227572000", "1795227572000000", "1795227572000000000"),
        *("2026-11-21T02:19:32Z", "2026-11-21 03:19:32+01:00", "2026-11-20T21:19:32-05:00"),
        *("2026/11/21 02:19:32", "2026-11-21 02:19:32 UTC", " 20261121T021932Z "),
    ],
)
def test_one_instant_in_every_spelling(text: str) -> None:
    assert Clock()(text) == INSTANT_S


def test_only_times_without_a_zone_are_local() -> None:
    for text, is_local in (("2026-11-21 02:19:32 UTC", False), ("2026-11-21T02:19:32Z", False), ("17952275", False)):
        clock = Clock()
        clock(text)
        assert clock.is_local == is_local
    clock = Clock()
    clock("2026-11-21 02:19:32")
    assert clock.is_local


def test_offsets_keep_the_order_when_summer_time_ends() -> None:
    clock = Clock()
    before, after = clock("2026-10-25T02:59:59+02:00"), clock("2026-10-25T02:00:00+01:00")
    assert after - before == 1


def test_the_first_number_tells_the_unit_of_all() -> None:
    clock = Clock()
    assert clock("1795227572000") == INSTANT_S
    assert clock("1000") == 1.0
    assert Clock(divisor=1e3)("250") == 0.25


@pytest.mark.parametrize("text", ["", "noon", "2026-13-01", "2026-01-01T25:00:00", "x" * 100_000, "\u0661:\u0662"])
def test_what_is_no_time_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        Clock()(text)


def build(times_s: list[float], rows: list[list[float]], *, load: list[float] | None = None) -> table_module.Built:
    names = "abcdef"[: len(rows[0])] if rows else "a"
    return build_table(
        "t",
        times_s=times_s,
        values=np.array(rows, dtype=np.float64).reshape(len(rows), len(names)),
        metrics=[counter(name) for name in names],
        place="f",
        load=None if load is None else np.array(load),
        load_name=None if load is None else "users",
    )


def test_a_clock_that_was_set_back_is_sorted_and_noted() -> None:
    table, notes = build([10, 20, 5, 30], [[1], [2], [3], [4]], load=[1, 2, 3, nan])
    assert table.times_s.tolist() == [5, 10, 20, 30]
    assert columns(table) == {"a": [3, 1, 2, 4]}
    assert table.load is not None
    assert table.load.tolist()[:3] == [3, 1, 2]
    assert notes == ("f: the time goes back 1 times (was the clock set?); rows are sorted by time",)


def test_of_rows_of_one_instant_each_counters_last_value_counts() -> None:
    table, notes = build([1, 1, 1, 2, 2], [[1, nan], [2, 20], [nan, nan], [nan, nan], [nan, 5]])
    assert table.times_s.tolist() == [1, 2]
    assert columns(table) == {"a": [2, None], "b": [20, 5]}
    assert notes == ("f: rows of the same time as another, joined with it: 3",)


def test_infinite_values_are_missing_and_empty_counters_left_out() -> None:
    table, notes = build([1, 2], [[inf, 1], [-inf, 1]], load=[inf, 3])
    assert columns(table) == {"b": [1, 1]}
    assert notes == ("f: infinite values count as missing: 3", "f: counters without any value are left out: 1")


def test_a_load_without_any_value_is_none() -> None:
    table, _ = build([1, 2], [[1], [1]], load=[nan, nan])
    assert table.load is None
    assert table.load_name is None


@pytest.mark.parametrize(
    ("times_s", "rows", "message"),
    [
        ([1, 2], [[nan, nan], [nan, inf]], "no counter has a value"),
        ([1, nan], [[1], [2]], "not a finite number"),
        ([1, inf], [[1], [2]], "not a finite number"),
        ([], [], "holds no counter"),
    ],
)
def test_what_is_no_table_is_refused(times_s: list[float], rows: list[list[float]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        build(times_s, rows)


def test_two_counters_of_one_name_and_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="`a` stands there twice"):
        build_table("t", times_s=[1], values=np.ones((1, 2)), metrics=[counter("a"), counter("a")], place="f")
    monkeypatch.setattr(type(FILE_LIMITS), "counter_cells", 3)
    with pytest.raises(DataError, match="50,000 counters, 2,000,000 instants or 3 values"):
        build([1, 2], [[1, 1], [1, 1]])
    readings = Readings("f")
    for i in range(3):
        readings.add(1.0, counter("a"), i)
    with pytest.raises(DataError, match="3 values"):
        readings.add(1.0, counter("a"), 3)


def test_instants_without_values_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "counter_instants", 2)
    readings = Readings("f")
    readings.add(1.0, counter("a"), nan)
    readings.add(2.0, counter("a"), nan)
    with pytest.raises(DataError, match="2 instants"):
        readings.add(3.0, counter("a"), nan)


def test_readings_may_come_in_any_order_and_at_different_rates() -> None:
    readings = Readings("f")
    for time_s, name, value in ((2, "a", 1), (1, "b", 5), (1, "a", 0), (1, "a", 9), (3, "load", 7), (3, "b", nan)):
        readings.add(time_s, counter(name), value)
    table, _ = readings.build("t", load_column="load", load_name="users")
    assert table.times_s.tolist() == [1, 2, 3]
    assert columns(table) == {"a": [9, 1, None], "b": [5, None, None]}
    assert table.load is not None
    assert np.array_equal(table.load, [nan, nan, 7], equal_nan=True)


@given(
    st.lists(
        st.tuples(st.floats(-1e9, 1e9), st.floats() | st.just(nan), st.floats(allow_nan=False)), min_size=1, max_size=30
    )
)
def test_any_rows_give_increasing_times_and_finite_or_missing_values(rows: list[tuple[float, float, float]]) -> None:
    times_s = [time_s for time_s, _, _ in rows]
    try:
        table, _ = build(times_s, [[a, 1.0, b] for _, a, b in rows])
    except DataError:
        pytest.fail("one counter always has a value")
    assert (np.diff(table.times_s) > 0).all()
    assert set(table.times_s.tolist()) == set(times_s)
    assert not np.isinf(table.values).any()
    assert table.values.shape == (len(table.times_s), len(table.metrics))
