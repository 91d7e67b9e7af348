"""Checks of issues whose regression seems over: nine runs in a row look so, and a short search of both ends decides.

Runs alone cannot distinguish a commit that fixes the code from a machine that became faster.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from msgspec.structs import replace

from perf_culprit.dispatch.alarms import Step, series_by_metric, step_id
from perf_culprit.dispatch.alarms_of_one_search import is_real, left_of
from perf_culprit.model.bisection import OutcomeKind
from perf_culprit.model.dispatch import Alarm, AlarmedMetric, Bisection, CheckAnswer
from perf_culprit.model.run import Run
from perf_culprit.search.other_metrics import REFUTING_ANALYSIS
from perf_culprit.search.search import Search
from perf_culprit.stats.level_shift import nearer
from perf_culprit.stats.steps import NEWEST


def recoveries(runs: Sequence[Run], searches: Sequence[Bisection], *, suite: str, window: int) -> tuple[Step, ...]:
    """Return the checks that are due, those of the oldest search first. `runs` are on one line, from oldest to newest.

    A check that did not find the regression over is repeated after `window` more runs.
    """
    positions = {run.commit: place for place, run in enumerate(runs) if run.commit}
    newest = len(runs) - 1
    waiting = {
        check.alarm.closes
        for check in searches
        if check.alarm is not None
        and check.alarm.closes
        and (is_over(check) or newest < positions.get(check.search.commit_range.bad, -window) + window)
    }
    due = [
        (search, closes, lead)
        for search in searches
        for closes, lead in _issues_of(search)
        if closes not in waiting and positions.get(search.search.commit_range.bad, -1) <= newest - NEWEST
    ]
    by_metric = series_by_metric(runs) if due else {}
    steps: list[Step] = []
    for search, closes, lead in due:
        values = [value for _, _, value in by_metric.get(lead.key, ())][-NEWEST:]
        if search.alarm is None or len(values) < NEWEST:
            continue
        if not nearer(median(values), to=lead.before, than=lead.after):
            continue
        good = search.search.commit_range.good
        others = (entry for entry in search.alarm.metrics[1:] if entry.key not in search.alarm.left)
        steps.append(
            Step(
                id=step_id(runs[-1], suite, *closes),
                good=good,
                bad=str(runs[-1].commit),
                alarm=Alarm(metrics=(lead, *others), closes=closes),
            )
        )
    return tuple(steps)


def is_over(check: Bisection) -> bool:
    """Return whether the ends, measured together, no longer show the regression in any metric of its issue."""
    outcome = check.search.outcome
    return outcome is not None and outcome.kind is OutcomeKind.NOT_REPRODUCED and not left_of(check)


def is_still_there(bisection: Bisection) -> bool:
    """Return whether a check has certainly seen the regression again. Its commit is known, so the check can end."""
    closes = bisection.alarm is not None and bisection.alarm.closes
    return bool(closes) and len(bisection.search.results) >= REFUTING_ANALYSIS and _sees_it(bisection)


def answer_of(check: Bisection) -> CheckAnswer:
    """Return the answer of a check that has ended."""
    if is_over(check):
        return CheckAnswer.OVER
    return CheckAnswer.STILL_THERE if _sees_it(check) else CheckAnswer.UNKNOWN


def _sees_it(check: Bisection) -> bool:
    """Whether the ends show the regression, or a culprit explains them."""
    outcome, worse = check.search.outcome, check.search.settings.direction.worse_sign
    if outcome is not None and outcome.culprits and outcome.confidence_interval is not None:
        ends = outcome.confidence_interval
        return min(worse * ends.low, worse * ends.high) > 0
    return Search(check.search).shows_worsening


def _issues_of(search: Bisection) -> Iterator[tuple[tuple[str, ...], AlarmedMetric]]:
    """Yield the issues of a search: the commits that identify each, and the followed metric with its size."""
    alarm, outcome = search.alarm, search.search.outcome
    if alarm is None or outcome is None or not alarm.tracked or alarm.closes or not is_real(outcome):
        return
    lead, ends = alarm.metrics[0], search.search.commit_range
    worse = [culprit for culprit in outcome.culprits if not culprit.improvement]
    for culprit in worse:
        change = max(culprit.relative_change, -0.99)
        yield (culprit.commit,), replace(lead, after=lead.before * (1 + change))
    if not worse:
        yield (ends.good, ends.bad), lead
