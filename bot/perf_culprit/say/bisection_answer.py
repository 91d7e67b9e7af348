"""A bisection's answer: the culprit, its certainty, its change, and the measurements."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeVar

from perf_culprit.model.bisection import (
    NEGLIGIBLE,
    BisectionReport,
    Culprit,
    DecayPart,
    ExecutedCode,
    MeasuredCommit,
    OutcomeKind,
    Suspect,
)
from perf_culprit.model.count import COMMAND_BENCHMARK, FAILURES, Count
from perf_culprit.model.run import FULL_HASH, PACKAGE_SEPARATOR, TIME, MetricKey
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say import bisection_words as phrases
from perf_culprit.say.call_trees import culprit_nodes
from perf_culprit.say.document import (
    Address,
    Bullets,
    CommitLink,
    DocumentNode,
    Figure,
    Fold,
    Heading,
    Name,
    Prose,
    Sign,
    Table,
    Text,
    Tone,
    Toned,
    grid,
    join_texts,
    paragraph,
    some,
    words,
)
from perf_culprit.say.inert import SHORT_HASH, Safe, clean, plain
from perf_culprit.say.numbers import MINUS, count_of, percent
from perf_culprit.say.reason_text import change_words, worded
from perf_culprit.say.render_markdown import markdown_text
from perf_culprit.say.render_terminal import log_text

_T = TypeVar("_T")
PLAIN_NUMBERS: Final = MetricKey("result", "value")  # numbers without a name
_PLOT_WIDTH: Final = 31
MEASURED: Final = ("Measured, against the good commit:", "Measured rates of failures:")
BY_WORSE: Final = (Tone.BETTER, Tone.WORSE)


def bisection_text(report: BisectionReport, *, colour: bool = False, verbose: bool = False) -> str:
    """Render the report for a terminal, without foreign control characters. `verbose` adds posteriors."""
    evidence = [*map(Safe, phrases.evidence_sentences(report.outcome))] if verbose else []
    more = (Bullets(items=evidence, total=len(evidence), title=Safe("Evidence")),) if evidence else ()
    nodes = (*bisection_nodes(report), *more, *revert_or_accept(report))
    return log_text(*nodes, colour=colour, more_at="")


def bisection_markdown(report: BisectionReport) -> str:
    """Render the report for a comment or a job summary. Subjects, failures and commands are foreign text."""
    return markdown_text(*bisection_nodes(report), *revert_or_accept(report))


def revert_or_accept(report: BisectionReport, accept: Sequence[Safe] = ()) -> tuple[Figure, ...]:
    """Return the next step after a named regression. `accept`: lines for a comment; otherwise, for a shell."""
    named = [
        culprit.commit
        for culprit in report.outcome.culprits
        if not culprit.improvement and FULL_HASH.fullmatch(culprit.commit)
    ]
    if not named:
        return ()
    lines = [Safe(f"git revert {commit}") for commit in named]
    if report.settings.of_failures:
        return (Figure(title=Safe("Next: fix it or revert it:"), lines=tuple(lines)),)
    lines += accept or [Safe(f"perf-culprit accept --all --commit {named[0]} --reason REASON")]
    return (Figure(title=Safe("Next: fix it, revert it, or accept the new baseline:"), lines=tuple(lines)),)


def commit_pages(report: BisectionReport) -> dict[str, str]:
    """Map the measured commits' names in the text to their web pages. Empty if no host shows them."""
    url = report.repository_url
    commits = () if url is None else (commit.commit for commit in report.measured)
    return {
        _short(commit): plain(f"{url}/commit/{commit}", limit=TEXT_LIMITS.sentence_characters) for commit in commits
    }


def answer_headline(report: BisectionReport) -> str:
    """Return one line without Markdown: the culprit if there is one, else the outcome of the search."""
    culprit, suspects = _one_culprit(report), report.outcome.suspects
    if culprit is not None:
        return f"{_short(culprit.commit)} {phrases.introduced(culprit)}"
    if report.outcome.kind is OutcomeKind.SEVERAL_CULPRITS and report.outcome.culprits:
        largest = max(report.outcome.culprits, key=lambda culprit: abs(culprit.relative_change))
        number, what = len(report.outcome.culprits), phrases.introduced(largest)
        return f"{number} commits introduced the change; the largest, {_short(largest.commit)}, {what}"
    if report.outcome.kind is OutcomeKind.SUSPECT_SET and len(suspects) > 1:
        likeliest = max(suspects, key=lambda suspect: suspect.posterior)
        return f"One of {len(suspects)} commits introduced the change, most likely {_short(likeliest.commit)}"
    if (other := phrases.other_way(report)) is not None:
        return f"Nothing got {report.settings.sought}: the bad end is {other}"
    return phrases.beside_headline(report) or phrases.HEADLINES[report.outcome.kind]


