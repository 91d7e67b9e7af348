import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.next_run import prediction_limits


@pytest.mark.parametrize("count", [2, 6])
def test_limits_are_those_of_one_more_normal_value(count: int) -> None:
    values = np.random.default_rng(2).normal(10, 2, (count, 1))
    low, high = prediction_limits(values, alpha=0.05)
    width = stats.t.ppf(0.975, count - 1) * values.std(ddof=1) * np.sqrt(1 + 1 / count)
    assert (low[0], high[0]) == pytest.approx((values.mean() - width, values.mean() + width))


def test_one_more_run_leaves_the_limits_with_chance_alpha() -> None:
    rng = np.random.default_rng(3)
    low, high = prediction_limits(rng.normal(size=(4, 20_000)), alpha=0.02)
    target = rng.normal(size=20_000)
    outside = np.mean((target < low) | (target > high))
    assert outside == pytest.approx(0.02, abs=5 * np.sqrt(0.02 * 0.98 / 20_000))


def test_fewer_than_two_values_exclude_nothing() -> None:
    low, high = prediction_limits(np.array([[1.0, np.nan], [1.0, 3.0], [np.nan, np.nan]]), alpha=0.01)
    assert (low[0], high[0]) == (1.0, 1.0)
    assert (low[1], high[1]) == (-np.inf, np.inf)


@pytest.mark.parametrize("values", [[1e200, -1e200], [1.7e308, 1.7e308, np.inf]], ids=["square", "sum"])
def test_what_overflows_excludes_nothing_and_warns_of_nothing(values: list[float]) -> None:
    low, high = prediction_limits(np.array(values)[:, None], alpha=0.01)
    assert (low[0], high[0]) == (-np.inf, np.inf)
