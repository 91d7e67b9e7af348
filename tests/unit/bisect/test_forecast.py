import math
from dataclasses import replace
from itertools import groupby
from statistics import fmean

import pytest

from bot.bisect import Search
from bot.bisect.forecast import executions_for, forecast
from bot.model.bisection import CommitRange, Phase, SearchSettings
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
    said = executions_for(line(64), SearchSettings(), d_prime=math.log1p(effect) / (float(noise.rstrip("%")) / 100))
    virtual = planted(64, effect=effect, seed=4, noise=noise)
    taken = [virtual.search(seed).executions for seed in range(2)]
    assert 0.6 < said / fmean(taken) < 1.7, (said, taken)


def test_of_counts_a_commit_is_a_halving_each() -> None:
    assert forecast(line(64), SearchSettings(minimum_effect=0.005)).hidden == 10


def test_commits_that_change_nothing_cost_nothing() -> None:
    assert forecast(line(64, unchanged=56), SearchSettings()) == forecast(line(8), SearchSettings())


@pytest.mark.parametrize(("noise", "effect"), [(NOTHING, 0.2), ("3%", 0.07), ("10%", 0.2)])
def test_what_is_still_to_come_is_about_right_and_never_stands_still(noise: str, effect: float) -> None:
    virtual = planted(64, effect=effect, seed=4, noise=noise)
    search, machine, said = virtual.start(4), virtual.machine(4), []
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            search.record(job.id, *machine.run(job.commits))
        progress = search.progress()
        if progress.expected_executions is not None:
            said.append((progress.phase, progress.executions, progress.expected_executions))
    searching = [entry for entry in said if entry[0] is Phase.SEARCH]
    longest = max(len(list(same)) for _, same in groupby(expected for *_, expected in searching))
    assert longest <= 3, said
    totals = [spent + expected for _, spent, expected in searching]
    margin = 3 if noise == NOTHING else outcome.executions
    assert all(abs(total - outcome.executions) <= margin for total in totals[:-1]), (outcome.executions, said)


def test_what_a_search_spent_before_its_suspect_was_withdrawn_counts_for_its_pace() -> None:
    """Else a search that comes to nothing would start over as cheap as at first."""
    virtual = planted(64, effect=0.2, seed=4, noise=NOTHING)
    search, machine = virtual.start(4), virtual.machine(4)
    while search.state.phase is not Phase.SEARCH or search.progress().executions < 7:
        for job in search.propose():
            search.record(job.id, *machine.run(job.commits))
    restarted = Search(replace(search.state, since=len(search.state.results)))
    assert restarted.progress().expected_executions == search.progress().expected_executions
