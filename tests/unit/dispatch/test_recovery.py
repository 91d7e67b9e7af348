"""When a check runs that tests whether an issue is over, and its answer."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.dispatch.alarms import Step
from perf_culprit.dispatch.recovery import answer_of, is_still_there, recoveries
from perf_culprit.model.bisection import Culprit, Outcome, OutcomeKind, Phase, Result, SearchSettings, Suspect
from perf_culprit.model.dispatch import Alarm, AlarmedMetric, Bisection, CheckAnswer
from perf_culprit.model.finding import Interval
from perf_culprit.model.run import Direction, MetricKey, Run
from perf_culprit.search.search import Search
from tests.support.measurements import SECONDS, measured
from tests.support.runner_pool import chain_range, commits, new_bisection

BEFORE, AFTER = 1.0, 1.4
CULPRIT = commits(7)[6]
LEAD = AlarmedMetric(key=MetricKey("a", "time"), metric=SECONDS, before=BEFORE, after=AFTER)


def line(levels: Sequence[float]) -> list[Run]:
    """Runs of the eight commits of the search, then of later commits."""
    names = [*commits(7), *(f"{place + 100:040x}" for place in range(len(levels)))]
    return [measured({"a": level}, seed=place, commit=names[place]) for place, level in enumerate(levels)]


def told(**changes: object) -> Bisection:
    culprit = Culprit(
        commit=CULPRIT,
        posterior=0.99,
        relative_change=0.4,
        confidence_interval=Interval(low=0.3, high=0.5, level=0.95),
    )
    outcome = Outcome(kind=OutcomeKind.CULPRIT, culprits=(culprit,))
    state = Search.start(chain_range(7), settings=SearchSettings()).state
    alarm = Alarm(metrics=(LEAD,), reported=True, tracked=True)
    return replace(new_bisection(), search=replace(state, outcome=outcome), alarm=replace(alarm, **changes))


def check(bad: str, kind: OutcomeKind) -> Bisection:
    begun = told(closes=(CULPRIT,))
    state = replace(begun.search, outcome=Outcome(kind=kind))
    return replace(begun, search=replace(state, commit_range=replace(state.commit_range, bad=bad)))


def due(levels: Sequence[float], *searches: Bisection) -> int:
    return len(recoveries(line(levels), searches, suite="default", window=30))


SLOWED = [BEFORE] * 6 + [AFTER] * 4


@pytest.mark.parametrize(("well", "is_due"), [(4, False), (9, True)])
def test_nine_runs_nearer_to_the_level_before_than_after_begin_a_check(well: int, is_due: bool) -> None:
    runs = line([*SLOWED, *[1.1] * well])
    steps = recoveries(runs, [told()], suite="default", window=30)
    assert bool(steps) is is_due
    for step in steps:
        assert (step.good, step.bad, step.alarm.closes) == (commits(7)[0], runs[-1].commit, (CULPRIT,))
        assert step.alarm.metrics[0].after == pytest.approx(1.4)


def test_what_is_slow_or_was_never_told_is_not_checked() -> None:
    assert due([*SLOWED, *[1.3] * 12], told()) == 0
    assert due([*SLOWED, *[1.0] * 12], told(tracked=False)) == 0


def test_a_check_that_found_it_over_is_the_last_one_and_another_is_repeated_after_a_window() -> None:
    levels = [*SLOWED, *[1.0] * 12]
    bad = str(line(levels)[-1].commit)
    assert due([*levels, *[1.0] * 40], told(), check(bad, OutcomeKind.NOT_REPRODUCED)) == 0
    assert due([*levels, *[1.0] * 20], told(), check(bad, OutcomeKind.BUDGET_SPENT)) == 0
    assert due([*levels, *[1.0] * 31], told(), check(bad, OutcomeKind.BUDGET_SPENT)) == 1


@pytest.mark.parametrize(
    ("bad_level", "rounds", "answer", "ends"),
    [
        (1.4, 6, CheckAnswer.STILL_THERE, True),
        (1.4, 5, CheckAnswer.STILL_THERE, False),  # a hint, before enough executions
        (1.02, 6, CheckAnswer.UNKNOWN, False),
        (0.7, 6, CheckAnswer.UNKNOWN, False),
    ],
)
def test_a_check_ends_once_it_has_surely_seen_the_change_again_whatever_its_phase(
    bad_level: float, rounds: int, answer: CheckAnswer, ends: bool
) -> None:
    begun = told(closes=(CULPRIT,))
    noise = np.exp(np.random.default_rng(1).normal(0, 0.03, (rounds, 2))).tolist()
    good, bad = begun.search.commit_range.good, begun.search.commit_range.bad
    results = tuple(
        Result(job_id=f"round-{number}", values={good: (at_good,), bad: (bad_level * at_bad,)})
        for number, (at_good, at_bad) in enumerate(noise)
    )
    for phase in (Phase.REPRODUCE, Phase.SEARCH, Phase.CONFIRM):
        state = replace(begun.search, outcome=None, results=results, phase=phase)
        measured = replace(begun, search=state)
        assert answer_of(measured) is answer
        assert is_still_there(measured) is ends
        assert not is_still_there(replace(told(), search=state))
    over = replace(begun, search=replace(begun.search, outcome=Outcome(kind=OutcomeKind.NOT_REPRODUCED)))
    assert answer_of(over) is CheckAnswer.OVER


@pytest.mark.parametrize(
    ("low", "high", "direction", "named", "answer"),
    [
        (0.2, 0.5, Direction.LOWER_IS_BETTER, True, CheckAnswer.STILL_THERE),
        (-0.05, 0.5, Direction.LOWER_IS_BETTER, True, CheckAnswer.UNKNOWN),
        (-0.5, -0.2, Direction.LOWER_IS_BETTER, True, CheckAnswer.UNKNOWN),
        (-0.5, -0.2, Direction.HIGHER_IS_BETTER, True, CheckAnswer.STILL_THERE),
        # Without a culprit, the executions of the ends decide, and here there are none.
        (0.2, 0.5, Direction.LOWER_IS_BETTER, False, CheckAnswer.UNKNOWN),
    ],
)
def test_where_a_culprit_was_named_the_interval_of_the_whole_change_answers(
    low: float, high: float, direction: Direction, named: bool, answer: CheckAnswer
) -> None:
    begun = told(closes=(CULPRIT,))
    assert begun.search.outcome is not None
    ends = Interval(low=low, high=high, level=0.95)
    culprits = begun.search.outcome.culprits if named else ()
    outcome = replace(begun.search.outcome, culprits=culprits, confidence_interval=ends)
    settings = replace(begun.search.settings, direction=direction)
    assert answer_of(replace(begun, search=replace(begun.search, outcome=outcome, settings=settings))) is answer


def steps_of(search: Bisection, *, well: float = 1.0, slow: int = 4, runs: int = 12) -> tuple[Step, ...]:
    levels = [*[BEFORE] * 6, *[AFTER] * slow, *[well] * runs]
    return recoveries(line(levels), [search], suite="default", window=30)


@pytest.mark.parametrize(("runs", "is_due"), [(8, False), (9, True)])
def test_nine_runs_after_the_bad_end_are_asked_for(runs: int, is_due: bool) -> None:
    assert bool(steps_of(told(), slow=2, runs=runs)) is is_due


def test_a_check_follows_the_issues_metrics_and_none_that_step_elsewhere() -> None:
    beside, elsewhere = (replace(LEAD, key=MetricKey(name, "time")) for name in "bc")
    (step,) = steps_of(told(metrics=(LEAD, beside, elsewhere), left=frozenset({elsewhere.key})))
    assert [entry.key for entry in step.alarm.metrics] == [LEAD.key, beside.key]


def with_culprits(*culprits: Culprit) -> Bisection:
    begun = told()
    return replace(
        begun, search=replace(begun.search, outcome=Outcome(kind=OutcomeKind.SEVERAL_CULPRITS, culprits=culprits))
    )


def test_every_regression_of_a_search_has_a_check_of_its_own_and_an_improvement_has_none() -> None:
    (worse,) = told().search.outcome.culprits  # type: ignore[union-attr]  # as it was made
    further = replace(worse, commit=commits(7)[3], relative_change=0.2)
    better = replace(worse, commit=commits(7)[2], relative_change=-0.2, improvement=True)
    steps = steps_of(with_culprits(worse, better, further))
    assert [step.alarm.closes for step in steps] == [(worse.commit,), (further.commit,)]
    assert [step.alarm.metrics[0].after for step in steps] == pytest.approx([1.4, 1.2])
    # A throughput that fell by 100%: no ratio can be taken to its level of zero.
    (gone,) = steps_of(with_culprits(replace(worse, relative_change=-1.0)))
    assert gone.alarm.metrics[0].after == pytest.approx(0.01)
    # If no commit was named, the ends identify the issue.
    suspects = Outcome(kind=OutcomeKind.SUSPECT_SET, suspects=(Suspect(commit=CULPRIT, posterior=0.6),))
    begun = told()
    (ends,) = steps_of(replace(begun, search=replace(begun.search, outcome=suspects)))
    assert (ends.alarm.closes, ends.alarm.metrics) == ((commits(7)[0], commits(7)[7]), (LEAD,))
