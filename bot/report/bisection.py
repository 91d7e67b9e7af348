"""A bisection's answer, for a terminal and for a comment: one view in two forms."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, TypeVar

from bot.model.bisection import NEGLIGIBLE, Culprit, OutcomeKind
from bot.model.bisection_report import BisectionReport, MeasuredCommit
from bot.model.finding import Verdict
from bot.report import bisection_words as words
from bot.report.changed_table import BOLD, COLOURS, RESET
from bot.report.culprit_diagnosis import Form, diagnosis_blocks
from bot.report.inert import NAME_LIMIT, SENTENCE_LIMIT, SHORT_HASH, Safe, clean, code, commit, join, own, plain
from bot.report.inert import prose as inert_prose
from bot.report.numbers import MINUS, percent
from bot.report.reasons.sentence import sentence, sentence_markdown
from bot.report.surroundings import change_words
from bot.report.tables import columns, markdown_table
from bot.report.words import counted

T = TypeVar("T")
PLOT_WIDTH: Final = 31
MOST_ROWS: Final = 60
SUBJECT_LIMIT: Final = 120
COMMAND_LIMIT: Final = 2000
SHOWN_UPDATES: Final = 10
SHADES: Final = {**COLOURS, Verdict.NO_CHANGE: "\x1b[32m"}
BY_WORSE: Final = (Verdict.IMPROVEMENT, Verdict.REGRESSION)


def bisection_text(report: BisectionReport, *, colour: bool = False) -> str:
    """For a terminal; foreign control characters never reach it."""
    form = Form(
        name=_plain,
        prose=lambda text: _plain(text, limit=SENTENCE_LIMIT),
        commit=_short,
        heading="{}",
        quoted='"{}"',  # a line may look like a command of GitHub's runner
        table=_aligned,
        reason=lambda reason: _plain(sentence(reason), limit=SENTENCE_LIMIT),
        figure="{}\n{}",
        item="  {}",
        folds=False,
    )
    return _view(
        report,
        replace(form, shade=lambda line, verdict: Safe(f"{BOLD}{SHADES[verdict]}{line}{RESET}")) if colour else form,
    )


def bisection_markdown(report: BisectionReport) -> str:
    """For a comment or a job summary. Subjects, failures and commands are foreign text."""
    form = Form(
        name=code,
        prose=inert_prose,
        commit=lambda name: commit(name, repository_url=report.repository_url),
        heading="### {}",
        quoted="{}",
        table=lambda head, rows: markdown_table(head, " " * len(head), rows),
        reason=sentence_markdown,
        figure="{}\n\n```text\n{}\n```",
        item="- {}",
        folds=True,
    )
    return _view(report, form)


def commit_pages(report: BisectionReport) -> dict[str, str]:
    """By the name that a measured commit has in the text; nothing where no host shows them."""
    url = report.repository_url
    commits = () if url is None else (entry.commit for entry in report.measured)
    return {_short(commit): plain(f"{url}/commit/{commit}", limit=SENTENCE_LIMIT) for commit in commits}


def headline(report: BisectionReport) -> str:
    """One line without Markdown: the commit where there is one, else what became of the search."""
    culprit, suspects = _one_culprit(report), report.outcome.suspects
    if culprit is not None:
        return f"{_short(culprit.commit)} {words.introduced(culprit)}"
    if report.outcome.kind is OutcomeKind.SEVERAL_CULPRITS and report.outcome.culprits:
        largest = max(report.outcome.culprits, key=lambda one: abs(one.relative_change))
        number, what = len(report.outcome.culprits), words.introduced(largest)
        return f"{number} commits introduced the change; the largest, {_short(largest.commit)}, {what}"
    if report.outcome.kind is OutcomeKind.SUSPECT_SET and len(suspects) > 1:
        likeliest = max(suspects, key=lambda suspect: suspect.posterior)
        return f"One of {len(suspects)} commits introduced the change, most likely {_short(likeliest.commit)}"
    if (other := words.other_way(report)) is not None:
        return f"Nothing got {report.settings.sought}: the bad end is {other}"
    return words.beside_headline(report) or words.HEADLINES[report.outcome.kind]


def _verdict(report: BisectionReport) -> Verdict:
    """What became of the change, as a comparison would call it."""
    outcome = report.outcome
    if outcome.kind is OutcomeKind.NOT_REPRODUCED:
        return Verdict.NO_CHANGE
    if not report.is_definite or (not outcome.culprits and outcome.relative_change is None):
        return Verdict.INCONCLUSIVE
    worse = report.settings.direction.worse_sign * (outcome.relative_change or 0.0) > 0
    return max(map(_own_verdict, outcome.culprits), default=BY_WORSE[worse], key=BY_WORSE.index)


def _own_verdict(culprit: Culprit) -> Verdict:
    return BY_WORSE[not culprit.improvement]


def _one_culprit(report: BisectionReport) -> Culprit | None:
    """The commit that the first line names."""
    outcome = report.outcome
    return outcome.culprits[0] if outcome.kind is OutcomeKind.CULPRIT and outcome.culprits else None


def _view(report: BisectionReport, form: Form) -> str:
    outcome, one = report.outcome, _one_culprit(report)
    first = Safe(headline(report)) if one is None else _named(report, one, form)
    about = [] if one is None else _about(report, one, form)
    benchmark = own("Benchmark: {}, {}.", form.name(report.key.benchmark), form.name(report.key.metric))
    reason, facts = Safe(words.reason_of(report)), [benchmark, *map(Safe, words.facts_of(report))]
    if (outcome.unresolved or 0.0) > NEGLIGIBLE and outcome.unresolved_part is not None:
        ends = (form.name(end[:SHORT_HASH]) for end in outcome.unresolved_part)
        reason = _folded(
            reason, own("To search there: the same with {} as the good and {} as the bad end.", *ends), form
        )
    between = "\n\n" if form.folds and reason.startswith("<") else "\n"
    blocks = [
        join("\n", [form.shade(own(form.heading, first), _verdict(report)), *about]),
        join(between, [reason, join("\n", facts)]),
    ]
    if one is None and outcome.culprits:
        lines = (
            (each, join("; ", [_named(report, each, form), *_about(report, each, form)])) for each in outcome.culprits
        )
        blocks.append(join("\n", (form.shade(own(form.item, line), _own_verdict(each)) for each, line in lines)))
    if report.diagnosis is not None:
        blocks += diagnosis_blocks(report.diagnosis, form)
    if outcome.suspects:
        rows = [
            [form.commit(entry.commit), Safe(percent(entry.posterior)), _subject(report, entry.commit, form)]
            + ([Safe("skipped")] if entry.skipped else [])
            for entry in _cut(outcome.suspects)
        ]
        blocks.append(form.table(("suspect", "posterior", "subject", "measured"), rows))
    if outcome.decay:
        rows = [
            [
                *map(form.commit, (part.after, part.until)),
                Safe(percent(part.relative_change, signed=True)),
                Safe(percent(part.share)),
            ]
            for part in _cut(outcome.decay)
        ]
        blocks.append(form.table(("after", "until", "change", "share"), rows))
    if report.measured:
        blocks.append(own(form.figure, Safe("Measured, against the good commit:"), Safe(_plot(report, form))))
    if outcome.skipped:
        skipped = (own("{} {}", form.commit(name), form.prose(why)) for name, why in outcome.skipped.items())
        number = counted(len(outcome.skipped), "commit")
        blocks.append(_folded(Safe(f"Skipped: {number}"), _items(_cut(skipped), form), form))
    if outcome.notes:
        between = "\n\n" if form.folds else "\n"
        blocks.append(own("Notes:{}{}", Safe(between), _items((form.reason(note) for note in outcome.notes), form)))
    blocks.append(Safe(words.cost_of(report)))
    blocks.append(own("Again: {}", form.name(report.command, limit=COMMAND_LIMIT)))
    return join("\n\n", blocks) + "\n"


def _named(report: BisectionReport, culprit: Culprit, form: Form) -> Safe:
    """The commit, its subject, who wrote it and when, and what it did."""
    subject, facts = _subject(report, culprit.commit, form), report.facts.get(culprit.commit)
    parts = [form.commit(culprit.commit), own(form.quoted, subject) if subject else Safe("")]
    if facts is not None:
        parts.append(own("by {}, {},", form.name(facts.author), form.name(facts.date[:10])))
    return join(" ", [part for part in (*parts, Safe(words.introduced(culprit))) if part])


def _about(report: BisectionReport, culprit: Culprit, form: Form) -> list[Safe]:
    """What it changed, how certain its name is, and its page where the name is no link to it."""
    facts, notes = report.facts.get(culprit.commit), []
    if facts is not None:
        notes.append(f"+{facts.insertions:,} {MINUS}{facts.deletions:,} lines in {counted(facts.files, 'file')}")
    if culprit.posterior is not None:
        certainty = words.certainty(culprit.posterior)
        notes.append(f"posterior {certainty}; confirmed in rounds against its parent")
    lines = [Safe("; ".join(notes))] if notes else []
    if updates := report.updates.get(culprit.commit):
        named = [form.name(change_words(change)) for change in updates[:SHOWN_UPDATES]]
        more = len(updates) - len(named)
        lines.append(
            own("a dependency update: {}{}", join(", ", named), own(" and {} more", more) if more else Safe(""))
        )
    if report.repository_url is not None and "](" not in form.commit(culprit.commit):
        lines.append(form.prose(f"{report.repository_url}/commit/{culprit.commit}"))
    return lines


def _items(entries: Iterable[Safe], form: Form) -> Safe:
    return join("\n", (own(form.item, entry) for entry in entries))


def _folded(line: Safe, rest: Safe, form: Form) -> Safe:
    return own("<details><summary>{}</summary>\n\n{}\n\n</details>" if form.folds else "{}\n{}", line, rest)


def _aligned(head: Sequence[str], rows: Sequence[Sequence[Safe]]) -> Safe:
    return Safe("\n".join(columns([head[: max(map(len, rows))], *rows], indent="  ")))


def _plot(report: BisectionReport, form: Form) -> str:
    """The named commits' lines stand out."""
    named = {culprit.commit: _own_verdict(culprit) for culprit in report.outcome.culprits}
    lines = zip(_cut(report.measured), plot(report.measured), strict=True)
    return "\n".join(form.shade(line, named[entry.commit]) if entry.commit in named else line for entry, line in lines)


