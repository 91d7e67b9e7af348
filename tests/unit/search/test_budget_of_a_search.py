import pytest

from benchmarks.bisect.machine import chain
from perf_culprit.model.bisection import CommitRange, Outcome, OutcomeKind, Phase, SearchSettings, SearchState
from perf_culprit.search.search import Search, with_budget

RANGE = CommitRange(good="g", bad="c1", commits=("c1",), parents=((),))


def ended(kind: OutcomeKind) -> SearchState:
    return SearchState(
        commit_range=RANGE,
        settings=SearchSettings(budget_executions=50),
        phase=Phase.DONE,
        since=4,
        suspect="c1",
        outcome=Outcome(kind=kind),
    )


@pytest.mark.parametrize("kind", [OutcomeKind.BUDGET_SPENT, OutcomeKind.INCONCLUSIVE])
def test_what_stopped_for_the_budget_goes_on(kind: OutcomeKind) -> None:
    state = with_budget(ended(kind), 100)
    assert (state.phase, state.since, state.suspect, state.outcome) == (Phase.REPRODUCE, 0, None, None)
    assert state.settings.budget_executions == 100


def test_an_answer_stays_and_a_smaller_budget_changes_nothing() -> None:
    named = ended(OutcomeKind.CULPRIT)
    assert with_budget(named, 100).outcome is named.outcome
    spent = ended(OutcomeKind.BUDGET_SPENT)
    assert with_budget(spent, 50) is spent


@pytest.mark.parametrize(("budget", "commits"), [(13, 2), (14, 7)])
def test_a_small_range_begins_with_its_ends_where_the_budget_does_not_reach_for_all(budget: int, commits: int) -> None:
    search = Search.start(chain(6), settings=SearchSettings(budget_executions=budget))
    assert [len(job.commits) for job in search.propose()] == [commits]
