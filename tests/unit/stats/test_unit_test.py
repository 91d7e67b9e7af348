"""What can be said of one unit per side and of a few: against scipy where all is known, by rates where it is not."""

from itertools import chain

import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.moderation import moderate
from perf_culprit.stats.ragged import Floats, Ragged
from perf_culprit.stats.run_comparison import (
    COUNTED_DEVIATION,
    FARTHEST,
    PRIOR_FREEDOM,
    TAIL_EXPONENT,
    TIMED_DEVIATION,
    UnitComparison,
    distances,
    unit_test,
)

SEED = 47


def compared(target: Floats, baseline: Floats, *, timed: bool = True, level: float = 0.99) -> UnitComparison:
    """Levels (m, units) of both sides."""
    count = len(target)
    rows = [Ragged(side.ravel(), np.full(count, side.shape[1])) for side in (target, baseline)]
    return unit_test(*rows, families=np.zeros(count, dtype=np.intp), timed=np.full(count, timed), level=level)


def test_one_count_per_side_differs_as_the_stated_deviation_says() -> None:
    comparison = compared(np.array([[1010.0]]), np.array([[1000.0]]), timed=False)
    distance = np.log(1.01) / (COUNTED_DEVIATION * np.sqrt(2))
    assert comparison.p_value[0] == pytest.approx(2 * stats.t.sf(distance, PRIOR_FREEDOM))
    assert compared(np.array([[1100.0]]), np.array([[1000.0]]), timed=False).p_value[0] < 1e-6


def test_several_counts_on_both_sides_are_students_test() -> None:
    rng = np.random.default_rng(SEED)
    target, baseline = rng.normal(100, 0.01, (1, 6)), rng.normal(100.02, 0.01, (1, 7))
    comparison = compared(target, baseline, timed=False)
    assert comparison.p_value[0] == pytest.approx(stats.ttest_ind(np.log(target[0]), np.log(baseline[0])).pvalue)


@pytest.mark.parametrize("counts", [(1, 1), (1, 3), (1, 9), (4, 4)])
def test_swapping_the_sides_turns_the_difference_around_and_nothing_else(counts: tuple[int, int]) -> None:
    rng = np.random.default_rng(SEED)
    target, baseline = (100 * rng.lognormal(0, 0.03, (20, units)) for units in counts)
    forward, backward = compared(target, baseline), compared(baseline, target)
    if 1 in counts and max(counts) >= 5:
        # A lone target beside many runs is looked up among them, a lone run of the past is not.
        assert (forward.p_value >= backward.p_value - 1e-12).all()
        return
    assert forward.p_value == pytest.approx(backward.p_value)
    assert forward.half_width == pytest.approx(backward.half_width)


@pytest.mark.parametrize("metrics", [1, 5, 50])
@pytest.mark.parametrize("runs", [1, 2, 3, 9, 30])
def test_identical_units_are_no_difference(metrics: int, runs: int) -> None:
    levels = np.arange(100.0, 100.0 + metrics)[:, None]
    comparison = compared(levels, np.repeat(levels, runs, axis=1))
    assert (comparison.p_value == 1.0).all()
    assert np.isfinite(comparison.half_width).all()


@pytest.mark.parametrize("metrics", [1, 5, 50, 200])
def test_one_run_per_side_is_called_where_it_is_six_times_as_slow(metrics: int) -> None:
    rng = np.random.default_rng(SEED)
    target, baseline = (100 * rng.lognormal(0, 0.02, (metrics, 1)) for _ in range(2))
    target[0] *= 6.0
    comparison = compared(target, baseline)
    assert comparison.p_value[0] < 0.01 / metrics
    assert comparison.p_value[1:].min(initial=1.0) > 0.01
    assert comparison.half_width[0] < np.log(6)


def test_one_run_per_side_cannot_be_surer_than_the_stated_deviation() -> None:
    comparison = compared(np.array([[100.0]]), np.array([[100.0]]))
    assert comparison.half_width[0] > stats.t.ppf(0.995, PRIOR_FREEDOM) * TIMED_DEVIATION * np.sqrt(2) * 0.9


