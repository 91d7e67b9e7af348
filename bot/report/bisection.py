"""A bisection's answer for a terminal and for a comment: who, how sure, how much, and what was seen."""

from collections.abc import Iterable, Sequence
from itertools import islice
from math import expm1
from typing import Final, TypeVar

from bot.model.bisection import Culprit, Noise, OutcomeKind, Suspect
from bot.model.bisection_report import BisectionReport, MeasuredCommit
from bot.report.inert import (
    NAME_LIMIT,
    SENTENCE_LIMIT,
    SHORT_HASH,
    Safe,
    clean,
    code,
    commit,
    join,
    ours,
    own,
    prose,
    row,
)
from bot.report.numbers import MINUS, percent, percent_interval, significant
from bot.report.words import counted

T = TypeVar("T")
PLOT_WIDTH: Final = 31
MOST_ROWS: Final = 60
SUBJECT_LIMIT: Final = 120
COMMAND_LIMIT: Final = 2000

HEADLINES: Final = {
    OutcomeKind.CULPRIT: "Found the commit",
    OutcomeKind.SEVERAL_CULPRITS: "Several commits introduced the change",
    OutcomeKind.SUSPECT_SET: "One of several commits introduced the change",
    OutcomeKind.DECAY: "A slow decay: many commits, none of them alone",
    OutcomeKind.NOT_REPRODUCED: "The change was not reproduced",
    OutcomeKind.INCONCLUSIVE: "Inconclusive: more executions are needed",
    OutcomeKind.FIXED_ON_GOOD_SIDE: "Nothing got worse: the good side got better",
    OutcomeKind.BUDGET_SPENT: "Stopped before the answer was sure: the budget is spent",
    OutcomeKind.UNMEASURABLE: "An end of the range cannot be measured",
}


def bisection_text(report: BisectionReport) -> str:
    """For a terminal; foreign control characters never reach it."""
    outcome = report.outcome
    benchmark = f"Benchmark: {_plain(report.key.benchmark)}, {_plain(report.key.metric)}."
    said = [_plain(outcome.reason, limit=SENTENCE_LIMIT), benchmark, *_facts(report)]
    culprit = _one_culprit(report)
    blocks = [headline(report), "\n".join(said)]
    if culprit is not None:
        about = (_plain(line, limit=SENTENCE_LIMIT) for line in _about(report, culprit))
        blocks[0] = "\n".join([blocks[0], *(f"  {line}" for line in about)])
    elif outcome.culprits:
        blocks.append("\n".join(_culprit_line(report, culprit) for culprit in outcome.culprits))
    if outcome.suspects:
        blocks.append("Suspects:\n" + "\n".join(_suspect_line(report, entry) for entry in _cut(outcome.suspects)))
    if outcome.decay:
        blocks.append(
            "Parts:\n"
            + "\n".join(
                f"  {_short(part.after)}..{_short(part.until)}  {percent(part.relative_change, signed=True)}"
                f"  {percent(part.share)} of the change"
                for part in _cut(outcome.decay)
            )
        )
    if report.measured:
        blocks.append("Measured, against the good commit:\n" + plot(report.measured))
    if outcome.skipped:
        blocks.append(
            "Skipped:\n"
            + "\n".join(
                f"  {_short(commit)}  {_plain(why, limit=SENTENCE_LIMIT)}"
                for commit, why in _cut(outcome.skipped.items())
            )
        )
    if outcome.notes:
        blocks.append("Notes:\n" + "\n".join(f"  {_plain(note, limit=SENTENCE_LIMIT)}" for note in outcome.notes))
    blocks.append(_cost(report))
    blocks.append(f"Again: {_plain(report.command, limit=COMMAND_LIMIT)}")
    return "\n\n".join(blocks) + "\n"


def headline(report: BisectionReport) -> str:
    """One line without Markdown: the commit where there is one, else what became of the search."""
    culprit = _one_culprit(report)
    return HEADLINES[report.outcome.kind] if culprit is None else f"{_short(culprit.commit)} {_introduced(culprit)}"


