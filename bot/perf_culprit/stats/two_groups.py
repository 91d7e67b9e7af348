"""Tests of two groups of samples, for many metrics at once: ANOVA, Welch, Levene.

All functions take the per-metric numbers as arrays of shape (m,) and agree with scipy.stats' scalar functions.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from perf_culprit.arrays import Floats
from perf_culprit.stats.ragged import Moments, Ragged


@dataclass(frozen=True, slots=True)
class TestResult:
    """`statistic`, `degrees_of_freedom` (of the denominator) and two-sided `p_value`, each of shape (m,)."""

    statistic: Floats
    degrees_of_freedom: Floats
    p_value: Floats


def one_way_anova(target: Moments, baseline: Moments) -> TestResult:
    """Analyse the variance of two groups: F with 1 and N - 2 degrees of freedom [H13, section 3].

    Assumes independent samples of equal variance; robust to non-normality when balanced. Needs three samples in total.
    Without any variance F is infinite and p = 0 where the means differ; F = 0 and p = 1 where they do not.
    """
    total = target.count + baseline.count
    difference = target.mean - baseline.mean
    between = target.count * baseline.count / total * difference**2
    freedom = np.maximum(total - 2, 1)
    statistic = _ratio(between, (target.squares + baseline.squares) / freedom)
    return TestResult(statistic, freedom, special.fdtrc(1.0, freedom, statistic))


def welch(target: Moments, baseline: Moments) -> TestResult:
    """Welch's t-test with Welch-Satterthwaite degrees of freedom: equal means without equal variances [Welch 1947].

    Needs two samples per side. If neither side varies, p is 1 for equal means and 0 for different ones.
    """
    target_error = target.variance / target.count
    baseline_error = baseline.variance / baseline.count
    freedom = satterthwaite(target_error, target.count - 1, baseline_error, baseline.count - 1)
    return student_t(target.mean - baseline.mean, target_error + baseline_error, freedom)


def student_t(difference: Floats, variance: Floats, degrees_of_freedom: Floats) -> TestResult:
    """Two-sided t-test of a difference whose squared standard error is `variance`."""
    statistic = np.sign(difference) * np.sqrt(_ratio(difference**2, variance))
    p_value = np.minimum(2.0 * special.stdtr(degrees_of_freedom, -np.abs(statistic)), 1.0)
    return TestResult(statistic, degrees_of_freedom, p_value)


def satterthwaite(first: Floats, first_freedom: Floats, second: Floats, second_freedom: Floats) -> Floats:
    """Degrees of freedom of the sum of two independent squared standard errors; at least 1."""
    spread = first**2 / np.maximum(first_freedom, 1) + second**2 / np.maximum(second_freedom, 1)
    freedom = np.divide((first + second) ** 2, spread, out=np.ones_like(spread), where=spread > 0)
    return np.maximum(freedom, 1.0)


def levene(target: Ragged, baseline: Ragged) -> TestResult:
    """Levene's test of equal variances, centred on the medians (Brown & Forsythe 1974; scipy's default)."""
    return one_way_anova(_median_distances(target).moments(), _median_distances(baseline).moments())


def _median_distances(samples: Ragged) -> Ragged:
    return Ragged(np.abs(samples.values - samples.spread(samples.medians())), samples.sizes)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient; 0 / 0 is 0 (no difference, no spread), x / 0 infinite."""
    infinite = np.where(numerator > 0, np.inf, 0.0)
    return np.divide(numerator, denominator, out=infinite, where=denominator > 0)
