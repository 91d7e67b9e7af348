"""All tests agree with scipy's scalar functions to 1e-9, ragged counts included."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.arrays import Floats
from perf_culprit.stats.ragged import Ragged
from perf_culprit.stats.two_groups import levene, one_way_anova, satterthwaite, student_t, welch

CASES = 60


def sides() -> tuple[list[Floats], list[Floats]]:
    rng = np.random.default_rng(7)
    targets, baselines = [], []
    for case in range(CASES):
        level, effect = 10.0 ** rng.uniform(-6, 6), 1 + rng.choice([0.0, 0.01, 0.1, 0.5])
        targets.append(level * effect * rng.lognormal(0, 0.03 * (1 + case % 4), int(rng.integers(3, 60))))
        baselines.append(level * rng.lognormal(0, 0.05, int(rng.integers(3, 400))))
    return targets, baselines


def ragged(rows: list[Floats]) -> Ragged:
    return Ragged(np.concatenate(rows), np.array([len(row) for row in rows]))


def assert_p_values(ours: Floats, scipys: list[float]) -> None:
    told = np.array(scipys) > 1e-300
    assert told.any()
    assert ours[told] == pytest.approx(np.array(scipys)[told], rel=1e-9)
    assert (ours[~told] <= 1e-299).all()


def test_one_way_anova_agrees_with_scipy() -> None:
    targets, baselines = sides()
    result = one_way_anova(ragged(targets).moments(), ragged(baselines).moments())
    reference = [stats.f_oneway(*pair) for pair in zip(targets, baselines, strict=True)]
    assert result.statistic == pytest.approx([entry.statistic for entry in reference], rel=1e-9)
    assert_p_values(result.p_value, [entry.pvalue for entry in reference])


def test_welch_agrees_with_scipy() -> None:
    targets, baselines = sides()
    result = welch(ragged(targets).moments(), ragged(baselines).moments())
    reference = [stats.ttest_ind(*pair, equal_var=False) for pair in zip(targets, baselines, strict=True)]
    assert result.degrees_of_freedom == pytest.approx([entry.df for entry in reference], rel=1e-9)
    assert_p_values(result.p_value, [entry.pvalue for entry in reference])


def test_levene_agrees_with_scipy() -> None:
    targets, baselines = sides()
    result = levene(ragged(targets), ragged(baselines))
    assert_p_values(result.p_value, [stats.levene(*pair).pvalue for pair in zip(targets, baselines, strict=True)])


def test_without_variance_the_means_decide() -> None:
    equal, higher = ragged([np.full(4, 3.0)]).moments(), ragged([np.full(4, 4.0)]).moments()
    for test in (one_way_anova, welch):
        assert test(equal, equal).p_value.tolist() == [1.0]
        assert test(higher, equal).p_value.tolist() == [0.0]


def test_one_varying_side_is_enough() -> None:
    constant, varying = np.full(5, 3.0), np.array([3.0, 3.5, 2.5, 3.1])
    result = one_way_anova(ragged([constant]).moments(), ragged([varying]).moments())
    assert result.p_value[0] == pytest.approx(stats.f_oneway(constant, varying).pvalue)


def test_student_t_has_the_sign_of_the_difference() -> None:
    result = student_t(np.array([-2.0, 2.0]), np.ones(2), np.full(2, 9.0))
    assert result.statistic.tolist() == [-2.0, 2.0]
    assert result.p_value == pytest.approx(2 * stats.t.sf(2.0, 9))


def test_satterthwaite_of_nothing_is_one() -> None:
    zero = np.zeros(1)
    assert satterthwaite(zero, zero, zero, zero).tolist() == [1.0]
