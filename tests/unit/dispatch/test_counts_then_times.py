"""`auto` by its transitions: what follows the search by counts, and what the answer is if nothing may follow."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit.dispatch.controller import end_search
from perf_culprit.dispatch.counts_then_times import following
from perf_culprit.model.bisection import (
    CommitRange,
    Culprit,
    Job,
    Outcome,
    OutcomeKind,
    Purpose,
    SearchSettings,
    SearchState,
)
from perf_culprit.model.bisection_files import decode_stored, encode_stored
from perf_culprit.model.count import Count
from perf_culprit.model.counted_metric import key_of, metric_of
from perf_culprit.model.dispatch import BisectCommands, Bisection, BisectJob, ByTime, Dispatch
from perf_culprit.model.finding import Interval
from perf_culprit.model.reason import SearchReason, because
from perf_culprit.model.run import Direction, Metric, MetricKey
from perf_culprit.search.search import Search
from tests.support.bisections import FIRST, RANGE, SECOND

PACKAGE = Path(__file__).parents[3] / "bot/perf_culprit"
STARTED = datetime(2026, 11, 28, tzinfo=UTC)
TIME = ByTime(MetricKey("parse", "time"), Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER))
CULPRIT = Culprit(
    commit=SECOND, posterior=0.99, relative_change=0.3, confidence_interval=Interval(low=0.2, high=0.4, level=0.95)
)
FOUND = Outcome(kind=OutcomeKind.CULPRIT, culprits=(CULPRIT,), executions=8)
SPENT = Outcome(kind=OutcomeKind.BUDGET_SPENT, relative_change=0.1, executions=24)


def rounds(count: int, commit_range: CommitRange) -> tuple[Job, ...]:
    ends = (commit_range.good, commit_range.bad)
    return tuple(Job(id=f"round-{place + 1:04d}", commits=ends, purpose=Purpose.REPRODUCE) for place in range(count))


def searched(outcome: Outcome | None, *, budget: int = 400, jobs: int = 4) -> SearchState:
    state = Search.start(RANGE, settings=SearchSettings(budget_executions=budget)).state
    return replace(state, jobs=rounds(jobs, RANGE), outcome=outcome)


def by_counts(outcome: Outcome) -> Bisection:
    return Bisection(
        id="1",
        key=key_of(Count.INSTRUCTIONS),
        metric=metric_of(Count.INSTRUCTIONS),
        commands=BisectCommands(run="./bench", count=Count.INSTRUCTIONS),
        search=searched(outcome),
        started_at=STARTED,
        times=TIME,
    )


def confirming(outcome: Outcome | None, *, jobs: int = 20) -> Bisection:
    """The named commit and its parent are measured, in more rounds than the counts took."""
    pair = following(by_counts(FOUND))
    asked = rounds(jobs, pair.search.commit_range)
    dispatch = Dispatch(id="1-a", jobs=(BisectJob(id="job-1", rounds=asked),), sender="me", stored_at=STARTED)
    return replace(pair, search=replace(pair.search, jobs=asked, outcome=outcome), dispatches=(dispatch,))


def test_the_named_commit_is_timed_against_its_parent() -> None:
    pair = following(by_counts(FOUND))
    assert (pair.search.commit_range.good, pair.search.commit_range.bad) == (FIRST, SECOND)
    assert (pair.key, pair.commands.count) == (TIME.key, None)


def test_a_confirmed_answer_can_be_read_again() -> None:
    answer = following(confirming(FOUND))
    assert (answer.commands.count, answer.search.outcome) == (Count.INSTRUCTIONS, FOUND)
    assert [note.code for note in answer.notes] == [SearchReason.TIME_CONFIRMS]
    assert decode_stored(encode_stored(answer), place="the branch") == answer


def test_a_search_that_is_stopped_while_times_confirm_it_answers_by_counts() -> None:
    note = because(SearchReason.TIME_SPENT)
    answer = end_search(confirming(None), note=note)
    assert answer.commands.count == Count.INSTRUCTIONS
    assert answer.search.outcome == replace(FOUND, notes=(note,))
    assert decode_stored(encode_stored(answer), place="the branch") == answer


@pytest.mark.parametrize("counted", [FOUND, replace(FOUND, culprits=())])
def test_times_decide_without_a_confirmed_commit(counted: Outcome) -> None:
    """A search by times that was begun before goes on with all that it has measured."""
    is_named = bool(counted.culprits)
    before = confirming(SPENT) if is_named else by_counts(counted)
    begun = searched(replace(SPENT, confidence_interval=Interval(low=0.05, high=0.2, level=0.95)), budget=24)
    for search in (following(before).search, following(before, begun).search):
        assert (search.commit_range, search.outcome, search.settings.budget_executions) == (RANGE, None, 400)
    assert following(before, begun).search.jobs == begun.jobs
    code = SearchReason.TIME_UNCHANGED if is_named else SearchReason.NO_COMMIT_BY_COUNTS
    assert [note.code for note in following(before, begun).notes] == [code]


def test_a_commit_is_not_timed_if_times_cannot_tell_the_ends_apart() -> None:
    interval = Interval(low=-0.05, high=0.2, level=0.95)
    answer = following(by_counts(FOUND), searched(replace(SPENT, confidence_interval=interval)))
    assert (answer.search.outcome, answer.times) == (FOUND, None)
    assert [note.code for note in answer.notes] == [SearchReason.ENDS_ALIKE_BY_TIME]


@pytest.mark.parametrize("code", ["NO_COMMIT_BY_COUNTS", "TIME_CONFIRMS", "TIME_UNCHANGED", "ENDS_ALIKE_BY_TIME"])
def test_one_module_decides_for_this_machine_and_for_others(code: str) -> None:
    modules = {
        path.name
        for path in PACKAGE.rglob("*.py")
        if f"SearchReason.{code}" in path.read_text() and path.parent.name != "say"
    }
    assert modules == {"counts_then_times.py"}
