"""git -> bisect <-> measure -> report: the commits that introduced a change, found on this machine."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from bot.config import Config
from bot.dispatch.local import BisectPlan, search_here
from bot.dispatch.machine import Say
from bot.errors import UsageError
from bot.measure import Count, ExecutionError, is_missing
from bot.model.bisection import Culprit
from bot.model.bisection_report import BisectionReport
from bot.pipeline.commands import cannot_count, count_of
from bot.report.bisection_words import introduced

AUTO: Final = "auto"


def bisect(repository: Path, plan: BisectPlan, *, config: Config, say: Say) -> BisectionReport:
    """The answer. What cannot be counted here is measured by time, and the answer says so."""
    is_auto = plan.metric == AUTO
    count = Count.INSTRUCTIONS if is_auto else count_of(plan.metric, benchmark=plan.benchmark, tool=plan.tool)
    if count is None:
        return search_here(repository, plan, config=config, say=say)
    if is_auto and plan.resume is not None:
        raise UsageError(
            f"--metric {AUTO} is several searches",
            place=str(plan.resume),
            next_step="name the metric of the state file",
        )
    begun, why = time.monotonic(), is_missing()
    times = replace(plan, metric=None)
    if why is None:
        counting = replace(plan, commands=replace(plan.commands, count=count))
        if is_auto:
            counting = replace(counting, metric=count.value, benchmark=None, tool="auto", history=None, record=False)
        try:
            counted = search_here(repository, counting, config=config, say=say)
            if not is_auto:
                return counted
            answer, note = _confirmed_by_time(repository, times, counted, begun=begun, config=config, say=say)
            if answer is not None:
                return answer
        except ExecutionError as error:
            note = cannot_count(count, f"valgrind cannot run the command ({error.message})")
    else:
        note = cannot_count(count, why)
    say(note)
    report = search_here(repository, _with_time_left(times, begun), config=config, say=say)
    return _noted(report, note)


def _confirmed_by_time(
    repository: Path, times: BisectPlan, counted: BisectionReport, *, begun: float, config: Config, say: Say
) -> tuple[BisectionReport | None, str]:
    """The answer by counts where the time of its largest step moves with it; else what speaks against it."""
    culprits = counted.outcome.culprits
    if not culprits:
        return None, "counts of instructions name no commit; times are measured instead"
    largest = max(culprits, key=lambda culprit: abs(culprit.relative_change))
    say(f"{largest.commit[:12]} {introduced(largest)} of instructions; its time is measured beside its parent's")
    pair = replace(_with_time_left(times, begun), good=f"{largest.commit}^", bad=largest.commit, first_parent=True)
    found = search_here(repository, replace(pair, paths=(), state=None, record=False), config=config, say=say)
    same = [step for step in found.outcome.culprits if step.improvement == largest.improvement]
    if not same:
        return None, f"{_step(largest)}, and its time does not: times are measured instead"
    cost = f"{found.outcome.executions} executions of it and its parent"
    return _noted(counted, f"its time ({found.key.benchmark}) confirms it: {_step(same[0])}, {cost}"), ""


def _step(culprit: Culprit) -> str:
    return f"{culprit.commit[:7]} {introduced(culprit)}"


def _with_time_left(plan: BisectPlan, begun: float) -> BisectPlan:
    spent = (time.monotonic() - begun) / 60
    return plan if plan.minutes is None else replace(plan, minutes=max(plan.minutes - spent, 0.0))


def _noted(report: BisectionReport, note: str) -> BisectionReport:
    return replace(report, outcome=replace(report.outcome, notes=(*report.outcome.notes, note)))
