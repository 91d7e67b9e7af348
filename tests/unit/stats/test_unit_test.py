"""What can be said of one unit per side and of a few: against scipy where all is known, by rates where it is not."""

import numpy as np
import pytest
from scipy import stats

from bot.stats.exchange import distances
from bot.stats.moderation import moderate
from bot.stats.ragged import Floats, Ragged
from bot.stats.unit_test import COUNTED_DEVIATION, PRIOR_FREEDOM, TIMED_DEVIATION, UnitComparison, unit_test

SEED = 47


def compared(target: Floats, baseline: Floats, *, timed: bool = True, level: float = 0.99) -> UnitComparison:
    """Levels (m, units) of both sides."""
    count = len(target)
    rows = [Ragged(side.ravel(), np.full(count, side.shape[1])) for side in (target, baseline)]
    return unit_test(*rows, families=np.zeros(count, dtype=np.intp), timed=np.full(count, timed), level=level)


def test_one_count_per_side_differs_as_the_stated_deviation_says() -> None:
    found = compared(np.array([[1010.0]]), np.array([[1000.0]]), timed=False)
    distance = np.log(1.01) / (COUNTED_DEVIATION * np.sqrt(2))
    assert found.p_value[0] == pytest.approx(2 * stats.t.sf(distance, PRIOR_FREEDOM))
    assert compared(np.array([[1100.0]]), np.array([[1000.0]]), timed=False).p_value[0] < 1e-6


def test_several_counts_on_both_sides_are_students_test() -> None:
    rng = np.random.default_rng(SEED)
    target, baseline = rng.normal(100, 0.01, (1, 6)), rng.normal(100.02, 0.01, (1, 7))
    found = compared(target, baseline, timed=False)
    assert found.p_value[0] == pytest.approx(stats.ttest_ind(np.log(target[0]), np.log(baseline[0])).pvalue)


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
    found = compared(levels, np.repeat(levels, runs, axis=1))
    assert (found.p_value == 1.0).all()
    assert np.isfinite(found.half_width).all()


@pytest.mark.parametrize("metrics", [1, 5, 50, 200])
def test_one_run_per_side_is_called_where_it_is_six_times_as_slow(metrics: int) -> None:
    rng = np.random.default_rng(SEED)
    target, baseline = (100 * rng.lognormal(0, 0.02, (metrics, 1)) for _ in range(2))
    target[0] *= 6.0
    found = compared(target, baseline)
    assert found.p_value[0] < 0.01 / metrics
    assert found.p_value[1:].min(initial=1.0) > 0.01
    assert found.half_width[0] < np.log(6)


def test_one_run_per_side_cannot_be_surer_than_the_stated_deviation() -> None:
    found = compared(np.array([[100.0]]), np.array([[100.0]]))
    assert found.half_width[0] > stats.t.ppf(0.995, PRIOR_FREEDOM) * TIMED_DEVIATION * np.sqrt(2) * 0.9


def test_a_lone_target_is_no_change_while_stored_runs_are_as_far_from_each_other() -> None:
    """Heavy tails: Student's t would call what one stored run in fifty does by itself."""
    rng = np.random.default_rng(SEED)
    baseline = 100 * np.exp(0.02 * rng.standard_t(2, (50, 20)))
    target = 100 * np.exp(0.02 * rng.standard_t(2, (50, 1)))
    found = compared(target, baseline)
    logs = np.log(baseline)
    own = logs.var(axis=1, ddof=1)
    shared = moderate(own, np.full(50, 19.0), effective_number=50)
    seen = distances(Ragged(logs.ravel(), np.full(50, 20)), prior=shared.prior, prior_freedom=shared.prior_freedom)
    assert (found.p_value >= seen.p_values(np.log(target[:, 0]) - logs.mean(axis=1)) - 1e-12).all()


@pytest.mark.parametrize("level", [0.95, 0.99, 0.999])
@pytest.mark.parametrize("runs", [1, 2, 3, 9])
def test_the_interval_excludes_zero_where_the_p_value_is_below_the_rest_of_the_level(runs: int, level: float) -> None:
    rng = np.random.default_rng(SEED)
    baseline = 100 * rng.lognormal(0, 0.03, (60, runs))
    target = 100 * rng.lognormal(0, 0.03, (60, 1)) * np.geomspace(1, 20, 60)[:, None]
    found = compared(target, baseline, level=level)
    difference = np.abs(np.log(target[:, 0]) - np.log(baseline).mean(axis=1))
    clear = np.abs(difference / found.half_width - 1) > 0.02
    assert clear.sum() > 50
    assert ((found.p_value < 1 - level) == (difference > found.half_width))[clear].all()


@pytest.mark.parametrize("runs", [1, 2, 3, 5, 10])
def test_unchanged_suites_of_two_modes_are_quiet(runs: int) -> None:
    """Every metric is 50% slower in one run of five; nothing changed, so of 60 suites hardly one is called."""
    rng = np.random.default_rng([SEED, runs])
    suites, metrics, called = 60, 40, 0
    for _ in range(suites):
        modes = np.where(rng.random((metrics, runs + 1)) < 0.2, 1.5, 1.0)
        levels = 100 * modes * rng.lognormal(0, 0.02, (metrics, runs + 1))
        found = compared(levels[:, :1], levels[:, 1:])
        called += bool(found.p_value.min() < 0.01 / metrics)
    assert called <= stats.binom.ppf(0.999, suites, 0.01)
