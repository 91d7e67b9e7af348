"""The fold of everything that did not change, or that nobody may judge."""

from collections.abc import Callable, Iterable

from bot.model.finding import Finding
from bot.model.report import Report
from bot.report import cells
from bot.report.inert import Safe
from bot.report.reasons import sentence_markdown
from bot.report.sections import Sections, by_benchmark
from bot.report.view import Fold, Part, keys, table, titled
from bot.report.wording import more_samples
from bot.report.words import counted

_ACCEPTED = ("benchmark", "before", "after", "change", "accepted"), "lrrll"
_UNJUDGED = ("benchmark", "before", "after", "change"), "lrrl"
_UNDECIDED = ("benchmark", "before", "after", "change", "samples", "why"), "lrrlll"
_UNTESTED = ("benchmark", "before", "after", "change", "why"), "lrrll"
_UNCHANGED = ("benchmark", "before", "after", "change", "would have been seen"), "lrrlr"

_Head = tuple[tuple[str, ...], str]


def results_fold(report: Report, sections: Sections, *, most_rows: int) -> Fold:
    def plain(finding: Finding) -> tuple[Safe, ...]:
        before, after = cells.before_and_after(finding.evidence)
        name = cells.benchmark(finding, with_metric=sections.several_metrics)
        return name, before, after, cells.change(finding.evidence, bold=False)

    def accepted(finding: Finding) -> Iterable[Safe]:
        return *plain(finding), _accepted(finding)

    def undecided(finding: Finding) -> Iterable[Safe]:
        return *plain(finding), cells.samples(finding), sentence_markdown(finding.reason)

    def untested(finding: Finding) -> Iterable[Safe]:
        return *plain(finding), sentence_markdown(finding.reason)

    def unchanged(finding: Finding) -> Iterable[Safe]:
        return *plain(finding), cells.visible_from(finding)

    needed = more_samples(sections)
    decide = f" ({counted(needed, 'more sample')} would decide)" if needed else ""
    tables: tuple[tuple[tuple[Finding, ...], str, Callable[[Finding], Iterable[Safe]], _Head], ...] = (
        (sections.accepted, "accepted", accepted, _ACCEPTED),
        (sections.unjudged, "not judged", plain, _UNJUDGED),
        (sections.undecided, f"undecided{decide}", undecided, _UNDECIDED),
        (sections.untested, "not tested", untested, _UNTESTED),
        (sections.unchanged, "unchanged", unchanged, _UNCHANGED),
    )
    parts: list[tuple[str, Part]] = [
        (f"{len(findings):,} {title}", table(findings, cells_of, head=head, most_rows=most_rows))
        for findings, title, cells_of, head in tables
        if findings
    ]
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


def _accepted(finding: Finding) -> Safe:
    accepted = finding.accepted
    if accepted is None:
        return cells.NOTHING
    return cells.accepted_by(accepted, repository_url=None)
