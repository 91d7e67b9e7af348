"""git -> bisect <-> measure -> report: find the commits that introduced a change, on this machine."""

import time
from dataclasses import replace
from math import expm1
from typing import Final

from msgspec import structs

from perf_culprit import git
from perf_culprit.commands.measure_requests import Bisect
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.bisection_view import PAIR_EXECUTIONS, confirmed, largest_step, unconfirmed
from perf_culprit.dispatch.local_bisection import DEFAULT_EXECUTIONS, BisectPlan, search_here, state_file
from perf_culprit.errors import UsageError
from perf_culprit.flows.user_commands import by_time, cannot_count, profiling, shell_commands, uncountable
from perf_culprit.machine.this_machine import Say
from perf_culprit.measure.quantities_of_commands import METHODS, is_missing
from perf_culprit.measure.runner import ExecutionError
from perf_culprit.model.bisection import BisectionReport, Outcome, OutcomeKind, Sought
from perf_culprit.model.bisection_files import encode_bisection
from perf_culprit.model.count import AUTO, Count, is_exact, quantity_of
from perf_culprit.model.reason import Reason, SearchReason, because
from perf_culprit.say.bisection_exports import git_run_script
from perf_culprit.say.bisection_words import reason_of
from perf_culprit.say.reason_text import sentence

TIMES_ALONE: Final = "times are measured one after the other: side by side each would slow the others down"
FEW_EXECUTIONS: Final = 24  # executions of both ends by time, before anything is counted


def bisect_plan(asked: Bisect, *, config: Config) -> BisectPlan:
    commands, tool = shell_commands(config, asked)
    return BisectPlan(asked=asked, commands=commands, tool=tool, profiling=profiling(config, asked))


def search(plan: BisectPlan, *, config: Config, say: Say) -> BisectionReport:
    """Search for the culprits. If the metric cannot be counted here, measure time instead and note it in the report."""
    if plan.asked.metric == AUTO and plan.asked.jobs == 1:
        begun = time.monotonic()
        report = _Auto(plan, config, say).answer()
        return replace(report, runner_seconds=time.monotonic() - begun)
    count = quantity_of(plan.asked.metric, benchmark=plan.asked.benchmark, tool=plan.tool)
    if plan.asked.jobs > 1 and not is_exact(count):
        raise UsageError(
            TIMES_ALONE, place="--jobs", next_step=f"leave it out, or count: --metric {Count.INSTRUCTIONS}"
        )
    if count is None:
        return search_here(plan, config=config, say=say)
    why = is_missing(count)
    if why is not None:
        why = cannot_count(count, why)
    else:
        counting = replace(plan, commands=replace(plan.commands, count=count))
        try:
            return search_here(counting, config=config, say=say)
        except ExecutionError as error:
            if count not in METHODS:
                raise
            why = uncountable(count, error)
    note = by_time(why)
    say(sentence(note))
    return _noted(search_here(plan.asking(metric=None, jobs=1), config=config, say=say), note)


def git_run(plan: BisectPlan, *, name: str) -> str:
    """Return the script with which git runs the same search as this plan."""
    if plan.asked.benchmark is not None or plan.asked.metric == AUTO:
        option = "--benchmark" if plan.asked.benchmark is not None else f"--metric {AUTO}"
        raise UsageError(
            f"{option} is not known to git bisect's script",
            place="--git-run",
            next_step="let --run measure that benchmark only, or search without --git-run",
        )
    commands = plan.commands
    options = {
        "--run": commands.run,
        "--build": commands.build,
        "--tool": None if plan.tool == "auto" else plan.tool,
        "--metric": quantity_of(plan.asked.metric, tool=plan.tool),
        "--timeout": f"{commands.run_timeout_seconds:g}",
        "--build-timeout": f"{commands.build_timeout_seconds:g}",
        "--cache": plan.asked.cache,
    }
    words = [word for option, value in options.items() if value is not None for word in (option, str(value))]
    environment = ["--environment", *commands.environment] if commands.environment else []
    return git_run_script(
        git.resolve_commit(plan.asked.repository, plan.asked.good), name=name, options=[*words, *environment]
    )


