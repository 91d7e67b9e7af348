import numpy as np
import pytest

from bot.stats.moderation import effective_number, moderate
from bot.stats.ragged import Floats

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