def test_a_lone_target_is_no_change_while_stored_runs_are_as_far_from_each_other() -> None:
    """Heavy tails: Student's t would call what one stored run in fifty does by itself."""
    rng = np.random.default_rng(SEED)
    baseline = 100 * np.exp(0.02 * rng.standard_t(2, (50, 20)))
    target = 100 * np.exp(0.02 * rng.standard_t(2, (50, 1)))
    comparison = compared(target, baseline)
    logs = np.log(baseline)
    own = logs.var(axis=1, ddof=1)
    shared = moderate(own, np.full(50, 19.0), effective_number=50)
    seen = distances(Ragged(logs.ravel(), np.full(50, 20)), prior=shared.prior, prior_freedom=shared.prior_freedom)
    assert (comparison.p_value >= seen.p_values(np.log(target[:, 0]) - logs.mean(axis=1)) - 1e-12).all()


@pytest.mark.parametrize("level", [0.95, 0.99, 0.999])
@pytest.mark.parametrize("runs", [1, 2, 3, 9])
def test_the_interval_excludes_zero_where_the_p_value_is_below_the_rest_of_the_level(runs: int, level: float) -> None:
    rng = np.random.default_rng(SEED)
    baseline = 100 * rng.lognormal(0, 0.03, (60, runs))
    target = 100 * rng.lognormal(0, 0.03, (60, 1)) * np.geomspace(1, 20, 60)[:, None]
    comparison = compared(target, baseline, level=level)
    difference = np.abs(np.log(target[:, 0]) - np.log(baseline).mean(axis=1))
    clear = np.abs(difference / comparison.half_width - 1) > 0.02
    assert clear.sum() > 50
    assert ((comparison.p_value < 1 - level) == (difference > comparison.half_width))[clear].all()


@pytest.mark.parametrize("runs", [1, 2, 3, 5, 10])
def test_unchanged_suites_of_two_modes_are_quiet(runs: int) -> None:
    """Every metric is 50% slower in one run of five; nothing changed, so of 60 suites hardly one is called."""
    rng = np.random.default_rng([SEED, runs])
    suites, metrics, called = 60, 40, 0
    for _ in range(suites):
        modes = np.where(rng.random((metrics, runs + 1)) < 0.2, 1.5, 1.0)
        levels = 100 * modes * rng.lognormal(0, 0.02, (metrics, runs + 1))
        comparison = compared(levels[:, :1], levels[:, 1:])
        called += bool(comparison.p_value.min() < 0.01 / metrics)
    assert called <= stats.binom.ppf(0.999, suites, 0.01)


EXCHANGE_SEED = 41


def ragged(rows: list[Floats]) -> Ragged:
    return Ragged(np.concatenate(rows), np.array([len(row) for row in rows]))


def prediction_error(others: Floats) -> float:
    return float(others.std(ddof=1) * np.sqrt(1 + 1 / len(others)))


def by_definition(row: Floats) -> list[float]:
    """Each run beside all the others of its row, one at a time."""
    left_out = [(row[index], np.delete(row, index)) for index in range(len(row))]
    return [abs(run - others.mean()) / prediction_error(others) for run, others in left_out]


def test_seen_distances_are_those_of_each_run_from_all_others() -> None:
    rng = np.random.default_rng(EXCHANGE_SEED)
    rows = [rng.normal(level, 0.1, count) for level, count in ((1.0, 5), (40.0, 9), (-3.0, 30))]
    gaps = distances(ragged(rows))
    assert gaps.seen == pytest.approx(sorted(chain.from_iterable(map(by_definition, rows))))
    assert gaps.unit == pytest.approx([prediction_error(row) for row in rows])


def test_within_what_was_seen_the_p_value_is_the_targets_rank_among_the_runs() -> None:
    rng = np.random.default_rng(EXCHANGE_SEED)
    rows = [rng.normal(0, 1, 20) for _ in range(10)]
    gaps = distances(ragged(rows))
    differences = rng.normal(0, 1, 10)
    for p_value, difference, unit in zip(gaps.p_values(differences), differences, gaps.unit, strict=True):
        farther = sum(seen >= abs(difference) / unit for row in rows for seen in by_definition(row))
        assert p_value == pytest.approx((farther + 1) / 201)


