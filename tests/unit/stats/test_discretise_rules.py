"""METHODS 4.2: values as levels."""

import math

import numpy as np
import pytest

from perf_culprit.arrays import ABSENT, Floats
from perf_culprit.stats.discretise import LevelScale, equal_width_scale, three_level_scale, to_levels


def column(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)[:, None]


def levels_of(values: Floats, scale: LevelScale) -> list[int]:
    return [int(level) for level in to_levels(values, scale)[:, 0]]


def test_methods_4_2_median_74_and_deviation_14_make_medium_60_to_88() -> None:
    baseline = column(60, 74, 88, 60, 74, 88, 74, 74) + 0.0
    # Scale around the median to the deviation in the example.
    baseline = 74 + (baseline - 74) * 14 / np.std(baseline)
    scale = three_level_scale(baseline)
    assert (scale.low[0], scale.high[0]) == pytest.approx((60, 88))
    assert levels_of(column(59.9, 60.1, 74, 87.9, 88.1), scale) == [0, 1, 1, 1, 2]


def test_medium_holds_both_its_ends() -> None:
    scale = LevelScale(low=np.array([60.0]), high=np.array([88.0]), bins=np.array([1]), slack=np.zeros(1))
    assert levels_of(column(60, 88, math.nextafter(60, 0), math.nextafter(88, 99)), scale) == [1, 1, 0, 2]


@pytest.mark.parametrize("distinct", [1, 2, 3, 10, 100, 1440])
def test_methods_4_2_equal_width_has_2_ln_u_bins(distinct: int) -> None:
    values = np.repeat(np.linspace(0.0, 30.0, distinct), 2)[:, None]
    scale = equal_width_scale(values)
    assert scale.bins[0] == max(1, round(2 * math.log(distinct)))
    assert (scale.low[0], scale.high[0]) == (0.0, values.max())


def test_equal_width_bins_have_the_width_of_the_range_over_k() -> None:
    scale = equal_width_scale(column(*range(10)))  # k = round(2 ln 10) = 5, width 1.8
    assert levels_of(column(0, 1.7, 1.9, 3.7, 9), scale) == [1, 1, 2, 3, 5]


def test_values_that_no_run_came_near_have_a_level_of_their_own() -> None:
    scale = equal_width_scale(column(*range(10)))
    assert levels_of(column(-1.9, -1.7, 10.7, 10.9), scale) == [0, 1, 5, 6]


@pytest.mark.parametrize("make", [three_level_scale, equal_width_scale])
def test_a_constant_counter_has_one_level_and_what_is_beside_it(make: object) -> None:
    assert callable(make)
    scale = make(column(22, 22, 22))
    assert levels_of(column(21, 22, 23), scale) == [0, 1, int(scale.sizes[0]) - 1]


@pytest.mark.parametrize("make", [three_level_scale, equal_width_scale])
def test_missing_values_have_no_level_and_make_no_scale(make: object) -> None:
    assert callable(make)
    scale = make(np.array([[1.0, np.nan], [np.inf, np.nan], [3.0, np.nan]]))
    levels = to_levels(np.array([[2.0, 1.0], [np.nan, 2.0], [-np.inf, 3.0]]), scale)
    assert levels[1:].tolist() == [[ABSENT, ABSENT], [ABSENT, ABSENT]]
    assert levels[0, 0] >= 1
    assert levels[0, 1] == ABSENT


@pytest.mark.parametrize("make", [three_level_scale, equal_width_scale])
def test_levels_do_not_depend_on_the_unit(make: object) -> None:
    assert callable(make)
    values = np.random.default_rng(3).normal(0, 5, (100, 4))
    assert np.array_equal(to_levels(values, make(values)), to_levels(values * 1024 - 4096, make(values * 1024 - 4096)))


@pytest.mark.parametrize("make", [three_level_scale, equal_width_scale])
def test_numbers_of_any_magnitude_have_an_answer(make: object) -> None:
    assert callable(make)
    values = column(1e308, -1e308, 1e308, 5e-324, 0.0)
    assert len(to_levels(values, make(values))) == 5