def _one_culprit(report: BisectionReport) -> Culprit | None:
    """The commit that the first line names."""
    outcome = report.outcome
    return outcome.culprits[0] if outcome.kind is OutcomeKind.CULPRIT and outcome.culprits else None


def _introduced(culprit: Culprit) -> str:
    what = "improvement" if culprit.improvement else "regression"
    interval = culprit.confidence_interval
    change = percent(culprit.relative_change, signed=True)
    return f"introduced the {what}: {change} {percent_interval(interval.low, interval.high)}"


def _about(report: BisectionReport, culprit: Culprit) -> Iterable[str]:
    """A named commit as its reader knows it: subject, author, date, size, web page, and how sure the name is."""
    subject = report.subjects.get(culprit.commit)
    if subject:
        yield f'"{subject}"'  # never a line of its own: it may look like a command of GitHub's runner
    facts = report.facts.get(culprit.commit)
    if facts is not None:
        lines = f"+{facts.insertions:,} {MINUS}{facts.deletions:,} lines in {counted(facts.files, 'file')}"
        yield f"{facts.author}, {facts.date[:10]}; {lines}"
    if report.repository_url is not None:
        yield f"{report.repository_url}/commit/{culprit.commit}"
    if culprit.posterior is not None:
        yield f"posterior {_sure(culprit.posterior)}, confirmed against its parent"


def _sure(posterior: float) -> str:
    """Never certain: the model itself may be wrong."""
    return "over 99.9 %" if posterior > 0.999 else percent(posterior)


def bisection_markdown(report: BisectionReport) -> str:
    """For a comment or a job summary. Subjects, reasons and commands are foreign text."""
    outcome = report.outcome
    benchmark = own("Benchmark: {}, {}.", code(report.key.benchmark), code(report.key.metric))
    said = [prose(outcome.reason), benchmark, *(ours(fact) for fact in _facts(report))]
    culprit = _one_culprit(report)
    first = Safe(HEADLINES[outcome.kind])
    if culprit is not None:
        name = commit(culprit.commit, repository_url=report.repository_url)
        first = own("{} {}", name, ours(_introduced(culprit)))
    blocks = [own("### {}", first), join("\n", said)]
    if outcome.culprits:
        head = [
            Safe("| commit | change | interval | posterior | subject | author | date |"),
            Safe("|---|---:|---|---:|---|---|---|"),
        ]
        blocks.append(join("\n", [*head, *(_culprit_row(report, culprit) for culprit in outcome.culprits)]))
    if outcome.suspects:
        head = [Safe("| suspect | posterior | subject |"), Safe("|---|---:|---|")]
        rows = (
            row([code(_short(entry.commit)), Safe(percent(entry.posterior)), _subject(report, entry.commit)])
            for entry in _cut(outcome.suspects)
        )
        blocks.append(join("\n", [*head, *rows]))
    if outcome.decay:
        head = [Safe("| after | until | change | share |"), Safe("|---|---|---:|---:|")]
        rows = (
            row(
                [
                    code(_short(part.after)),
                    code(_short(part.until)),
                    Safe(percent(part.relative_change, signed=True)),
                    Safe(percent(part.share)),
                ]
            )
            for part in _cut(outcome.decay)
        )
        blocks.append(join("\n", [*head, *rows]))
    if report.measured:
        blocks.append(own("Measured, against the good commit:\n\n```text\n{}\n```", Safe(plot(report.measured))))
    if outcome.skipped:
        skipped = (own("- {} {}", code(_short(name)), prose(why)) for name, why in _cut(outcome.skipped.items()))
        blocks.append(own("Skipped:\n\n{}", join("\n", skipped)))
    if outcome.notes:
        blocks.append(own("Notes:\n\n{}", join("\n", (own("- {}", prose(note)) for note in outcome.notes))))
    blocks.append(ours(_cost(report)))
    blocks.append(own("Again: {}", code(report.command, limit=COMMAND_LIMIT)))
    return "\n\n".join(blocks) + "\n"


