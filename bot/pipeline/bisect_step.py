"""A bisection as those see it who tell of it: where it stands, and the report of its outcome."""

import shlex

from bot.model.bisection import SearchState
from bot.model.bisection_report import BisectionReport
from bot.model.dispatch import BisectCommands, Bisection, BisectionStep, Dispatch
from bot.model.metric import Direction, Metric, MetricKey


def step_of(
    bisection: Bisection,
    *,
    dispatched: Dispatch | None = None,
    waiting: str | None = None,
    remarks: tuple[str, ...] = (),
) -> BisectionStep:
    from bot.bisect import Search

    return BisectionStep(
        bisection=bisection,
        progress=Search(bisection.search).progress(),
        report=bisection_report(bisection) if bisection.is_done else None,
        dispatched=dispatched,
        waiting=waiting,
        remarks=remarks,
    )


def bisection_report(bisection: Bisection) -> BisectionReport:
    """The report of a bisection that has an outcome."""
    from bot.bisect.measured import measured_commits

    state, key = bisection.search, bisection.key
    if state.outcome is None:
        raise ValueError("the search has not ended")
    # No job ever saw the benchmark where the metric is unknown: then there are no numbers whose direction matters.
    metric = bisection.metric or Metric(name=key.metric, unit="", direction=Direction.UNKNOWN)
    return BisectionReport(
        outcome=state.outcome,
        commit_range=state.commit_range,
        settings=state.settings,
        key=key,
        metric=metric,
        measured=measured_commits(state),
        subjects=bisection.subjects,
        command=command_line(state, key, bisection.commands),
    )


def command_line(state: SearchState, key: MetricKey, commands: BisectCommands, *, paths: tuple[str, ...] = ()) -> str:
    """The command that searches the same again on one machine."""
    options = {
        "--good": state.commit_range.good,
        "--bad": state.commit_range.bad,
        "--run": commands.run,
        "--build": commands.build,
        "--benchmark": key.benchmark,
        "--metric": key.metric,
        "--engine": state.settings.engine.value,
        "--seed": str(state.settings.seed),
        "--executions": str(state.settings.budget_executions),
        "--tool": None if commands.tool == "auto" else commands.tool,
    }
    words = ["perf-culprit", "bisect"]
    for name, value in options.items():
        words += [] if value is None else [name, value]
    words += ["--first-parent"] if state.commit_range.first_parent else []
    words += ["--paths", *paths] if paths else []
    return shlex.join(words)