def test_beyond_what_was_seen_the_p_value_falls_as_a_power() -> None:
    gaps = distances(ragged([np.random.default_rng(EXCHANGE_SEED).normal(0, 1, 20)]))
    farthest = gaps.seen[-1] * gaps.unit
    first, second = (gaps.p_values(factor * farthest)[0] for factor in (1.5, 3.0))
    assert first == pytest.approx(1.5**-TAIL_EXPONENT / 21)
    assert first / second == pytest.approx(2**TAIL_EXPONENT)


@pytest.mark.parametrize("runs", [5, 12, 300])
def test_half_widths_are_the_differences_whose_p_value_is_one_minus_the_level(runs: int) -> None:
    gaps = distances(ragged([np.random.default_rng(EXCHANGE_SEED).normal(0, 1, runs)]))
    width = gaps.half_widths(level=0.99)
    assert gaps.p_values(width * (1 - 1e-9))[0] >= 0.01 - 1e-9
    assert gaps.p_values(width * (1 + 1e-9))[0] <= 0.01 + 1e-9


def test_runs_without_spread_are_no_distance_apart_and_any_other_value_is_far() -> None:
    gaps = distances(ragged([np.full(6, 3.0)]))
    assert gaps.seen.tolist() == [0.0] * 6
    assert gaps.p_values(np.array([0.0])).tolist() == [1.0]
    assert gaps.p_values(np.array([0.1]))[0] < 1e-6


@pytest.mark.parametrize(("odd", "is_wild"), [(1.0, True), (0.06, False)])
def test_beside_a_wild_run_the_target_counts_by_the_spread_of_the_others(odd: float, is_wild: bool) -> None:
    """Else it had to be as many times farther away as the wild run is."""
    others = np.random.default_rng(EXCHANGE_SEED).normal(0, 0.01, 9)
    row = np.insert(others, 4, odd)
    (unit,) = distances(ragged([row])).unit
    assert unit == pytest.approx(prediction_error(others if is_wild else row))


@pytest.mark.parametrize(("factor", "called"), [(1.3, False), (2.5, True)])
def test_one_wild_run_of_ten_hides_what_is_nearer_and_no_more(factor: float, called: bool) -> None:
    levels = 100 * np.random.default_rng(SEED).lognormal(0, 0.01, (2, 11))
    levels[0, 8] *= 1.48
    levels[0, 0] *= factor
    assert (compared(levels[:, :1], levels[:, 1:]).p_value[0] < 0.005) is np.bool_(called)


def test_a_single_odd_run_among_equal_ones_is_as_far_as_anything() -> None:
    gaps = distances(ragged([np.array([3.0] * 7 + [4.0])]))
    assert gaps.seen[-1] == FARTHEST
    assert gaps.p_values(np.array([100.0]))[0] >= 1 / 9


@pytest.mark.parametrize("degrees", [2.0, 5.0, 200.0])
def test_one_more_run_is_called_as_often_as_the_p_value_says_whatever_the_tails(degrees: float) -> None:
    rng = np.random.default_rng(EXCHANGE_SEED)
    runs = rng.standard_t(degrees, (400, 11))
    gaps = distances(ragged(list(runs[:, 1:])))
    p_values = gaps.p_values(runs[:, 0] - runs[:, 1:].mean(axis=1))
    for alpha in (0.01, 0.1):
        low, high = stats.binom.ppf([0.001, 0.999], 400, alpha)
        assert low <= (p_values <= alpha).sum() <= high


def test_a_prior_moves_the_runs_own_variance_but_never_lowers_it() -> None:
    rng = np.random.default_rng(EXCHANGE_SEED)
    rows = [0.01 * rng.normal(0, 1, 8), rng.normal(0, 1, 8)]
    alone, shared = distances(ragged(rows)), distances(ragged(rows), prior=0.25, prior_freedom=np.inf)
    assert shared.unit[0] == pytest.approx(0.5 * np.sqrt(1 + 1 / 8))
    assert shared.unit[1] == max(alone.unit[1], shared.unit[0])
    errors = [
        max(prediction_error(others), 0.5 * np.sqrt(1 + 1 / 7))
        for row in rows
        for others in (np.delete(row, index) for index in range(8))
    ]
    apart = [abs(row[index] - np.delete(row, index).mean()) for row in rows for index in range(8)]
    assert shared.seen == pytest.approx(sorted(a / b for a, b in zip(apart, errors, strict=True)))
