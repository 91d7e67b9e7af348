"""One judge for every comparison: the changes that it calls or leaves, and its stated rates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.stats.engine import judge_units
from perf_culprit.stats.unit_table import UnitJudgement, UnitTable, log_change

WAYS = [(1, 1), (3, 1), (9, 1), (2, 2), (3, 3), (5, 5)]
OF_BENCHMARKS = ("change", "low", "high", "p_value", "rate", "visible_change")


def units(baseline: int, target: int) -> Booleans:
    return np.arange(baseline + target) >= baseline


def noisy(rng: np.random.Generator, size: int, count: int, spread: float = 0.02) -> Floats:
    """Benchmarks of very different levels on one machine that drifts."""
    level, machine = rng.uniform(-9, 3, (size, 1)), 0.02 * rng.standard_normal(count)
    return np.asarray(level + machine + spread * rng.standard_normal((size, count)))


def turns(rounds: int) -> tuple[Booleans, Integers]:
    """The side of each unit in rounds of A B B A, and its round."""
    return np.tile([False, True, True, False], rounds), np.repeat(np.arange(rounds), 4)


@pytest.mark.parametrize("size", [1, 3, 6, 20, 100])
def test_five_files_a_side_prove_30_percent_at_2_percent_spread(size: int) -> None:
    rng, side, hits = np.random.default_rng(1), units(5, 5), 0
    for _ in range(20):
        y = noisy(rng, size, 10)
        y[0, side] += log_change(0.3)
        hits += bool(judge_units(UnitTable.of(y, side)).is_proven[0])
    assert hits >= 18


@pytest.mark.parametrize("size", [1, 6, 20])
def test_rounds_prove_15_percent_at_2_percent_spread(size: int) -> None:
    rng, hits = np.random.default_rng(2), 0
    side, rounds = turns(6)
    for _ in range(20):
        y = noisy(rng, size, len(side))
        y[0, side] += log_change(0.15)
        hits += bool(judge_units(UnitTable.of(y, side, block=rounds)).is_proven[0])
    assert hits >= 18


@pytest.mark.parametrize(("baseline", "target"), WAYS)
def test_unchanged_runs_hold_few_calls(baseline: int, target: int) -> None:
    rng, side = np.random.default_rng(3), units(baseline, target)
    runs = [judge_units(UnitTable.of(noisy(rng, 15, len(side)), side)) for _ in range(100)]
    assert sum(run.is_proven.any() for run in runs) <= 4  # 1% is 1 of 100; P(more than 4) is below 1%
    assert sum(run.is_suspected.any() for run in runs) <= 18  # 10% is 10 of 100; the same


def test_one_file_a_side_names_no_change_that_it_could_not_see() -> None:
    y, side = noisy(np.random.default_rng(4), 15, 2), units(1, 1)
    judged = judge_units(UnitTable.of(y, side))
    told = judged.visible_change[np.isfinite(judged.visible_change)]
    assert (told > log_change(0.5)).all()
    y[3, side] += log_change(9.0)
    assert judge_units(UnitTable.of(y, side)).is_suspected.tolist() == [index == 3 for index in range(15)]


@pytest.mark.parametrize("in_rounds", [False, True])
def test_several_units_show_the_noise_so_nothing_merely_differs(*, in_rounds: bool) -> None:
    side, rounds = turns(1)
    y = noisy(np.random.default_rng(6), 20, 4) + np.where(side, log_change(0.06), 0)
    table = UnitTable.of(y, side, block=rounds if in_rounds else None, scatter=np.full(y.shape, 1e-9))
    assert not judge_units(table).differs.any()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(WAYS), st.booleans())
def test_swapped_sides_mirror_change_interval_and_tier(seed: int, way: tuple[int, int], are_rates: bool) -> None:
    rng, side = np.random.default_rng(seed), units(*way)
    y = noisy(rng, 8, len(side))
    y[0, side] += rng.normal(0, 0.5)
    orientation = np.where(np.arange(8) % 2 == 0, 1.0, -1.0 if are_rates else 1.0)
    one = judge_units(UnitTable.of(y, side, orientation=orientation))
    other = judge_units(UnitTable.of(y, ~side, orientation=orientation))
    assert one.change == pytest.approx(-other.change, abs=1e-12)
    assert one.low == pytest.approx(-other.high, abs=1e-12)
    assert one.suite.change == pytest.approx(-other.suite.change, abs=1e-12)
    assert (one.is_suspected == other.is_suspected).all()
    assert (one.is_proven == other.is_proven).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.floats(-20, 20))
def test_a_unit_of_measurement_changes_nothing(seed: int, scale_log: float) -> None:
    rng, side = np.random.default_rng(seed), units(5, 5)
    y = noisy(rng, 8, 10)
    y[0, side] += log_change(0.2)
    scaled = y.copy()
    scaled[2] += scale_log
    one, other = judge_units(UnitTable.of(y, side)), judge_units(UnitTable.of(scaled, side))
    for name in OF_BENCHMARKS:
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-6, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.001, 0.1, 1.0, 1000.0]), st.sampled_from([-1.0, 1.0]))
def test_no_sentence_contradicts_its_own_interval(seed: int, effect: float, sign: float) -> None:
    rng, side = np.random.default_rng(seed), units(5, 5)
    y = noisy(rng, 12, 10, spread=float(rng.choice([0.0, 0.01, 0.2])))
    y[0, side] += sign * log_change(effect)
    judged = judge_units(UnitTable.of(y, side))
    assert (judged.low <= judged.change).all()
    assert (judged.change <= judged.high).all()
    assert not (judged.is_proven & ~judged.is_suspected).any()
    called = judged.is_suspected
    assert (np.abs(judged.change[called]) >= log_change(0.05)).all()


def test_counts_are_compared_as_they_are() -> None:
    side = units(1, 1)
    with np.errstate(divide="ignore"):
        y = np.log(np.array([[10, 11], [7, 7], [0, 1], [1, 0], [0, 0]], dtype=float))
    judged = judge_units(UnitTable.of(y, side, is_exact=np.ones(5, np.bool_)))
    # One unit a side doesn't show how much counts vary, so nothing is proven.
    assert judged.is_suspected.tolist() == [True, False, True, True, False]
    assert not judged.is_proven.any()
    assert judge_units(UnitTable.of(np.repeat(y, 2, axis=1), units(2, 2), is_exact=np.ones(5, np.bool_))).is_proven[0]
    assert judged.change[:2] == pytest.approx([np.log(1.1), 0.0])
    assert judged.change[2:].tolist() == [np.inf, -np.inf, 0.0]


@pytest.mark.parametrize(("wobble", "is_told"), [(0.001, True), (0.2, False)])
def test_counts_that_vary_hide_changes_only_by_what_would_be_called(wobble: float, *, is_told: bool) -> None:
    """Nine of 40 counts differ in one baseline unit each. Another count doubles in the target."""
    y, side = np.full((40, 10), np.log(100.0)), units(9, 1)
    y[:9, :9] += log_change(wobble) * np.eye(9)
    y[20, 9] += log_change(1.0)
    judged = judge_units(UnitTable.of(y, side, is_exact=np.ones(40, np.bool_)), least_change=log_change(0.005))
    assert judged.is_proven[20] == is_told
    assert np.isfinite(judged.visible_change[30]) == is_told


def test_counts_find_what_times_alone_find_and_the_other_way() -> None:
    rng, side = np.random.default_rng(5), units(5, 5)
    times = noisy(rng, 10, 10)
    times[0, side] += log_change(0.3)
    counts = np.log(np.full((10, 10), 1000.0))
    counts[0, side] = np.log(1100.0)
    both = judge_units(
        UnitTable.of(np.vstack([times, counts]), side, is_exact=np.arange(20) >= 10, kind=(np.arange(20) >= 10) + 0)
    )
    assert np.flatnonzero(both.is_proven).tolist() == [0, 10]


def test_a_benchmark_that_one_side_lacks_is_not_judged() -> None:
    y, side = noisy(np.random.default_rng(6), 8, 10), units(5, 5)
    y[1, side] = np.nan
    y[2, ~side] = np.nan
    y[3, 4] = np.nan
    y[:, 9] = np.nan
    judged = judge_units(UnitTable.of(y, side))
    assert np.isnan(judged.change).tolist() == [False, True, True, *[False] * 5]
    assert not judged.is_suspected.any()


def test_a_suite_without_any_value_is_not_judged() -> None:
    judged = judge_units(UnitTable.of(np.full((4, 6), np.nan), units(3, 3)))
    assert np.isnan(judged.change).all()
    assert not judged.is_suspected.any()


def test_no_noise_at_all_still_has_a_resolution() -> None:
    y, side = np.zeros((20, 10)), units(5, 5)
    y[0, side] = log_change(0.06)
    judged = judge_units(UnitTable.of(y, side))
    assert np.flatnonzero(judged.is_proven).tolist() == [0]
    assert (judged.high - judged.low > 0).all()


def test_the_machines_shift_is_not_a_change_of_the_benchmarks() -> None:
    rng, side = np.random.default_rng(7), units(9, 1)
    y = noisy(rng, 20, 10)
    y[:, side] += log_change(0.2)
    judged = judge_units(UnitTable.of(y, side))
    assert not judged.is_suspected.any()
    assert judged.suite.change == pytest.approx(log_change(0.2), abs=0.05)
    assert judged.suite.is_suspected
    assert judged.change.mean() == pytest.approx(log_change(0.2), abs=0.05)


def test_within_rounds_a_shift_of_the_whole_suite_is_its_change() -> None:
    side, rounds = turns(6)
    y = noisy(np.random.default_rng(8), 12, len(side))
    y[:, side] += log_change(0.2)
    assert judge_units(UnitTable.of(y, side, block=rounds)).is_proven.all()


def test_many_units_see_through_two_modes() -> None:
    rng, (side, rounds) = np.random.default_rng(9), turns(12)
    hits = 0
    for _ in range(10):
        y = noisy(rng, 6, len(side), spread=0.01)
        y += log_change(0.5) * (rng.random(y.shape) < 0.3)
        y[0, side] += log_change(0.1)
        hits += bool(judge_units(UnitTable.of(y, side, block=rounds)).is_suspected[0])
    assert hits >= 8


def test_slow_spells_of_a_shared_machine_are_no_proof() -> None:
    """Consecutive executions are slow together, so one of two consecutive sides may contain a whole slow spell."""
    rng, side = np.random.default_rng(10), units(3, 3)
    for _ in range(50):
        y = noisy(rng, 17, 6, spread=0.15)
        spell = rng.random(17) < 0.1
        y[np.ix_(spell, side)] += 1.2
        assert not judge_units(UnitTable.of(y, side, block=side.astype(int))).is_proven.any()


def test_a_table_needs_units_on_both_sides() -> None:
    with pytest.raises(ValueError, match="at least one unit of the target"):
        UnitTable.of(np.zeros((2, 3)), np.zeros(3, np.bool_))
    with pytest.raises(ValueError, match="one value per column"):
        UnitTable.of(np.zeros((2, 3)), np.array([False, True]))


def covered(judged: UnitJudgement, truth: float) -> bool:
    return bool(judged.low[0] <= truth <= judged.high[0])


@pytest.mark.parametrize("spread", [0.002, 0.02, 0.2])
@pytest.mark.parametrize("way", [(3, 1), (3, 3), (5, 5)])
def test_the_95_percent_interval_covers_the_change(way: tuple[int, int], spread: float) -> None:
    rng, side = np.random.default_rng(12), units(*way)
    hits = 0
    for _ in range(100):
        y = noisy(rng, 10, len(side), spread=spread)
        y[0, side] += log_change(0.3)
        hits += covered(judge_units(UnitTable.of(y, side)), log_change(0.3))
    assert hits >= 89  # P(fewer of 100 at 95%) is below 1%