def plot(measured: Sequence[MeasuredCommit], *, width: int = PLOT_WIDTH) -> list[str]:
    """A line per commit: its mean as a dot on its interval, the good commit's level as an axis. Only our own text."""
    shown = _cut(measured)
    ends = [0.0]
    for entry in shown:
        interval = entry.confidence_interval
        ends += [] if entry.relative_change is None else [entry.relative_change]
        # A wide interval is cut at the edge; it must not squeeze all others.
        ends += [] if interval is None or interval.high - interval.low > 1 else [interval.low, interval.high]
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0

    def column(value: float) -> int:
        return round(min(max((value - low) / span, 0.0), 1.0) * (width - 1))

    lines = []
    for entry in shown:
        cells = [" "] * width
        if entry.confidence_interval is not None:
            first, last = column(entry.confidence_interval.low), column(entry.confidence_interval.high)
            cells[first : last + 1] = "─" * (last + 1 - first)
        cells[column(0.0)] = "│"
        change = "no number"
        if entry.relative_change is not None:
            cells[column(entry.relative_change)] = "●"
            change = percent(entry.relative_change, signed=True)
        lines.append(f"  {_short(entry.commit)}  {''.join(cells)}  {change:>9}  n = {entry.executions}")
    return lines


def _subject(report: BisectionReport, name: str, form: Form) -> Safe:
    subject = report.subjects.get(name)
    return form.name(subject, limit=SUBJECT_LIMIT) if subject else Safe("")


def _plain(foreign: str, *, limit: int = NAME_LIMIT) -> Safe:
    return Safe(plain(foreign, limit=limit))


def _short(name: str) -> Safe:
    return Safe(clean(name)[:SHORT_HASH])


def _cut(entries: Iterable[T]) -> list[T]:
    return list(islice(entries, MOST_ROWS))
