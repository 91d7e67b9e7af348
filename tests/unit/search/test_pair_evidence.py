"""The e-value of a pair: valid under any noise without a step, powerful under the assumed noise."""

from collections.abc import Callable

import numpy as np
import pytest

from perf_culprit.search.odds import ODDS_20
from perf_culprit.search.pair_evidence import DifferenceShape, log_exchange, log_exchange_factors, log_quotient

LOOKS = (1, 2, 3, 4, 5, 7, 10, 15, 25, 40)
SHAPE = DifferenceShape(step=0.14, width=0.07, gap=0.45, apart=0.3)
Draw = Callable[[np.random.Generator, int], "np.typing.NDArray[np.float64]"]

# Differences of two equal commits in random order are symmetric, whatever their distribution.
NOISES: dict[str, Draw] = {
    "as told": lambda generator, n: generator.normal(0, 0.1, n),
    "much wider": lambda generator, n: generator.normal(0, 3.0, n),
    "much narrower": lambda generator, n: generator.normal(0, 0.001, n),
    "wild": lambda generator, n: generator.standard_cauchy(n),
    "two values": lambda generator, n: generator.choice([-0.14, 0.14], n),
    "growing": lambda generator, n: generator.normal(0, 1, n) * np.arange(1, n + 1),
}


def exchanged(differences: "np.typing.NDArray[np.float64]", shape: DifferenceShape) -> float:
    return log_exchange(log_exchange_factors(differences, shape))


@pytest.mark.slow  # a rate needs trials
@pytest.mark.parametrize("name", NOISES)
def test_without_a_step_no_time_of_stopping_makes_it_convincing_more_often_than_stated(name: str) -> None:
    generator = np.random.default_rng(5)
    runs, rounds, level = 300, 40, 0.05  # the level is that of docs/evidence/bisection.md

    convinced = 0
    for _ in range(runs):
        differences = NOISES[name](generator, rounds)
        convinced += any(exchanged(differences[:n], SHAPE) > ODDS_20 for n in LOOKS)

    # Ville: at most 5%; the upper bound is four standard errors above.
    assert convinced / runs <= level + 4 * np.sqrt(level * (1 - level) / runs)


def test_one_round_has_mean_one_over_both_orders() -> None:
    for difference in (0.0, 0.01, 0.14, 0.6, 50.0):
        both = [np.exp(exchanged(np.array([sign * difference]), SHAPE)) for sign in (-1, 1)]
        assert np.mean(both) == pytest.approx(1.0, abs=1e-12)


def test_a_step_in_either_direction_is_seen_within_a_few_rounds() -> None:
    results = []
    for sign in (1, -1):
        rounds = [
            next(
                n
                for n in range(1, 200)
                if exchanged(sign * (0.14 + np.random.default_rng([6, run]).normal(0, 0.07, n)), SHAPE) > 3
            )
            for run in range(25)
        ]
        results.append(float(np.median(rounds)))
    assert results[0] <= 12
    assert results[1] <= 16


def test_one_wild_execution_decides_nothing() -> None:
    usual = np.full(8, 0.14)
    assert exchanged(usual, SHAPE) > 3
    assert exchanged(np.append(usual, -30.0), SHAPE) > exchanged(usual, SHAPE) - 0.7


def test_no_round_is_no_evidence() -> None:
    assert exchanged(np.array([]), SHAPE) == pytest.approx(0.0)


@pytest.mark.parametrize("gap", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("apart", [0.0, 0.5])
def test_two_states_as_far_apart_as_the_step_are_no_evidence_for_it(gap: float, apart: float) -> None:
    grid = np.linspace(-40, 40, 401)

    def density(center: float) -> "np.typing.NDArray[np.float64]":
        return np.asarray((1 + (grid - center) ** 2 / 3) ** -2)

    equal = (1 - apart) * density(0) + apart / 2 * (density(gap) + density(-gap))
    quotients = [np.exp(log_quotient(np.array([one]), gap, 1.0, two_states=True)) for one in grid]
    assert np.average(quotients, weights=equal) <= 1.001
    assert max(quotients) <= 4.0001


def test_noise_of_one_state_is_believed_where_two_are_excluded() -> None:
    pairs = np.array([1.0, 1.05, 0.95])
    doubted, believed = (log_quotient(pairs, 1.0, 0.1, two_states=doubt) for doubt in (True, False))
    assert doubted == pytest.approx(3 * np.log(4), abs=0.1)
    assert believed > 2 * doubted
