"""Findings as tables: a row's cells, what changed, what did not, what is out of control."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from os.path import commonprefix
from typing import Final

from msgspec import structs

from perf_culprit.model.detectors import Scale
from perf_culprit.model.finding import (
    CALLED_VERDICTS,
    Acceptance,
    Accepted,
    Evidence,
    Finding,
    Level,
    Severity,
    Side,
    TradedChange,
    Verdict,
)
from perf_culprit.model.reason import BY_CATEGORY, VerdictReason
from perf_culprit.model.report import BudgetCheck, BudgetState, GroupMean
from perf_culprit.model.run import MetricKey
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say import numbers
from perf_culprit.say.certainty_words import PROVEN_WORD, SUSPECTED_WORD, UNDECIDED, VERDICT_WORDS, WOULD_SUSPECT
from perf_culprit.say.charts import sparkline
from perf_culprit.say.document import (
    NOTHING,
    BlockText,
    Column,
    ColumnRole,
    CommitLink,
    Document,
    Emphasis,
    Heading,
    Name,
    Prose,
    Shown,
    Sign,
    Strong,
    Table,
    TableRow,
    Text,
    Tone,
    join_texts,
    paragraph,
    table,
    words,
)
from perf_culprit.say.headlines import MANIFOLD, comparison, is_better
from perf_culprit.say.inert import NO_BREAK, Safe, unbroken
from perf_culprit.say.numbers import count_of
from perf_culprit.say.reason_text import worded
from perf_culprit.say.sections import Sections, crossing, leaves_limits, left_what

TONES: Final = {
    Verdict.REGRESSION: Tone.WORSE,
    Verdict.IMPROVEMENT: Tone.BETTER,
    Verdict.SUSPECTED: Tone.UNSURE,
    Verdict.DIFFERS: Tone.UNSURE,
    Verdict.UNTESTED: Tone.UNSURE,
    Verdict.NOT_SEEN: Tone.PLAIN,
    Verdict.UNCHANGED: Tone.PLAIN,
}


def metric_name(key: MetricKey, *, with_metric: bool) -> Text:
    name = Name(key.benchmark)
    return words("{} · {}", name, Prose(key.metric, TEXT_LIMITS.metric_characters)) if with_metric else name


def accepted_by(accepted: Accepted | Acceptance, *, repository_url: str | None) -> Text:
    commit = CommitLink(accepted.commit, repository_url)
    return words("by {} at {}: {}", Name(accepted.author, 60), commit, Prose(accepted.reason))


_GAIN: Final = re.compile(r"\bbecause\s+(.+)", re.IGNORECASE)
_TRADE: Final = (
    Column(name="accepted", role=ColumnRole.NAME),
    Column(name="cost", role=ColumnRole.WORDS),
    Column(name="gained", role=ColumnRole.WORDS),
    Column(name="why", role=ColumnRole.WORDS),
)


def gain_words(entry: Acceptance) -> str:
    """Return the gain that the reason names: the words after "because"."""
    match = _GAIN.search(entry.reason)
    return match[1] if match else ""


def accepted_document(entries: Sequence[Acceptance]) -> Document:
    """Show each trade with its cost and its gain."""

    def row(entry: Acceptance) -> TableRow:
        name = Name(entry.benchmark) if entry.benchmark else Safe("all that got worse")
        text = gain_words(entry)
        gained = [*([Prose(text, TEXT_LIMITS.sentence_characters)] if text else []), *_trades(entry, is_better=True)]
        cost, gain = (join_texts(", ", side) if side else NOTHING for side in (_trades(entry, is_better=False), gained))
        why = _GAIN.sub("", entry.reason).strip() or entry.reason
        return TableRow((name, cost, gain, accepted_by(structs.replace(entry, reason=why), repository_url=None)))

    if not entries:
        return Document(nodes=(paragraph(Safe("Nothing was accepted.")),))
    return Document(nodes=(table(_TRADE, entries, row, shown=Shown.TABLE),))


def _trades(entry: Acceptance, *, is_better: bool) -> list[Text]:
    return [_trade(one, entry) for one in entry.changes or () if one.is_better is is_better]


def _trade(one: TradedChange, entry: Acceptance) -> Text:
    name: Text = Prose(one.metric, TEXT_LIMITS.metric_characters)
    if one.benchmark != entry.benchmark:
        name = metric_name(MetricKey(one.benchmark, one.metric), with_metric=True)
    before, after = map(numbers.amount, numbers.quantities((one.before, one.after), one.unit))
    change = f" ({numbers.percent(one.after / one.before - 1, signed=True)})" if one.before else ""
    return words("{} {} → {}{}", name, before, after, Safe(change))


_VERIFIED: Final = (
    Column(name="metric", role=ColumnRole.NAME),
    Column(name="culprit", right=True),
    Column(name="left of it", right=True),
    Column(name="answer", role=ColumnRole.WORDS),
)


def verified_document(rows: Sequence[tuple[Finding, Finding, str]], *, answer: str) -> Document:
    """Show each metric's change by the culprit, the rest of it with the fix, and our own word for the answer."""

    def row(entry: tuple[Finding, Finding, str]) -> TableRow:
        culprit, rest, remark = entry
        changes = (words("{} {}", Safe(number), Safe(bounds)) for number, bounds in map(change_text, (culprit, rest)))
        return TableRow((metric_name(culprit.key, with_metric=True), *changes, Safe(remark)))

    heading = Heading(
        text=Safe(f"{answer.capitalize()}: {count_of(len(rows), 'metric')} that the culprit made worse"),
        tone=Tone.PLAIN,
    )
    return Document(nodes=(heading, table(_VERIFIED, rows, row, shown=Shown.TABLE)))


