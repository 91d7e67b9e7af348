"""A bisection's answer: the culprit, how sure it is, what it changed, and what was measured."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeVar

from perf_culprit.model.bisection import (
    NEGLIGIBLE,
    BisectionReport,
    Culprit,
    CulpritDiagnosis,
    DecayPart,
    MeasuredCommit,
    OutcomeKind,
    Suspect,
)
from perf_culprit.model.report import Answer, ChangeCause, ComparedSuspect, TreeComparison
from perf_culprit.say import bisection_words as phrases
from perf_culprit.say.call_tree_pictures import call_tree_picture, effect, pictured
from perf_culprit.say.call_tree_text import amounts, answer, calls, certainty, change, shown_suspects, why
from perf_culprit.say.document import (
    Address,
    Bullets,
    Column,
    Commit,
    Document,
    Figure,
    Fold,
    Heading,
    Name,
    Node,
    Picture,
    Prose,
    Row,
    Said,
    Shown,
    Sign,
    Table,
    Tone,
    Toned,
    joined,
    paragraph,
    some,
    table,
    words,
)
from perf_culprit.say.headlines import change_words
from perf_culprit.say.inert import SENTENCE_LIMIT, SHORT_HASH, Safe, clean, plain, unbroken
from perf_culprit.say.numbers import MINUS, counted, percent
from perf_culprit.say.reason_text import worded
from perf_culprit.say.render_markdown import markdown_text
from perf_culprit.say.render_terminal import render_terminal

T = TypeVar("T")
PLOT_WIDTH: Final = 31
MOST_ROWS: Final = 60
SUBJECT_LIMIT: Final = 120
COMMAND_LIMIT: Final = 2000
SHOWN_UPDATES: Final = 10
# No row is cut: a log is read without a width.
WIDE: Final = 10_000

BY_WORSE: Final = (Tone.BETTER, Tone.WORSE)


def bisection_text(report: BisectionReport, *, colour: bool = False) -> str:
    """For a terminal; foreign control characters never reach it."""
    return render_terminal(Document(nodes=tuple(bisection_nodes(report))), width=WIDE, colour=colour, more_at="")


def bisection_markdown(report: BisectionReport) -> str:
    """For a comment or a job summary. Subjects, failures and commands are foreign text."""
    return markdown_text(*bisection_nodes(report))


def commit_pages(report: BisectionReport) -> dict[str, str]:
    """By the name that a measured commit has in the text; nothing where no host shows them."""
    url = report.repository_url
    commits = () if url is None else (entry.commit for entry in report.measured)
    return {_short(commit): plain(f"{url}/commit/{commit}", limit=SENTENCE_LIMIT) for commit in commits}


def headline(report: BisectionReport) -> str:
    """One line without Markdown: the commit where there is one, else what became of the search."""
    culprit, suspects = _one_culprit(report), report.outcome.suspects
    if culprit is not None:
        return f"{_short(culprit.commit)} {phrases.introduced(culprit)}"
    if report.outcome.kind is OutcomeKind.SEVERAL_CULPRITS and report.outcome.culprits:
        largest = max(report.outcome.culprits, key=lambda one: abs(one.relative_change))
        number, what = len(report.outcome.culprits), phrases.introduced(largest)
        return f"{number} commits introduced the change; the largest, {_short(largest.commit)}, {what}"
    if report.outcome.kind is OutcomeKind.SUSPECT_SET and len(suspects) > 1:
        likeliest = max(suspects, key=lambda suspect: suspect.posterior)
        return f"One of {len(suspects)} commits introduced the change, most likely {_short(likeliest.commit)}"
    if (other := phrases.other_way(report)) is not None:
        return f"Nothing got {report.settings.sought}: the bad end is {other}"
    return phrases.beside_headline(report) or phrases.HEADLINES[report.outcome.kind]


def _tone(report: BisectionReport) -> Tone:
    """What became of the change, as a comparison would call it."""
    outcome = report.outcome
    if outcome.kind is OutcomeKind.NOT_REPRODUCED:
        return Tone.FINE
    if not report.is_definite or (not outcome.culprits and outcome.relative_change is None):
        return Tone.UNSURE
    worse = report.settings.direction.worse_sign * (outcome.relative_change or 0.0) > 0
    return max(map(_own_tone, outcome.culprits), default=BY_WORSE[worse], key=BY_WORSE.index)


def _own_tone(culprit: Culprit) -> Tone:
    return BY_WORSE[not culprit.improvement]


def _one_culprit(report: BisectionReport) -> Culprit | None:
    """The commit that the first line names."""
    outcome = report.outcome
    return outcome.culprits[0] if outcome.kind is OutcomeKind.CULPRIT and outcome.culprits else None


def bisection_nodes(report: BisectionReport) -> Iterator[Node]:
    outcome, one = report.outcome, _one_culprit(report)
    first = Safe(headline(report)) if one is None else _named(report, one)
    yield Heading(text=first, tone=_tone(report), below=() if one is None else tuple(_about(report, one)))
    yield from _reason(report)
    if one is None and outcome.culprits:
        told = [
            Toned(joined("; ", [_named(report, each), *_about(report, each)]), _own_tone(each))
            for each in outcome.culprits
        ]
        yield Bullets(items=told, total=len(told))
    if report.diagnosis is not None:
        yield from diagnosis_nodes(report.diagnosis, repository_url=report.repository_url)
    yield from _candidates(report)
    if report.measured:
        yield Figure(title=Safe("Measured, against the good commit:"), lines=tuple(_plot(report)))
    if outcome.skipped:
        skipped = [
            words("{} {}", Commit(name, report.repository_url), Prose(why))
            for name, why in _cut(outcome.skipped.items())
        ]
        summary = Safe(f"{counted(len(outcome.skipped), 'commit')} skipped")
        yield Fold(summary=summary, parts=(Bullets(items=skipped, total=len(outcome.skipped)),))
    if outcome.notes:
        yield Bullets(items=[*map(worded, outcome.notes)], total=len(outcome.notes), title=Safe("Notes"))
    yield paragraph(Safe(phrases.cost_of(report)))
    yield paragraph(words("Again: {}", Name(report.command, COMMAND_LIMIT)))


def _reason(report: BisectionReport) -> Iterator[Node]:
    outcome, reason = report.outcome, Safe(phrases.reason_of(report))
    benchmark = words("Benchmark: {}, {}.", Name(report.key.benchmark), Name(report.key.metric))
    facts: list[Said] = [benchmark, *map(Safe, phrases.facts_of(report))]
    if (outcome.unresolved or 0.0) > NEGLIGIBLE and outcome.unresolved_part is not None:
        ends = (Name(end[:SHORT_HASH]) for end in outcome.unresolved_part)
        search = words("To search there: the same with {} as the good and {} as the bad end.", *ends)
        yield Fold(summary=reason, parts=(paragraph(search),))
        yield paragraph(*facts)
    else:
        yield paragraph(reason, *facts)


def _named(report: BisectionReport, culprit: Culprit) -> Said:
    """The commit, its subject, who wrote it and when, and what it did."""
    parts: list[Said] = [Commit(culprit.commit, report.repository_url)]
    if subject := report.subjects.get(culprit.commit):
        # Quoted in a terminal, where a line may look like a command of GitHub's runner.
        quote = Sign(terminal='"')
        parts.append(words("{}{}{}", quote, Name(subject, SUBJECT_LIMIT), quote))
    if (facts := report.facts.get(culprit.commit)) is not None:
        parts.append(words("by {}, {},", Name(facts.author), Name(facts.date[:10])))
    return joined(" ", [*parts, Safe(phrases.introduced(culprit))])


def _about(report: BisectionReport, culprit: Culprit) -> Iterator[Said]:
    """What it changed, how certain its name is, and for a terminal its page."""
    facts, notes = report.facts.get(culprit.commit), []
    if facts is not None:
        notes.append(f"+{facts.insertions:,} {MINUS}{facts.deletions:,} lines in {counted(facts.files, 'file')}")
    if culprit.posterior is not None:
        certainty = phrases.certainty(culprit.posterior)
        notes.append(f"posterior {certainty}; confirmed in rounds against its parent")
    if notes:
        yield Safe("; ".join(notes))
    if updates := report.updates.get(culprit.commit):
        yield words("a dependency update: {}", some([Name(change_words(one)) for one in updates], SHOWN_UPDATES))
    if report.repository_url is not None:
        yield Address(f"{report.repository_url}/commit/{culprit.commit}")


def _candidates(report: BisectionReport) -> Iterator[Table]:
    url, suspects = report.repository_url, report.outcome.suspects
    skipped = any(entry.skipped for entry in suspects)

    def suspect(entry: Suspect) -> Row:
        subject = report.subjects.get(entry.commit)
        told = Name(subject, SUBJECT_LIMIT) if subject else Safe("")
        cells = (Commit(entry.commit, url), Safe(percent(entry.posterior)), told)
        return Row((*cells, Safe("skipped" if entry.skipped else "")) if skipped else cells)

    def part(entry: DecayPart) -> Row:
        change, share = Safe(percent(entry.relative_change, signed=True)), Safe(percent(entry.share))
        return Row((Commit(entry.after, url), Commit(entry.until, url), change, share))

    if suspects:
        names = ("suspect", "posterior", "subject", *(("measured",) if skipped else ()))
        yield _table(names, suspects, suspect)
    if report.outcome.decay:
        yield _table(("after", "until", "change", "share"), report.outcome.decay, part)


def _table(names: Sequence[str], entries: Sequence[T], row: Callable[[T], Row]) -> Table:
    columns = tuple(Column(name=name) for name in names)
    return table(columns, entries[:MOST_ROWS], row, shown=Shown.TABLE)


def _plot(report: BisectionReport) -> Iterator[Said]:
    """The named commits' lines stand out."""
    named = {culprit.commit: _own_tone(culprit) for culprit in report.outcome.culprits}
    for entry, line in zip(_cut(report.measured), plot(report.measured), strict=True):
        yield Toned(Safe(line), named[entry.commit]) if entry.commit in named else Safe(line)


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