def _tone(report: BisectionReport) -> Tone:
    """Return the tone of the outcome, the same as for a comparison with this change."""
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
    """Return the commit that the first line names."""
    outcome = report.outcome
    return outcome.culprits[0] if outcome.kind is OutcomeKind.CULPRIT and outcome.culprits else None


def bisection_nodes(report: BisectionReport) -> Iterator[DocumentNode]:
    outcome, one = report.outcome, _one_culprit(report)
    first = Safe(answer_headline(report)) if one is None else _culprit_text(report, one)
    yield Heading(text=first, tone=_tone(report), below=() if one is None else tuple(_about(report, one)))
    of_packages = [note for note in outcome.notes if note.code in phrases.OF_PACKAGES]
    if of_packages:
        yield paragraph(words("Packages: {}.", join_texts("; ", [*map(worded, of_packages)])))
    elif one is not None and (command := _search_of_packages(report, one)):
        yield paragraph(words("Which package it is: {}", Name(command, TEXT_LIMITS.command_characters)))
    yield from _reason(report)
    if one is None and outcome.culprits:
        items = [
            Toned(join_texts("; ", [_culprit_text(report, each), *_about(report, each)]), _own_tone(each))
            for each in outcome.culprits
        ]
        yield Bullets(items=items, total=len(items))
    if report.diagnosis is not None:
        yield from culprit_nodes(report.diagnosis, repository_url=report.repository_url)
    yield from _candidates(report)
    if report.measured:
        yield Figure(title=Safe(MEASURED[report.settings.of_failures]), lines=tuple(_plot(report)))
    if outcome.skipped:
        skipped = [
            words("{} {}", CommitLink(name, report.repository_url), Prose(why))
            for name, why in _without_middle(outcome.skipped.items())
        ]
        summary = Safe(f"{count_of(len(outcome.skipped), 'commit')} skipped")
        yield Fold(summary=summary, parts=(Bullets(items=skipped, total=len(outcome.skipped)),))
    if notes := [worded(note) for note in outcome.notes if note.code not in phrases.OF_PACKAGES]:
        yield Bullets(items=notes, total=len(notes), title=Safe("Notes"))
    yield paragraph(Safe(phrases.cost_of(report)))
    yield paragraph(words("Again: {}", Name(report.command, TEXT_LIMITS.command_characters)))


def _reason(report: BisectionReport) -> Iterator[DocumentNode]:
    outcome, reason = report.outcome, Safe(phrases.reason_of(report))
    facts: list[Text] = [words("Benchmark: {}.", _metric_text(report.key)), *map(Safe, phrases.facts_of(report))]
    if (outcome.unresolved or 0.0) > NEGLIGIBLE and outcome.unresolved_part is not None:
        good, bad = outcome.unresolved_part
        command = _ENDS.sub(lambda _: f"--good {good} --bad {bad}", report.command, count=1)
        search = words("To search there: {}", Name(command, TEXT_LIMITS.command_characters))
        yield Fold(summary=reason, parts=(paragraph(search),))
        yield paragraph(*facts)
    else:
        yield paragraph(reason, *facts)


SEARCHED: Final = tuple(f"{kind}{PACKAGE_SEPARATOR}" for kind in ("pip", "npm"))  # whose lock files we take apart
_ENDS: Final = re.compile(r"--good \S+ --bad \S+")  # of a command
OF_COMMAND: Final = {FAILURES: "rate of failures", Count.CPU_TIME: "processor time", TIME: "time by the clock"}


def _metric_text(key: MetricKey) -> Text:
    """Return the followed metric in words, where its names are ours."""
    if key == PLAIN_NUMBERS:
        return Safe("the number that the command prints")
    if key.benchmark == COMMAND_BENCHMARK:
        return words("the command's {}", Name(OF_COMMAND.get(key.metric, key.metric)))
    return words("{}, {}", Name(key.benchmark), Name(key.metric))


def _culprit_text(report: BisectionReport, culprit: Culprit) -> Text:
    """Return the commit, its subject, author and date, and its effect."""
    parts: list[Text] = [CommitLink(culprit.commit, report.repository_url)]
    if subject := report.subjects.get(culprit.commit):
        # Quoted in a terminal, where a line may look like a command to GitHub's runner.
        quote = Sign(terminal='"')
        parts.append(words("{}{}{}", quote, Name(subject, TEXT_LIMITS.subject_characters), quote))
    if (facts := report.facts.get(culprit.commit)) is not None:
        parts.append(words("by {}, {},", Name(facts.author), Name(facts.date[:10])))
    return join_texts(" ", [*parts, Safe(phrases.introduced(culprit))])