def _levels(evidence: Evidence) -> Text:
    """Return both sides on one line, in one unit that stands once."""
    if evidence.baseline is None or evidence.target is None:
        return join_texts(" → ", before_and_after(evidence))
    before, after = numbers.quantities((evidence.baseline.value, evidence.target.value), evidence.metric.unit)
    return words(f"{{}}{NO_BREAK}→{NO_BREAK}{{}}", Safe(before.number), numbers.amount(after))


def before_and_after(evidence: Evidence) -> tuple[Text, Text]:
    """Return both sides in one unit; with one run a side, also the 95% intervals that the samples give them."""
    sides = (evidence.baseline, evidence.target)
    is_lone = all(side is not None and side.runs == 1 for side in sides)
    quantities = iter(numbers.quantities(tuple(side.value for side in sides if side is not None), evidence.metric.unit))
    before, after = (NOTHING if side is None else _amount(next(quantities), side, is_lone=is_lone) for side in sides)
    return before, after


def _amount(quantity: numbers.Quantity, side: Side, *, is_lone: bool) -> Text:
    amount, width = numbers.amount(quantity), side.relative_half_width if is_lone else None
    return words("{} ±{}", amount, Safe(numbers.percent(width))) if width else amount


def change_text(evidence: Evidence) -> tuple[str, str]:
    """Return the relative change and its interval, "" if that has no width. No foreign text.

    A counter that was scaled to another load has the change that was measured instead.
    """
    relative_change, interval = evidence.relative_change, evidence.confidence_interval
    if relative_change is None:
        before, after = evidence.baseline, evidence.target
        from_zero = before is not None and after is not None and before.value == 0 != after.value
        return "from 0" if from_zero else NOTHING, ""
    number = numbers.percent(relative_change, signed=True)
    if (unscaled := evidence.details.get("unscaled_change")) is not None:
        return number, f"({numbers.percent(unscaled, signed=True)} unscaled)"
    if interval is None or interval.low == interval.high:
        return number, ""
    return number, numbers.percent_interval(interval.low, interval.high)


def certainty_text(finding: Finding) -> str:
    """Return the certainty and its basis, in words unless samples were tested. No foreign text."""
    if finding.test == "exact":
        return "all samples equal" if numbers.is_time(finding.metric.unit) else "exact count"
    if finding.is_by_limit and finding.scale is Scale.OUTSIDE:
        outside, limit = (numbers.percent(share or 0.0) for share in (finding.score, finding.threshold))
        return f"{outside} of samples outside, limit {limit}"
    if finding.is_by_limit and finding.scale is Scale.STRENGTH:
        return f"strength {finding.score or 0.0:.1f}, limit {finding.threshold or 0.0:.1f}"
    if finding.rules is not None:
        votes = finding.rules.votes
        flagged = sum(vote.flagged for vote in votes)
        violated = numbers.percent(finding.excess.time_in_violation)
        return f"{flagged} of {count_of(len(votes), 'model')} broken, in {violated} of the time"
    if finding.is_by_sample and finding.p_value is not None and finding.baseline and finding.target:
        counts = f"{count_of(finding.target.count, 'sample')} against {finding.baseline.count:,}"
        return f"published test, p {numbers.significant(finding.p_value)}, {counts}"
    return _rate_text(finding)


