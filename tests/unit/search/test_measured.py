"""The evidence per commit: changes within rounds, so that a slowdown of the whole round cancels."""

import pytest
from msgspec.structs import replace

from perf_culprit.model.bisection import (
    CommitRange,
    Failure,
    FailureKind,
    Outcome,
    OutcomeKind,
    Result,
    SearchSettings,
    SearchState,
)
from perf_culprit.search.measured import measured_commits

RANGE = CommitRange(good="g", bad="c3", commits=("c1", "c2", "c3"), parents=((), (0,), (1,)))


def state_of(*results: Result) -> SearchState:
    return SearchState(commit_range=RANGE, settings=SearchSettings(), results=results)


def values(**numbers: float) -> dict[str, tuple[float, ...]]:
    return {name: (number,) for name, number in numbers.items()}


def test_a_slow_round_cancels() -> None:
    state = state_of(
        Result(job_id="1", values=values(g=1.0, c2=1.5, c3=2.0)),
        Result(job_id="2", values=values(g=10.0, c2=15.0, c3=20.0)),
    )
    good, second, third = measured_commits(state)
    assert (good.commit, second.commit, third.commit) == ("g", "c2", "c3")
    assert (good.relative_change, good.confidence_interval) == (0.0, None)
    assert second.relative_change == pytest.approx(0.5)
    assert third.relative_change == pytest.approx(1.0)
    assert third.executions == 2
    assert third.confidence_interval is not None
    assert third.confidence_interval.low == pytest.approx(1.0)


@pytest.mark.parametrize(("other", "change"), [(2.0, None), (1.1, 0.2)])
def test_a_round_without_the_good_end_says_nothing_where_machines_differ(other: float, change: float | None) -> None:
    state = state_of(
        Result(job_id="1", values=values(g=1.0, c3=2.0)),
        Result(job_id="2", values=values(g=other, c3=2 * other)),
        Result(job_id="3", values=values(c1=1.2 * other**0.5)),
    )
    spread = replace(state, settings=SearchSettings(one_machine=False))
    assert measured_commits(spread)[1].relative_change == (None if change is None else pytest.approx(change))
    assert measured_commits(state)[1].relative_change is not None


def test_what_came_after_the_decision_is_no_part_of_its_evidence() -> None:
    late = Result(job_id="2", values=values(g=9.0, c3=2.0))
    state = state_of(Result(job_id="1", values=values(g=1.0, c3=2.0)), late)
    decided = replace(state, outcome=Outcome(kind=OutcomeKind.CULPRIT, rounds=1))
    assert measured_commits(decided)[1].relative_change == pytest.approx(1.0)


def test_the_interval_is_students_over_rounds() -> None:
    state = state_of(*(Result(job_id=str(i), values=values(g=1.0, c3=c)) for i, c in enumerate((1.1, 1.2, 1.3))))
    interval = measured_commits(state)[1].confidence_interval
    assert interval is not None
    # scipy.stats.t.interval of the three logarithms, as relative changes.
    assert (interval.low, interval.high) == pytest.approx((-0.0271780, 0.4733688), abs=1e-6)


def test_failures_are_told_once_and_commits_without_reference_have_no_change() -> None:
    broken = Failure(kind=FailureKind.BUILD, message="no compiler")
    state = state_of(
        Result(job_id="1", values=values(c3=2.0), failures={"g": Failure(kind=FailureKind.CRASHED), "c1": broken}),
        Result(job_id="2", failures={"c1": broken}),
    )
    good, first, third = measured_commits(state)
    assert (good.executions, good.failures) == (1, ("crashed",))
    assert (first.executions, first.failures, first.relative_change) == (2, ("no compiler",), None)
    assert (third.executions, third.relative_change) == (1, None)


def test_what_was_not_executed_is_not_listed() -> None:
    assert measured_commits(state_of()) == ()
