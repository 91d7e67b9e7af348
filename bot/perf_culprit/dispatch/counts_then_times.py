"""`auto`: a search by instructions, then by times: for the named commit and its parent, else for the whole range.

Each is a search of its own. `Bisection.times` describes the next one, and holds the search by counts while times are
measured.
"""

from math import expm1

from msgspec.structs import asdict, replace

from perf_culprit.model.bisection import CommitRange, Culprit, Outcome, SearchState, Sought
from perf_culprit.model.count import Count
from perf_culprit.model.counted_metric import key_of, metric_of, timed_quantity
from perf_culprit.model.dispatch import Bisection, ByTime
from perf_culprit.model.finding import Verdict
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.model.reason import Argument, Reason, SearchReason, because
from perf_culprit.model.run import short_hash
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search.search import Search, with_budget


def following(bisection: Bisection, begun: SearchState | None = None) -> Bisection:
    """Return the search that follows an ended one, or the bisection itself if its outcome is the answer.

    `begun`: a search of the whole range by times that its budget ended. It resumes if times are to decide. If it cannot
    tell the ends apart, the time of one commit cannot confirm anything.
    """
    times, outcome = bisection.times, bisection.search.outcome
    if times is None or outcome is None:
        return bisection
    if times.counted is None:
        if not outcome.culprits:
            why = next(iter(outcome.skipped.values()), None)
            note = because(SearchReason.NO_COMMIT_BY_COUNTS, why=why)
            return _whole(bisection, times, bisection.search, note, begun)
        if begun is not None and direction_shown(begun) is None:
            return replace(bisection, times=None, notes=(*bisection.notes, _ends_alike(_outcome(begun))))
        return _begin_between(bisection, times, _largest_step(outcome).commit)
    step = _largest_step(_outcome(times.counted))
    for timed in outcome.culprits:
        if timed.improvement == step.improvement:
            note = because(
                SearchReason.TIME_CONFIRMS, executions=outcome.executions, benchmark=times.key.benchmark, **_step(timed)
            )
            return replace(by_counts(bisection), notes=(*bisection.notes, note))
    return _whole(bisection, times, times.counted, because(SearchReason.TIME_UNCHANGED, **_step(step)), begun)


def by_counts(bisection: Bisection) -> Bisection:
    """Return the answer by counts while times are measured to confirm it. Its own dispatches are long over."""
    if bisection.times is None or bisection.times.counted is None:
        return bisection
    count = Count.INSTRUCTIONS
    return replace(
        bisection,
        key=key_of(count),
        metric=metric_of(count),
        commands=replace(bisection.commands, count=count),
        search=bisection.times.counted,
        times=None,
        dispatches=(),
    )


def direction_shown(search: SearchState) -> Sought | None:
    """Return the direction in which the ends differ; None if their confidence interval is missing or contains 0."""
    interval = _outcome(search).confidence_interval
    if interval is None or interval.low <= 0 <= interval.high:
        return None
    return Sought.WORSE if interval.low * search.settings.direction.worse_sign > 0 else Sought.BETTER


def _outcome(search: SearchState) -> Outcome:
    if search.outcome is None:
        raise ValueError("the search has not ended")
    return search.outcome


def _largest_step(outcome: Outcome) -> Culprit:
    return max(outcome.culprits, key=lambda culprit: abs(culprit.relative_change))


def _step(culprit: Culprit) -> dict[str, Argument]:
    interval = culprit.confidence_interval
    kind = Verdict.IMPROVEMENT if culprit.improvement else Verdict.REGRESSION
    return {
        "commit": short_hash(culprit.commit),
        "kind": kind.value,
        "change": culprit.relative_change,
        "low": interval.low,
        "high": interval.high,
    }


def _ends_alike(ends: Outcome) -> Reason:
    """Return a note that times cannot tell the ends apart, with the smallest change that they would show."""
    interval, noise = ends.confidence_interval, ends.noise
    return because(
        SearchReason.ENDS_ALIKE_BY_TIME,
        executions=ends.executions,
        change=ends.relative_change,
        visible=ends.visible_effect,
        **({} if interval is None else {"low": interval.low, "high": interval.high}),
        **({} if noise is None else {**asdict(noise), "spread": expm1(noise.standard_deviation)}),
    )


def _begin_between(bisection: Bisection, times: ByTime, commit: str) -> Bisection:
    """Begin the search by times between the named commit and its parent."""
    commit_range = bisection.search.commit_range
    parents = commit_range.parents[commit_range.commits.index(commit)]
    good = commit_range.commits[parents[0]] if parents else (*commit_range.merge_bases, commit_range.good)[0]
    pair = CommitRange(good=good, bad=commit, commits=(commit,), parents=((),))
    timed = _by_times(bisection, times, _start(bisection, times, pair, budget=WORK_LIMITS.pair_executions))
    return replace(timed, times=replace(times, counted=bisection.search))


def _whole(
    bisection: Bisection, times: ByTime, counted: SearchState, note: Reason, begun: SearchState | None
) -> Bisection:
    budget = counted.settings.budget_executions
    if begun is None:
        search = _start(bisection, times, counted.commit_range, budget=budget)
    else:
        search = with_budget(begun, budget)
    return replace(_by_times(bisection, times, search), times=None, notes=(*bisection.notes, note))


def _start(bisection: Bisection, times: ByTime, commit_range: CommitRange, *, budget: int) -> SearchState:
    before = bisection.search
    settings = replace(before.settings, minimum_effect=DEFAULTS[DataKind.SEARCHED_TIME], budget_executions=budget)
    if times.metric is not None:
        settings = replace(settings, direction=times.metric.direction)
    prior = {name: weight for name, weight in before.prior.items() if name in commit_range.commits}
    return Search.start(commit_range, settings=settings, prior=prior).state


def _by_times(bisection: Bisection, times: ByTime, search: SearchState) -> Bisection:
    """Measure times from now on, without the earlier search's dispatches: they are over and no longer needed."""
    commands = replace(bisection.commands, count=timed_quantity(times.key))
    return replace(bisection, key=times.key, metric=times.metric, commands=commands, search=search, dispatches=())
