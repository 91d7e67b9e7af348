"""What a check run says in the end: the conclusion of a report, its texts, remarks beside lines."""

from dataclasses import dataclass
from enum import StrEnum

from bot.model.report import Conclusion, Report


class CheckConclusion(StrEnum):
    SUCCESS = "success"
    NEUTRAL = "neutral"  # passes where the check is required
    FAILURE = "failure"
    CANCELLED = "cancelled"


CONCLUSIONS: dict[Conclusion, CheckConclusion] = {
    Conclusion.REGRESSION: CheckConclusion.NEUTRAL,
    Conclusion.OTHER_HARDWARE: CheckConclusion.NEUTRAL,
    Conclusion.MACHINE_CHANGED: CheckConclusion.NEUTRAL,
    Conclusion.INCONCLUSIVE: CheckConclusion.NEUTRAL,
    Conclusion.FIRST_RUN: CheckConclusion.NEUTRAL,
    Conclusion.IMPROVEMENT: CheckConclusion.SUCCESS,
    Conclusion.NO_CHANGE: CheckConclusion.SUCCESS,
}


def check_conclusion(report: Report) -> CheckConclusion:
    """Only a regression over the fail threshold fails the check."""
    return CheckConclusion.FAILURE if report.failed else CONCLUSIONS[report.conclusion]


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """A remark beside a line of the changed files. `level`: notice, warning or failure."""

    path: str
    line: int
    level: str
    message: str
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """`summary` and `text` are Markdown; what exceeds the host's limit is cut at a line."""

    conclusion: CheckConclusion
    title: str
    summary: str
    text: str = ""
    annotations: tuple[Annotation, ...] = ()
