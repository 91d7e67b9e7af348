"""The pull request's comment: what is visible, what is folded, within the platform's limits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from perf_culprit.model.call_tree import MethodSuspect
from perf_culprit.model.finding import BaselineSource, Finding, RunChoice
from perf_culprit.model.reason import Remark
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import is_package
from perf_culprit.say import report_tables
from perf_culprit.say.call_tree_pictures import diagnosis_folds, first_suspect, through, where_to_look
from perf_culprit.say.inert import Safe, code, commit, fill, join, link, marker, own, prose, row
from perf_culprit.say.numbers import amount_markdown, percent, percent_at_least, quantities
from perf_culprit.say.reason_text import sentence_markdown
from perf_culprit.say.report_tables import (
    NOTHING,
    benchmark,
    changed_part,
    prediction_folds,
    prediction_remarks,
    results_fold,
)
from perf_culprit.say.sections import (
    UNJUDGED,
    Fold,
    Part,
    Sections,
    View,
    bullets,
    by_benchmark,
    counted,
    header,
    key,
    split,
    table,
    titled,
    took,
)
from perf_culprit.say.wording import headline, next_step, surroundings_fold

# A report laid out for Markdown: what is visible, what is folded, in which order.

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
        report_tables.fold(sections, most_rows=most_rows),
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
    subject = benchmark(step.subject, with_metric=sections.several_metrics)
    return own("**{} {}.** {}", subject, Safe(step.effect), Safe(step.advice))


def _weak(findings: tuple[Finding, ...], sections: Sections) -> Safe:
    """The metrics in which only larger changes would have been seen."""
    if not findings:
        return Safe("")
    named = [
        own(
            "{} (≥\N{NO-BREAK SPACE}{})",
            benchmark(finding, with_metric=sections.several_metrics),
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
        name = commit(choice.commit, repository_url=options.repository_url) if choice.commit else NOTHING
        time = code(choice.time, limit=40) if choice.time else NOTHING
        return name, time, Safe("yes" if choice.chosen else "no"), sentence_markdown(choice.reason)

    noted = [
        *(sentence_markdown(note) for note in report.notes[:most_rows]),
        *(
            own("{}: {}", benchmark(finding, with_metric=sections.several_metrics), sentence_markdown(note))
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


# The pull request's comment, and the job summary, within the platform's limits for any report.

# GitHub answers 422 to a comment of more than 65,536 characters; the rest is left to the publisher.
COMMENT_LIMIT_CHARACTERS = 65_000
# A step summary over 1 MiB is dropped by the runner, quietly.
SUMMARY_LIMIT_BYTES = 1_000_000

# More visible rows than this nobody reads in a comment.
COMMENT_CHANGED_ROWS = 50
COMMENT_FOLDED_ROWS = 300
_SEPARATOR = "\n\n---\n\n"
SUMMARY_ROWS = 5_000


def render_markdown(
    report: Report, *, options: MarkdownOptions | None = None, limit: int = COMMENT_LIMIT_CHARACTERS
) -> str:
    """The comment: verdict, next step, changed rows, everything else folded. Never over the limit."""
    view = build_view(report, options=options or MarkdownOptions(), most_rows=COMMENT_FOLDED_ROWS)
    return _fit(
        view, size=_utf16_length, limit=limit, changed_rows=COMMENT_CHANGED_ROWS, folded_rows=COMMENT_FOLDED_ROWS
    )


def render_joint(reports: Sequence[Report], *, options: MarkdownOptions) -> str:
    """One comment for several suites, each as in a comment of its own; the loudest comes first."""
    ordered = sorted(reports, key=lambda report: (not report.failed, list(Conclusion).index(report.conclusion)))
    # Each gets the same room. Up to 20 suites are published; their fixed text is about 2,000 characters each.
    room = (COMMENT_LIMIT_CHARACTERS - len(options.marker)) // len(ordered) - len(_SEPARATOR)
    parts = [render_markdown(report, options=replace(options, marker=""), limit=room) for report in ordered]
    return f"{options.marker}\n{_SEPARATOR.join(part.strip() for part in parts)}\n"


def render_summary(report: Report, *, options: MarkdownOptions | None = None) -> str:
    """The job summary: the comment's text with all rows that 1 MB holds."""
    view = build_view(report, options=options or MarkdownOptions(), most_rows=SUMMARY_ROWS)
    return _fit(
        view,
        size=lambda text: len(text.encode()),
        limit=SUMMARY_LIMIT_BYTES,
        changed_rows=SUMMARY_ROWS,
        folded_rows=SUMMARY_ROWS,
    )


def _fit(view: View, *, size: Callable[[str], int], limit: int, changed_rows: int, folded_rows: int) -> str:
    """The longest rendering under the limit: changed rows get the room first, folded ones the rest."""

    def fits(changed: int, folded: int) -> bool:
        return size(_text(view.cut(changed=changed, folded=folded))) <= limit

    changed = _largest(changed_rows, lambda rows: fits(rows, 0))
    folded = _largest(min(folded_rows, view.longest), lambda rows: fits(changed, rows))
    return _text(view.cut(changed=changed, folded=folded))


def _text(view: View) -> str:
    return fill("comment.md.j2", view=view)


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number from 0 to `most` that fits; 0 always does (a report without rows has a bounded length)."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _utf16_length(text: str) -> int:
    """GitHub's editor counts as JavaScript does: an emoji is two. At least as long as Python's count."""
    return len(text.encode("utf-16-le")) // 2


def check_texts(report: Report, *, options: MarkdownOptions | None = None) -> tuple[str, str]:
    """(title, summary): one plain line without foreign text, and Markdown within the check run's limit."""
    sections = split(report)
    title = headline(report, sections).text
    return title, render_markdown(report, options=options)
