"""Differences under other labellings, and the noise that they tell, compared with plain loops."""

import numpy as np
import pytest

from perf_culprit.stats.heavy_tail import CORPUS, SuiteTail
from perf_culprit.stats.mode_scores import median_difference
from perf_culprit.stats.relabelling import relabelled
from perf_culprit.stats.unit_noise import CentredValues, noise_of


def test_differences_and_their_weights_are_those_of_the_sides_means() -> None:
    rng = np.random.default_rng(1)
    side, block = np.arange(7) >= 4, np.zeros(7, int)
    x = rng.standard_normal((6, 7))
    present = np.ones_like(x, np.bool_)
    present[2, [0, 5]] = False
    x = np.where(present, x, 0.0)
    x -= np.where(present, x.sum(axis=1, keepdims=True) / present.sum(axis=1, keepdims=True), 0.0)
    x = np.where(present, x, 0.0)
    labellings = relabelled(side, block, benchmarks=6, rng=rng)
    noise = noise_of(CentredValues(centred=x, present=present, block=block, kind=np.zeros(6, int)), labellings)
    for row in range(6):
        for column, labels in enumerate(labellings.is_target):
            ours, others = x[row, labels & present[row]], x[row, ~labels & present[row]]
            assert noise.change[row, column] == pytest.approx(ours.mean() - others.mean(), abs=1e-12)


def test_the_suite_outweighs_the_corpus_by_its_own_values() -> None:
    learned = SuiteTail.of(np.linspace(0.001, 1, 180), worth=160)
    share = (learned.others <= 0.02).mean()
    expected = (CORPUS * 0.02 + 160 * share) / (CORPUS + 160)
    assert learned.corrected(np.array([0.02])) == pytest.approx([expected], rel=1e-6)
    critical = learned.critical(0.025)
    assert learned.corrected(np.array([critical * 0.999])) <= 0.025 < learned.corrected(np.array([critical * 1.001]))


def test_without_other_labellings_the_corpus_alone_tells() -> None:
    alone = SuiteTail.of(np.array([]), worth=100)
    assert alone.worth == 0
    assert alone.corrected(np.array([0.002])) == pytest.approx([0.002])


def test_the_median_difference_is_that_of_all_pairs() -> None:
    rng, side = np.random.default_rng(2), np.arange(9) >= 5
    x, present = rng.standard_normal((4, 9)), np.ones((4, 9), np.bool_)
    present[1, [2, 7]] = False
    change = median_difference(x, side, np.zeros(9, int), present=present)
    for row in range(4):
        targets, others = x[row, side & present[row]], x[row, ~side & present[row]]
        assert change[row] == pytest.approx(np.median(np.subtract.outer(targets, others)))
