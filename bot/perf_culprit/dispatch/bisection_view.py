"""A bisection as reports show it, and the switch from a search by counts to one by times."""

import shlex
from typing import Final

from msgspec.structs import replace

from perf_culprit.dispatch.machine_image import other_images
from perf_culprit.model.bisection import (
    BisectionReport,
    CommitRange,
    Culprit,
    CulpritDiagnosis,
    Engine,
    Outcome,
    OutcomeKind,
    SearchState,
    Sought,
)
from perf_culprit.model.count import Count
from perf_culprit.model.counted_metric import key_of, metric_of
from perf_culprit.model.dispatch import Bisection, BisectionStep, ByTime
from perf_culprit.model.finding import Verdict
from perf_culprit.model.minimum_effect import DEFAULTS, Kind, reaches
from perf_culprit.model.reason import Argument, Reason, SearchReason, because
from perf_culprit.model.run import Direction, Metric
from perf_culprit.search.measured import measured_commits
from perf_culprit.search.search import Search

# The view of a bisection that reports use: its progress and its outcome.


def step_of(
    bisection: Bisection,
    *,
    waiting: Reason | None = None,
    remarks: tuple[Reason, ...] = (),
) -> BisectionStep:
    return BisectionStep(
        bisection=bisection,
        progress=Search(bisection.search).progress(),
        report=report_of(bisection) if bisection.is_done else None,
        waiting=waiting,
        remarks=remarks,
    )


def report_of(bisection: Bisection) -> BisectionReport:
    """The report of a bisection that has an outcome."""
    state, key = bisection.search, bisection.key
    if state.outcome is None:
        raise ValueError("the search has not ended")
    # If the metric is unknown, no job measured the benchmark, so there are no numbers whose direction matters.
    metric = bisection.metric or Metric(name=key.metric, unit="", direction=Direction.UNKNOWN)
    notes, count = bisection.notes, bisection.commands.count
    is_same = not reaches(state.outcome.relative_change or 0.0, state.settings.minimum_effect)
    if count is not None and state.outcome.kind is OutcomeKind.NOT_REPRODUCED and is_same:
        notes += (because(SearchReason.SAME_COUNT, count=count),)
    notes += other_images(bisection)
    culprit = diagnosed_step(state.outcome, count)
    diagnoses = (one for one in bisection.diagnoses if culprit is not None and one.commit == culprit.commit)
    return BisectionReport(
        outcome=replace(state.outcome, notes=(*state.outcome.notes, *notes)),
        commit_range=state.commit_range,
        settings=state.settings,
        key=key,
        metric=metric,
        measured=measured_commits(state),
        subjects=bisection.subjects,
        command=command_line(bisection),
        diagnosis=None if culprit is None else of_its_change(next(diagnoses, None), culprit),
        updates=bisection.updates,
        executed=bisection.executed,
        runner_seconds=bisection.runner_seconds,
    )


def diagnosed_step(outcome: Outcome, count: str | None) -> Culprit | None:
    """Return the commit to diagnose: the largest regression. Counts also allow diagnosing an improvement."""
    regressions = [culprit for culprit in outcome.culprits if not culprit.improvement]
    steps = regressions or (outcome.culprits if count == Count.INSTRUCTIONS else ())
    return max(steps, key=lambda culprit: abs(culprit.relative_change), default=None)


def of_its_change(diagnosis: CulpritDiagnosis | None, culprit: Culprit) -> CulpritDiagnosis | None:
    """Remove an improvement's search for what got slower: its counts tell where the change is."""
    return replace(diagnosis, comparison=None, doubt=None) if diagnosis and culprit.improvement else diagnosis


def command_line(bisection: Bisection, *, prior: str | None = None, paths: tuple[str, ...] = ()) -> str:
    """Return the command that repeats this search on one machine."""
    state, commands = bisection.search, bisection.commands
    settings = state.settings
    is_weighted = settings.engine is Engine.WEIGHTED
    options = {
        "--good": state.commit_range.good,
        "--bad": state.commit_range.bad,
        "--run": commands.run,
        "--build": commands.build,
        "--benchmark": None if commands.count is not None else bisection.key.benchmark,
        "--metric": bisection.key.metric,
        "--direction": None if settings.sought is Sought.ANY else settings.sought.value,
        "--engine": settings.engine.value,
        "--repeat": str(settings.repetitions) if is_weighted else None,
        "--threshold": f"{100 * settings.alpha:g}%" if is_weighted else None,
        "--prior": None if is_weighted else prior,
        "--seed": str(settings.seed),
        "--executions": str(settings.budget_executions),
        "--tool": None if commands.tool == "auto" or commands.count is not None else commands.tool,
    }
    words = [word for name, value in options.items() if value is not None for word in (name, value)]
    words += ["--first-parent"] if state.commit_range.first_parent else []
    words += ["--paths", *paths] if paths else []
    return shlex.join(["perf-culprit", "bisect", *words])


# `auto`: a search by instructions, then by times: for the named commit and its parent, else for the whole range.
#
# Each is a search of its own. `Bisection.times` describes the next one, and holds the search by counts while times
# are measured.

SHOWN_COMMIT: Final = 7
PAIR_EXECUTIONS: Final = 100  # executions of the commit that counts name and its parent


def following(bisection: Bisection) -> Bisection:
    """Return the search that follows an ended one, or the bisection itself if its outcome is the answer."""
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
    """Begin the search by times between the named commit and its parent."""
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
    """Begin a search by times, without the earlier search's dispatches: they are over and no longer needed."""
    before = bisection.search
    settings = replace(before.settings, minimum_effect=DEFAULTS[Kind.SEARCHED_TIME], budget_executions=budget)
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
