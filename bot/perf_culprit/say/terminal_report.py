"""The report for a terminal: verdict first, then tables."""

from collections.abc import Iterable, Iterator, Sequence

from perf_culprit.model.finding import Finding, Verdict
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.say import sections
from perf_culprit.say.charts import sparkline, strips
from perf_culprit.say.inert import SENTENCE_LIMIT, SHORT_HASH, plain
from perf_culprit.say.numbers import amount_text, percent, percent_at_least, quantities
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.report_tables import (
    MOST_BESIDE,
    NOTHING,
    certainty_text,
    change_text,
    not_called,
    outside,
    predicted,
    title,
    verdict,
)
from perf_culprit.say.sections import Sections, by_benchmark, counted, crossing, split, took
from perf_culprit.say.wording import comparison, headline, more_samples, next_step, surroundings_blocks

# The table of a terminal: a line per benchmark, name first and whole, and as many columns as fit.

# A line that starts with a foreign "::" would be a command to GitHub's runner, so no line starts with a name.
MARK = "• "
INDENT = " " * len(MARK)
RESET = "\x1b[0m"
BOLD = "\x1b[1m"
COLOURS = {Verdict.REGRESSION: "\x1b[31m", Verdict.IMPROVEMENT: "\x1b[36m", Verdict.INCONCLUSIVE: "\x1b[33m"}
RIGHT = frozenset({"before", "after", "change"})
ORDER = ("before", "after", "change", "interval", "", "certainty", "trend")
# Only where there is room, in the order in which they are worth it.
MORE = ("interval", "certainty", "trend")


def changed_table(
    findings: Sequence[Finding],
    *,
    names: Sequence[str],
    sides: Sequence[tuple[str, str]],
    states: Sequence[str],
    noun: str,
    width: int,
    colour: bool,
) -> str:
    """`names`, `sides` (before, after) and `states` of the findings, which are safe to print.

    Where even the needed columns leave a name no room, every name gets a line of its own.
    """
    rows = [_cells(*row) for row in zip(findings, sides, states, strict=True)]
    marked = [f"{INDENT}{noun}", *(f"{MARK}{name}" for name in names)]
    kept = [column for column in ORDER if column not in MORE]
    stacked = _width(_lines(rows, kept, first=marked)) > width
    first = [INDENT] * len(marked) if stacked else marked
    for more in MORE:
        columns = [column for column in ORDER if column in (*kept, more)]
        if any(row[more] for row in rows) and _width(_lines(rows, columns, first=first)) <= width:
            kept = columns
    header, *lines = _lines(rows, kept, first=first)
    if stacked:
        lines = [f"{name}\n{line}" for name, line in zip(marked[1:], lines, strict=True)]
    shades = [COLOURS.get(finding.verdict, "") if colour else "" for finding in findings]
    coloured = (f"{shade}{line}{RESET}" if shade else line for shade, line in zip(shades, lines, strict=True))
    return "\n".join([header, *coloured])


def _cells(finding: Finding, sides: tuple[str, str], state: str) -> dict[str, str]:
    change, interval = change_text(finding.evidence)
    return {
        "before": sides[0],
        "after": sides[1],
        "change": change,
        "interval": interval,
        "": state,
        "certainty": certainty_text(finding),
        "trend": sparkline(finding.series),
    }


def _width(lines: Sequence[str]) -> int:
    return max(map(len, lines))


def _lines(rows: Sequence[dict[str, str]], columns: Sequence[str], *, first: Sequence[str]) -> list[str]:
    """The header and a line per row; `first` is the column before the named ones."""
    cells = [list(columns), *([row[column] for column in columns] for row in rows)]
    right = [place for place, column in enumerate(columns, 1) if column in RIGHT]
    return sections.columns([[start, *row] for start, row in zip(first, cells, strict=True)], right=right)


# The report for a terminal: verdict first, then tables.

NAME_LIMIT = 300
LISTED_NAMES = 20
WARNED_NAMES = 3
DRAWN_FINDINGS = 5
FEWEST_DRAWN = 5
_UNIT_WIDTH = 12
_COLOURS = {
    Conclusion.REGRESSION: "\x1b[31m",
    Conclusion.OTHER_HARDWARE: "\x1b[33m",
    Conclusion.MACHINE_CHANGED: "\x1b[33m",
    Conclusion.INCONCLUSIVE: "\x1b[33m",
    Conclusion.IMPROVEMENT: "\x1b[36m",
    Conclusion.NO_CHANGE: "\x1b[32m",
    Conclusion.FIRST_RUN: "",
}


