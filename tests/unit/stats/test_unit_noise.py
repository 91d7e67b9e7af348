"""The tail and the variances, compared with scipy's distributions and plain loops."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats import unit_noise
from perf_culprit.stats.mode_scores import median_difference
from perf_culprit.stats.relabelling import relabelled
from perf_culprit.stats.unit_noise import SuiteTail, noise_of, suite_prior, tail
from perf_culprit.stats.unit_table import UnitTable


def test_the_tail_is_a_students_t_and_a_power_of_the_size() -> None:
    size, error, freedom, jump = np.array([0.01, 0.1, 2.0]), np.array(0.02), np.array(6.0), np.array(0.03)
    expected = 0.97 * 2 * stats.t(6).sf(size / 0.02) + 0.03 * (1 + size / unit_noise.GAP) ** -unit_noise.SHAPE
    assert tail(size, error, freedom, jump) == pytest.approx(expected, rel=1e-9)


def test_the_prior_finds_the_scale_that_the_suite_was_drawn_from() -> None:
    rng, freedom, worth, scale = np.random.default_rng(0), 8.0, 4.0, 0.03
    variances = scale**2 * worth / rng.chisquare(worth, 5000)
    found_worth, location, own = suite_prior(variances * rng.chisquare(freedom, 5000) / freedom, freedom)
    assert found_worth == pytest.approx(worth, rel=0.25)
    assert location == pytest.approx(own, rel=0.05)
    # `own` is the median of the variances, up to the spread of the scales.
    assert own == pytest.approx(float(np.median(variances)), rel=0.15)


def test_a_small_suite_leans_on_the_corpus() -> None:
    _, location, own = suite_prior(np.array([1.0]), 4.0)
    assert unit_noise.SCALE**2 < location < own


def test_differences_and_their_weights_are_those_of_the_sides_means() -> None:
    rng = np.random.default_rng(1)
    side = np.arange(7) >= 4
    x = rng.standard_normal((6, 7))
    present = np.ones_like(x, np.bool_)
    present[2, [0, 5]] = False
    x = np.where(present, x, 0.0)
    x -= np.where(present, x.sum(axis=1, keepdims=True) / present.sum(axis=1, keepdims=True), 0.0)
    x = np.where(present, x, 0.0)
    table = UnitTable.of(np.where(present, x, np.nan), side)
    labellings = relabelled(side, table.blocks, benchmarks=6, rng=rng)
    noise = noise_of(x, table, labellings, present=present, neighbours=None)
    for row in range(6):
        for column, labels in enumerate(labellings.is_target):
            ours, others = x[row, labels & present[row]], x[row, ~labels & present[row]]
            assert noise.change[row, column] == pytest.approx(ours.mean() - others.mean(), abs=1e-12)


def test_the_suite_outweighs_the_corpus_by_its_own_values() -> None:
    tails = np.full((20, 10), 0.5)
    tails[:, 1:] = np.linspace(0.001, 1, 180).reshape(20, 9)
    observed = np.arange(10) == 0
    learned = SuiteTail.of(tails, observed, freedom=8)
    assert learned.worth == 160
    assert learned.is_the_suites_own
    share = (learned.others <= 0.02).mean()
    expected = 20 * (unit_noise.CONCENTRATION * 0.02 + 160 * share) / (unit_noise.CONCENTRATION + 160)
    assert learned.rates(np.array([0.02])) == pytest.approx([min(expected, 1.0)], rel=1e-6)
    critical = learned.critical(0.5)
    assert learned.rates(np.array([critical * 0.999])) <= 0.5 < learned.rates(np.array([critical * 1.001]))


def test_without_other_labellings_the_corpus_alone_tells() -> None:
    alone = SuiteTail.of(np.full((15, 1), 0.01), np.array([True]), freedom=0)
    assert not alone.is_the_suites_own
    assert alone.rates(np.array([0.002])) == pytest.approx([0.03])


def test_the_median_difference_is_that_of_all_pairs() -> None:
    rng, side = np.random.default_rng(2), np.arange(9) >= 5
    x, present = rng.standard_normal((4, 9)), np.ones((4, 9), np.bool_)
    present[1, [2, 7]] = False
    change = median_difference(x, side, np.zeros(9, int), present=present)
    for row in range(4):
        targets, others = x[row, side & present[row]], x[row, ~side & present[row]]
        assert change[row] == pytest.approx(np.median(np.subtract.outer(targets, others)))
