"""A report laid out for Markdown: what is visible, what is folded, in which order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from bot.model.baseline import BaselineSource, RunChoice
from bot.model.call_tree import MethodSuspect
from bot.model.environment import is_package
from bot.model.finding import Finding
from bot.model.reason import Remark
from bot.model.report import Report
from bot.report import cells, out_of_control
from bot.report.call_trees import diagnosis_folds, first_suspect, through, where_to_look
from bot.report.cells import changed_part
from bot.report.inert import Safe, code, commit, join, link, marker, own, prose, row
from bot.report.numbers import amount_markdown, percent, percent_at_least, quantities
from bot.report.predictions import prediction_folds, prediction_remarks
from bot.report.reasons import sentence_markdown
from bot.report.results import results_fold
from bot.report.sections import UNJUDGED, Sections, by_benchmark, split
from bot.report.surroundings import surroundings_fold
from bot.report.tables import header
from bot.report.view import Fold, Part, View, bullets, key, table, titled
from bot.report.wording import headline, next_step
from bot.report.words import counted, took

FOOTER_COMPONENTS = ("cpu", "runner_image", "os")
WARNED_NAMES = 3

_CHOICES = ("commit", "time", "baseline", "why"), "llll"


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkdownOptions:
    """`marker` is printed as the first line. The addresses are the only ones that a comment links to.

    `is_advice`: code of the pull request's author measured itself, so whatever is shown is its word. `has_check`:
    whether something fails where this is shown.
    """

    marker: str = ""
    run_url: str | None = None
    report_url: str | None = None
    repository_url: str | None = None
    is_advice: bool = False
    has_check: bool = True


def build_view(report: Report, *, options: MarkdownOptions, most_rows: int) -> View:
    """At most `most_rows` rows of each table; the counts are always those of the whole report."""
    sections = split(report)
    changed = changed_part(sections, most_rows=most_rows) if sections.changed else None
    folds = [
        surroundings_fold(report, most_rows=most_rows),
        *diagnosis_folds(report, repository_url=options.repository_url),
        *costs_folds(report),
        *prediction_folds(report, most_rows=most_rows),
        results_fold(report, sections, most_rows=most_rows),
        out_of_control.fold(sections, most_rows=most_rows),
        _judgement_fold(report, sections, options, most_rows=most_rows),
    ]
    return View(
        marker=marker(options.marker) if options.marker else None,
        headline=_headline(report, sections, options),
        next_step=_next_step(report, sections, options),
        remarks=tuple(_remarks(report, sections)),
        changed=changed,
        folds=tuple(fold for fold in folds if fold.parts),
        footer=_footer(report, options),
        more_at=own(
            "the {} or {}", link(Safe("job summary"), options.run_url), link(Safe("`report.json`"), options.report_url)
        ),
    )


def _headline(report: Report, sections: Sections, options: MarkdownOptions) -> Safe:
    words = headline(report, sections)
    faster = bool(sections.improvements)
    brought_by = through(report, faster=faster, repository_url=options.repository_url) or Safe("")
    shown = own("{} {}{}", Safe(words.emoji), Safe(words.text), brought_by)
    return shown if report.suite == "default" else own("{} in {}", shown, code(report.suite))


def _next_step(report: Report, sections: Sections, options: MarkdownOptions) -> Safe:
    step = next_step(report, sections, has_check=options.has_check)
    suspect = first_suspect(report)
    if suspect is not None and (sections.changed or step.subject is None):
        return own("{} {}", where_to_look(report, suspect), Safe(step.advice))
    if step.subject is None:
        return own("{}{}", Safe(step.advice), _weak(step.weakest, sections))
    subject = cells.benchmark(step.subject, with_metric=sections.several_metrics)
    return own("**{} {}.** {}", subject, Safe(step.effect), Safe(step.advice))


def _weak(findings: tuple[Finding, ...], sections: Sections) -> Safe:
    """The metrics in which only larger changes would have been seen."""
    if not findings:
        return Safe("")
    named = [
        own(
            "{} (≥\N{NO-BREAK SPACE}{})",
            cells.benchmark(finding, with_metric=sections.several_metrics),
            Safe(percent_at_least(finding.detectable_effect or 0.0)),
        )
        for finding in findings[:WARNED_NAMES]
    ]
    more = len(findings) - len(named)
    return own(" Weakest: {}{}.", join(", ", named), own(" and {} more", more) if more else Safe(""))


def _remarks(report: Report, sections: Sections) -> Iterator[Safe]:
    """What must not be folded away: why there is no verdict, and benchmarks that are gone, which can hide one."""
    if report.conclusion in UNJUDGED and report.notes:
        yield own("Reason: {}", sentence_markdown(report.notes[0]))
    yield from (
        own("**Proposed change of rules:** {}", sentence_markdown(note))
        for note in report.notes
        if note.code is Remark.PROPOSED_VERDICT
    )
    yield from (
        own("**Maybe another commit:** {}", sentence_markdown(note))
        for note in report.notes
        if note.code is Remark.OTHER_COMMIT
    )
    yield from prediction_remarks(report)
    gone = by_benchmark(report.missing)
    if not gone:
        return
    names = join(", ", (key(name, with_metric=sections.several_metrics) for name in gone[:WARNED_NAMES]))
    shown = own("{} and {} more", names, len(gone) - WARNED_NAMES) if len(gone) > WARNED_NAMES else names
    count = len(report.missing if sections.several_metrics else gone)
    missing = f"{counted(count, sections.noun)} of the baseline {'is' if count == 1 else 'are'} missing here"
    yield own("**{}:** {}", Safe(missing), shown)


def _judgement_fold(report: Report, sections: Sections, options: MarkdownOptions, *, most_rows: int) -> Fold:
    """How the baseline was chosen, what to know about the data, which rule was in force."""

    def choice_cells(choice: RunChoice) -> Iterable[Safe]:
        name = commit(choice.commit, repository_url=options.repository_url) if choice.commit else cells.NOTHING
        time = code(choice.time, limit=40) if choice.time else cells.NOTHING
        return name, time, Safe("yes" if choice.chosen else "no"), sentence_markdown(choice.reason)

    noted = [
        *(sentence_markdown(note) for note in report.notes[:most_rows]),
        *(
            own("{}: {}", cells.benchmark(finding, with_metric=sections.several_metrics), sentence_markdown(note))
            for finding in sections.all[:most_rows]
            for note in finding.evidence.notes[:most_rows]
        ),
    ]
    notes_total = len(report.notes) + sum(len(finding.evidence.notes) for finding in report.findings)
    parts = []
    summary = ["How this was judged"]
    if notes_total:
        summary.append(counted(notes_total, "note"))
        parts.append(Part(title=Safe("Notes"), rows=bullets(noted[:most_rows]), total=notes_total))
    if report.choices:
        choices = table(report.choices, choice_cells, head=_CHOICES, most_rows=most_rows)
        parts.append(titled("How the baseline was chosen", choices))
    # The machine's name says nothing to a reader, and something about a network to others.
    components = report.environment.components
    environment = sorted(item for item in components.items() if item[0] != "host" and not is_package(item[0]))
    facts = [*_settings(report), *(own("{}: {}", prose(name, limit=40), code(value)) for name, value in environment)]
    packages = sum(map(is_package, components))
    facts += [Safe(f"packages in lock files: {packages:,}")] if packages else []
    parts.append(Part(title=Safe("Settings and machine"), rows=bullets(facts[:most_rows]), total=len(facts)))
    if report.baseline_runs:
        summary.append(f"{counted(report.baseline_runs, 'baseline run')}")
    return Fold(summary=Safe(" · ".join(summary)), parts=tuple(parts))


def _settings(report: Report) -> list[Safe]:
    settings = report.settings
    return [
        own("detector: {}", code(settings.detector)),
        Safe(f"false discovery rate: {percent(settings.false_discovery_rate)} over all metrics of the run"),
        Safe(f"alpha, per metric: {percent(settings.alpha)}"),
        Safe(f"minimum effect: {percent(settings.minimum_effect)}"),
        Safe(f"minimum samples: {settings.minimum_samples:,}"),
        Safe(f"fail threshold: {percent(settings.fail)}, where no rule says otherwise"),
    ]


def _footer(report: Report, options: MarkdownOptions) -> Safe:
    settings = report.settings
    ends = []
    if report.base_commit:
        ends.append(own("base {}", commit(report.base_commit, repository_url=options.repository_url)))
    if report.target_commit:
        ends.append(own("head {}", commit(report.target_commit, repository_url=options.repository_url)))
    if report.target_commit and report.merge_commit:
        merged = commit(report.merge_commit, repository_url=options.repository_url)
        ends[-1] = own("{}, measured as merged into base ({})", ends[-1], merged)
    parts = [own("{}{}", join(" and ", ends), Safe(f"{', ' if ends else ''}{_source(report)}"))]
    parts += [Safe(words)] if (words := took(report.cost)) else []
    components = report.environment.components
    machine = [code(components[name], limit=60) for name in FOOTER_COMPONENTS if components.get(name)]
    if machine:
        parts.append(join(", ", machine))
    parts.append(own("detector {}", code(settings.detector, limit=40)))
    parts.append(Safe(f"false discovery rate {percent(settings.false_discovery_rate)}"))
    parts.append(Safe(f"minimum effect {percent(settings.minimum_effect)}"))
    addresses = (("run", options.run_url), ("report", options.report_url))
    if options.is_advice:
        parts.append(Safe("measured by the pull request's own code: advice, no proof"))
    parts += [link(Safe(word), address) for word, address in addresses if address]
    return join(" · ", parts)


def _source(report: Report) -> str:
    if not report.baseline_runs:
        return "no baseline"
    match report.baseline_source:
        case BaselineSource.PAIRED:
            return "interleaved on one machine"
        case BaselineSource.HISTORY:
            return f"against {counted(report.baseline_runs, 'stored run')}"
        case BaselineSource.FILES:
            return f"against {counted(report.baseline_runs, 'given run')}"


ROWS: Final = 20
SERVICES: Final = 3
_HEADER: Final = ("method", "own time", "executions", "score", "test again when it changes (own time there)")


def costs_folds(report: Report) -> Iterator[Fold]:
    if report.costs is None:
        return
    costs = report.costs
    title = Safe("Of this revision alone: what costs most, not what got slower.")
    large = tuple(suspect for suspect in costs.suspects if not suspect.tiny)
    part = Part(
        title=title,
        header=header(_HEADER, "lrrrl"),
        rows=tuple(_row(suspect, costs.unit) for suspect in (large or costs.suspects)[:ROWS]),
        total=costs.methods,
    )
    where = f"{counted(costs.methods, 'method')} in {counted(costs.services, 'service')}"
    yield Fold(summary=Safe(f"Where the time goes: {where}"), parts=(part,))


def _row(suspect: MethodSuspect, unit: str) -> Safe:
    (amount,) = quantities((suspect.self_ms,), unit)
    cells = [f"{suspect.calls:,}", f"{suspect.score:.2f}"]
    shown = suspect.services[:SERVICES]
    services = [own("{} {}", code(one.service, limit=40), Safe(percent(one.self_share))) for one in shown]
    more = len(suspect.services) - len(services)
    if more > 0:
        services.append(Safe(f"{more:,} more"))
    return row([code(suspect.method), amount_markdown(amount), *map(Safe, cells), join(", ", services)])
