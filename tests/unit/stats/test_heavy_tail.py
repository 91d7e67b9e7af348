"""The tail and the prior of variances, compared with scipy's distributions and with the suite they were drawn from."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.heavy_tail import GAP, STANDARD_ERRORS, TO_PROVE, TO_SUSPECT, Jumps, Tail
from perf_culprit.stats.suite_prior import SCALE, suite_prior


@pytest.mark.parametrize("jumps", [TO_PROVE, TO_SUSPECT])
def test_the_tail_is_a_students_t_and_powers_of_the_size(jumps: Jumps) -> None:
    size = np.array([0.01, 0.1, 2.0])
    tail = Tail(error=np.full(3, 0.02), freedom=np.full(3, 6.0), jumps=np.full(3, 1.1))
    jump = 1.1 * jumps.share
    far = (1 + size / 0.02 / STANDARD_ERRORS) ** -jumps.by_noise * (1 + size / GAP) ** -jumps.by_size
    assert tail.of(size, jumps) == pytest.approx((1 - jump) * 2 * stats.t(6).sf(size / 0.02) + jump * far, rel=1e-9)


@pytest.mark.parametrize("level", [0.2, 0.05, 1e-3])
def test_a_distance_has_the_tail_that_was_asked_for(level: float) -> None:
    tail = Tail(error=np.array([0.01, 0.3]), freedom=np.array([1.1, 9.0]), jumps=np.array([0.3, 2.0]))
    assert tail.of(tail.distance(level)) == pytest.approx([level, level], rel=1e-6)


def test_the_prior_finds_the_scale_that_the_suite_was_drawn_from() -> None:
    rng, freedom, worth, scale = np.random.default_rng(0), 8.0, 4.0, 0.03
    variances = scale**2 * worth / rng.chisquare(worth, 5000)
    prior = suite_prior(variances * rng.chisquare(freedom, 5000) / freedom, freedom)
    assert prior.worth == pytest.approx(worth, rel=0.25)
    assert prior.variance == pytest.approx(prior.own, rel=0.05)
    # `own` is the median of the variances, up to the spread of the scales.
    assert prior.own == pytest.approx(float(np.median(variances)), rel=0.15)


def test_unlike_noises_leave_each_benchmark_to_itself() -> None:
    rng = np.random.default_rng(1)
    unlike = np.repeat([0.01, 0.3], 10) ** 2 * rng.chisquare(8, 20) / 8
    alike = np.full(20, 0.01) ** 2 * rng.chisquare(8, 20) / 8
    assert suite_prior(unlike, 8.0).worth < 0.5
    assert suite_prior(alike, 8.0).worth > 3


def test_a_benchmark_alone_is_no_suite_and_two_are() -> None:
    alone, two = suite_prior(np.array([1.0]), 4.0), suite_prior(np.array([1.0, 1.0]), 4.0)
    assert alone.variance == pytest.approx(SCALE**2)
    assert alone.worth < 1
    assert SCALE**2 < two.variance < two.own
