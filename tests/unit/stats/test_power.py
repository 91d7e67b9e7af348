import math

import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.power import (
    further_target_samples,
    needed_error,
    noncentrality,
    repetitions_for_half_width,
    samples_per_side,
)


def test_samples_per_side_find_the_effect_nine_times_in_ten() -> None:
    needed = int(samples_per_side(np.array([0.1**2]), np.zeros(1), effect=0.05, alpha=0.01)[0])
    rng = np.random.default_rng(1)
    results = [
        stats.ttest_ind(rng.normal(1.05, 0.1, needed), rng.normal(1, 0.1, needed)).pvalue < 0.01 for _ in range(600)
    ]
    assert np.mean(results) == pytest.approx(0.9, abs=0.05)


def test_no_number_of_samples_helps_against_differing_runs() -> None:
    assert math.isnan(samples_per_side(np.array([0.01]), np.array([0.03**2]), effect=0.05, alpha=0.01)[0])
    assert further_target_samples(30, error=0.04, target_error=0.01, effect=0.05, alpha=0.01) is None


def test_further_target_samples_reach_the_needed_error() -> None:
    more = further_target_samples(20, error=0.03, target_error=0.028, effect=0.05, alpha=0.01)
    assert more is not None
    fixed = 0.03**2 - 0.028**2
    assert math.sqrt(0.028**2 * 20 / (20 + more) + fixed) <= needed_error(0.05, alpha=0.01)
    assert math.sqrt(0.028**2 * 20 / (18 + more) + fixed) > needed_error(0.05, alpha=0.01)


def test_an_absurd_number_of_samples_is_no_advice() -> None:
    assert further_target_samples(10, error=100.0, target_error=100.0, effect=0.05, alpha=0.01) is None


@pytest.mark.parametrize("freedom", [2, 5, 10, 38, 500])
@pytest.mark.parametrize("alpha", [0.01, 5e-4])
def test_a_change_of_the_noncentrality_is_found_nine_times_in_ten(freedom: float, alpha: float) -> None:
    critical = stats.t.ppf(1 - alpha / 2, freedom)
    assert stats.nct.sf(critical, freedom, noncentrality(freedom, alpha=alpha)) == pytest.approx(0.9, abs=1e-4)


def test_the_noncentrality_of_many_samples_is_the_normal_distributions() -> None:
    normal = stats.norm.ppf(0.995) + stats.norm.ppf(0.9)
    assert noncentrality(1e9, alpha=0.01) == pytest.approx(normal)
    assert noncentrality(9_999, alpha=0.01) == pytest.approx(normal, rel=1e-3)


def test_repetitions_for_half_width() -> None:
    needed = repetitions_for_half_width(0.5, half_width=0.1, level=0.95)
    widths = [stats.t.ppf(0.975, count - 1) * 0.5 / math.sqrt(count) for count in (needed - 1, needed)]
    assert widths[1] <= 0.1 < widths[0]
