"""The table of what changed: a row per metric, the loudest first."""

from collections.abc import Iterable

from bot.model.finding import Finding
from bot.report import cells
from bot.report.inert import Safe
from bot.report.parts import table
from bot.report.sections import Sections
from bot.report.view import Part

_CHANGED = ("benchmark", "before", "after", "change", "certainty", " "), "lrrlll"


def changed_part(sections: Sections, *, most_rows: int) -> Part:
    def cells_of(finding: Finding) -> Iterable[Safe]:
        before, after = cells.before_and_after(finding.evidence)
        return (
            cells.benchmark(finding, with_metric=sections.several_metrics),
            before,
            after,
            cells.change(finding.evidence, bold=True),
            cells.certainty(finding),
            cells.state(finding, beside=sections.beside.get(finding.evidence.key, ())),
        )

    return table(sections.changed, cells_of, head=_CHANGED, most_rows=most_rows)
