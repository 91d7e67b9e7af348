"""The fold of everything that did not change, or that nobody may judge."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from bot.model.finding import Finding
from bot.model.report import Report
from bot.report import cells
from bot.report.inert import Safe
from bot.report.reasons import sentence_markdown
from bot.report.sections import Sections, by_benchmark
from bot.report.view import Fold, Part, keys, table, titled
from bot.report.wording import more_samples
from bot.report.words import counted

# A further column's alignment and cells.
Column = tuple[str, Callable[[Finding], Safe]]
_HEAD: Final = ("benchmark", "before", "after", "change")
_WHY: Final[Mapping[str, Column]] = {"why": ("l", lambda finding: sentence_markdown(finding.reason))}


def _acceptance(finding: Finding) -> Safe:
    return cells.NOTHING if finding.accepted is None else cells.accepted_by(finding.accepted, repository_url=None)


def results_fold(report: Report, sections: Sections, *, most_rows: int) -> Fold:
    def part(findings: tuple[Finding, ...], more: Mapping[str, Column]) -> Part:
        def row(finding: Finding) -> Iterable[Safe]:
            before, after = cells.before_and_after(finding.evidence)
            name = cells.benchmark(finding, with_metric=sections.several_metrics)
            change = cells.change(finding.evidence, bold=False)
            return name, before, after, change, *(cell(finding) for _, cell in more.values())

        alignment = "".join(align for align, _ in more.values())
        return table(findings, row, head=(_HEAD + tuple(more), f"lrrl{alignment}"), most_rows=most_rows)

    needed = more_samples(sections)
    decide = f" ({counted(needed, 'more sample')} would decide)" if needed else ""
    tables: tuple[tuple[tuple[Finding, ...], str, Mapping[str, Column]], ...] = (
        (sections.accepted, "accepted", {"accepted": ("l", _acceptance)}),
        (sections.unjudged, "not judged", {}),
        (sections.undecided, f"undecided{decide}", {"samples": ("l", cells.samples), **_WHY}),
        (sections.untested, "not tested", _WHY),
        (sections.unchanged, "unchanged", {"would have been seen": ("r", cells.visible_from)}),
    )
    parts = [(f"{len(findings):,} {title}", part(findings, more)) for findings, title, more in tables if findings]
    parts += [
        (f"{len(named):,} {word}", keys(named, most_rows=most_rows))
        for word, named in (("missing", by_benchmark(report.missing)), ("new", by_benchmark(report.new)))
        if named
    ]
    return Fold(
        summary=Safe(" · ".join(title for title, _ in parts)),
        # A single part has its title in the summary already.
        parts=tuple(titled(title, part) if len(parts) > 1 else part for title, part in parts),
    )
