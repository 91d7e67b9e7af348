"""Tests of two counts against scipy's and statsmodels' own."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats import proportion

from bot.stats.two_rates import equal_rates, equal_shares, rate_ratio_interval, share_ratio_interval

TARGET = np.array([0.0, 3.0, 12.0, 40.0, 510.0])
BASELINE = np.array([5.0, 0.0, 4.0, 41.0, 400.0])


def test_equal_rates_is_twice_the_smaller_tail_of_the_binomial() -> None:
    p_values = equal_rates(TARGET, BASELINE, target_exposure=np.full(5, 2.0), baseline_exposure=np.full(5, 1.0))
    for p_value, after, before in zip(p_values, TARGET, BASELINE, strict=True):
        given = stats.binom(after + before, 2 / 3)
        assert p_value == pytest.approx(min(1.0, 2 * min(given.cdf(after), given.sf(after - 1))), rel=1e-9)


def test_nothing_counted_says_nothing() -> None:
    nothing = np.zeros(1)
    assert equal_rates(nothing, nothing, target_exposure=np.ones(1), baseline_exposure=np.ones(1)) == [1.0]
    whole = np.full(1, 100.0)
    assert equal_shares(nothing, nothing, target_whole=whole, baseline_whole=whole) == [1.0]


def test_equal_shares_is_chi_squared_with_one_less() -> None:
    p_values = equal_shares(TARGET[2:], BASELINE[2:], target_whole=np.full(3, 900.0), baseline_whole=np.full(3, 700.0))
    for p_value, after, before in zip(p_values, TARGET[2:], BASELINE[2:], strict=True):
        table = [[after, 900 - after], [before, 700 - before]]
        statistic = stats.chi2_contingency(table, correction=False).statistic * 1599 / 1600
        assert p_value == pytest.approx(stats.chi2.sf(statistic, 1), rel=1e-9)


def test_where_little_is_expected_the_exact_test_speaks() -> None:
    three, none, whole = np.array([3.0]), np.zeros(1), np.full(1, 1_000_000.0)
    few = np.full(1, 300_000.0)
    exact = equal_rates(three, none, target_exposure=few, baseline_exposure=whole)
    assert equal_shares(three, none, target_whole=few, baseline_whole=whole) == exact
    assert exact == pytest.approx([2 * (3 / 13) ** 3])


def test_intervals_agree_with_statsmodels() -> None:
    low, high = share_ratio_interval(
        TARGET[2:], BASELINE[2:], target_whole=np.full(3, 900.0), baseline_whole=np.full(3, 700.0), level=0.99
    )
    for lower, upper, after, before in zip(low, high, TARGET[2:], BASELINE[2:], strict=True):
        expected = proportion.confint_proportions_2indep(
            after, 900, before, 700, compare="ratio", method="log", alpha=0.01
        )
        assert (lower, upper) == pytest.approx(expected, rel=1e-6)
    rates = rate_ratio_interval(np.array([20.0, 1.0]), np.array([10.0, 0.0]), level=0.95)
    factor = np.exp(stats.norm.ppf(0.975) * np.sqrt(1 / 20 + 1 / 10))
    assert (rates[0][0], rates[1][0]) == pytest.approx((2 / factor, 2 * factor))
    assert np.isnan([rates[0][1], rates[1][1]]).all()


def test_false_alarms_of_equal_shares() -> None:
    rng = np.random.default_rng(5)
    whole = np.full(4_000, 500.0)
    for share in (0.002, 0.05, 0.5, 0.95):
        target, baseline = (rng.binomial(500, share, 4_000).astype(np.float64) for _ in range(2))
        alarms = int((equal_shares(target, baseline, target_whole=whole, baseline_whole=whole) < 0.01).sum())
        assert alarms <= stats.binom.ppf(0.999, 4_000, 0.0125)
