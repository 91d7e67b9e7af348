"""METHODS 3: the median's interval and the two conditions of a deviation."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.arrays import Floats
from perf_culprit.stats.order_interval import (
    MedianEstimate,
    interval_ranks,
    intervals_overlap,
    median_deviation,
    median_estimate,
    median_test,
    resolution,
)
from perf_culprit.stats.ragged import Ragged


def rows(*values: list[float]) -> Ragged:
    return Ragged(np.concatenate([np.array(row, dtype=np.float64) for row in values]), np.array([*map(len, values)]))


def matrix(values: Floats) -> Ragged:
    return Ragged(values.ravel(), np.full(len(values), values.shape[1]))


def test_methods_3_of_1_to_11() -> None:
    lower, upper = interval_ranks(np.array([11]))
    assert (lower[0], upper[0]) == (3, 8)
    estimate = median_estimate(rows([float(i) for i in (7, 1, 11, 3, 9, 5, 2, 10, 4, 8, 6)]))
    assert (estimate.median[0], estimate.error[0], estimate.degrees_of_freedom[0]) == (6.0, 2.0, 4.0)
    low, high = estimate.bounds()
    assert low[0] == pytest.approx(6 - 5.553, abs=5e-4)
    assert high[0] == pytest.approx(6 + 5.553, abs=5e-4)


def test_methods_3_of_five_samples_takes_all_of_them() -> None:
    lower, upper = interval_ranks(np.array([5]))
    assert (lower[0], upper[0]) == (0, 5)
    estimate = median_estimate(rows([1.0, 2.0, 3.0, 4.0, 9.0]))
    assert estimate.error[0] == 4.0
    assert estimate.degrees_of_freedom[0] == 4


def test_rows_of_different_lengths_are_what_they_are_alone() -> None:
    rng = np.random.default_rng(3)
    parts = [rng.lognormal(0, 1, size).tolist() for size in (2, 7, 7, 50, 6, 131)]
    together = median_estimate(rows(*parts))
    for index, part in enumerate(parts):
        alone = median_estimate(rows(part))
        assert together.median[index] == alone.median[0] == pytest.approx(np.median(part))
        assert together.error[index] == alone.error[0]
        assert together.degrees_of_freedom[index] == alone.degrees_of_freedom[0]


def test_one_sample_has_no_interval() -> None:
    with pytest.raises(ValueError, match="two samples"):
        median_estimate(rows([1.0, 2.0], [1.0]))


@pytest.mark.parametrize("size", [11, 30, 51])
def test_the_interval_covers_the_median_about_as_often_as_it_says(size: int) -> None:
    rng = np.random.default_rng(size)
    low, high = median_estimate(matrix(rng.lognormal(0, 0.5, (4000, size)))).bounds(0.95)
    # The ranks are integers and are rounded outwards, so the coverage fluctuates with the size.
    assert 0.92 < np.mean((low <= 1) & (high >= 1)) < 0.995


def test_methods_3_a_deviation_needs_both_conditions() -> None:
    def against(shift: float) -> tuple[bool, bool, bool]:
        samples = rows([float(i) for i in range(1, 52)])
        spread = median_deviation(
            median_estimate(Ragged(samples.values + shift, samples.sizes)), median_estimate(samples), level=0.95
        )
        return bool(spread.excludes_zero[0]), bool(spread.overlap[0]), bool(spread.deviates[0])

    # SE 4 on 8 degrees of freedom: intervals of ±9.2, difference ±12.0 on 16 degrees.
    assert against(8.0) == (False, True, False)
    assert against(13.0) == (True, True, False)
    assert against(19.0) == (True, False, True)
    assert against(-19.0) == (True, False, True)


def test_methods_3_interval_of_the_difference() -> None:
    first, second = (MedianEstimate(*(np.array([x]) for x in row)) for row in ((10.0, 3.0, 4.0), (16.0, 4.0, 9.0)))
    spread = median_deviation(second, first)
    freedom = 25**2 / (81 / 4 + 256 / 9)
    assert spread.difference.degrees_of_freedom[0] == pytest.approx(freedom)
    assert spread.difference.p_value[0] == pytest.approx(2 * stats.t.sf(6 / 5, freedom))


def test_medians_without_spread_differ_or_not() -> None:
    constant, other = rows([5.0] * 6), rows([7.0] * 6)
    assert not median_deviation(median_estimate(constant), median_estimate(constant)).deviates[0]
    assert median_deviation(median_estimate(other), median_estimate(constant)).deviates[0]


def test_negative_and_huge_samples() -> None:
    rng = np.random.default_rng(5)
    samples = rng.normal(0, 1, 21)
    mirrored, plain = median_estimate(matrix(-samples[None])), median_estimate(matrix(samples[None]))
    assert mirrored.median[0] == -plain.median[0]
    assert mirrored.error[0] == pytest.approx(plain.error[0])
    assert np.isfinite(median_estimate(rows([-1.7e308, -1.7e308, 1.7e308, 1.7e308, 1.7e308])).error).all()


def test_touching_intervals_overlap() -> None:
    ends = np.array([1.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0])
    others = np.array([2.0, 2.1, -1.0]), np.array([3.0, 3.0, 0.9])
    assert intervals_overlap(ends, others).tolist() == [True, False, False]


def test_median_test_is_moods_with_yates_correction() -> None:
    rng = np.random.default_rng(6)
    target, baseline = rng.normal(0.6, 1, 41), rng.normal(0, 1, 30)
    expected = stats.median_test(target, baseline, correction=True, ties="below").pvalue
    assert median_test(matrix(target[None]), matrix(baseline[None]))[0] == pytest.approx(expected, rel=1e-9)


def test_median_test_of_separated_and_of_equal_sides() -> None:
    high, low = rows([4.0, 5.0, 6.0]), rows([1.0, 2.0, 3.0])
    assert median_test(high, low)[0] == median_test(low, high)[0] == pytest.approx(0.1025, abs=1e-4)
    assert median_test(rows([2.0, 2.0]), rows([2.0, 2.0, 2.0]))[0] == 1.0


@pytest.mark.parametrize("kind", ["two equal modes", "coarse clock"])
def test_median_test_holds_its_rate_where_the_median_jumps(kind: str) -> None:
    """Olive's interval is far too narrow if there is no density at the median. The rank test holds its rate."""
    rng = np.random.default_rng(7)
    shape = (20_000, 30)
    noise = rng.normal(0, 1, (2, *shape)) * (kind == "two equal modes")
    target, baseline = np.where(rng.random((2, *shape)) < 0.5, 100.0, 150.0) + noise
    sides = matrix(target), matrix(baseline)
    alone = median_deviation(*map(median_estimate, sides)).difference.p_value
    assert np.mean(alone < 0.001) > 0.02
    assert np.mean(np.maximum(alone, median_test(*sides)) < 0.001) < 0.001


def test_resolution_is_the_smallest_step_within_a_row() -> None:
    assert resolution(rows([1.0, 1.0, 1.5, 3.0], [2.0, 2.0], [-1.0, 4.0])).tolist() == [0.5, 0.0, 5.0]