def _rate_text(finding: Finding) -> str:
    of_category = finding.reason.arguments.get("rate") if finding.reason.code in BY_CATEGORY else None
    rate = of_category if isinstance(of_category, float) else finding.rate
    if rate is None:
        return "not tested"
    return (
        f"{numbers.rate_text(rate)}, {_backing(finding)}" if finding.verdict in CALLED_VERDICTS else _backing(finding)
    )


def _backing(evidence: Evidence) -> str:
    if evidence.precision.rounds is not None:
        return count_of(evidence.precision.rounds, "round")
    baseline, target = evidence.baseline, evidence.target
    if baseline is None or target is None:
        return "runs unknown"
    return f"{count_of(target.runs, 'run')} against {baseline.runs:,}"


def _figures(finding: Finding) -> Text:
    """Return the certainty and its basis, each on one line."""
    return join_texts(", ", map(unbroken, certainty_text(finding).split(", ")))


def _dot(finding: Finding) -> Text:
    if finding.verdict not in CALLED_VERDICTS:
        return Sign("🟡" + NO_BREAK if finding.verdict is Verdict.DIFFERS else "")
    loud = finding.level is Level.FAIL or finding.severity is Severity.MAJOR
    return Sign(("🔵" if is_better(finding) else "🔴" if loud else "🟠") + NO_BREAK)


def _certainty(finding: Finding) -> Text:
    """Return the tier and the verdict in words, and the category that was left."""
    if finding.verdict not in CALLED_VERDICTS:
        is_blind = finding.reason.code is VerdictReason.BLIND
        return unbroken(UNDECIDED if is_blind else VERDICT_WORDS[finding.verdict])
    tier = SUSPECTED_WORD if finding.verdict is Verdict.SUSPECTED else PROVEN_WORD
    if (crossed := crossing(finding)) is None:
        return unbroken(f"{tier} {comparison(finding)}")
    is_alone = finding.reason.code is VerdictReason.LEFT_CATEGORY
    was, now = (Emphasis(Prose(category, TEXT_LIMITS.category_characters)) for category in crossed)
    return words("{}, left {} (now {})", Safe(tier if is_alone else f"{tier} {comparison(finding)}"), was, now)


_CHANGE: Final = (
    Column(name="before", role=ColumnRole.SIDE, right=True),
    Column(name="after", role=ColumnRole.SIDE, right=True),
    Column(name="change", role=ColumnRole.FIGURE, right=True),
    Column(name="interval", joins=True, spare=True),
)
TREND: Final = Column(name="trend", joins=True, spare=True)
_NAMED: Final = (Column(name="benchmark", role=ColumnRole.NAME), *_CHANGE)
_GLOSSARY: Final = "https://github.com/perf-culprit/perf-culprit/blob/main/docs/glossary.md"
_CERTAINTY: Final = Column(name="certainty", page=f"{_GLOSSARY}#certainty")
_RATE: Final = Column(name="rate", spare=True, on_page=False)
# A further column of a table, and the function that makes its cells.
Further = tuple[Column, Callable[[Finding], Text]]
WHY: Final[Further] = (Column(name="why", role=ColumnRole.WORDS), lambda finding: worded(finding.reason))


def change_cells(evidence: Evidence) -> tuple[Text, ...]:
    return *before_and_after(evidence), *map(unbroken, change_text(evidence))


def changed_columns(name: Column) -> tuple[Column, ...]:
    """Return the columns. A narrow screen shows the first three. A page has the intervals and rates in a fold."""
    _, _, change, interval = _CHANGE
    levels = Column(name="before → after", right=True)
    return change, replace(interval, on_page=False), name, levels, _CERTAINTY, TREND, _RATE


