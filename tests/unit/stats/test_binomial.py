"""Clopper-Pearson bounds agree with scipy's."""

import pytest
from scipy import stats

from perf_culprit.stats.binomial import share_interval


@pytest.mark.parametrize(("count", "trials"), [(0, 5), (5, 5), (3, 28), (1, 1), (40, 4000)])
def test_agrees_with_scipy(count: int, trials: int) -> None:
    expected = stats.binomtest(count, trials).proportion_ci(0.95, method="exact")
    assert share_interval(count, trials) == pytest.approx((expected.low, expected.high))


def test_without_trials_anything_is_possible() -> None:
    assert share_interval(0, 0) == (0.0, 1.0)
