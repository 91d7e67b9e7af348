"""A bisection as those see it who tell of it: where it stands, and the report of its outcome."""

import shlex
from dataclasses import replace

from bot.bisect import Search
from bot.bisect.measured import measured_commits
from bot.dispatch.diagnosis import diagnosed_step
from bot.model.bisection import OutcomeKind, Sought
from bot.model.bisection_report import BisectionReport
from bot.model.dispatch import Bisection, BisectionStep
from bot.model.metric import Direction, Metric
from bot.model.reason import Reason, because
from bot.model.search_reason import SearchReason


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
    # No job ever saw the benchmark where the metric is unknown: then there are no numbers whose direction matters.
    metric = bisection.metric or Metric(name=key.metric, unit="", direction=Direction.UNKNOWN)
    notes, count = bisection.notes, bisection.commands.count
    is_same = abs(state.outcome.relative_change or 0.0) <= state.settings.minimum_effect
    if count is not None and state.outcome.kind is OutcomeKind.NOT_REPRODUCED and is_same:
        notes += (because(SearchReason.SAME_COUNT, count=count),)
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
        diagnosis=next(diagnoses, None),
        updates=bisection.updates,
        runner_seconds=bisection.runner_seconds,
    )


def command_line(bisection: Bisection, *, prior: str | None = None, paths: tuple[str, ...] = ()) -> str:
    """The command that searches the same again on one machine."""
    state, commands = bisection.search, bisection.commands
    settings = state.settings
    options = {
        "--good": state.commit_range.good,
        "--bad": state.commit_range.bad,
        "--run": commands.run,
        "--build": commands.build,
        "--benchmark": None if commands.count is not None else bisection.key.benchmark,
        "--metric": bisection.key.metric,
        "--direction": None if settings.sought is Sought.ANY else settings.sought.value,
        "--engine": settings.engine.value,
        "--prior": prior,
        "--seed": str(settings.seed),
        "--executions": str(settings.budget_executions),
        "--tool": None if commands.tool == "auto" or commands.count is not None else commands.tool,
    }
    words = [word for name, value in options.items() if value is not None for word in (name, value)]
    words += ["--first-parent"] if state.commit_range.first_parent else []
    words += ["--paths", *paths] if paths else []
    return shlex.join(["perf-culprit", "bisect", *words])
