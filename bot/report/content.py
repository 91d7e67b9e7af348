"""A report laid out for Markdown: what is visible, what is folded, in which order."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from bot.model.baseline import BaselineSource, RunChoice
from bot.model.finding import Finding
from bot.model.metric import MetricKey
from bot.model.report import Report
from bot.report import cells
from bot.report.call_trees import diagnosis_folds, first_suspect, through, where_to_look
from bot.report.inert import Safe, code, commit, join, link, marker, ours, own, prose, row
from bot.report.numbers import percent
from bot.report.reasons import sentence_markdown
from bot.report.sections import UNJUDGED, Sections, split
from bot.report.view import Fold, Part, View
from bot.report.wording import counted, headline, more_samples, next_step

T = TypeVar("T")

FOOTER_COMPONENTS = ("cpu", "runner_image", "os")
WARNED_NAMES = 3

_CHANGED = ("benchmark", "before", "after", "change", "certainty", " "), "lrrlll"
_UNDECIDED = ("benchmark", "before", "after", "change", "samples", "why"), "lrrlll"
_PLAIN = ("benchmark", "before", "after", "change"), "lrrl"
_ACCEPTED = ("benchmark", "before", "after", "change", "accepted"), "lrrll"
_CHOICES = ("commit", "time", "baseline", "why"), "llll"
_RULES = {"l": ":--", "r": "--:"}


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkdownOptions:
    """`marker` is printed as the first line. The addresses are the only ones that a comment links to."""

    marker: str = ""
    run_url: str | None = None
    report_url: str | None = None
    repository_url: str | None = None


def build_view(report: Report, *, options: MarkdownOptions, most_rows: int) -> View:
    """At most `most_rows` rows of each table; the counts are always those of the whole report."""
    sections = split(report)
    changed = _changed_part(sections, most_rows=most_rows) if sections.changed else None
    folds = [
        *diagnosis_folds(report, repository_url=options.repository_url),
        _results_fold(report, sections, most_rows=most_rows),
        _judgement_fold(report, sections, options, most_rows=most_rows),
    ]
    return View(
        marker=marker(options.marker) if options.marker else None,
        headline=_headline(report, sections, options),
        next_step=_next_step(report, sections),
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


def _next_step(report: Report, sections: Sections) -> Safe:
    step = next_step(report, sections)
    if step.subject is None:
        return ours(step.advice)
    suspect = first_suspect(report)
    if suspect is not None:
        return own("{} {}", where_to_look(report, suspect), ours(step.advice))
    subject = cells.benchmark(step.subject, with_metric=sections.several_metrics)
    return own("**{} {}.** {}", subject, ours(step.effect), ours(step.advice))


def _remarks(report: Report, sections: Sections) -> Iterator[Safe]:
    """What must not be folded away: why there is no verdict, and benchmarks that are gone, which can hide one."""
    if report.conclusion in UNJUDGED and report.notes:
        yield own("Reason: {}", sentence_markdown(report.notes[0]))
    count = len(report.missing)
    if not count:
        return
    names = join(", ", (_key(key, with_metric=sections.several_metrics) for key in report.missing[:WARNED_NAMES]))
    shown = own("{} and {} more", names, count - WARNED_NAMES) if count > WARNED_NAMES else names
    said = f"{counted(count, sections.noun)} of the baseline {'is' if count == 1 else 'are'} missing here"
    yield own("**{}:** {}", Safe(said), shown)


def _changed_part(sections: Sections, *, most_rows: int) -> Part:
    def cells_of(finding: Finding) -> Iterable[Safe]:
        before, after = cells.before_and_after(finding.evidence)
        return (
            cells.benchmark(finding, with_metric=sections.several_metrics),
            before,
            after,
            cells.change(finding.evidence, bold=True),
            cells.certainty(finding),
            cells.state(finding),
        )

    return _table(sections.changed, cells_of, head=_CHANGED, most_rows=most_rows)


def _results_fold(report: Report, sections: Sections, *, most_rows: int) -> Fold:
    """Everything that did not change, or that nobody may judge."""

    def undecided_cells(finding: Finding) -> Iterable[Safe]:
        before, after = cells.before_and_after(finding.evidence)
        return (
            cells.benchmark(finding, with_metric=sections.several_metrics),
            before,
            after,
            cells.change(finding.evidence, bold=False),
            cells.samples(finding),
            sentence_markdown(finding.reason),
        )

    def plain_cells(finding: Finding) -> Iterable[Safe]:
        before, after = cells.before_and_after(finding.evidence)
        name = cells.benchmark(finding, with_metric=sections.several_metrics)
        return name, before, after, cells.change(finding.evidence, bold=False)

    def accepted_cells(finding: Finding) -> Iterable[Safe]:
        return *plain_cells(finding), _accepted(finding)

    needed = more_samples(sections)
    decide = f" ({counted(needed, 'more sample')} would decide)" if needed else ""
    parts: list[tuple[str, Part]] = []
    if sections.accepted:
        part = _table(sections.accepted, accepted_cells, head=_ACCEPTED, most_rows=most_rows)
        parts.append((f"{part.total:,} accepted", part))
    if sections.unjudged:
        part = _table(sections.unjudged, plain_cells, head=_PLAIN, most_rows=most_rows)
        parts.append((f"{part.total:,} not judged", part))
    if sections.undecided:
        part = _table(sections.undecided, undecided_cells, head=_UNDECIDED, most_rows=most_rows)
        parts.append((f"{part.total:,} undecided{decide}", part))
    if sections.unchanged:
        part = _table(sections.unchanged, plain_cells, head=_PLAIN, most_rows=most_rows)
        parts.append((f"{part.total:,} unchanged", part))
    if report.missing:
        parts.append((f"{len(report.missing):,} missing", _keys(report.missing, most_rows=most_rows)))
    if report.new:
        parts.append((f"{len(report.new):,} new", _keys(report.new, most_rows=most_rows)))
    return Fold(
        summary=Safe(" · ".join(title for title, _ in parts)),
        # A single part has its title in the summary already.
        parts=tuple(_titled(title, part) if len(parts) > 1 else part for title, part in parts),
    )


def _accepted(finding: Finding) -> Safe:
    said = finding.accepted
    if said is None:
        return cells.NOTHING
    return own(
        "by {} at {}: {}", code(said.author, limit=60), commit(said.commit, repository_url=None), prose(said.reason)
    )


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
        parts.append(Part(title=Safe("Notes"), rows=_bullets(noted[:most_rows]), total=notes_total))
    if report.choices:
        choices = _table(report.choices, choice_cells, head=_CHOICES, most_rows=most_rows)
        parts.append(_titled("How the baseline was chosen", choices))
    environment = sorted(report.environment.components.items())
    facts = [*_settings(report), *(own("{}: {}", prose(name, limit=40), code(value)) for name, value in environment)]
    parts.append(Part(title=Safe("Settings and machine"), rows=_bullets(facts[:most_rows]), total=len(facts)))
    if report.baseline_runs:
        summary.append(f"{counted(report.baseline_runs, 'baseline run')}")
    return Fold(summary=Safe(" · ".join(summary)), parts=tuple(parts))


def _settings(report: Report) -> list[Safe]:
    settings = report.settings
    return [
        own("detector: {}", code(settings.detector)),
        ours(f"false discovery rate: {percent(settings.false_discovery_rate)} over all metrics of the run"),
        ours(f"alpha, per metric: {percent(settings.alpha)}"),
        ours(f"smallest effect that counts: {percent(settings.minimum_effect)}"),
        Safe(f"fewest samples: {settings.minimum_samples:,}"),
        ours(f"fail level: {percent(settings.fail)}, where no rule says otherwise"),
    ]


def _footer(report: Report, options: MarkdownOptions) -> Safe:
    settings = report.settings
    ends = []
    if report.base_commit:
        ends.append(own("base {}", commit(report.base_commit, repository_url=options.repository_url)))
    if report.target_commit:
        ends.append(own("head {}", commit(report.target_commit, repository_url=options.repository_url)))
    parts = [own("{}{}", join(" and ", ends), Safe(f"{', ' if ends else ''}{_source(report)}"))]
    components = report.environment.components
    machine = [code(components[name], limit=60) for name in FOOTER_COMPONENTS if components.get(name)]
    if machine:
        parts.append(join(", ", machine))
    parts.append(own("detector {}", code(settings.detector, limit=40)))
    parts.append(ours(f"false discovery rate {percent(settings.false_discovery_rate)}"))
    parts.append(ours(f"smallest effect {percent(settings.minimum_effect)}"))
    addresses = (("run", options.run_url), ("report", options.report_url))
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


def _table(
    entries: tuple[T, ...],
    cells_of: Callable[[T], Iterable[Safe]],
    *,
    head: tuple[tuple[str, ...], str],
    most_rows: int,
) -> Part:
    names, alignment = head
    return Part(
        header=(row([Safe(name) for name in names]), Safe("|" + "|".join(_RULES[side] for side in alignment) + "|")),
        rows=tuple(row(tuple(cells_of(entry))) for entry in entries[:most_rows]),
        total=len(entries),
    )


def _titled(title: str, part: Part) -> Part:
    return Part(title=Safe(title[0].upper() + title[1:]), header=part.header, rows=part.rows, total=part.total)


def _keys(keys: tuple[MetricKey, ...], *, most_rows: int) -> Part:
    return Part(rows=_bullets(_key(key, with_metric=True) for key in keys[:most_rows]), total=len(keys))


def _key(key: MetricKey, *, with_metric: bool) -> Safe:
    name = code(key.benchmark)
    return own("{} · {}", name, prose(key.metric, limit=60)) if with_metric else name


def _bullets(lines: Iterable[Safe]) -> tuple[Safe, ...]:
    return tuple(own("- {}", line) for line in lines)
