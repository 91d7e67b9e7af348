"""Relabellings of the units: all of them if they are few, and the share of them with an effect at least as large."""

import itertools

import numpy as np
import pytest

from perf_culprit.stats.relabelling import largest_loudness, relabelled, relabelled_rates


@pytest.mark.parametrize(("baseline", "target", "ways"), [(5, 5, 126), (3, 3, 10), (9, 1, 10), (4, 2, 15)])
def test_all_splits_that_tell_different_things_are_listed(baseline: int, target: int, ways: int) -> None:
    side = np.arange(baseline + target) >= baseline
    drawn = relabelled(side, np.zeros(len(side), int), benchmarks=10, rng=np.random.default_rng(0))
    assert (drawn.is_target[0] == side).all()
    assert len(drawn.is_target) == drawn.ways == ways
    assert drawn.is_observed.sum() == 1
    assert (drawn.is_target.sum(axis=1) == target).all()
    assert len(np.unique(drawn.is_target, axis=0)) == ways


def test_labellings_stay_within_their_blocks() -> None:
    side, blocks = np.tile([False, True], 5), np.repeat(np.arange(5), 2)
    drawn = relabelled(side, blocks, benchmarks=10, rng=np.random.default_rng(0))
    assert drawn.ways == 2**4
    for block in range(5):
        assert (drawn.is_target[:, blocks == block].sum(axis=1) == 1).all()


def test_drawn_labellings_keep_the_number_of_target_units() -> None:
    side = np.arange(30) >= 15
    drawn = relabelled(side, np.zeros(30, int), benchmarks=10_000, rng=np.random.default_rng(0))
    assert (drawn.is_target[0] == side).all()
    assert len(drawn.is_target) < drawn.ways
    assert (drawn.is_target.sum(axis=1) == 15).all()


def test_rates_are_those_of_a_plain_permutation_test() -> None:
    rng, side = np.random.default_rng(1), np.arange(8) >= 4
    x = rng.standard_normal((5, 8))
    drawn = relabelled(side, np.zeros(8, int), benchmarks=5, rng=rng)
    size = np.abs(x @ drawn.is_target.T - x @ ~drawn.is_target.T)
    rates = relabelled_rates(size, largest_loudness(size))
    for row in range(5):
        splits = [np.isin(np.arange(8), pick) for pick in itertools.combinations(range(8), 4)]
        loudest = [max(abs(y[split].sum() - y[~split].sum()) for y in x) for split in splits]
        observed = abs(x[row, side].sum() - x[row, ~side].sum())
        assert rates[row] == pytest.approx(np.mean(np.array(loudest) >= observed - 1e-9))
