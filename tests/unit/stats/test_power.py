import math

import pytest
from scipy import stats

from perf_culprit.stats.power import noncentrality, repetitions_for_half_width


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