def changed_cells(name: Text, finding: Finding) -> tuple[Text, ...]:
    change, interval = map(unbroken, change_text(finding))
    if MANIFOLD <= (finding.relative_change or 0.0) < math.inf:
        change = Safe(f"\N{MULTIPLICATION SIGN}{numbers.significant(1 + (finding.relative_change or 0.0))}")
    is_bold = finding.verdict in CALLED_VERDICTS | {Verdict.DIFFERS} and change != NOTHING
    dotted = words("{}{}", _dot(finding), Strong(change) if is_bold else change)
    trend = BlockText(line) if (line := sparkline(finding.series)) else Safe("")
    return dotted, interval, name, _levels(finding), _certainty(finding), trend, _figures(finding)


_GROUPS: Final = (
    Column(name="group", role=ColumnRole.NAME),
    Column(name="geometric mean of the changes", right=True),
    Column(name="benchmarks", right=True),
)


def moved(sections: Sections) -> tuple[Finding, ...]:
    """Return the rows without a called change that moved most. They fill the table of changes to its usual length.

    Rows that are unchanged within the minimum effect stand only in a table that would be empty without them.
    """
    called = len(sections.changed) + len(sections.suspected)
    quiet = [one for one in sections.quiet if one.verdict is not Verdict.UNCHANGED]
    others = [one for one in (*sections.differing, *sections.untested, *quiet) if one.relative_change]
    if not (called or others):
        others = [one for one in sections.quiet if one.relative_change]
    others.sort(key=lambda one: (one.verdict is not Verdict.DIFFERS, -_size(one), one.key))
    return tuple(others[: max(TEXT_LIMITS.moved_rows - called, 0)])


def _size(finding: Finding) -> float:
    """Return the size of the change: a halving is as large as a doubling."""
    change = finding.relative_change or 0.0
    return abs(math.log1p(change)) if change > -1 else math.inf


def changed_table(sections: Sections, *, more: Sequence[Finding] = (), title: Text | None = None) -> Table:
    """Show the changes, then `more` rows. Without a change, all rows rest on the same runs, which the footer names.

    The title says what all names share. A single row, or a table with a `title` of its own, has full names.
    """
    called, columns = (*sections.changed, *sections.suspected), changed_columns(_NAMED[0])
    width = len(columns) if called else columns.index(_RATE)
    rows = (*called, *more)
    is_short = title is None and len(rows) > 1
    place = _shared_place([one.key.benchmark for one in rows]) if is_short else ""
    metrics = {one.key.metric for one in rows} if sections.several_metrics else set()
    shared: list[Text] = [Name(f"{place}…")] if place else []
    if is_shared := is_short and len(metrics) == 1:
        shared.append(Prose(rows[0].key.metric, TEXT_LIMITS.metric_characters))

    def row(finding: Finding) -> TableRow:
        key = finding.key
        short = MetricKey(key.benchmark[len(place) :], key.metric)
        name = metric_name(short, with_metric=bool(metrics) and not is_shared)
        return TableRow(changed_cells(name, finding)[:width], TONES[finding.verdict])

    if shared:
        title = words("All rows: {}", join_texts(", ", shared))
    return table(columns[:width], rows, row, title=title, shown=Shown.TABLE)


_PARAMETERS: Final = re.compile(r"[\[({=\s]")
# Go's names begin with a word that says nothing.
_SEPARATOR: Final = re.compile(r"::|[/.]|^Benchmark(?=[A-Z_])")


def _shared_place(names: Sequence[str]) -> str:
    """Return the folder, module or class with which all names begin: empty if they share none."""
    shared = commonprefix(names) if len(set(names)) > 1 else ""  # noqa: RUF071 - compares characters on purpose
    ends = [match.end() for match in _SEPARATOR.finditer(_PARAMETERS.split(names[0])[0])] if shared else []
    fitting = (
        end
        for end in reversed(ends)
        if end <= len(shared) and all(name[end : end + 1].isidentifier() for name in names)
    )
    return shared[: next(fitting, 0)]