def plot(measured: Sequence[MeasuredCommit], *, width: int = PLOT_WIDTH) -> str:
    """One line per commit: its mean as a dot on its interval, the good commit's level as an axis. Only our own text."""
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
    return "\n".join(lines)


def _facts(report: BisectionReport) -> Iterable[str]:
    """Sentences of numbers."""
    outcome = report.outcome
    if outcome.relative_change is not None:
        interval = outcome.confidence_interval
        bounds = f" {percent_interval(interval.low, interval.high)}" if interval else ""
        yield f"Bad against good: {percent(outcome.relative_change, signed=True)}{bounds}."
    if outcome.visible_effect is not None:
        yield f"A change of {percent(outcome.visible_effect)} would have been seen."
    if outcome.noise is not None:
        yield _noise(outcome.noise)


def _noise(noise: Noise) -> str:
    parts = [f"Noise of one execution: {percent(expm1(noise.standard_deviation))}"]
    if noise.autocorrelation is not None:
        parts.append(f"autocorrelation from one to the next {significant(noise.autocorrelation)}")
    if noise.mode_ratio is not None and noise.slow_share is not None:
        parts.append(
            f"the machine has two states, a factor of {significant(noise.mode_ratio)} apart, "
            f"the slow one {percent(noise.slow_share)} of the time"
        )
    return "; ".join(parts) + "."


def _cost(report: BisectionReport) -> str:
    outcome = report.outcome
    return (
        f"{counted(outcome.executions, 'execution')} in {counted(outcome.rounds, 'round')}; "
        f"{counted(len(report.commit_range.commits), 'candidate')}, "
        f"{counted(len(report.measured), 'commit')} measured; "
        f"engine {report.settings.engine}, seed {report.settings.seed}."
    )


def _culprit_line(report: BisectionReport, culprit: Culprit) -> str:
    change = percent(culprit.relative_change, signed=True)
    bounds = percent_interval(culprit.confidence_interval.low, culprit.confidence_interval.high)
    sure = "" if culprit.posterior is None else f"  posterior {_sure(culprit.posterior)}"
    better = "  (an improvement)" if culprit.improvement else ""
    return f"  {_short(culprit.commit)}  {change} {bounds}{sure}{better}  {_plain_subject(report, culprit.commit)}"


def _culprit_row(report: BisectionReport, culprit: Culprit) -> Safe:
    bounds = percent_interval(culprit.confidence_interval.low, culprit.confidence_interval.high)
    facts = report.facts.get(culprit.commit)
    return row(
        [
            commit(culprit.commit, repository_url=report.repository_url),
            Safe(percent(culprit.relative_change, signed=True) + (" (improvement)" if culprit.improvement else "")),
            Safe(bounds),
            Safe("" if culprit.posterior is None else _sure(culprit.posterior)),
            _subject(report, culprit.commit),
            Safe("") if facts is None else code(facts.author),
            Safe("") if facts is None else code(facts.date[:10]),
        ]
    )


def _suspect_line(report: BisectionReport, suspect: Suspect) -> str:
    why = f"  (skipped: {_plain(suspect.skipped)})" if suspect.skipped else ""
    posterior = percent(suspect.posterior)
    return f"  {_short(suspect.commit)}  {posterior:>7}  {_plain_subject(report, suspect.commit)}{why}"


def _subject(report: BisectionReport, commit: str) -> Safe:
    subject = report.subjects.get(commit)
    return code(subject, limit=SUBJECT_LIMIT) if subject else Safe("")


def _plain_subject(report: BisectionReport, commit: str) -> str:
    subject = report.subjects.get(commit)
    return _plain(subject, limit=SUBJECT_LIMIT) if subject else ""


def _plain(foreign: str, *, limit: int = NAME_LIMIT) -> str:
    """Foreign text for a line; `##[` anywhere in a line is a command to GitHub's runner."""
    return clean(foreign, limit=limit).replace("##[", "## [")


def _short(commit: str) -> str:
    return clean(commit)[:SHORT_HASH]


def _cut(entries: Iterable[T]) -> list[T]:
    return list(islice(entries, MOST_ROWS))
