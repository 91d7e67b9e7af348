import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.steps import scan


@pytest.mark.parametrize("window", [8, 16])
def test_the_scan_is_students_t_of_the_windows_on_both_sides(window: int) -> None:
    values = np.random.default_rng(5).normal(3, 1, 40) + 0.8 * (np.arange(40) >= 20)
    result = scan(values, window)
    for place in range(window, 40 - window + 1):
        test = stats.ttest_ind(values[place - window : place], values[place : place + window])
        assert result[place] == pytest.approx(abs(test.statistic), rel=1e-6)
    assert not result[:window].any()
    assert not result[40 - window + 1 :].any()
    assert not scan(values[: 2 * window - 1], window).any()
