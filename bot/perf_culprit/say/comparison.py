"""A comparison's report as one document: its visible and folded parts, in order."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from perf_culprit.model.detectors import DEFAULT_DETECTOR
from perf_culprit.model.finding import BaselineSource, Finding, RunChoice, Verdict
from perf_culprit.model.reason import Reason, Remark
from perf_culprit.model.report import BudgetState, Conclusion, Prediction, Report
from perf_culprit.model.run import EnvironmentChange, Lost, MetricKey
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.call_trees import costs_folds, diagnosis_folds, first_suspect, through, untraced, where_to_look
from perf_culprit.say.certainty_words import PROVEN_WORD, SUSPECTED_WORD
from perf_culprit.say.charts import strips, without_extremes
from perf_culprit.say.document import (
    NOTHING,
    BlockText,
    Bullets,
    Column,
    ColumnRole,
    CommitLink,
    Document,
    DocumentNode,
    DocumentPart,
    Figure,
    Fold,
    Footer,
    Heading,
    Hyperlink,
    Name,
    Paragraph,
    Prose,
    Shown,
    Sign,
    Strong,
    Table,
    TableRow,
    Text,
    join_texts,
    paragraph,
    some,
    table,
    words,
)
from perf_culprit.say.finding_tables import (
    ACCEPTED,
    CERTAIN,
    SEEN,
    WHY,
    budgets_table,
    changed_table,
    findings_table,
    groups_table,
    metric_name,
    moved,
    not_called,
    outside_table,
    outside_title,
)
from perf_culprit.say.headlines import headline, took, unexplained, untested_words, within
from perf_culprit.say.inert import Safe, repository_name
from perf_culprit.say.next_steps import next_step
from perf_culprit.say.numbers import amount, count_of, percent, percent_at_least, quantities
from perf_culprit.say.reason_text import component, worded
from perf_culprit.say.render_terminal import render_terminal, terminal
from perf_culprit.say.sections import UNJUDGED, Sections, by_benchmark, split

WARNED_NAMES: Final = 3
UNPROVEN: Final = (
    Remark.PROOF_FAILED,
    Remark.NO_PROOF_IN_FORK,
    Remark.NO_PROOF_WITHOUT_COMMAND,
    Remark.NO_PROOF_WITHOUT_BUDGET,
)
HISTORY: Final = (Remark.RUNS_NEEDED, Remark.RUNS_PROVE_NOTHING)
FOOTER_COMPONENTS: Final = ("cpu", "runner_image", "os")


@dataclass(frozen=True, kw_only=True, slots=True)
class PageOptions:
    """`marker` is printed as the first line. A comment links only to these addresses.

    With a `date`, a line above the verdict names it, the repository and the pull request.

    `is_advice`: the pull request author's code measured itself, so nothing shown is independent of it. `has_check`:
    whether something fails where this is shown.
    """

    marker: str = ""
    run_url: str | None = None
    report_url: str | None = None
    repository_url: str | None = None
    pull_request: int | None = None
    date: str = ""
    is_advice: bool = False
    has_check: bool = True


def render_text(report: Report, *, colour: bool, width: int) -> str:
    """Render the report for a terminal."""
    return render_terminal(comparison_document(report, PageOptions()), width=width, colour=colour)


def render_short(report: Report) -> str:
    """Render the verdict for a terminal, and how many stored runs can prove a change."""
    history = (worded(note) for note in report.notes if note.code in HISTORY)
    return "\n".join([headline(report, split(report)).text, *map(terminal, history)])


def comparison_document(report: Report, options: PageOptions) -> Document:
    sections = split(report)
    origins = (text for text in (through(report, repository_url=options.repository_url), untraced(report)) if text)
    nodes: list[DocumentNode] = [
        *head_line(options),
        _heading(report, sections),
        paragraph(_next_step(report, sections, options)),
        *map(paragraph, origins),
        *_remarks(report, sections),
    ]
    if report.conclusion is Conclusion.NOT_AFFECTED:
        parts = (*_ends(report, options), *_origin(options, "told"))
        return Document(nodes=(*nodes, Footer(parts=parts)), marker=options.marker)
    changes = changed_table(sections, more=moved(sections))
    nodes += [changes, *_samples(sections)] if changes.total else []
    if unkept := [check for check in report.budgets if check.state is not BudgetState.WITHIN]:
        nodes.append(budgets_table(unkept))
    if report.groups:
        nodes.append(groups_table(report.groups))
    nodes += [
        *_surroundings(report),
        *diagnosis_folds(report, repository_url=options.repository_url),
        *costs_folds(report),
        *_prediction_folds(report),
        *_results(report, sections),
        *_outside(sections),
        *_judgement(report, sections, options),
        Footer(parts=tuple(_footer(report, options))),
    ]
    job, file = Hyperlink(Safe("job summary"), options.run_url), Hyperlink(Name("report.json"), options.report_url)
    return Document(nodes=tuple(nodes), more_at=words("the {} or {}", job, file), marker=options.marker)


def head_line(options: PageOptions) -> tuple[Footer, ...]:
    """Name the text's place and day, because mails and downloaded pages do not."""
    url, number = options.repository_url, options.pull_request
    if url is None or not options.date:
        return ()
    parts: list[Text] = [Hyperlink(Prose(repository_name(url)), url)]
    if number is not None:
        parts.append(Hyperlink(Safe(f"#{number}"), f"{url}/pull/{number}"))
    return (Footer(parts=(*parts, Safe(options.date))),)


