"""The search for the commit that raised a rate of failures: its evidence, its decisions and its answers."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy.special import betaln

from perf_culprit.model.bisection import (
    CommitRange,
    Failure,
    FailureKind,
    Outcome,
    OutcomeKind,
    Rates,
    SearchSettings,
    Sought,
)
from perf_culprit.model.count import FAILED, PASSED
from perf_culprit.model.reason import SearchReason
from perf_culprit.search.cost import forecast
from perf_culprit.search.failure_rates import executions_to_prove, interval_of, largest_missed, log_odds_of_rise
from perf_culprit.search.measured import measured_commits
from perf_culprit.search.search import Search, with_budget

N = 12
LINE = CommitRange(
    good="c0",
    bad=f"c{N}",
    commits=tuple(f"c{place + 1}" for place in range(N)),
    parents=tuple((place - 1,) if place else () for place in range(N)),
)


def play(
    rate: Callable[[int], float],
    *,
    commit_range: CommitRange = LINE,
    broken: frozenset[str] = frozenset(),
    budget: int = 400,
    sought: Sought = Sought.ANY,
    seed: int = 0,
) -> Search:
    """Search a range whose commit c<i> fails at `rate(i)`."""
    settings = SearchSettings(of_failures=True, budget_executions=budget, sought=sought)
    search = Search.start(commit_range, settings=settings)
    generator = np.random.default_rng(seed)
    while search.outcome() is None:
        for job in search.propose():
            runs = [commit for commit in job.commits if commit not in broken]
            values = {commit: [FAILED if generator.random() < rate(int(commit[1:])) else PASSED] for commit in runs}
            failures = {commit: Failure(kind=FailureKind.MISSING, message="125") for commit in job.commits}
            search.record(job.id, values, {commit: failures[commit] for commit in broken & set(job.commits)})
    return search


def answer(search: Search) -> Outcome:
    outcome = search.outcome()
    assert outcome is not None
    return outcome


def step(at: int, before: float, since: float) -> Callable[[int], float]:
    return lambda commit: since if commit >= at else before


def test_the_evidence_is_the_beta_binomial_one() -> None:
    """Each side has the probability B(k + 1/2, n - k + 1/2) / B(1/2, 1/2), if the rates have no order."""

    def constant(failed: int, runs: int) -> float:
        return float(betaln(failed + 0.5, runs - failed + 0.5) - betaln(0.5, 0.5))

    either_way = np.log((np.exp(log_odds_of_rise((1, 9), (6, 8))) + np.exp(log_odds_of_rise((6, 8), (1, 9)))) / 2)
    assert either_way == pytest.approx(constant(1, 9) + constant(6, 8) - constant(7, 17), abs=0.05)


def test_two_equal_results_make_no_rate_certain() -> None:
    assert interval_of(0, 2).high > 0.5
    assert abs(log_odds_of_rise((0, 2), (2, 2))) < np.log(20)
    assert largest_missed((0, 2), (0, 2)) > 0.4


@pytest.mark.parametrize("at", [1, 5, N])
def test_a_certain_failure_is_found_nearly_as_fast_as_by_git(at: int) -> None:
    outcome = answer(play(step(at, 0.0, 1.0)))
    assert (outcome.kind, [one.commit for one in outcome.culprits]) == (OutcomeKind.CULPRIT, [f"c{at}"])
    assert outcome.executions <= 24
    assert forecast(LINE, SearchSettings(of_failures=True)).clear == pytest.approx(outcome.executions, abs=6)


def test_a_flaky_test_is_found_with_its_rates() -> None:
    search = play(step(7, 0.05, 0.6))
    (culprit,) = answer(search).culprits
    assert culprit.commit == "c7"
    assert culprit.rates is not None
    assert culprit.rates.failed_before / culprit.rates.before < 0.2
    assert culprit.rates.failed_since / culprit.rates.since > 0.4
    assert culprit.confidence_interval.low < culprit.relative_change < culprit.confidence_interval.high
    assert culprit.log_bayes_factor is not None
    assert culprit.log_bayes_factor >= 3
    measured = {one.commit: one for one in measured_commits(search.state)}
    assert {"c0", "c6", "c7", "c12"} <= set(measured)
    assert sum(one.executions for one in measured.values()) == answer(search).executions


def test_a_fix_is_found_by_the_lower_rate() -> None:
    outcome = answer(play(step(4, 0.9, 0.1), sought=Sought.BETTER))
    (culprit,) = outcome.culprits
    assert (culprit.commit, culprit.improvement) == ("c4", True)
    assert culprit.relative_change < 0
    assert outcome.rates is not None
    assert outcome.rates.failed_before > outcome.rates.failed_since


def test_the_other_way_is_said_and_not_searched() -> None:
    outcome = answer(play(step(4, 0.9, 0.1)))
    assert outcome.kind is OutcomeKind.NOT_REPRODUCED
    assert [note.code for note in outcome.notes] == [SearchReason.OTHER_WAY]


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_equal_ends_are_no_change_with_what_would_have_been_missed(rate: float) -> None:
    outcome = answer(play(lambda _: rate))
    assert outcome.kind is OutcomeKind.NOT_REPRODUCED
    assert outcome.visible_effect is not None
    assert outcome.visible_effect < 0.05
    runs = outcome.executions // 2
    assert outcome.rates == Rates(
        failed_before=int(rate * runs), before=runs, failed_since=int(rate * runs), since=runs
    )


def test_a_small_change_is_left_open_and_resumes_with_a_larger_budget() -> None:
    search = play(step(6, 0.05, 0.06))
    outcome = answer(search)
    assert (outcome.kind, outcome.executions) == (OutcomeKind.INCONCLUSIVE, 200)
    assert outcome.visible_effect is not None
    assert outcome.visible_effect > 0.05
    assert Search(with_budget(search.state, 1000)).propose()


def test_ends_short_of_a_proof_say_how_many_executions_prove_them() -> None:
    rate = step(6, 0.10, 0.30)
    searches = (play(rate, seed=seed) for seed in range(20))
    search = next(one for one in searches if answer(one).kind is OutcomeKind.INCONCLUSIVE)
    needed, rates = answer(search).needed, answer(search).rates
    assert needed is not None
    assert rates is not None
    sides = ((rates.failed_before, rates.before), (rates.failed_since, rates.since))

    def odds(times: float) -> float:
        before, since = ((round(times * failed), round(times * runs)) for failed, runs in sides)
        return log_odds_of_rise(before, since)

    times = 1 + needed / (rates.before + rates.since)
    assert odds(0.9 * times) < np.log(20) < odds(1.1 * times)
    assert executions_to_prove((10, 100), (10, 100)) is None
    assert executions_to_prove((10, 100), (5, 100)) is None


def test_what_does_not_run_is_apart_from_what_fails() -> None:
    outcome = answer(play(step(7, 0.0, 1.0), broken=frozenset({"c6", "c7"})))
    assert outcome.kind is OutcomeKind.SUSPECT_SET
    suspects: Mapping[str, str | None] = {one.commit: one.skipped for one in outcome.suspects}
    assert {"c6", "c7", "c8"} == set(suspects)
    assert suspects["c6"] == "125"
    assert answer(play(step(7, 0.0, 1.0), broken=frozenset({"c12"}))).kind is OutcomeKind.UNMEASURABLE


def test_a_merge_base_stands_for_a_good_end_beside() -> None:
    beside = CommitRange(
        good="c99", bad="c3", commits=("c1", "c2", "c3"), parents=((), (0,), (1,)), merge_bases=("c0",)
    )
    search = play(lambda commit: float(commit in {2, 3, 99}), commit_range=beside)
    assert [one.commit for one in answer(search).culprits] == ["c2"]
    assert "c99" not in {commit for job in search.state.jobs for commit in job.commits}


def test_a_spent_budget_leaves_suspects() -> None:
    outcome = answer(play(step(7, 0.0, 1.0), budget=9))
    assert outcome.kind is OutcomeKind.BUDGET_SPENT
    assert "c7" in {one.commit for one in outcome.suspects}
    assert answer(play(step(7, 0.0, 1.0), budget=5)).kind is OutcomeKind.INCONCLUSIVE
