"""One new block against stored ones: an independent loop, unchanged histories, and changes."""

import numpy as np
import pytest

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.stats.engine import judge_units
from perf_culprit.stats.suite_prior import RESOLUTION, suite_prior
from perf_culprit.stats.unit_table import UnitTable, log_change


def newest(count: int) -> Booleans:
    return np.asarray(np.arange(count + 1) == count)


def history(rng: np.random.Generator, size: int, count: int, noise: Floats | float) -> Floats:
    return np.asarray(noise * rng.standard_normal((size, count + 1)) + 0.05 * rng.standard_normal(count + 1))


def test_the_error_is_that_of_a_mean_of_earlier_blocks_and_a_new_one() -> None:
    rng, count = np.random.default_rng(0), 12
    y = 0.02 * rng.standard_normal((4, count + 1))  # too few for a shift
    judged = judge_units(UnitTable.of(y, newest(count)))
    centred = y - np.median(y[:, :-1], axis=1, keepdims=True)
    for row in range(4):
        assert judged.change[row] == pytest.approx(centred[row, -1] - centred[row, :-1].mean(), abs=1e-12)
    squares = ((y[:, :-1] - y[:, :-1].mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    prior = suite_prior(squares / (count - 1), count - 1)
    least = np.sqrt((prior.moderated(squares, count - 1) + RESOLUTION**2) * (1 + 1 / count))
    # Neighbours of the corpus resemble each other a little.
    assert (judged.error >= least).all()
    assert (judged.error <= 1.2 * least).all()


@pytest.mark.parametrize("noise", [0.01, 0.3, np.repeat([0.01, 0.3], 10)[:, None]])
def test_unchanged_histories_hold_few_calls(noise: Floats | float) -> None:
    rng, proven, warned = np.random.default_rng(1), 0, 0
    for _ in range(100):
        judged = judge_units(UnitTable.of(history(rng, 20, 9, noise), newest(9)))
        proven += bool(judged.is_proven.any())
        warned += bool(judged.is_suspected.any()) or judged.suite.is_suspected
    assert proven <= 4  # 1% is 1 of 100; P(more than 4) is below 1%
    assert warned <= 18  # 10% is 10 of 100; the same


def test_a_change_is_proven_from_seven_stored_blocks_on() -> None:
    rng = np.random.default_rng(2)
    for count, is_enough in ((6, False), (9, True)):
        y = history(rng, 20, count, 0.005)
        y[3, -1] += log_change(1.0)
        assert judge_units(UnitTable.of(y, newest(count))).is_proven[3] == is_enough
        assert judge_units(UnitTable.of(y, newest(count))).is_suspected[3]


def test_a_benchmark_that_most_stored_blocks_lack_is_still_judged() -> None:
    y = history(np.random.default_rng(3), 20, 12, 0.005)
    y[5, :10] = np.nan
    y[6, :11] = np.nan
    y[5:7, -1] += log_change(1.0)
    judged = judge_units(UnitTable.of(y, newest(12)))
    assert judged.change[5:7] == pytest.approx(log_change(1.0), abs=0.1)
    assert (judged.rate[5:7] < 1).all()


def test_the_only_baseline_block_is_judged_as_the_only_target_block_would_be() -> None:
    y = history(np.random.default_rng(4), 20, 9, 0.01)
    y[0, -1] += log_change(0.5)
    one = judge_units(UnitTable.of(y, newest(9)))
    other = judge_units(UnitTable.of(y, ~newest(9)))
    assert one.change == pytest.approx(-other.change)
    assert one.rate == pytest.approx(other.rate)
