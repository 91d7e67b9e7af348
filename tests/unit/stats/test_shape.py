"""The test of normality agrees with scipy's."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.normality import normality
from perf_culprit.stats.ragged import Floats, Ragged


def ragged(rows: list[Floats]) -> Ragged:
    return Ragged(np.concatenate(rows), np.array([len(row) for row in rows]))


def test_agrees_with_scipy() -> None:
    rng = np.random.default_rng(8)
    rows = [
        draw
        for size in (20, 21, 50, 333)
        for draw in (rng.normal(5, 2, size), rng.lognormal(0, 0.4, size), rng.standard_t(3, size), rng.random(size))
    ]
    result = normality(ragged(rows))
    expected = np.array([stats.normaltest(row).pvalue for row in rows])
    told = expected > 1e-300
    assert result[told] == pytest.approx(expected[told], rel=1e-6)


def test_normal_samples_are_rejected_at_the_stated_rate() -> None:
    rng = np.random.default_rng(9)
    p_values = normality(Ragged(rng.normal(0, 1, 200_000), np.full(4000, 50)))
    assert 0.005 < np.mean(p_values < 0.01) < 0.025


def test_a_constant_row_is_not_normal() -> None:
    assert normality(ragged([np.full(20, 3.0)]))[0] == 0.0


def test_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="20 samples"):
        normality(ragged([np.arange(19.0)]))