def _short(name: str) -> Safe:
    return Safe(clean(name)[:SHORT_HASH])


def _cut(entries: Iterable[T]) -> list[T]:
    return list(islice(entries, MOST_ROWS))


# What the answer says of the program: what the culprit changed, and which methods got slower.

SUSPECT_ROWS: Final = 5
FUNCTIONS: Final = 8
SERVICES: Final = 10
PATH_NAMES: Final = 12
_COMPARED: Final = ("with callees", "method", "own time before", "after", "certainty")
_COUNTED: Final = ("share", "function", "own before", "after", "calls", "")


def diagnosis_nodes(diagnosis: CulpritDiagnosis, *, repository_url: str | None) -> Iterator[Node]:
    """The place first, then the path to it, the methods with their numbers, and the services to test again."""
    if diagnosis.counted:
        yield paragraph(Safe("The change by function, in instructions, compared with its parent:"))
        yield _filled(_COUNTED, [_counted(one) for one in diagnosis.counted[:SUSPECT_ROWS]])
    if diagnosis.comparison is not None:
        yield from _compared(diagnosis.comparison)
    elif diagnosis.doubt is not None and not diagnosis.counted:
        yield paragraph(words("Which methods got slower is not known: {}.", worded(diagnosis.doubt)))
    if diagnosis.changed:
        places = [
            words("{} ({})", Name(one.qualified_name), Name(f"{one.path}:{one.changed_line or one.first_line}"))
            for one in diagnosis.changed[:FUNCTIONS]
        ]
        count = len(diagnosis.changed) + diagnosis.more
        rest = Safe(f" and {count - len(places):,} more" if count > len(places) else "")
        changed = Safe(counted(count, "function"))
        commit = Commit(diagnosis.commit, repository_url)
        yield paragraph(words("{} changed {}: {}{}.", commit, changed, joined(", ", places), rest))


