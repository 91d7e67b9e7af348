"""A mode that one side never showed: its probability simulated, its tail from numbers drawn, its width by inversion."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.ragged import Floats, Ragged
from perf_culprit.stats.second_mode import (
    FEWEST_WITNESSES,
    GAP_SCALE,
    GAP_WEIGHTS,
    PRIOR_SHARE,
    RARER_SHARE,
    UnitSides,
    half_width_with_modes,
    mode_probability,
    tail_with_modes,
)

SEED = 43


def sides(target: Floats, baseline: Floats) -> UnitSides:
    """One row per metric of both (m, units)."""
    rows = [Ragged(side.ravel(), np.full(len(side), side.shape[1])) for side in (target, baseline)]
    return UnitSides(target=rows[0], baseline=rows[1], difference=target.mean(axis=1) - baseline.mean(axis=1))


def quiet(rng: np.random.Generator, metrics: int, units: int) -> Floats:
    return rng.normal(0, 0.01, (metrics, units))


@pytest.mark.parametrize(("target", "baseline"), [(1, 4), (2, 3), (3, 3), (1, 9)])
def test_without_witnesses_the_probability_is_that_of_benchmarks_that_look_alike(target: int, baseline: int) -> None:
    """Of simulated benchmarks without any jump within a side, how many have the sides in different modes."""
    rng = np.random.default_rng(SEED)
    has_two = rng.random(400_000) < PRIOR_SHARE
    rare = (rng.random((400_000, target + baseline)) < RARER_SHARE) & has_two[:, None]
    first, second = rare[:, :target], rare[:, target:]
    alike = (first.min(axis=1) == first.max(axis=1)) & (second.min(axis=1) == second.max(axis=1))
    expected = (first[alike, 0] != second[alike, 0]).mean()
    (result,) = mode_probability(sides(quiet(rng, 1, target), quiet(rng, 1, baseline)))
    assert result == pytest.approx(expected, rel=0.03)


def test_a_suite_that_never_jumps_has_hardly_any_modes() -> None:
    rng = np.random.default_rng(SEED)
    few, many = (
        mode_probability(sides(quiet(rng, count, 1), quiet(rng, count, 5))).max() for count in (FEWEST_WITNESSES, 200)
    )
    (alone,) = mode_probability(sides(quiet(rng, 1, 1), quiet(rng, 1, 5)))
    assert many < 1e-3 < few < alone


def test_jumps_of_some_metrics_are_told_of_all_others() -> None:
    rng = np.random.default_rng(SEED)
    baseline = quiet(rng, 100, 5)
    before = mode_probability(sides(quiet(rng, 100, 1), baseline))
    baseline[:30, 2] += 0.4
    after = mode_probability(sides(quiet(rng, 100, 1), baseline))
    assert after[:30].tolist() == [0.0] * 30  # these have shown their modes
    assert after[30:].min() > 20 * before[30:].max()


def test_noise_is_no_jump() -> None:
    rng = np.random.default_rng(SEED)
    for spread in (1e-4, 0.01, 0.3):
        probability = mode_probability(sides(rng.normal(0, spread, (200, 1)), rng.normal(0, spread, (200, 5))))
        assert probability.max() < 1e-3


def test_of_one_unit_per_side_a_shift_of_the_whole_suite_is_no_jump() -> None:
    rng = np.random.default_rng(SEED)
    alike = mode_probability(sides(quiet(rng, 100, 1) + 0.5, quiet(rng, 100, 1)))
    some = mode_probability(sides(quiet(rng, 100, 1) + 0.5 * (np.arange(100) < 30)[:, None], quiet(rng, 100, 1)))
    assert alike.max() < 0.01
    assert some.min() > 0.1


def test_the_gaps_are_those_of_a_rayleigh_distribution() -> None:
    assert GAP_WEIGHTS.sum() == pytest.approx(1, abs=2e-5)
    assert stats.rayleigh(scale=GAP_SCALE / np.sqrt(2)).sf(np.log([1.34, 1.7, 2.1])) == pytest.approx(
        [0.5, 0.1, 0.01], rel=0.15
    )


def test_without_modes_the_tail_is_students() -> None:
    difference, error, freedom = np.array([0.3, -0.3, 0.0]), np.array([0.1, 0.1, 0.0]), np.array([4.0, 4.0, 4.0])
    tail = tail_with_modes(difference, error, freedom, np.zeros(3))
    assert tail[:2] == pytest.approx([2 * stats.t.sf(3.0, 4)] * 2)
    assert tail[2] == 1.0


@pytest.mark.parametrize(("error", "freedom"), [(0.02, 30.0), (0.14, 10.0), (1e-6, 5.0)])
def test_the_tail_is_how_often_noise_and_a_gap_reach_the_difference(error: float, freedom: float) -> None:
    rng = np.random.default_rng(SEED)
    draws = 400_000
    gaps = rng.rayleigh(GAP_SCALE / np.sqrt(2), draws) * rng.choice([-1, 0, 1], draws, p=[0.15, 0.7, 0.15])
    apart = np.abs(gaps + error * rng.standard_t(freedom, draws))
    at = np.array([0.05, 0.3, 0.6, 0.9])
    tail = tail_with_modes(at, np.full(4, error), np.full(4, freedom), np.full(4, 0.3))
    assert tail == pytest.approx([(apart >= limit).mean() for limit in at], rel=0.05, abs=2e-4)


@pytest.mark.parametrize("probability", [0.0, 0.002, 0.05, 0.3])
@pytest.mark.parametrize(("error", "freedom"), [(0.02, 30.0), (0.14, 10.0), (0.0, 5.0)])
def test_the_half_width_is_where_the_tail_falls_below_the_rest_of_the_level(
    error: float, freedom: float, probability: float
) -> None:
    columns = np.array([error]), np.array([freedom]), np.array([probability])
    width = half_width_with_modes(*columns, level=0.99)
    if error == 0 and probability <= 0.01:
        # The values are all equal and a second mode is rarer than what the level leaves out.
        assert width[0] < 1e-3
        return
    assert tail_with_modes(width * 1.001, *columns)[0] <= 0.0101
    assert tail_with_modes(width * 0.99, *columns)[0] >= 0.0095


def test_widths_of_many_metrics_are_exact_wherever_the_tail_is_smooth() -> None:
    errors, freedoms, probabilities = (
        column.ravel() for column in np.meshgrid([0.03, 0.14, 0.6], [3.0, 30.0, 1e6], [0.0, 0.01, 0.05, 0.3])
    )
    for level in (0.9, 0.99):
        widths = half_width_with_modes(errors, freedoms, probabilities, level=level)
        tails = tail_with_modes(widths, errors, freedoms, probabilities)
        assert tails == pytest.approx(np.full(len(errors), 1 - level), rel=2e-5)