def _heading(report: Report, sections: Sections) -> Heading:
    headline_of_report = headline(report, sections)
    text: Text = Safe(headline_of_report.text)
    if report.suite != "default":
        text = words("{} in {}", text, Name(report.suite))
    if report.reference is not None:
        text = words("Against {}: {}", Name(report.reference), text)
    return Heading(text=text, tone=headline_of_report.tone, mark=headline_of_report.emoji)


def _next_step(report: Report, sections: Sections, options: PageOptions) -> Text:
    step = next_step(report, sections, has_check=options.has_check)
    advice = words("{} {}", Safe(step.advice), Name(step.command)) if step.command else Safe(step.advice)
    suspect = first_suspect(report)
    place = where_to_look(report, suspect) if suspect else (Safe(step.place) if step.place else None)
    instruction: Text = words("{} {}", place, advice) if place is not None and advice else place or advice
    if step.subject is None:
        return words("{}{}", instruction, _weak(step.weakest, sections))
    which = Sign(terminal="Best: " if step.subject.verdict is Verdict.IMPROVEMENT else "Worst: ")
    subject = words("{} {}.", _label(step.subject, sections), Safe(step.effect))
    return words("{}{} {}", which, Strong(subject), instruction)


def _weak(findings: Sequence[Finding], sections: Sections) -> Text:
    """Name the metrics in which only larger changes would have been seen."""
    if not findings:
        return Safe("")
    named = [
        words(
            "{} (≥\N{NO-BREAK SPACE}{})",
            _label(finding, sections),
            Safe(percent_at_least(finding.detectable_effect or 0.0)),
        )
        for finding in findings
    ]
    return words(" Weakest: {}.", some(named, WARNED_NAMES))


def _label(finding: Finding, sections: Sections) -> Text:
    return metric_name(finding.key, with_metric=sections.several_metrics)


# Titles of notes that must stay unfolded, in their order.
TITLES: Final = {
    Remark.PROPOSED_VERDICT: "Proposed change of rules:",
    Remark.OTHER_COMMIT: "Maybe another commit:",
    Remark.CONTROL_MOVED: "The machine moved too:",
    Remark.PROOF_CUT_SHORT: "Cut short:",
    Remark.PARTLY_AFFECTED: "Measured in part:",
    Remark.HARNESS_CHANGED: "The benchmarks' files changed:",
    Remark.HARNESS_OF_HEAD: "Benchmarks of the head:",
    Remark.PART_MISSING: "Not complete:",
    Remark.TOO_FEW_FOR_PERCENTILE: "Not computed:",
    Remark.RUNS_NEEDED: "The history is short:",
    Remark.RUNS_PROVE_NOTHING: "Stored runs prove little:",
    **dict.fromkeys(UNPROVEN, "Not measured in turn by itself:"),
}


def _split_notes(report: Report) -> tuple[Sequence[Reason], Sequence[Reason]]:
    """The notes that stay unfolded, the reason for no verdict first, and the others."""
    first = report.notes[:1] if report.conclusion in UNJUDGED else ()
    titled = [note for code in TITLES for note in report.notes if note.code is code]
    above = (*first, *(note for note in titled if note not in first))
    return above, [note for note in report.notes if note not in above and note.code is not Remark.SEEN_IN_TURN]


