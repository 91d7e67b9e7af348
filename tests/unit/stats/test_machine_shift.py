"""The shift that benchmarks share in a block, compared with plain loops over the others."""

import numpy as np
import pytest

from perf_culprit.stats.machine_shift import newest_shifts, shared_shift, shift_between, widened

ALL = np.ones(9, np.bool_)


def test_each_benchmark_is_compared_with_the_weighted_median_of_the_others() -> None:
    rng = np.random.default_rng(0)
    x = np.repeat([0.01, 0.01, 0.3], 3)[:, None] * rng.standard_normal((9, 12)) + 0.1 * rng.standard_normal(12)
    x[4, 3] = np.nan
    shared = shared_shift(x, np.zeros(9, int), ALL)
    own = x - np.nanmedian(x, axis=0)
    noise = 1.4826 * np.nanmedian(np.abs(own - np.nanmedian(own, axis=1)[:, None]), axis=1)
    weight = 1 / np.maximum(noise, max(np.median(noise) / 4, 0.002))
    for row in range(9):
        for block in range(12):
            others = [at for at in np.argsort(x[:, block]) if at != row and np.isfinite(x[at, block])]
            below = np.cumsum(weight[others])
            expected = x[others[int(np.argmax(below >= below[-1] / 2))], block]
            if np.isfinite(x[row, block]):
                assert shared.of_others[row, block] == pytest.approx(expected)


def test_ten_quiet_benchmarks_tell_the_shift_that_loud_ones_hide() -> None:
    rng = np.random.default_rng(1)
    shift = 0.1 * rng.standard_normal(12)
    x = np.repeat([0.005, 0.3], [6, 12])[:, None] * rng.standard_normal((18, 12)) + shift
    quiet = shared_shift(x, np.zeros(18, int), np.ones(18, np.bool_)).of_others[:6]
    assert np.abs(quiet - shift).max() < 0.03


def test_counts_and_small_suites_have_no_shift() -> None:
    x = np.random.default_rng(2).standard_normal((9, 5))
    assert not shared_shift(x, np.zeros(9, int), ~ALL).is_told
    assert not shared_shift(x[:5], np.zeros(5, int), ALL[:5]).is_told
    assert not shared_shift(x, np.arange(9) // 3, ALL).of_others.any()


def test_a_machine_that_often_moves_is_not_suspected_for_moving() -> None:
    rng, calm = np.random.default_rng(3), np.r_[0.002 * np.random.default_rng(4).standard_normal(20), 0.2]
    restless = np.r_[0.15 * rng.standard_normal(20), 0.2]
    assert newest_shifts(calm)[0].rate < 0.02
    assert newest_shifts(restless)[0].rate > 0.1
    side = np.arange(10) >= 5
    assert shift_between(np.where(side, 0.2, 0.0) + 0.002 * rng.standard_normal(10), side).rate < 0.02
    assert shift_between(np.where(side, 0.2, 0.0) + 0.2 * rng.standard_normal(10), side).rate > 0.1


def test_neighbours_that_resemble_each_other_widen_sides_in_a_row_and_not_turns() -> None:
    in_a_row, turns = np.arange(10) >= 5, np.arange(10) % 2 == 1
    assert widened(in_a_row[None], 0.5, 0.0)[0] > 1.5
    assert widened(turns[None], 0.5, 0.0)[0] < 1
    assert widened(in_a_row[None], 0.0, 1.0)[0] == pytest.approx(1.0)
