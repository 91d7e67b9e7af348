import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.association_rules import lowest_plausible_share, relative_entropy


def test_chernoffs_bound_is_above_the_binomial_tail() -> None:
    count = 40
    for share in (0.2, 0.5, 0.9):
        matches = np.arange(np.ceil(share * count), count + 1)
        bound = np.exp(-count * relative_entropy(matches / count, np.full(len(matches), share)))
        assert (bound >= stats.binom.sf(matches - 1, count, share) - 1e-12).all()


def test_equal_shares_have_none_and_the_impossible_infinite() -> None:
    entropy = relative_entropy(np.array([0.0, 0.3, 1.0, 0.5, 0.5]), np.array([0.0, 0.3, 1.0, 0.0, 1.0]))
    assert entropy[:3] == pytest.approx([0, 0, 0])
    assert np.isinf(entropy[3:]).all()


@pytest.mark.parametrize(("observed", "count"), [(1.0, 10), (0.7, 60), (0.5, 1000)])
def test_the_lowest_plausible_share_is_below_the_exact_bound_and_near_it(observed: float, count: int) -> None:
    low = float(lowest_plausible_share(np.array([observed]), np.array([float(count)]), alpha=0.01)[0])
    exact = stats.binomtest(round(observed * count), count).proportion_ci(0.98).low
    assert low <= exact
    assert low == pytest.approx(exact, abs=0.15)
    assert relative_entropy(np.array([observed]), np.array([low]))[0] * count == pytest.approx(-np.log(0.01), rel=1e-6)