def _remarks(report: Report, sections: Sections) -> Iterator[Paragraph]:
    """Yield what must stay unfolded: why there is no verdict, and missing benchmarks, which can hide one."""
    if report.lost:
        yield paragraph(
            words("{} {}", Strong(Safe("Not tested:")), some(list(map(_lost, report.lost)), TEXT_LIMITS.names))
        )
    if gone := unexplained(report):
        names = [metric_name(key, with_metric=sections.several_metrics) for key in gone]
        it = "it was" if len(gone) == 1 else "they were"
        yield paragraph(
            words(
                "{} {}: missing on the target. Unless {} removed, see why: a crash or a time limit leaves no result.",
                Strong(Safe("Not tested:")),
                some(names, WARNED_NAMES),
                Safe(it),
            )
        )
    above, _ = _split_notes(report)
    for place, note in enumerate(above):
        is_reason = place == 0 and report.conclusion in UNJUDGED
        title = Safe("Reason:") if is_reason else Strong(Safe(TITLES[Remark(note.code)]))
        yield paragraph(words("{} {}", title, worded(note)))
    for each in report.predictions:
        model, sentence = (
            join_texts(", scenario ", (Name(each.model), Name(each.scenario))),
            _prediction_summary(report, each),
        )
        yield paragraph(
            words("{} by {} (simulated, not measured): {}.", Strong(Safe("Predicted")), model, Safe(sentence))
        )
    if changed := sections.not_comparable:
        names = [_label(one, sections) for one in changed]
        line = words("{} {}", Strong(Safe("Another benchmark now:")), some(names, WARNED_NAMES))
        yield Paragraph(lines=(line,), shown=Shown.NOT)


def _lost(lost: Lost) -> Text:
    return words("{}: {}", Name(lost.benchmark), worded(lost.reason)) if lost.benchmark else worded(lost.reason)


_SURROUNDINGS: Final = (
    Column(name="what", role=ColumnRole.NAME),
    Column(name="before", role=ColumnRole.SIDE),
    Column(name="after", role=ColumnRole.SIDE),
)


def _surroundings(report: Report) -> Iterator[Fold]:
    def row(change: EnvironmentChange) -> TableRow:
        return TableRow((Name(component(change.name)), Name(change.before), Name(change.after)))

    if changes := report.environment_changes:
        summary = Safe(f"Changed besides the code · {count_of(len(changes), 'difference')}")
        yield Fold(summary=summary, parts=(table(_SURROUNDINGS, changes, row),))


DRAWN_FINDINGS: Final = 5
FEWEST_DRAWN: Final = 5


def _samples(sections: Sections) -> Iterator[Figure]:
    lines = tuple(line for finding in sections.changed[:DRAWN_FINDINGS] for line in _strips(finding, sections))
    if lines:
        title = Safe("Samples, both sides on one scale:")
        yield Figure(title=title, lines=lines, on_page=False)


def _strips(finding: Finding, sections: Sections) -> Iterator[Text]:
    """Draw the samples. Empty if they are unknown."""
    whole = (finding.chart.baseline_samples, finding.chart.target_samples)
    if min(map(len, whole)) < FEWEST_DRAWN:
        return
    sides = without_extremes(whole)
    bars = strips(sides)
    if not bars:
        return
    ends = quantities((sides[0][0], sides[0][-1], sides[1][0], sides[1][-1]), finding.metric.unit)
    yield words("• {}", _label(finding, sections))
    # The samples are thinned out, so their number says nothing, but a share does.
    left_out = [1 - len(inside) / len(every) for every, inside in zip(whole, sides, strict=True)]
    for word, strip, low, high, out in zip(("before", "after "), bars, ends[::2], ends[1::2], left_out, strict=True):
        lowest = "" if low == high else f"{low.number} … "
        beyond = f", {percent(out)} beyond" if out else ""
        yield words("  {} ▕{}▏ {}{}{}", Safe(word), BlockText(strip), Safe(lowest), amount(high), Safe(beyond))


def _prediction_summary(report: Report, prediction: Prediction) -> str:
    """Summarize the prediction, without foreign text."""
    sections = _prediction_sections(report, prediction)
    total = count_of(sections.total, "output")
    worse, better = len(sections.regressions), len(sections.improvements)
    if worse or better:
        return f"{worse:,} of {total} {'gets' if worse == 1 else 'get'} worse, {better:,} better"
    effect = prediction.detectable_effect
    power = "" if effect is None else f"; a change for the worse of {percent_at_least(effect)} or more would show"
    return f"no change in {total}{power}"


