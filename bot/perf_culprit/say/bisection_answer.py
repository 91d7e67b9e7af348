"""A bisection's answer and the culprit's methods, for a terminal and for a comment."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeVar

from perf_culprit.model.bisection import (
    NEGLIGIBLE,
    BisectionReport,
    Culprit,
    CulpritDiagnosis,
    MeasuredCommit,
    OutcomeKind,
)
from perf_culprit.model.finding import Verdict
from perf_culprit.model.reason import Reason
from perf_culprit.model.report import Answer, ChangeCause, ComparedSuspect, TreeComparison
from perf_culprit.say import bisection_words as words
from perf_culprit.say.call_tree_pictures import call_tree_picture, effect, pictured
from perf_culprit.say.call_tree_text import amounts, answer_words, calls, certainty, change, shown_suspects, why
from perf_culprit.say.finding_tables import TONES
from perf_culprit.say.headlines import change_words
from perf_culprit.say.inert import NAME_LIMIT, SENTENCE_LIMIT, SHORT_HASH, Safe, clean, code, commit, join, own, plain
from perf_culprit.say.inert import prose as inert_prose
from perf_culprit.say.numbers import MINUS, counted, percent
from perf_culprit.say.reason_text import sentence, worded
from perf_culprit.say.render_markdown import markdown, markdown_table
from perf_culprit.say.render_terminal import BOLD, RESET, columns

# What a bisection's answer says of the program, in either form: what the culprit changed, and which got slower.

SUSPECT_ROWS: Final = 5
FUNCTIONS: Final = 8
SERVICES: Final = 10
PATH_NAMES: Final = 12
_COLUMNS: Final = ("with callees", "method", "own time before", "after", "certainty")
_COUNTED: Final = ("share", "function", "own before", "after", "calls", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """How the parts of an answer become text. Every function takes foreign text, but `shade` a line of ours."""

    name: Callable[..., Safe]
    prose: Callable[[str], Safe]
    commit: Callable[[str], Safe]
    heading: str
    quoted: str
    table: Callable[[Sequence[str], Sequence[Sequence[Safe]]], Safe]
    reason: Callable[[Reason], Safe]
    figure: str
    item: str
    folds: bool
    shade: Callable[[str, Verdict], Safe] = lambda text, _: Safe(text)


def diagnosis_blocks(diagnosis: CulpritDiagnosis, form: Form) -> Iterator[Safe]:
    """The place first, then the path to it, the methods with their numbers, and the services to test again."""
    if diagnosis.counted:
        yield Safe("The functions whose instructions the change is made of, counted beside its parent's:")
        rows = [_counted(one, form) for one in diagnosis.counted[:SUSPECT_ROWS]]
        filled = max(column for row in rows for column, cell in enumerate(row, start=1) if cell)
        yield form.table(_COUNTED[:filled], [row[:filled] for row in rows])
    if diagnosis.comparison is not None:
        yield from _compared(diagnosis.comparison, form)
    elif diagnosis.doubt is not None and not diagnosis.counted:
        yield own("Which methods got slower is not known: {}.", form.reason(diagnosis.doubt))
    if diagnosis.changed:
        shown = diagnosis.changed[:FUNCTIONS]
        count = len(diagnosis.changed) + diagnosis.more
        places = (
            own("{} ({})", form.name(one.qualified_name), form.name(f"{one.path}:{one.changed_line or one.first_line}"))
            for one in shown
        )
        rest = Safe(f" and {count - len(shown):,} more") if count > len(shown) else Safe("")
        commit = form.commit(diagnosis.commit)
        yield own("{} changed {}: {}{}.", commit, Safe(counted(count, "function")), join(", ", places), rest)


def _counted(method: ComparedSuspect, form: Form) -> list[Safe]:
    """A row begins with a number of ours: a name may look like a command of GitHub's runner."""
    before, after = amounts(method.baseline, method.target, method.unit, own=True)
    one_sided = "new" if method.baseline is None else "gone" if method.target is None else ""
    remarks = [Safe(one_sided)] if one_sided else []
    if len(method.path) > 1 and (one_sided or method.cause is not ChangeCause.TIME_PER_CALL):
        remarks.append(own("called by {}", form.name(method.path[-2], limit=60)))
    if method.touched is not None:
        line = "" if method.touched.first_line is None else f":{method.touched.first_line}"
        remarks.append(own("changed in {}", form.name(f"{method.touched.file}{line}")))
    numbers = (before, after, calls(method.baseline, method.target))
    share = Safe(percent(method.parts.own_time))
    return [share, form.name(method.method, limit=60), *map(Safe, numbers), join("; ", remarks)]


def _compared(comparison: TreeComparison, form: Form) -> Iterator[Safe]:
    suspects = shown_suspects(comparison)
    if suspects:
        yield _first(suspects[0], comparison, form)
        names = suspects[0].path[-PATH_NAMES:]
        cut = Safe("… → " if len(names) < len(suspects[0].path) else "")
        yield own("Call path: {}{}", cut, join(" → ", (form.name(name, limit=60) for name in names)))
        yield form.table(_COLUMNS, [_row(one, form) for one in suspects[:SUSPECT_ROWS]])
        reasons = [(one.method, why(one)) for one in suspects[:SUSPECT_ROWS]]
        lines = (
            own(form.item, own("why {}: {}", form.name(name, limit=60), Safe(text))) for name, text in reasons if text
        )
        yield join("\n", lines)
        service = pictured(comparison, suspects[0])
        if service is not None and form.folds:
            tree = call_tree_picture(comparison, service)
            yield own("<details><summary>The call tree, beside its parent's</summary>\n\n{}\n\n</details>", tree)
    for one in comparison.services[:SERVICES]:
        text = join("; ", [Safe(answer_words(one)), *map(form.reason, one.doubts)])
        yield own("Profiled beside its parent: {}, {}.", form.name(one.service, limit=60), text)
    if comparison.impacted:
        shares = (
            own("{} {}", form.name(one.service), Safe(percent(one.share))) for one in comparison.impacted[:SERVICES]
        )
        yield own("Services to test again, with the share of their time in these methods: {}.", join(", ", shares))


def _first(suspect: ComparedSuspect, comparison: TreeComparison, form: Form) -> Safe:
    """Such as "`Parser.tokenize` takes 61% longer; this commit changed it.", only as sure as it is."""
    changed = "; this commit changed it" if suspect.touched is not None else ""
    sure = "" if comparison.answer is Answer.SLOWER else " (without certainty)"
    return own("The likely place: {} {}{}.", form.name(suspect.method), Safe(effect(suspect)), Safe(changed + sure))


def _row(suspect: ComparedSuspect, form: Form) -> list[Safe]:
    """As above: ours comes first."""
    before, after = amounts(suspect.baseline, suspect.target, suspect.unit, own=True)
    first, *numbers = (
        Safe(one.replace(" ", "\N{NO-BREAK SPACE}")) for one in (change(suspect), before, after, certainty(suspect))
    )
    return [first, form.name(suspect.method, limit=60), *numbers]


# A bisection's answer, for a terminal and for a comment: one view in two forms.

T = TypeVar("T")
PLOT_WIDTH: Final = 31
MOST_ROWS: Final = 60
SUBJECT_LIMIT: Final = 120
COMMAND_LIMIT: Final = 2000
SHOWN_UPDATES: Final = 10
SHADES: Final = {**{verdict: tone.value for verdict, tone in TONES.items()}, Verdict.NO_CHANGE: "\x1b[32m"}
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
        reason=lambda reason: markdown(worded(reason)),
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