class _Auto:
    """A search by instruction counts, with its ends and its result checked by time; else a search by time alone."""

    def __init__(self, plan: BisectPlan, config: Config, say: Say) -> None:
        if plan.asked.resume is not None:
            raise UsageError(
                f"--metric {AUTO} is several searches",
                place=str(plan.asked.resume),
                next_step="name the metric of the state file",
            )
        self._config, self._say = config, say
        self._plan = plan.asking(metric=None, state=state_file(plan))
        self._begun = time.monotonic()

    def answer(self) -> BisectionReport:
        wanted = self._plan.asked.executions or DEFAULT_EXECUTIONS
        ends = self._search(self._plan.asking(executions=min(FEW_EXECUTIONS, wanted), record=False))
        if ends.outcome.kind not in {OutcomeKind.BUDGET_SPENT, OutcomeKind.INCONCLUSIVE}:
            return ends
        report, note = self._counted(ends)
        if report is not None:
            return _noted(report, note)
        self._say(sentence(note))
        rest = self._plan.asking(resume=self._plan.asked.state, executions=wanted)
        return _noted(self._search(rest), note)

    def _search(self, plan: BisectPlan) -> BisectionReport:
        if plan.asked.minutes is not None:
            spent = (time.monotonic() - self._begun) / 60
            plan = plan.asking(minutes=max(plan.asked.minutes - spent, 0.0))
        return search_here(plan, config=self._config, say=self._say)

    def _counted(self, ends: BisectionReport) -> tuple[BisectionReport | None, Reason]:
        """Return the report by counts and a note on what times show about it; or None and the reason."""
        count, why = Count.INSTRUCTIONS, is_missing(Count.INSTRUCTIONS)
        if why is not None:
            return None, by_time(cannot_count(count, why))
        plan, shown = self._plan, _shown(ends)
        state = plan.asked.state
        counting = replace(plan, commands=replace(plan.commands, count=count), tool="auto").asking(
            metric=count.value,
            benchmark=None,
            direction=(shown or plan.sought).value,
            state=None if state is None else state.with_suffix(".counts.json"),
            history_url=None,
            record=False,
        )
        try:
            report = self._search(counting)
        except ExecutionError as error:
            return None, by_time(uncountable(count, error))
        if not report.outcome.culprits:
            return None, because(SearchReason.NO_COMMIT_BY_COUNTS)
        if shown is None:
            return report, _alike(ends.outcome)
        return self._confirmed(report, shown)

    def _confirmed(self, report: BisectionReport, shown: Sought) -> tuple[BisectionReport | None, Reason]:
        """Return `report` if the largest step by counts also shows in its time, in the ends' direction; else None."""
        largest = largest_step(report.outcome)
        self._say(f"{largest.commit[:7]} by counts; its time is now measured against its parent's")
        pair = replace(self._plan, profiling=None).asking(
            good=f"{largest.commit}^",
            bad=largest.commit,
            direction=shown.value,
            executions=PAIR_EXECUTIONS,
            first_parent=True,
            paths=(),
            state=None,
            record=False,
        )
        times = self._search(pair)
        for step in times.outcome.culprits:
            return report, confirmed(step, executions=times.outcome.executions, benchmark=times.key.benchmark)
        return None, unconfirmed(largest)


def _shown(ends: BisectionReport) -> Sought | None:
    """The direction in which the ends' times differ; None if their confidence interval is missing or contains 0."""
    interval = ends.outcome.confidence_interval
    if interval is None or interval.low <= 0 <= interval.high:
        return None
    return Sought.WORSE if interval.low * ends.metric.direction.worse_sign > 0 else Sought.BETTER


def _alike(ends: Outcome) -> Reason:
    """Return a note that times cannot tell the ends apart, with the smallest change that they would show."""
    interval, noise = ends.confidence_interval, ends.noise
    return because(
        SearchReason.ENDS_ALIKE_BY_TIME,
        executions=ends.executions,
        change=ends.relative_change,
        visible=ends.visible_effect,
        **({} if interval is None else {"low": interval.low, "high": interval.high}),
        **({} if noise is None else {**structs.asdict(noise), "spread": expm1(noise.standard_deviation)}),
    )


def _noted(report: BisectionReport, note: Reason) -> BisectionReport:
    return replace(report, outcome=structs.replace(report.outcome, notes=(*report.outcome.notes, note)))


def bisection_json(report: BisectionReport) -> bytes:
    return encode_bisection(report, headline=reason_of, sentence=sentence)
