"""Metrics out of control that were not called: chance, or baseline runs that do the same, explain them [N12, 5.3.1].

They are no findings, but nothing that left its limits is swallowed either: whoever looks for a cause finds it here.
"""

import math
from collections.abc import Iterable

from bot.model.finding import Finding
from bot.report import cells
from bot.report.inert import Safe, own
from bot.report.numbers import percent
from bot.report.reasons import sentence_markdown
from bot.report.sections import Sections
from bot.report.view import Fold, Part, table
from bot.report.wording import CONTROL_CHART
from bot.report.words import counted

_HEAD = ("counter", "outside", "limit", "before", "after", "change", "why not called"), "lrrrrll"


def not_called(sections: Sections) -> tuple[Finding, ...]:
    """In the order of their violation relative to its limit."""
    findings = (entry for entry in sections.unchanged if entry.evidence.test == CONTROL_CHART and _violation(entry) > 1)
    return tuple(sorted(findings, key=lambda finding: (-_violation(finding), finding.evidence.key)))


def title(sections: Sections, count: int) -> str:
    """Such as "3 of 40 metrics left their limits, but were not called"."""
    charted = sum(finding.evidence.test == CONTROL_CHART for finding in sections.all)
    left = "left its limits, but was" if count == 1 else "left their limits, but were"
    return f"{count:,} of {counted(charted, sections.noun)} {left} not called"


def outside(finding: Finding) -> tuple[str, str]:
    """The violation ratio and what it may be; no foreign text."""
    return percent(finding.evidence.score or 0.0), percent(finding.evidence.threshold or 0.0)


def fold(sections: Sections, *, most_rows: int) -> Fold:
    """Without parts where there is nothing to show."""

    def cells_of(finding: Finding) -> Iterable[Safe]:
        ratio, limit = map(Safe, outside(finding))
        before, after = cells.before_and_after(finding.evidence)
        name = cells.benchmark(finding, with_metric=sections.several_metrics)
        change = cells.change(finding.evidence, bold=False)
        return name, ratio, limit, before, after, change, sentence_markdown(finding.reason)

    findings = not_called(sections)
    parts: tuple[Part, ...] = (table(findings, cells_of, head=_HEAD, most_rows=most_rows),) if findings else ()
    return Fold(summary=own("{}", Safe(title(sections, len(findings)))), parts=parts)


def _violation(finding: Finding) -> float:
    score, limit = finding.evidence.score, finding.evidence.threshold
    if not score or limit is None:
        return 0.0
    return score / limit if limit else math.inf
