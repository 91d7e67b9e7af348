import math

import numpy as np
import pytest

from perf_culprit.stats.ragged import Floats, Moments, Ragged
from perf_culprit.stats.relative import MeanEstimate, change_interval, relative_change, relative_error, welch_freedom


def one(mean: float, squared_error: float) -> MeanEstimate:
    return MeanEstimate(np.array([float(mean)]), np.array([float(squared_error)]))


def test_relative_change_keeps_its_sign_for_negative_baselines() -> None:
    change = relative_change(np.array([11.0, -8.0, 5.0]), np.array([10.0, -10.0, 0.0]))
    assert change[:2] == pytest.approx([0.1, 0.2])
    assert math.isnan(change[2])


def test_change_interval_without_error_is_the_change() -> None:
    low, high = change_interval(one(11, 0), one(10, 0), degrees_of_freedom=np.array([5.0]), level=0.99)
    assert (low[0], high[0]) == pytest.approx((0.1, 0.1))


def test_change_interval_is_unbounded_where_the_baseline_may_be_zero() -> None:
    for baseline in (one(1, 1), one(0, 1)):
        low, high = change_interval(one(2, 1), baseline, degrees_of_freedom=np.array([9.0]), level=0.99)
        assert math.isnan(low[0])
        assert math.isnan(high[0])


def test_change_interval_of_negative_means_is_mirrored() -> None:
    freedom = np.array([9.0])
    low, high = change_interval(one(11, 0.1), one(10, 0.1), degrees_of_freedom=freedom, level=0.99)
    mirrored = change_interval(one(-11, 0.1), one(-10, 0.1), degrees_of_freedom=freedom, level=0.99)
    assert (mirrored[0][0], mirrored[1][0]) == pytest.approx((-high[0], -low[0]))


@pytest.mark.parametrize(("target_count", "baseline_count", "spread"), [(5, 5, 0.3), (30, 30, 0.1), (6, 300, 0.3)])
def test_change_interval_covers_as_promised(target_count: int, baseline_count: int, spread: float) -> None:
    # 4,000 simulated comparisons of a true change of 20% with unequal variances; 5 standard errors of the share.
    rng, trials, level = np.random.default_rng(3), 4000, 0.95
    target = _moments(rng.normal(120, 2 * spread * 100, (trials, target_count)))
    baseline = _moments(rng.normal(100, spread * 100, (trials, baseline_count)))
    low, high = change_interval(
        MeanEstimate(target.mean, target.variance / target.count),
        MeanEstimate(baseline.mean, baseline.variance / baseline.count),
        degrees_of_freedom=welch_freedom(target, baseline),
        level=level,
    )
    bounded = ~np.isnan(low)
    covered = np.mean((low[bounded] <= 0.2) & (high[bounded] >= 0.2))
    assert bounded.mean() > 0.9
    assert covered == pytest.approx(level, abs=5 * math.sqrt(level * (1 - level) / trials))


def test_relative_error_is_that_of_a_quotient() -> None:
    error = relative_error(one(20, 0.04), one(10, 0.09))
    assert error[0] == pytest.approx(math.sqrt(0.04 + 4 * 0.09) / 10)
    assert math.isnan(relative_error(one(20, 0.04), one(0, 0.09))[0])


def _moments(rows: Floats) -> Moments:
    return Ragged(rows.ravel(), np.full(len(rows), rows.shape[1])).moments()