def render_text(report: Report, *, colour: bool, width: int) -> str:
    """A table fits `width`, and no name is cut for it. Foreign control characters never reach the terminal."""
    sections = split(report)
    words = headline(report, sections).text
    if report.suite != "default":
        words = f"{words} in {plain(report.suite)}"
    shown = f"{BOLD}{_COLOURS[report.conclusion]}{words}{RESET}" if colour else words
    blocks = [shown, _advice(report, sections)]
    if sections.changed:
        blocks.append(_table_of(sections.changed, sections, width=width, colour=colour))
        blocks += _samples_of(sections.changed, sections)
    blocks += surroundings_blocks(report)
    blocks += _predictions(report, width=width, colour=colour)
    if sections.accepted:
        blocks.append(f"{len(sections.accepted):,} accepted:\n{_accepted_list(sections)}")
    if sections.unjudged:
        blocks.append(f"Not judged:\n{_table_of(sections.unjudged, sections, width=width, colour=colour)}")
    if sections.undecided:
        needed = more_samples(sections)
        decide = f" ({counted(needed, 'more sample')} would decide)" if needed else ""
        blocks.append(f"{len(sections.undecided):,} undecided{decide}:\n{_reasons(sections.undecided, sections)}")
    if sections.untested:
        blocks.append(f"{len(sections.untested):,} not tested:\n{_reasons(sections.untested, sections)}")
    if sections.unchanged and (sections.changed or sections.unjudged):
        blocks.append(f"{len(sections.unchanged):,} unchanged")
    if left := not_called(sections):
        blocks.append(f"{title(sections, len(left))}:\n{_outside(left, sections)}")
    blocks += [
        f"{len(keys):,} {word}:\n"
        + _bullets((f"{plain(key.benchmark)} {plain(key.metric, limit=60)}" for key in keys), len(keys))
        for word, keys in (("missing", by_benchmark(report.missing)), ("new", by_benchmark(report.new)))
        if keys
    ]
    if report.notes:
        blocks.append(
            "Notes:\n"
            + _bullets((plain(sentence(note), limit=SENTENCE_LIMIT) for note in report.notes), len(report.notes))
        )
    blocks.append(_footer(report))
    return "\n\n".join(blocks) + "\n"


def _predictions(report: Report, *, width: int, colour: bool) -> Iterator[str]:
    for each in report.predictions:
        sections = predicted(report, each)
        name = f"{plain(each.model, limit=NAME_LIMIT)}, scenario {plain(each.scenario)}"
        yield f"Predicted by {name} (simulated, not measured): {verdict(each, sections)}"
        if sections.changed:
            yield _table_of(sections.changed, sections, width=width, colour=colour)


def _advice(report: Report, sections: Sections) -> str:
    step = next_step(report, sections)
    if step.subject is None:
        return f"{step.advice}{_weak(step.weakest, sections)}"
    # The word first: a line that starts with a foreign "::" would be a command to GitHub's runner.
    word = "Best" if step.subject.verdict is Verdict.IMPROVEMENT else "Worst"
    return f"{word}: {_name(step.subject, sections)} {step.effect}. {step.advice}"


def _weak(findings: Sequence[Finding], sections: Sections) -> str:
    if not findings:
        return ""
    named = [
        f"{_name(finding, sections)} (≥ {percent_at_least(finding.detectable_effect or 0.0)})"
        for finding in findings[:WARNED_NAMES]
    ]
    more = len(findings) - len(named)
    return f" Weakest: {', '.join(named)}{f' and {more:,} more' if more else ''}."


def _name(finding: Finding, sections: Sections, *, limit: int = 120) -> str:
    key = finding.evidence.key
    name = plain(key.benchmark, limit=limit)
    return f"{name} {plain(key.metric, limit=60)}" if sections.several_metrics else name


def _table_of(findings: Sequence[Finding], sections: Sections, *, width: int, colour: bool) -> str:
    return changed_table(
        findings,
        names=[_name(finding, sections, limit=NAME_LIMIT) for finding in findings],
        sides=[sides_text(finding) for finding in findings],
        states=[_state(finding, sections) for finding in findings],
        noun=sections.noun,
        width=width,
        colour=colour,
    )


