import numpy as np
import pytest
from scipy import stats

from bot.stats.prediction import prediction_limits


def test_limits_are_those_of_one_more_normal_value() -> None:
    values = np.random.default_rng(2).normal(10, 2, (6, 1))
    low, high = prediction_limits(values, alpha=0.05)
    width = stats.t.ppf(0.975, 5) * values.std(ddof=1) * np.sqrt(1 + 1 / 6)
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
