"""Words that several sentences share."""

import math

from bot.model.finding import Finding
from bot.model.metric import Direction, Metric
from bot.model.run import Cost
from bot.report.numbers import is_time
from bot.report.sections import Sections

MORE_ROUNDS = "measure more rounds of both sides"
BOTH_SIDES = "measure both sides in one job"


def took(cost: Cost) -> str:
    """What measuring took, in words; empty where nobody knows."""
    minutes = f" in {counted(math.ceil(cost.seconds / 60), 'runner minute')}" if cost.seconds else ""
    return f"{counted(cost.executions, 'execution')}{minutes}" if cost.executions else ""


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def share(count: int, sections: Sections, *, all_of: str = "all ") -> str:
    if count == sections.total == 2 and all_of:
        return f"both {sections.noun}s"
    if count == sections.total:
        return f"{all_of if count > 1 else ''}{counted(count, sections.noun)}"
    return f"{count:,} of {counted(sections.total, sections.noun)}"


def word(findings: tuple[Finding, ...], *, better: bool) -> str:
    if all(is_timed(finding.evidence.metric) for finding in findings):
        return "faster" if better else "slower"
    return "better" if better else "worse"


def is_timed(metric: Metric) -> bool:
    return metric.direction is Direction.LOWER_IS_BETTER and is_time(metric.unit)
