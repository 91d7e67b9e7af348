"""METHODS 4.6: one answer from many models."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from perf_culprit.arrays import Floats
from perf_culprit.stats.model_votes import bagging_threshold, normalised, stacking_weights, votes

COUNTERS = ("CPU", "throughput", "memory", "DB transactions")
FLAGGED = (("CPU", "throughput"), ("memory", "throughput"), ("memory", "throughput"), ("DB transactions",))
FLAGS: NDArray[np.bool_] = np.array([[counter in model for counter in COUNTERS] for model in FLAGGED])


def share(flags: NDArray[np.bool_], weights: Floats) -> Floats:
    return votes(flags, weights, np.ones_like(flags))


def test_methods_4_6_bagging_reports_throughput_and_memory() -> None:
    share_of_votes = share(FLAGS, np.full(4, 0.25))
    assert share_of_votes.tolist() == [0.25, 0.75, 0.5, 0.25]
    reported = [c for c, s in zip(COUNTERS, share_of_votes, strict=True) if s > bagging_threshold(4)]
    assert reported == ["throughput", "memory"]


def test_methods_4_6_environments_that_share_3_and_2_of_4_weigh_0_5505_and_0_4495() -> None:
    assert stacking_weights([[1, 1, 1, 0], [1, 0, 0, 1]]) == pytest.approx([0.5505, 0.4495], abs=5e-5)


@pytest.mark.parametrize("models", range(1, 12))
def test_methods_4_6_equal_environments_are_bagging_up_to_the_tie_at_one_half(models: int) -> None:
    weights = stacking_weights([[1, 1, 1]] * models)
    for flagging in range(models + 1):
        flags = np.array([[index < flagging] for index in range(models)])
        weight = share(flags, weights)[0]
        bagged, stacked = weight > bagging_threshold(models), weight > 0.5
        assert bagged == (flagging >= models / 2)
        assert stacked == (flagging > models / 2)


def test_models_that_share_nothing_with_the_target_weigh_the_same() -> None:
    assert stacking_weights([[0, 0], [0, 0]]).tolist() == [0.5, 0.5]
    assert stacking_weights([[], []]).tolist() == [0.5, 0.5]


def test_custom_weights_are_brought_to_the_sum_1() -> None:
    assert normalised(np.array([3.0, 1.0])).tolist() == [0.75, 0.25]


def test_only_models_that_know_a_counter_vote_on_it() -> None:
    flags = np.array([[True, True], [False, False]])
    present = np.array([[True, False], [False, False]])
    share_of_votes = votes(flags, np.array([0.5, 0.5]), present)
    assert share_of_votes[0] == 1.0
    assert math.isnan(share_of_votes[1])