def _prediction_sections(report: Report, prediction: Prediction) -> Sections:
    """Return the prediction's findings as the sections of a report of their own."""
    return split(
        structs.replace(report, conclusion=prediction.conclusion, findings=prediction.findings, predictions=())
    )


def _prediction_folds(report: Report) -> Iterator[Fold]:
    for each in report.predictions:
        sections = _prediction_sections(report, each)
        if sections.changed:
            title = words("{}, scenario {}: before and after are simulated", Name(each.model), Name(each.scenario))
            summary = Safe(f"Predicted by simulation: {_prediction_summary(report, each)}")
            yield Fold(summary=summary, parts=(changed_table(sections, title=title),))


def _results(report: Report, sections: Sections) -> Iterator[Fold]:
    # If the headline or the advice counts them, a terminal need not show them.
    quiet = Shown.NOT if report.conclusion is Conclusion.NO_CHANGE else Shown.TITLE
    above = {one.key for one in moved(sections)}
    differing = sections.differing
    differs = Shown.NOT if above.issuperset(finding.key for finding in differing) else Shown.TITLE
    visible = (*sections.changed, *sections.suspected)
    full = Shown.LIST if sections.beside else Shown.NOT
    called = [one for finding in visible for one in (finding, *sections.beside.get(finding.key, ()))]
    tables = (
        (called, "change in full" if len(called) == 1 else "changes in full", full, CERTAIN),
        (sections.accepted, "accepted", Shown.LIST, ACCEPTED),
        (sections.watched, "only watched", Shown.LIST, None),
        (sections.unjudged, "not judged", Shown.TABLE, None),
        (differing, "that differ" if len(differing) > 1 else "that differs", differs, None),
        (sections.untested, untested_words(sections), Shown.LIST, WHY),
        (sections.refuted, "refuted", Shown.LIST, WHY),
        (sections.not_seen, "with no change seen", quiet, SEEN),
        (sections.unchanged, within(sections), quiet, SEEN),
    )
    titles, parts = [], list[Table | Bullets]()
    for findings, word, form, more in tables:
        if not findings:
            continue
        titles.append(f"{len(findings):,} {word}")
        if more is WHY:
            parts += _with_reasons(findings, sections, word, above)
        else:
            columns = () if more is None else (more,)
            parts.append(findings_table(findings, sections, *columns, title=Safe(titles[-1]), shown=form))
    for word, keys in (("missing", unexplained(report)), ("new", by_benchmark(report.new))):
        if keys:
            titles.append(f"{len(keys):,} {word}")
            parts.append(_keys(keys, word))
    if parts:
        # A single part already has its title in the summary.
        alone = len(parts) == 1 and parts[0].title == titles[0]
        yield Fold(summary=Safe(" · ".join(titles)), parts=(replace(parts[0], title=None),) if alone else tuple(parts))


def _with_reasons(
    findings: Sequence[Finding], sections: Sections, word: str, above: Collection[MetricKey]
) -> Iterator[Table]:
    """Yield a table for each reason that several rows share, stated once, and one for the other rows.

    A terminal does not repeat the rows `above`.
    """
    groups: dict[Reason, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.reason, []).append(finding)
    for reason, group in groups.items():
        if len(group) > 1:
            form = Shown.TITLE if all(finding.key in above for finding in group) else Shown.LIST
            title = words("{}: {}", Safe(f"{len(group):,} {word}"), worded(reason))
            yield findings_table(group, sections, title=title, shown=form)
    if others := [group[0] for group in groups.values() if len(group) == 1]:
        yield findings_table(others, sections, WHY, title=Safe(f"{len(others):,} {word}"))


def _keys(keys: Sequence[MetricKey], word: str) -> Bullets:
    items = [metric_name(key, with_metric=True) for key in keys]
    return Bullets(items=items, total=len(keys), title=Safe(f"{len(keys):,} {word}"))


def _outside(sections: Sections) -> Iterator[Fold]:
    if findings := not_called(sections):
        yield Fold(summary=Safe(outside_title(sections, len(findings))), parts=(outside_table(sections),))


_CHOICES: Final = tuple(Column(name=name) for name in ("commit", "time", "baseline", "why"))


