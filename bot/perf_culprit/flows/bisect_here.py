"""git -> bisect <-> measure -> report: find the commits that introduced a change, on this machine."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.commands.measure_requests import Bisect, Measure
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.counts_then_times import direction_shown
from perf_culprit.dispatch.local_bisection import (
    DEFAULT_EXECUTIONS,
    BisectPlan,
    planned_search,
    resumed,
    search_here,
    state_file,
)
from perf_culprit.errors import UsageError
from perf_culprit.flows.bisect_packages import noted, with_packages
from perf_culprit.flows.user_commands import by_time, cannot_count, profiling, shell_commands, uncountable
from perf_culprit.measure.quantities_of_commands import METHODS, why_uncountable
from perf_culprit.measure.runner import ExecutionError
from perf_culprit.model.bisection import BisectionReport
from perf_culprit.model.bisection_files import encode_bisection
from perf_culprit.model.count import AUTO, FAILURES, Count, is_exact_quantity, quantity_of
from perf_culprit.model.dispatch import BisectionStep
from perf_culprit.progress import Say
from perf_culprit.say.bisection_exports import git_run_script
from perf_culprit.say.bisection_steps import plan_text, progress_line
from perf_culprit.say.bisection_words import reason_of
from perf_culprit.say.reason_text import sentence
from perf_culprit.search.search import OPEN_KINDS

TIMES_ALONE: Final = "times are measured one after the other: side by side each would slow the others down"
FEW_EXECUTIONS: Final = 24  # executions of both ends by time, before anything is counted
THEN_COUNTS: Final = f"then instructions, counted only if {FEW_EXECUTIONS} executions do not decide"


def bisect_plan(options: Bisect, *, config: Config) -> BisectPlan:
    if options.outcome is not None:
        return _of_failures(options, config)
    commands, tool = shell_commands(config, options)
    return BisectPlan(options=options, commands=commands, tool=tool, profiling=profiling(config, options))


# Options about numbers: a command that only passes or fails has none.
OF_NUMBERS: Final = ("run", "benchmark", "metric", "engine", "history_url", "record", "git_run", "profile")


def _of_failures(options: Bisect, config: Config) -> BisectPlan:
    """Plan a search for the rate at which a command fails. Tests and documents may change it like any other commit."""
    flags = [name for name in OF_NUMBERS if getattr(options, name) not in (None, False)]
    flags += ["jobs"] if options.jobs > 1 else []
    if flags:
        raise UsageError(
            f"--{flags[0].removesuffix('_url').replace('_', '-')} does not go with --outcome",
            place="--outcome",
            next_step="leave one of them out: --outcome only counts how often a command fails",
        )
    options = options.replaced(run=options.outcome, prior="uniform")
    commands, tool = shell_commands(config, options)
    return BisectPlan(options=options, commands=replace(commands, count=FAILURES), tool=tool)


def bisection_plan(plan: BisectPlan, *, config: Config) -> str:
    """Describe what `bisect` would do."""
    return plan_text(planned_search(plan, config=config))


def _search_here(plan: BisectPlan, *, config: Config, say: Say, by_time: Path | None = None) -> BisectionReport:
    """Search, with the progress and remarks of each step on one line."""

    def report(step: BisectionStep) -> None:
        for remark in step.remarks:
            say(sentence(remark))
        if step.bisection.open_dispatch is not None:
            jobs = len(step.bisection.open_dispatch.jobs)
            line = progress_line(step.progress, seconds=step.bisection.runner_seconds, verbose=plan.options.verbose)
            say(f"{jobs} jobs; {line}" if jobs > 1 else line)

    return search_here(plan, config=config, say=say, report=report, by_time=by_time)


def search_culprits(plan: BisectPlan, *, config: Config, say: Say) -> BisectionReport:
    """Search for the culprits, and where a commit is no explanation, for the packages."""
    begun = time.monotonic()

    search = partial(_search_here, config=config, say=say)
    return with_packages(plan, _by_commit(plan, config=config, say=say), search=search, say=say, begun=begun)


def _by_commit(plan: BisectPlan, *, config: Config, say: Say) -> BisectionReport:
    """Search for the culprits. If the metric cannot be counted here, measure time instead and note it in the report."""
    if plan.options.metric == AUTO and plan.options.jobs == 1:
        begun = time.monotonic()
        report = _Auto(plan, config, say).answer()
        return replace(report, runner_seconds=time.monotonic() - begun)
    count = quantity_of(plan.options.metric, benchmark=plan.options.benchmark, tool=plan.tool)
    if plan.options.jobs > 1 and not is_exact_quantity(count):
        raise UsageError(
            TIMES_ALONE, place="--jobs", next_step=f"leave it out, or count: --metric {Count.INSTRUCTIONS}"
        )
    if count is None:
        return _search_here(plan, config=config, say=say)
    why = why_uncountable(count)
    if why is not None:
        why = cannot_count(count, why)
    else:
        counting = replace(plan, commands=replace(plan.commands, count=count))
        try:
            return _search_here(counting, config=config, say=say)
        except ExecutionError as error:
            if count not in METHODS:
                raise
            why = uncountable(count, error)
    note = by_time(why)
    say(sentence(note))
    return noted(_search_here(plan.with_options(metric=None, jobs=1), config=config, say=say), note)


def git_run(plan: BisectPlan, *, name: str) -> str:
    """Return the script with which git runs the same search as this plan."""
    if plan.options.benchmark is not None or plan.options.metric == AUTO:
        option = "--benchmark" if plan.options.benchmark is not None else f"--metric {AUTO}"
        raise UsageError(
            f"{option} is not known to git bisect's script",
            place="--git-run",
            next_step="let --run measure that benchmark only, or search without --git-run",
        )
    commands = plan.commands
    measure = Measure.line(
        commits=(git.resolve_commit(plan.options.repository, plan.options.good), "HEAD"),
        run=commands.run,
        build=commands.build,
        tool=None if plan.tool == "auto" else plan.tool,
        metric=quantity_of(plan.options.metric, tool=plan.tool),
        timeout=f"{commands.run_timeout_seconds:g}",
        build_timeout=f"{commands.build_timeout_seconds:g}",
        cache=plan.options.cache,
        environment=commands.environment,
    )
    return git_run_script(measure, name=name)


class _Auto:
    """A search by instruction counts, with its ends and its result checked by time; else a search by time alone."""

    def __init__(self, plan: BisectPlan, config: Config, say: Say) -> None:
        if plan.options.resume is not None:
            raise UsageError(
                f"--metric {AUTO} is several searches",
                place=str(plan.options.resume),
                next_step="name the metric of the state file",
            )
        self._config, self._say = config, say
        self._state = state_file(plan)
        self._missing = why_uncountable(Count.INSTRUCTIONS)
        self._plan = replace(plan.with_options(metric=None, state=self._state), auto=THEN_COUNTS)
        if self._missing is not None:
            self._plan = replace(self._plan, auto=cannot_count(Count.INSTRUCTIONS, self._missing))
        self._begun = time.monotonic()

    def answer(self) -> BisectionReport:
        wanted = self._plan.options.executions or DEFAULT_EXECUTIONS
        ends = self._search(self._plan.with_options(executions=min(FEW_EXECUTIONS, wanted), record=False))
        if ends.outcome.kind not in OPEN_KINDS:
            return ends
        if self._missing is None:
            try:
                return self._search(self._counting(), by_time=self._state)
            except ExecutionError as error:
                note = by_time(uncountable(Count.INSTRUCTIONS, error))
        else:
            note = by_time(cannot_count(Count.INSTRUCTIONS, self._missing))
        self._say(sentence(note))
        return noted(self._search(self._plan.with_options(resume=self._state, executions=wanted)), note)

    def _search(self, plan: BisectPlan, *, by_time: Path | None = None) -> BisectionReport:
        if plan.options.minutes is not None:
            spent = (time.monotonic() - self._begun) / 60
            plan = plan.with_options(minutes=max(plan.options.minutes - spent, 0.0))
        return _search_here(plan, config=self._config, say=self._say, by_time=by_time)

    def _counting(self) -> BisectPlan:
        """The search by counts: in the direction in which the ends' times differ, if they do."""
        plan, count = self._plan, Count.INSTRUCTIONS
        return replace(plan, auto=None, commands=replace(plan.commands, count=count)).with_options(
            metric=count.value,
            benchmark=None,
            direction=(direction_shown(resumed(self._state).search) or plan.sought).value,
            state=self._state.with_suffix(".counts.json"),
        )


def bisection_json(report: BisectionReport) -> bytes:
    return encode_bisection(report, headline=reason_of, sentence=sentence)
