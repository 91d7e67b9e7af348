"""A bisection as reports show it."""

from msgspec.structs import replace

from perf_culprit.commands.measure_requests import Bisect
from perf_culprit.dispatch.machine_image import other_images
from perf_culprit.model.bisection import (
    BisectionReport,
    Culprit,
    CulpritDiagnosis,
    Engine,
    Outcome,
    OutcomeKind,
    Sought,
)
from perf_culprit.model.count import AUTO, Count, is_exact_quantity
from perf_culprit.model.counted_metric import key_of
from perf_culprit.model.dispatch import Bisection, BisectionStep
from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.reason import Reason, SearchReason, because
from perf_culprit.model.run import TIME, Direction, Metric
from perf_culprit.search.measured import measured_commits
from perf_culprit.search.search import Search


def step_of(bisection: Bisection, *, waiting: Reason | None = None, remarks: tuple[Reason, ...] = ()) -> BisectionStep:
    return BisectionStep(
        bisection=bisection,
        progress=Search(bisection.search).progress(),
        report=report_of(bisection) if bisection.is_done else None,
        waiting=waiting,
        remarks=remarks,
    )


def report_of(bisection: Bisection) -> BisectionReport:
    """Return the report of a bisection that has an outcome."""
    state, key = bisection.search, bisection.key
    if state.outcome is None:
        raise ValueError("the search has not ended")
    # If the metric is unknown, no job measured the benchmark, so there are no numbers whose direction matters.
    metric = bisection.metric or Metric(name=key.metric, unit="", direction=Direction.UNKNOWN)
    notes, count = bisection.notes, bisection.commands.count
    is_same = not reaches(state.outcome.relative_change or 0.0, state.settings.minimum_effect)
    if count is not None and is_exact_quantity(count) and state.outcome.kind is OutcomeKind.NOT_REPRODUCED and is_same:
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
    by_time = not settings.of_failures
    metric = AUTO if bisection.key == key_of(TIME) else bisection.key.metric
    return Bisect.line(
        good=state.commit_range.good,
        bad=state.commit_range.bad,
        run=commands.run if by_time else None,
        outcome=None if by_time else commands.run,
        build=commands.build,
        benchmark=None if commands.count is not None else bisection.key.benchmark,
        metric=metric if by_time else None,
        direction=None if settings.sought is Sought.ANY else settings.sought.value,
        engine=settings.engine.value if by_time else None,
        repeat=settings.repetitions if is_weighted else None,
        threshold=f"{100 * settings.alpha:g}%" if is_weighted else None,
        prior=prior if by_time and not is_weighted else None,
        seed=settings.seed,
        executions=settings.budget_executions,
        tool=None if commands.tool == "auto" or commands.count is not None else commands.tool,
        first_parent=state.commit_range.first_parent,
        paths=paths,
    )
