"""Leave-one-out distances against the plain definition, and the p-value that they give a target."""

from itertools import chain

import numpy as np
import pytest
from scipy import stats

from bot.stats.exchange import FARTHEST, TAIL_EXPONENT, distances
from bot.stats.ragged import Floats, Ragged

SEED = 41


def ragged(rows: list[Floats]) -> Ragged:
    return Ragged(np.concatenate(rows), np.array([len(row) for row in rows]))


def prediction_error(others: Floats) -> float:
    return float(others.std(ddof=1) * np.sqrt(1 + 1 / len(others)))


def by_definition(row: Floats) -> list[float]:
    """Each run beside all the others of its row, one at a time."""
    left_out = [(row[index], np.delete(row, index)) for index in range(len(row))]
    return [abs(run - others.mean()) / prediction_error(others) for run, others in left_out]


def test_seen_distances_are_those_of_each_run_from_all_others() -> None:
    rng = np.random.default_rng(SEED)
    rows = [rng.normal(level, 0.1, count) for level, count in ((1.0, 5), (40.0, 9), (-3.0, 30))]
    found = distances(ragged(rows))
    assert found.seen == pytest.approx(sorted(chain.from_iterable(map(by_definition, rows))))
    assert found.unit == pytest.approx([prediction_error(row) for row in rows])


def test_within_what_was_seen_the_p_value_is_the_targets_rank_among_the_runs() -> None:
    rng = np.random.default_rng(SEED)
    rows = [rng.normal(0, 1, 20) for _ in range(10)]
    found = distances(ragged(rows))
    differences = rng.normal(0, 1, 10)
    for p_value, difference, unit in zip(found.p_values(differences), differences, found.unit, strict=True):
        farther = sum(seen >= abs(difference) / unit for row in rows for seen in by_definition(row))
        assert p_value == pytest.approx((farther + 1) / 201)


def test_beyond_what_was_seen_the_p_value_falls_as_a_power() -> None:
    found = distances(ragged([np.random.default_rng(SEED).normal(0, 1, 20)]))
    farthest = found.seen[-1] * found.unit
    first, second = (found.p_values(factor * farthest)[0] for factor in (1.5, 3.0))
    assert first == pytest.approx(1.5**-TAIL_EXPONENT / 21)
    assert first / second == pytest.approx(2**TAIL_EXPONENT)


@pytest.mark.parametrize("runs", [5, 12, 300])
def test_half_widths_are_the_differences_whose_p_value_is_one_minus_the_level(runs: int) -> None:
    found = distances(ragged([np.random.default_rng(SEED).normal(0, 1, runs)]))
    width = found.half_widths(level=0.99)
    assert found.p_values(width * (1 - 1e-9))[0] >= 0.01 - 1e-9
    assert found.p_values(width * (1 + 1e-9))[0] <= 0.01 + 1e-9


def test_runs_without_spread_are_no_distance_apart_and_any_other_value_is_far() -> None:
    found = distances(ragged([np.full(6, 3.0)]))
    assert found.seen.tolist() == [0.0] * 6
    assert found.p_values(np.array([0.0])).tolist() == [1.0]
    assert found.p_values(np.array([0.1]))[0] < 1e-6


def test_a_single_odd_run_among_equal_ones_is_as_far_as_anything() -> None:
    found = distances(ragged([np.array([3.0] * 7 + [4.0])]))
    assert found.seen[-1] == FARTHEST
    assert found.p_values(np.array([100.0]))[0] >= 1 / 9


@pytest.mark.parametrize("degrees", [2.0, 5.0, 200.0])
def test_one_more_run_is_called_as_often_as_the_p_value_says_whatever_the_tails(degrees: float) -> None:
    rng = np.random.default_rng(SEED)
    runs = rng.standard_t(degrees, (400, 11))
    found = distances(ragged(list(runs[:, 1:])))
    p_values = found.p_values(runs[:, 0] - runs[:, 1:].mean(axis=1))
    for alpha in (0.01, 0.1):
        low, high = stats.binom.ppf([0.001, 0.999], 400, alpha)
        assert low <= (p_values <= alpha).sum() <= high


def test_a_prior_moves_the_runs_own_variance_but_never_lowers_it() -> None:
    rng = np.random.default_rng(SEED)
    rows = [0.01 * rng.normal(0, 1, 8), rng.normal(0, 1, 8)]
    alone, shared = distances(ragged(rows)), distances(ragged(rows), prior=0.25, prior_freedom=np.inf)
    assert shared.unit[0] == pytest.approx(0.5 * np.sqrt(1 + 1 / 8))
    assert shared.unit[1] == max(alone.unit[1], shared.unit[0])
    known = [
        max(prediction_error(others), 0.5 * np.sqrt(1 + 1 / 7))
        for row in rows
        for others in (np.delete(row, index) for index in range(8))
    ]
    apart = [abs(row[index] - np.delete(row, index).mean()) for row in rows for index in range(8)]
    assert shared.seen == pytest.approx(sorted(a / b for a, b in zip(apart, known, strict=True)))
