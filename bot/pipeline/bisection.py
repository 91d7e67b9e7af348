"""git -> bisect <-> measure -> report: the commits that introduced a change, found on this machine."""

from dataclasses import replace
from pathlib import Path

from bot.config import Config
from bot.dispatch.local import BisectPlan, search_here
from bot.dispatch.machine import Say
from bot.measure import ExecutionError, is_missing
from bot.model.bisection_report import BisectionReport
from bot.pipeline.commands import cannot_count, count_of


def bisect(repository: Path, plan: BisectPlan, *, config: Config, say: Say) -> BisectionReport:
    """The answer. What cannot be counted here is measured by time, and the answer says so."""
    count = count_of(plan.metric, benchmark=plan.benchmark, tool=plan.tool)
    if count is None:
        return search_here(repository, plan, config=config, say=say)
    why = is_missing()
    if why is None:
        counting = replace(plan, commands=replace(plan.commands, count=count))
        try:
            return search_here(repository, counting, config=config, say=say)
        except ExecutionError as error:
            why = f"valgrind cannot run the command ({error.message})"
    note = cannot_count(count, why)
    say(note)
    report = search_here(repository, replace(plan, metric=None), config=config, say=say)
    return replace(report, outcome=replace(report.outcome, notes=(*report.outcome.notes, note)))
