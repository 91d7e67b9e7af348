"""One block a side: nothing is proven, whatever the number of units; the other benchmarks tell a block's effect."""

import numpy as np
import pytest
from scipy import special

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.stats.engine import judge_units
from perf_culprit.stats.one_block import EFFECT, FREEDOM, _effect
from perf_culprit.stats.unit_table import UnitTable, log_change

SIDE: Booleans = np.arange(10) >= 5


def one_job_a_side(rng: np.random.Generator, size: int, own: float, state: float = 0.1) -> Floats:
    """Five files of each job, which share the job's state, and for each benchmark its own effect of the job."""
    blocks = own * rng.standard_normal((size, 2)) + state * rng.standard_normal(2)
    return np.asarray(np.repeat(blocks, 5, axis=1) + 0.01 * rng.standard_normal((size, 10)))


@pytest.mark.parametrize("own", [0.0, 0.02, 0.08])
def test_two_jobs_of_one_commit_prove_nothing(own: float) -> None:
    rng, warned = np.random.default_rng(1), 0
    for _ in range(100):
        result = judge_units(UnitTable.of(one_job_a_side(rng, 20, own), SIDE, block=SIDE.astype(int)))
        assert not result.is_proven.any()
        warned += bool(result.is_suspected.any() or result.suite.is_suspected)
    assert warned <= 18


def test_a_change_far_beyond_the_others_is_suspected() -> None:
    rng, hits = np.random.default_rng(2), 0
    for _ in range(20):
        y = one_job_a_side(rng, 20, 0.02)
        y[0, SIDE] += log_change(0.5)
        hits += bool(judge_units(UnitTable.of(y, SIDE, block=SIDE.astype(int))).is_suspected[0])
    assert hits >= 18


def test_the_effect_solves_the_median_of_the_others() -> None:
    rng = np.random.default_rng(3)
    change, scatter = 0.05 * rng.standard_normal(15), np.full(15, 1e-4)
    effect = _effect(change, scatter, FREEDOM)
    share = 14 / 16
    for row in range(15):
        others = np.arange(15) != row
        own = (effect[row] / EFFECT ** (1 - share)) ** (1 / share)
        reached = np.median(change[others] ** 2 / (scatter[others] + own**2))
        assert reached == pytest.approx(special.stdtrit(FREEDOM, 0.75) ** 2, rel=0.1)


def test_samples_that_differ_beyond_their_scatter_differ() -> None:
    y = np.zeros((3, 2))
    y[:, 1] = log_change(0.3)
    scatter = np.array([[1e-5, 1e-5], [0.1, 0.1], [np.nan, np.nan]])
    result = judge_units(UnitTable.of(y, np.array([False, True]), scatter=scatter))
    assert result.differs.tolist() == [True, False, True]
    assert result.change == pytest.approx(log_change(0.3))
    assert not result.is_suspected.any()