def groups_table(groups: Sequence[GroupMean]) -> Table:
    """Show the mean changes of the configuration's groups."""

    def row(group: GroupMean) -> TableRow:
        interval = group.confidence_interval
        bounds = "" if interval is None else f" {numbers.percent_interval(interval.low, interval.high)}"
        of = f"{group.count:,}" if group.count == group.total else f"{group.count:,} of {group.total:,}"
        name = words("{} · {}", Name(group.name), Prose(group.metric, TEXT_LIMITS.metric_characters))
        change = words("{}{}", Strong(Safe(numbers.percent(group.change, signed=True))), Safe(bounds))
        return TableRow((name, change, Safe(of)))

    return table(_GROUPS, groups, row, shown=Shown.TABLE)


_BUDGETS: Final = (
    Column(name="metric", role=ColumnRole.NAME),
    *(Column(name=name, right=True) for name in ("value", "budget")),
    *(Column(name=name) for name in ("result", "because")),
)


def budgets_table(checks: Sequence[BudgetCheck]) -> Table:
    """Show the configured limits that are exceeded, or that lie within the run's noise."""

    def row(check: BudgetCheck) -> TableRow:
        value, low, high, limit = numbers.quantities((check.value, check.low, check.high, check.limit), check.unit)
        is_over = check.state is BudgetState.OVER
        state = "exceeded" if is_over else f"not sure: {low.number} to {high.number}"
        cells = (numbers.amount(value), numbers.amount(limit), Strong(Safe(state)), Prose(check.because))
        return TableRow((metric_name(MetricKey(check.benchmark, check.metric), with_metric=True), *cells))

    return table(_BUDGETS, checks, row, shown=Shown.TABLE)


def findings_table(
    findings: Sequence[Finding],
    sections: Sections,
    *more: Further,
    title: Text | None = None,
    shown: Shown = Shown.LIST,
) -> Table:
    has_times = any(one.key in sections.beside for one in findings)

    def row(finding: Finding) -> TableRow:
        name = metric_name(finding.key, with_metric=sections.several_metrics or has_times)
        cells = (name, *change_cells(finding), *(cell(finding) for _, cell in more))
        return TableRow(cells, TONES[finding.verdict])

    return table((*_NAMED, *(column for column, _ in more)), findings, row, title=title, shown=shown)


def _acceptance_text(finding: Finding) -> Text:
    return NOTHING if finding.accepted is None else accepted_by(finding.accepted, repository_url=None)


def _visible_from(finding: Finding) -> Text:
    """Return the smallest change that would have been seen."""
    effect = finding.detectable_effect
    return NOTHING if effect is None else Safe(f"≥{NO_BREAK}{numbers.percent_at_least(effect)}")


CERTAIN: Final[Further] = (Column(name="certainty"), _figures)
ACCEPTED: Final[Further] = (Column(name="accepted", role=ColumnRole.WORDS), _acceptance_text)
SEEN: Final[Further] = (Column(name=WOULD_SUSPECT, right=True), _visible_from)


_OUTSIDE: Final = (
    Column(name="counter", role=ColumnRole.NAME),
    Column(name="outside", right=True),
    Column(name="limit", right=True),
    *_CHANGE,
    Column(name="why not called", role=ColumnRole.WORDS),
)


def not_called(sections: Sections) -> tuple[Finding, ...]:
    """Return the metrics out of control that were not called, in the order of their violation relative to its limit.

    Chance, or similar baseline runs, explain them [N12, 5.3.1], but they may help in the search for a cause.
    """
    findings = (entry for entry in sections.quiet if leaves_limits(entry))
    return tuple(sorted(findings, key=lambda finding: (-finding.violation, finding.key)))


def outside_title(sections: Sections, count: int) -> str:
    """Return a title like "3 of 40 metrics left their limits, but were not called"."""
    charted = sum(finding.is_by_limit for finding in sections.all)
    its, was = ("its", "was") if count == 1 else ("their", "were")
    return (
        f"{count:,} of {count_of(charted, sections.noun)} {left_what(not_called(sections), its)}, but {was} not called"
    )


def outside_table(sections: Sections) -> Table:
    def row(finding: Finding) -> TableRow:
        shares = (Safe(numbers.percent(share or 0.0)) for share in (finding.score, finding.threshold))
        name = metric_name(finding.key, with_metric=sections.several_metrics)
        return TableRow((name, *shares, *change_cells(finding), worded(finding.reason)))

    return table(_OUTSIDE, not_called(sections), row)
