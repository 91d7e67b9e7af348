import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.multiplicity import benjamini_hochberg


@pytest.mark.parametrize("count", [1, 2, 17, 500])
def test_benjamini_hochberg_agrees_with_scipy(count: int) -> None:
    p_values = np.random.default_rng(count).random(count) ** 3
    assert benjamini_hochberg(p_values) == pytest.approx(stats.false_discovery_control(p_values), rel=1e-12)


def test_benjamini_hochberg_of_ties_zeros_ones_and_nothing() -> None:
    q_values = benjamini_hochberg(np.array([0.0, 1.0, 0.5, 0.5]))
    assert q_values == pytest.approx([0.0, 1.0, 2 / 3, 2 / 3])
    assert benjamini_hochberg(np.array([])).tolist() == []