def _filled(names: Sequence[str], rows: Sequence[tuple[Said, ...]]) -> Table:
    """Without the last columns where no row has anything to say."""
    filled = max(place for row in rows for place, cell in enumerate(row, start=1) if cell)
    return _table(names[:filled], rows, lambda row: Row(row[:filled]))


def _counted(method: ComparedSuspect) -> tuple[Said, ...]:
    """A row begins with a number of ours: a name may look like a command of GitHub's runner."""
    before, after = amounts(method.baseline, method.target, method.unit, own=True)
    one_sided = "new" if method.baseline is None else "gone" if method.target is None else ""
    remarks: list[Said] = [Safe(one_sided)] if one_sided else []
    if len(method.path) > 1 and (one_sided or method.cause is not ChangeCause.TIME_PER_CALL):
        remarks.append(words("called by {}", Name(method.path[-2], 60)))
    if method.touched is not None:
        line = "" if method.touched.first_line is None else f":{method.touched.first_line}"
        remarks.append(words("changed in {}", Name(f"{method.touched.file}{line}")))
    numbers = map(Safe, (before, after, calls(method.baseline, method.target)))
    return Safe(percent(method.parts.own_time)), Name(method.method, 60), *numbers, joined("; ", remarks)


def _compared(comparison: TreeComparison) -> Iterator[Node]:
    suspects = shown_suspects(comparison)
    if suspects:
        yield paragraph(_first(suspects[0], comparison))
        names = suspects[0].path[-PATH_NAMES:]
        cut = Safe("… → " if len(names) < len(suspects[0].path) else "")
        yield paragraph(words("Call path: {}{}", cut, joined(" → ", (Name(name, 60) for name in names))))
        yield _table(_COMPARED, suspects[:SUSPECT_ROWS], _row)
        reasons = [
            words("why {}: {}", Name(one.method, 60), Safe(why(one))) for one in suspects[:SUSPECT_ROWS] if why(one)
        ]
        yield Bullets(items=reasons, total=len(reasons))
        service = pictured(comparison, suspects[0])
        if service is not None:
            summary = Safe("The call tree, compared with the parent's")
            yield Fold(summary=summary, parts=(Picture(markdown=call_tree_picture(comparison, service)),))
    for one in comparison.services[:SERVICES]:
        yield paragraph(words("Profiled with its parent: {}, {}.", Name(one.service, 60), answer(one)))
    if comparison.impacted:
        shares = (words("{} {}", Name(one.service), Safe(percent(one.share))) for one in comparison.impacted[:SERVICES])
        again = "Services to test again, with the share of their time in these methods: {}."
        yield paragraph(words(again, joined(", ", shares)))


def _first(suspect: ComparedSuspect, comparison: TreeComparison) -> Said:
    """Such as "`Parser.tokenize` takes 61% longer; this commit changed it.", only as sure as it is."""
    changed = "; this commit changed it" if suspect.touched is not None else ""
    sure = "" if comparison.answer is Answer.SLOWER else " (without certainty)"
    return words("The likely place: {} {}{}.", Name(suspect.method), Safe(effect(suspect)), Safe(changed + sure))


def _row(suspect: ComparedSuspect) -> Row:
    """As above: ours comes first."""
    sides = amounts(suspect.baseline, suspect.target, suspect.unit, own=True)
    first, *numbers = map(unbroken, (change(suspect), *sides, certainty(suspect)))
    return Row((first, Name(suspect.method, 60), *numbers))