def _about(report: BisectionReport, culprit: Culprit) -> Iterator[Text]:
    """Yield what the commit changed, the certainty of its name, and for a terminal the address of its page."""
    facts, notes = report.facts.get(culprit.commit), []
    if facts is not None:
        notes.append(f"+{facts.insertions:,} {MINUS}{facts.deletions:,} lines in {count_of(facts.files, 'file')}")
    if (certainty := phrases.name_certainty(culprit)) is not None:
        notes.append(certainty)
    if notes:
        yield Safe("; ".join(notes))
    if updates := report.updates.get(culprit.commit):
        yield words(
            "a dependency update: {}",
            some(
                [Name(change_words(update.name, update.before, update.after)) for update in updates],
                TEXT_LIMITS.search_updates,
            ),
        )
    if code := report.executed.get(culprit.commit):
        yield words("touches {}, which the benchmark runs", some([*map(_code, code)], TEXT_LIMITS.search_functions))
    if report.repository_url is not None:
        yield Address(f"{report.repository_url}/commit/{culprit.commit}")


def _search_of_packages(report: BisectionReport, culprit: Culprit) -> str | None:
    """Return the command that searches the packages of an update: other machines measure only the range's commits."""
    can_split = sum(one.name.startswith(SEARCHED) for one in report.updates.get(culprit.commit, ()))
    if can_split < 2 or " --build " not in report.command:
        return None
    ends = f"--good {culprit.commit}^ --bad {culprit.commit}"
    return _ENDS.sub(lambda _: ends, report.command, count=1)


def _code(code: ExecutedCode) -> Text:
    return words("{} ({})", Name(code.function), Name(code.path)) if code.function else Name(code.path)


def _candidates(report: BisectionReport) -> Iterator[Table]:
    url, suspects = report.repository_url, report.outcome.suspects
    skipped, commits = any(suspect.skipped for suspect in suspects), {commit.commit for commit in report.measured}

    def what_happened(suspect: Suspect) -> str:
        return "does not run" if suspect.skipped else "yes" if suspect.commit in commits else "not tried"

    def suspect(entry: Suspect) -> tuple[Text, ...]:
        subject = report.subjects.get(entry.commit)
        subject_text = Name(subject, TEXT_LIMITS.suspect_characters) if subject else Safe("")
        was = (Safe(what_happened(entry)),) if skipped else ()
        return (CommitLink(entry.commit, url), Safe(percent(entry.posterior)), *was, subject_text)

    def part(entry: DecayPart) -> tuple[Text, ...]:
        change, share = Safe(percent(entry.relative_change, signed=True)), Safe(percent(entry.share))
        return CommitLink(entry.after, url), CommitLink(entry.until, url), change, share

    if suspects:
        names = ("suspect", "chance", *(("measured",) if skipped else ()), "subject")
        yield grid(names, [*map(suspect, _without_middle(suspects))])
    if report.outcome.decay:
        yield grid(("after", "until", "change", "share"), [*map(part, _without_middle(report.outcome.decay))])


def _plot(report: BisectionReport) -> Iterator[Text]:
    """Yield the plot's lines, with those of the named commits emphasized."""
    named = {culprit.commit: _own_tone(culprit) for culprit in report.outcome.culprits}
    for entry, line in zip(_without_middle(report.measured), plot_commits(report.measured), strict=True):
        yield Toned(Safe(line), named[entry.commit]) if entry.commit in named else Safe(line)


def plot_commits(commits_with_values: Sequence[MeasuredCommit]) -> list[str]:
    """Draw a line per commit: a dot for its mean, its interval, and an axis at the good level. No foreign text."""
    commits = _without_middle(commits_with_values)
    ends = [0.0]
    for entry in commits:
        interval = entry.confidence_interval
        ends += [] if entry.shown is None else [entry.shown]
        # Cut a wide interval at the edge, so that it does not squeeze the others.
        ends += [] if interval is None or interval.high - interval.low > 1 else [interval.low, interval.high]
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0

    def column(value: float) -> int:
        return round(min(max((value - low) / span, 0.0), 1.0) * (_PLOT_WIDTH - 1))

    lines = []
    for entry in commits:
        cells = [" "] * _PLOT_WIDTH
        if entry.confidence_interval is not None:
            first, last = column(entry.confidence_interval.low), column(entry.confidence_interval.high)
            cells[first : last + 1] = "─" * (last + 1 - first)
        cells[column(0.0)] = "│"
        change = "no number"
        if entry.shown is not None:
            cells[column(entry.shown)] = "●"
            change = percent(entry.shown, signed=entry.failed is None)
        lines.append(f"  {_short(entry.commit)}  {''.join(cells)}  {change:>9}  {counts_of(entry)}")
    return lines


def counts_of(commit: MeasuredCommit) -> str:
    return f"n = {commit.executions}" if commit.failed is None else f"fails in {commit.failed} of {commit.ran}"


def _short(name: str) -> Safe:
    return Safe(clean(name)[:SHORT_HASH])


def _without_middle(entries: Iterable[_T]) -> list[_T]:
    return list(islice(entries, TEXT_LIMITS.search_rows))
