"""The action's outputs: what later steps of a workflow branch on."""

import math
import re

from bot.model.report import Report
from bot.report.inert import clean
from bot.report.sections import split

# A workflow may paste an output into a shell line or a comment. What is active in either becomes "_".
_ACTIVE = re.compile(r"[^\w .:/\[\],=+%-]")


def outputs(report: Report) -> dict[str, str]:
    """Every output by name; "" where there is no value. Percentages are signed: -20 is 20% less than before."""
    sections = split(report)
    worst = next(iter(sections.regressions), None)
    change = worst.evidence.relative_change if worst else None
    return {
        "conclusion": report.conclusion.value,
        "failed": str(report.failed).lower(),
        "compared": str(sections.total),
        "regressions": str(len(sections.regressions)),
        "improvements": str(len(sections.improvements)),
        "inconclusive": str(len(sections.undecided) + len(sections.untested)),
        "worst-benchmark": _ACTIVE.sub("_", clean(worst.evidence.key.benchmark)) if worst else "",
        "worst-change-percent": _percent(change),
        "detectable-effect-percent": _percent(report.detectable_effect),
    }


def _percent(fraction: float | None) -> str:
    return "" if fraction is None or not math.isfinite(fraction) else f"{fraction * 100:.2f}"