def _judgement(report: Report, sections: Sections, options: PageOptions) -> Iterator[Fold]:
    summary, parts = ["How this was judged"], list[DocumentPart]()
    noted = [
        words("{}: {}", _label(finding, sections), worded(note)) for finding in sections.all for note in finding.notes
    ]
    if notes := [worded(note) for note in _split_notes(report)[1]]:
        parts.append(Bullets(items=notes, total=len(notes), title=Safe("Notes")))
    if noted:
        title = Safe(f"Notes on {sections.noun}s")
        parts.append(Bullets(items=noted, total=len(noted), title=title, shown=Shown.NOT))
    if total := len(notes) + len(noted):
        summary.append(count_of(total, "note"))
    if report.choices:
        parts.append(_choices(report, options))
    if facts := list(_differing_settings(report)):
        parts.append(Bullets(items=facts, total=len(facts), title=Safe("Settings"), shown=Shown.NOT))
    if report.baseline_runs:
        summary.append(count_of(report.baseline_runs, "baseline run"))
    if parts:
        yield Fold(summary=Safe(" · ".join(summary)), parts=tuple(parts))


def _choices(report: Report, options: PageOptions) -> Table:
    def row(choice: RunChoice) -> TableRow:
        name = CommitLink(choice.commit, options.repository_url) if choice.commit else NOTHING
        time = Name(choice.time, 40) if choice.time else NOTHING
        return TableRow((name, time, Safe("yes" if choice.chosen else "no"), worded(choice.reason)))

    return table(_CHOICES, report.choices, row, title=Safe("How the baseline was chosen"), shown=Shown.NOT)


def _differing_settings(report: Report) -> Iterator[Text]:
    """Yield what is not as by default. The footer has the rates and the minimum effect."""
    settings = report.settings
    if settings.detector != DEFAULT_DETECTOR:
        yield words("detector: {}", Name(settings.detector))
    if settings.fail != settings.minimum_effect:
        yield Safe(f"fail threshold: {percent(settings.fail)}, where no rule says otherwise")


def _footer(report: Report, options: PageOptions) -> Iterator[Text]:
    settings, components = report.settings, report.environment.components
    ends = list(_ends(report, options))
    yield words("{}{}", join_texts(" and ", ends), Safe(f"{', ' if ends else ''}{_source(report)}"))
    if cost := took(report.cost):
        in_turn = (worded(note) for note in report.notes if note.code is Remark.SEEN_IN_TURN)
        yield join_texts("; ", (Safe(cost), *in_turn))
    if machine := [Name(components[name], 60) for name in FOOTER_COMPONENTS if components.get(name)]:
        yield join_texts(", ", machine)
    looks = f", shared by {settings.looks:,} looks" if settings.looks > 1 else ""
    yield Safe(f"{PROVEN_WORD} {percent(settings.proven)}, {SUSPECTED_WORD} {percent(settings.suspected)}{looks}")
    yield Safe(f"minimum effect {percent(settings.minimum_effect)}")
    yield from _origin(options, "measured")


def _origin(options: PageOptions, verb: str) -> Iterator[Text]:
    if options.is_advice:
        yield Safe(f"{verb} by the pull request's own code: advice, not proof")
    for word, address in (("run", options.run_url), ("report", options.report_url)):
        if address:
            yield Hyperlink(Safe(word), address)


def _ends(report: Report, options: PageOptions) -> Iterator[Text]:
    url = options.repository_url
    if report.base_commit and report.base_commit == report.target_commit:
        yield words(
            "base and head are one commit, {}: what differs is the machine's", CommitLink(report.base_commit, url)
        )
        return
    if report.base_commit:
        base = words("base {}", CommitLink(report.base_commit, url))
        yield words("{} ({})", base, Name(report.reference)) if report.reference else base
    if report.target_commit:
        head, merge = words("head {}", CommitLink(report.target_commit, url)), report.merge_commit
        yield words("{}, measured as merged into base ({})", head, CommitLink(merge, url)) if merge else head


def _source(report: Report) -> str:
    if not report.baseline_runs:
        return "no baseline"
    match report.baseline_source:
        case BaselineSource.PAIRED:
            return "in turn on one machine" if report.cost else "given as pairs"  # only `measure` states its cost
        case BaselineSource.HISTORY:
            return f"against {count_of(report.baseline_runs, 'stored run')}"
        case BaselineSource.FILES:
            return f"against {count_of(report.baseline_runs, 'given run')}"