def _samples_of(findings: Sequence[Finding], sections: Sections) -> list[str]:
    """Where both sides' samples lie, of the loudest changes; nothing where they are not known."""
    lines = []
    for finding in findings[:DRAWN_FINDINGS]:
        sides = (finding.chart.baseline_samples, finding.chart.target_samples)
        if min(map(len, sides)) < FEWEST_DRAWN or not (drawn := strips(sides)):
            continue
        ends = quantities((sides[0][0], sides[0][-1], sides[1][0], sides[1][-1]), finding.evidence.metric.unit)
        lines.append(f"{MARK}{_name(finding, sections, limit=NAME_LIMIT)}")
        for word, strip, low, high in zip(("before", "after "), drawn, ends[::2], ends[1::2], strict=True):
            lowest = "" if low == high else f"{low.number} … "
            lines.append(f"{INDENT}{word} ▕{strip}▏ {lowest}{amount_text(high, limit=_UNIT_WIDTH)}")
    return ["\n".join(["Samples, from the least to the largest of both sides:", *lines])] if lines else []


def _state(finding: Finding, sections: Sections) -> str:
    if finding.verdict is Verdict.INCONCLUSIVE:
        return "no verdict"
    words = comparison(finding)
    if crossed := crossing(finding):
        was, now = (plain(category, limit=20) for category in crossed)
        words = f"{words}, left {was} (now {now})"
    for other in sections.beside.get(finding.evidence.key, ())[:MOST_BESIDE]:
        words += f"; {plain(other.evidence.key.metric, limit=40)} {change_text(other.evidence)[0]}"
    return words


def sides_text(finding: Finding) -> tuple[str, str]:
    """Before and after, in one unit, for a terminal or a page."""
    evidence = finding.evidence
    sides = (evidence.baseline, evidence.target)
    levels = tuple(side.value for side in sides if side is not None)
    shown = iter(quantities(levels, evidence.metric.unit))
    before, after = (
        NOTHING if quantity is None else amount_text(quantity, limit=_UNIT_WIDTH)
        for quantity in (None if side is None else next(shown) for side in sides)
    )
    return before, after


def _accepted_list(sections: Sections) -> str:
    lines = (
        f"{_name(finding, sections)} {change_text(finding.evidence)[0]}, by {plain(acceptance.author, limit=60)} "
        f"at {plain(acceptance.commit)[:SHORT_HASH]}: {plain(acceptance.reason, limit=SENTENCE_LIMIT)}"
        for finding in sections.accepted
        if (acceptance := finding.accepted) is not None
    )
    return _bullets(lines, len(sections.accepted))


def _outside(findings: Sequence[Finding], sections: Sections) -> str:
    lines = []
    for finding in findings[:LISTED_NAMES]:
        (ratio, limit), (before, after) = outside(finding), sides_text(finding)
        lines.append(f"{_name(finding, sections)}: {ratio} of samples outside, limit {limit} ({before} → {after})")
    return _bullets(lines, len(findings))


def _reasons(findings: Sequence[Finding], sections: Sections) -> str:
    """Each reason once, with the benchmarks that have it."""
    # Worded once and not for each of a million.
    words: dict[tuple[object, ...], str] = {}
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        reason = (finding.reason.code, *finding.reason.arguments.items())
        if reason not in words:
            words[reason] = plain(sentence(finding.reason), limit=SENTENCE_LIMIT)
        grouped.setdefault(words[reason], []).append(finding)
    if len(grouped) == len(findings):
        alone = (f"{_measured(finding, sections)}: {reason}" for reason, (finding,) in grouped.items())
        return _bullets(alone, len(findings))
    return "\n".join(
        f"{reason}:\n{_bullets((_measured(finding, sections) for finding in whose), len(whose))}"
        for reason, whose in grouped.items()
    )


def _measured(finding: Finding, sections: Sections) -> str:
    """What no test stands behind is shown all the same."""
    name, (change, _) = _name(finding, sections), change_text(finding.evidence)
    before, after = sides_text(finding)
    if NOTHING in {before, after}:
        return name
    return f"{name} ({before} → {after})" if change == NOTHING else f"{name} ({before} → {after}, {change})"


def _bullets(lines: Iterable[str], total: int) -> str:
    shown = [f"- {line}" for line, _ in zip(lines, range(LISTED_NAMES), strict=False)]
    more = total - len(shown)
    return "\n".join([*shown, f"and {more:,} more: see report.json"] if more else shown)


def _footer(report: Report) -> str:
    settings = report.settings
    ends = [
        f"{end} {plain(name)[:SHORT_HASH]}"
        for end, name in (
            ("base", report.base_commit),
            ("head", report.target_commit),
            ("measured as merge", report.merge_commit),
        )
        if name
    ]
    return ", ".join(
        [
            *ends,
            *([words] if (words := took(report.cost)) else []),
            f"detector {plain(settings.detector, limit=40)}",
            f"false discovery rate {percent(settings.false_discovery_rate)}",
            f"minimum effect {percent(settings.minimum_effect)}",
        ]
    )
