"""`auto`: a search by instructions, then by times: of the commit that it named and its parent, else of the whole range.

Each is a search of its own; `Bisection.times` says what follows, and holds the counts' search while times are measured.
"""

from dataclasses import replace
from typing import Final

from bot.bisect import Search
from bot.model.bisection import SMALLEST_EFFECT, CommitRange, Culprit, Outcome, SearchState
from bot.model.count import Count, key_of, metric_of
from bot.model.dispatch import Bisection, ByTime
from bot.model.finding import Verdict
from bot.model.reason import Argument, Reason, because
from bot.model.search_reason import SearchReason

SHOWN_COMMIT: Final = 7
PAIR_EXECUTIONS: Final = 100  # of the commit that counts name and its parent


def following(bisection: Bisection) -> Bisection:
    """The next search of one that has ended; the bisection itself where its outcome is the answer."""
    times, outcome = bisection.times, bisection.search.outcome
    if times is None or outcome is None:
        return bisection
    if times.counted is None:
        if outcome.culprits:
            return _paired(bisection, times, largest_step(outcome).commit)
        why = next(iter(outcome.skipped.values()), None)
        return _whole(bisection, times, bisection.search, because(SearchReason.NO_COMMIT_BY_COUNTS, why=why))
    counted = times.counted
    if counted.outcome is None:
        raise ValueError("the search by counts has not ended")
    step = largest_step(counted.outcome)
    for timed in outcome.culprits:
        if timed.improvement == step.improvement:
            note = confirmed(timed, executions=outcome.executions, benchmark=times.key.benchmark)
            count, notes = Count.INSTRUCTIONS, (*bisection.notes, note)
            commands = replace(bisection.commands, count=count)
            answer = replace(bisection, key=key_of(count), metric=metric_of(count), commands=commands, search=counted)
            return replace(answer, times=None, notes=notes)
    return _whole(bisection, times, counted, unconfirmed(step))


def largest_step(outcome: Outcome) -> Culprit:
    return max(outcome.culprits, key=lambda culprit: abs(culprit.relative_change))


def confirmed(timed: Culprit, *, executions: int, benchmark: str) -> Reason:
    return because(SearchReason.TIME_CONFIRMS, executions=executions, benchmark=benchmark, **_step(timed))


def unconfirmed(counted: Culprit) -> Reason:
    return because(SearchReason.TIME_UNCHANGED, **_step(counted))


def _step(culprit: Culprit) -> dict[str, Argument]:
    interval = culprit.confidence_interval
    kind = Verdict.IMPROVEMENT if culprit.improvement else Verdict.REGRESSION
    return {
        "commit": culprit.commit[:SHOWN_COMMIT],
        "kind": kind.value,
        "change": culprit.relative_change,
        "low": interval.low,
        "high": interval.high,
    }


def _paired(bisection: Bisection, times: ByTime, commit: str) -> Bisection:
    """The times of the named commit and its parent."""
    commit_range = bisection.search.commit_range
    parents = commit_range.parents[commit_range.commits.index(commit)]
    good = commit_range.commits[parents[0]] if parents else (*commit_range.merge_bases, commit_range.good)[0]
    pair = CommitRange(good=good, bad=commit, commits=(commit,), parents=((),))
    begun = _by_times(bisection, times, pair, budget=PAIR_EXECUTIONS)
    return replace(begun, times=replace(times, counted=bisection.search))


def _whole(bisection: Bisection, times: ByTime, counted: SearchState, note: Reason) -> Bisection:
    begun = _by_times(bisection, times, counted.commit_range, budget=counted.settings.budget_executions)
    return replace(begun, times=None, notes=(*bisection.notes, note))


def _by_times(bisection: Bisection, times: ByTime, commit_range: CommitRange, *, budget: int) -> Bisection:
    """The dispatches of the search before are over: what they left is of no use here."""
    before = bisection.search
    settings = replace(before.settings, minimum_effect=SMALLEST_EFFECT, budget_executions=budget)
    if times.metric is not None:
        settings = replace(settings, direction=times.metric.direction)
    prior = {name: weight for name, weight in before.prior.items() if name in commit_range.commits}
    return replace(
        bisection,
        key=times.key,
        metric=times.metric,
        commands=replace(bisection.commands, count=None),
        search=Search.start(commit_range, settings=settings, prior=prior).state,
        dispatches=(),
    )
