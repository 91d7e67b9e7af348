import math
from itertools import groupby
from statistics import fmean

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.integrate import quad
from scipy.stats import norm

from perf_culprit.model.bisection import CommitRange, Phase, SearchSettings
from perf_culprit.search.cost import (
    CONFIRMATION,
    EXECUTIONS_OF_ENDS,
    OVER_THE_BOUND,
    executions_for,
    forecast,
)
from perf_culprit.search.next_rounds import information_bits
from perf_culprit.search.search import Search
from perf_culprit.search.search_view import FIRST_ANALYSIS
from tests.support.virtual_searches import NOTHING, planted


def line(count: int, *, unchanged: int = 0) -> CommitRange:
    names = tuple(f"c{number}" for number in range(count))
    parents = tuple((number - 1,) if number else () for number in range(count))
    return CommitRange(good="g", bad=names[-1], commits=names, parents=parents, unchanged=tuple(range(unchanged)))


def test_more_noise_and_more_commits_cost_more() -> None:
    small, large = forecast(line(8), SearchSettings()), forecast(line(512), SearchSettings())
    assert small.clear < small.hidden
    assert small.clear < large.clear
    assert small.hidden < large.hidden
    machines = forecast(line(64), SearchSettings(one_machine=False))
    assert 40 <= machines.clear <= 148, "as it took on real culprits, when every round had both ends"


@pytest.mark.parametrize(("noise", "effect"), [("1%", 0.03), ("3%", 0.05)])
def test_the_forecast_is_what_a_search_on_one_machine_takes(noise: str, effect: float) -> None:
    stated = executions_for(line(64), SearchSettings(), d_prime=math.log1p(effect) / (float(noise.rstrip("%")) / 100))
    virtual = planted(64, effect=effect, seed=4, noise=noise)
    taken = [virtual.search(seed).executions for seed in range(2)]
    assert 0.6 < stated / fmean(taken) < 1.7, (stated, taken)


@pytest.mark.parametrize("d_prime", [0.05, 1.0, 4.0, 30.0])
def test_the_bits_of_an_execution_are_the_mutual_information(d_prime: float) -> None:
    """The expected value is I(X; Y) of a fair bit X and Y ~ N(X d', 1), by integration."""

    def density(y: float) -> float:
        mixed = 0.5 * (norm.pdf(y) + norm.pdf(y - d_prime))
        return float(-mixed * np.log2(mixed)) if mixed > 0 else 0.0

    entropy, _ = quad(density, -12, 12 + d_prime, points=[0, d_prime], limit=500, epsabs=1e-13)
    expected = entropy - 0.5 * math.log2(2 * math.pi * math.e)
    assert information_bits(d_prime) == pytest.approx(expected, rel=1e-3)


def test_of_hardly_any_step_they_fall_with_its_square() -> None:
    assert information_bits(1e-4) == pytest.approx(information_bits(1e-2) / 1e4, rel=1e-3)


def test_a_halving_costs_its_suspects_and_their_part_of_the_ends() -> None:
    """The cost is log2 N / information, times (2 + suspects) / suspects (BISECT 4). A tiny d' hides rounding."""
    bit = 1 / information_bits(0.01)

    def per_halving(**settings: object) -> float:
        costs = [executions_for(line(n), SearchSettings(**settings), d_prime=0.01) for n in (4, 64)]  # type: ignore[arg-type]
        return (costs[1] - costs[0]) / 4 / bit

    assert per_halving(one_machine=False, suspects_per_round=1) == pytest.approx(OVER_THE_BOUND * 3, rel=1e-3)
    assert per_halving(one_machine=False, suspects_per_round=2) == pytest.approx(OVER_THE_BOUND * 2, rel=1e-3)
    assert per_halving(suspects_per_round=1) == pytest.approx(OVER_THE_BOUND * 1.5, rel=1e-3)
    # Certainty costs three halvings once, in addition to the ends and the confirmation.
    several = SearchSettings(one_machine=False, suspects_per_round=3)
    assert executions_for(line(1), several, d_prime=50) == 2 * FIRST_ANALYSIS + 7 + CONFIRMATION
    assert executions_for(line(1), SearchSettings(), d_prime=50) == EXECUTIONS_OF_ENDS + 6 + CONFIRMATION // 3


def test_of_counts_a_commit_is_a_halving_each() -> None:
    assert forecast(line(64), SearchSettings(minimum_effect=0.005)).hidden == 10


def test_commits_that_change_nothing_cost_nothing() -> None:
    assert forecast(line(64, unchanged=56), SearchSettings()) == forecast(line(8), SearchSettings())


@pytest.mark.parametrize(("noise", "effect"), [(NOTHING, 0.2), ("3%", 0.07), ("10%", 0.2)])
def test_what_is_still_to_come_is_about_right_and_never_stands_still(noise: str, effect: float) -> None:
    virtual = planted(64, effect=effect, seed=4, noise=noise)
    search, machine, text = virtual.start(4), virtual.machine(4), []
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            search.record(job.id, *machine.run(job.commits))
        progress = search.progress()
        if progress.expected_executions is not None:
            text.append((progress.phase, progress.executions, progress.expected_executions))
    searching = [entry for entry in text if entry[0] is Phase.SEARCH]
    longest = max(len(list(same)) for _, same in groupby(expected for *_, expected in searching))
    assert longest <= 3, text
    totals = [spent + expected for _, spent, expected in searching]
    margin = 3 if noise == NOTHING else outcome.executions
    assert all(abs(total - outcome.executions) <= margin for total in totals[:-1]), (outcome.executions, text)


def test_what_a_search_spent_before_its_suspect_was_withdrawn_counts_for_its_pace() -> None:
    """Otherwise the forecast of an unsuccessful search would return to its first, low cost."""
    virtual = planted(64, effect=0.2, seed=4, noise=NOTHING)
    search, machine = virtual.start(4), virtual.machine(4)
    while search.state.phase is not Phase.SEARCH or search.progress().executions < 7:
        for job in search.propose():
            search.record(job.id, *machine.run(job.commits))
    restarted = Search(replace(search.state, since=len(search.state.results)))
    assert restarted.progress().expected_executions == search.progress().expected_executions
