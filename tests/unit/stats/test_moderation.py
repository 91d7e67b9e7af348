import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from perf_culprit.arrays import Floats
from perf_culprit.stats.moderation import effective_number, moderate

RUNS, BENCHMARKS = 6, 800


def residuals(rng: np.random.Generator, *, own: float, shared: float) -> Floats:
    offsets = rng.normal(0, own, (BENCHMARKS, RUNS)) + rng.normal(0, shared, RUNS)
    return np.asarray(offsets - offsets.mean(axis=1, keepdims=True))


def freedom() -> Floats:
    return np.full(BENCHMARKS, RUNS - 1.0)


def test_independent_benchmarks_count_as_many_shared_ones_as_one() -> None:
    rng = np.random.default_rng(5)
    assert effective_number(residuals(rng, own=1, shared=0), freedom()) > BENCHMARKS / 4
    assert effective_number(residuals(rng, own=0, shared=1), freedom()) == pytest.approx(1)
    assert 1 < effective_number(residuals(rng, own=1, shared=1), freedom()) < 20


def test_two_runs_tell_nothing_about_the_correlation() -> None:
    pairs = np.random.default_rng(1).normal(size=(50, 1)) * np.array([[1.0, -1.0]])
    assert effective_number(pairs, np.ones(50)) == 1


def test_equal_variances_are_pooled() -> None:
    rng = np.random.default_rng(2)
    variance = rng.chisquare(RUNS - 1, BENCHMARKS) / (RUNS - 1)
    result = moderate(variance, freedom(), effective_number=BENCHMARKS)
    assert result.degrees_of_freedom.min() > 30
    assert result.variance.min() == pytest.approx(1, rel=0.15)


def test_prior_degrees_of_freedom_are_recovered() -> None:
    # Variances drawn from the model of [Smyth 2004]: a scaled inverse chi-square with 8 degrees of freedom.
    rng = np.random.default_rng(3)
    true = 8 / rng.chisquare(8, 20_000)
    variance = true * rng.chisquare(4, 20_000) / 4
    result = moderate(variance, np.full(20_000, 4.0), effective_number=20_000)
    assert result.prior_freedom == pytest.approx(8, rel=0.15)


def test_no_variance_is_lowered_and_no_degree_lost() -> None:
    rng = np.random.default_rng(4)
    variance = rng.lognormal(0, 2, BENCHMARKS)
    variance[:3] = 0
    result = moderate(variance, freedom(), effective_number=50.0)
    assert (result.variance >= variance).all()
    assert (result.degrees_of_freedom >= RUNS - 1).all()
    assert result.variance[:3].tolist() == [0, 0, 0]
    assert result.degrees_of_freedom[:3].tolist() == [RUNS - 1] * 3


@pytest.mark.parametrize(("count", "effective"), [(1, 1.0), (BENCHMARKS, 1.0)])
def test_nothing_to_learn_from_leaves_variances_alone(count: int, effective: float) -> None:
    variance = np.random.default_rng(6).random(count)
    result = moderate(variance, freedom()[:count], effective_number=effective)
    assert result.variance is variance
    assert result.prior_freedom == 0


@pytest.mark.parametrize(("spread", "effective"), [(1.5, 20.0), (1.0, 1.5)])
def test_benchmarks_that_share_a_machine_are_worth_fewer_degrees_of_freedom(spread: float, effective: float) -> None:
    """Expected: [Smyth 2004], section 6.2, solved by bisection. Shared noise is not a spread between benchmarks."""
    rng = np.random.default_rng(7)
    own_freedom = rng.integers(3, 9, BENCHMARKS).astype(np.float64)
    variance = rng.lognormal(0, spread, BENCHMARKS) * rng.chisquare(own_freedom) / own_freedom
    half = own_freedom / 2
    logs = np.log(variance) - digamma(half) + np.log(half)
    shared = (1 / effective - 1 / BENCHMARKS) / (1 - 1 / BENCHMARKS)
    excess = logs.var(ddof=1) - (1 - shared) * polygamma(1, half).mean()
    prior_freedom = 2 * brentq(lambda x: polygamma(1, x) - excess, 1e-3, 1e6)
    prior = np.exp(logs.mean() + digamma(prior_freedom / 2) - np.log(prior_freedom / 2))
    moderated = moderate(variance, own_freedom, effective_number=effective)
    assert (moderated.prior_freedom, moderated.prior) == pytest.approx((prior_freedom, prior), rel=1e-5)
    mixed = (own_freedom * variance + prior_freedom * prior) / (own_freedom + prior_freedom)
    assert moderated.variance == pytest.approx(np.maximum(mixed, variance), rel=1e-5)
    least = np.minimum(own_freedom + prior_freedom, effective * own_freedom.mean())
    assert moderated.degrees_of_freedom == pytest.approx(np.maximum(least, own_freedom), rel=1e-5)
