"""Findings as tables: a row's cells, what changed, what did not, what is out of control, what is predicted."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs

from perf_culprit.model.finding import Acceptance, Accepted, Evidence, Finding, Level, Severity, Verdict
from perf_culprit.model.report import Prediction, Report
from perf_culprit.say import numbers
from perf_culprit.say.charts import bar, sparkline
from perf_culprit.say.inert import NO_BREAK, Safe, code, commit, join, own, prose, unbroken
from perf_culprit.say.numbers import percent, percent_at_least
from perf_culprit.say.reason_text import sentence_markdown
from perf_culprit.say.sections import Fold, Part, Sections, by_benchmark, counted, crossing, keys, split, table, titled
from perf_culprit.say.wording import CHANGE_POINT, CONTROL_CHART, comparison, more_samples

# One finding as the cells of a Markdown table, and the table of what changed.

NOTHING = Safe("\N{EN DASH}")
CATEGORY_LIMIT = 40
MOST_BESIDE = 3
# Their evidence is a number per run, whatever the number of samples.
BETWEEN_RUNS = frozenset({"run_values", "anova_between_runs", "median_interval_between_runs"})


def benchmark(finding: Finding, *, with_metric: bool) -> Safe:
    key = finding.evidence.key
    name = code(key.benchmark)
    return own("{} · {}", name, prose(key.metric, limit=60)) if with_metric else name


def accepted_by(accepted: Accepted | Acceptance, *, repository_url: str | None) -> Safe:
    return own(
        "by {} at {}: {}",
        code(accepted.author, limit=60),
        commit(accepted.commit, repository_url=repository_url),
        prose(accepted.reason),
    )


def before_and_after(evidence: Evidence) -> tuple[Safe, Safe]:
    sides = (evidence.baseline, evidence.target)
    shown = iter(numbers.quantities(tuple(side.value for side in sides if side is not None), evidence.metric.unit))
    before, after = (NOTHING if side is None else numbers.amount_markdown(next(shown)) for side in sides)
    return before, after


def change_cell(evidence: Evidence, *, bold: bool) -> Safe:
    number, interval = (unbroken(part) for part in change_text(evidence))
    shown = own("**{}**", number) if bold and number != NOTHING else number
    return own("{} {}", shown, interval) if interval else shown


def change_text(evidence: Evidence) -> tuple[str, str]:
    """The relative change and its interval, "" where that has no width; no foreign text."""
    relative_change, interval = evidence.relative_change, evidence.confidence_interval
    if relative_change is None:
        before, after = evidence.baseline, evidence.target
        from_zero = before is not None and after is not None and before.value == 0 != after.value
        return "from 0" if from_zero else NOTHING, ""
    number = numbers.percent(relative_change, signed=True)
    if interval is None or interval.low == interval.high:
        return number, ""
    return number, numbers.percent_interval(interval.low, interval.high)


def certainty_text(finding: Finding) -> str:
    """How sure and by what, in words where it is not a test of samples; no foreign text."""
    evidence = finding.evidence
    if evidence.test == "exact":
        return "all samples equal" if numbers.is_time(evidence.metric.unit) else "exact count"
    if evidence.score is not None and evidence.threshold is not None and evidence.test == CONTROL_CHART:
        outside, limit = numbers.percent(evidence.score), numbers.percent(evidence.threshold)
        return f"{outside} of samples outside, limit {limit}"
    if evidence.score is not None and evidence.threshold is not None and evidence.test == CHANGE_POINT:
        return f"strength {evidence.score:.1f}, limit {evidence.threshold:.1f}"
    if evidence.rules is not None:
        votes = evidence.rules.votes
        flagged = sum(vote.flagged for vote in votes)
        violated = numbers.percent(evidence.excess.time_in_violation)
        return f"{flagged} of {counted(len(votes), 'model')} broken, in {violated} of the time"
    if finding.q_value is None:
        return "not tested"
    return f"{numbers.q_text(finding.q_value)}, {_backing(evidence)}"


def _backing(evidence: Evidence) -> str:
    baseline, target = evidence.baseline, evidence.target
    if baseline is not None and evidence.test in BETWEEN_RUNS:
        against = f"against {counted(baseline.runs, 'run')}"
        return f"{target.runs:,} {against}" if target is not None and target.runs > 1 else against
    if baseline is None or target is None or evidence.test == "interval_summary":
        return "from the tool's intervals"
    summaries = ", from summaries" if evidence.test == "welch_from_summary" else ""
    return f"n = {baseline.count:,}/{target.count:,}{summaries}"


def certainty(finding: Finding) -> Safe:
    words = (own("{}", unbroken(part)) for part in certainty_text(finding).split(", "))
    return join(", ", words)


def state(finding: Finding, *, beside: Sequence[Finding] = ()) -> Safe:
    """The emoji, the same in words, the category that was left, other times of the row, the trend of the values."""
    if finding.verdict is Verdict.IMPROVEMENT:
        words = own("🔵{}{}", Safe(NO_BREAK), Safe(comparison(finding)))
    else:
        loud = finding.level is Level.FAIL or finding.severity is Severity.MAJOR
        words = own("{}{}{}", Safe("🔴" if loud else "🟠"), Safe(NO_BREAK), Safe(comparison(finding)))
    crossed = crossing(finding)
    if crossed:
        was, now = (prose(category, limit=CATEGORY_LIMIT) for category in crossed)
        words = own("{}, left *{}* (now *{}*)", words, was, now)
    for other in beside[:MOST_BESIDE]:
        words = own(
            "{}; {} {}", words, prose(other.evidence.key.metric, limit=40), unbroken(change_text(other.evidence)[0])
        )
    line = sparkline(finding.series)
    return own("{} `{}`", words, Safe(line)) if line else words


def visible_from(finding: Finding) -> Safe:
    """The smallest change that would have been seen."""
    effect = finding.detectable_effect
    return NOTHING if effect is None else own("{}{}", Safe("≥" + NO_BREAK), Safe(numbers.percent_at_least(effect)))


def samples(finding: Finding) -> Safe:
    """What an undecided metric has, and what it needs."""
    target = finding.evidence.target
    have = target.count if target is not None else 0
    if not finding.more_samples:
        return own("{}", have)
    needed = have + finding.more_samples
    return own("`{}` {}", Safe(bar(have / needed)), unbroken(f"{have:,} of {needed:,}"))


_CHANGED = ("benchmark", "before", "after", "change", "certainty", " "), "lrrlll"


def changed_part(sections: Sections, *, most_rows: int) -> Part:
    def cells_of(finding: Finding) -> Iterable[Safe]:
        before, after = before_and_after(finding.evidence)
        return (
            benchmark(finding, with_metric=sections.several_metrics),
            before,
            after,
            change_cell(finding.evidence, bold=True),
            certainty(finding),
            state(finding, beside=sections.beside.get(finding.evidence.key, ())),
        )

    return table(sections.changed, cells_of, head=_CHANGED, most_rows=most_rows)


# What simulations say of changed model files: apart from what was measured, and failing nothing.


def predicted(report: Report, prediction: Prediction) -> Sections:
    """The prediction's findings as those of a report of their own."""
    return split(
        structs.replace(report, conclusion=prediction.conclusion, findings=prediction.findings, predictions=())
    )


def verdict(prediction: Prediction, sections: Sections) -> str:
    """No foreign text in here."""
    total = counted(sections.total, "output")
    worse, better = len(sections.regressions), len(sections.improvements)
    if worse or better:
        return f"{worse:,} of {total} {'gets' if worse == 1 else 'get'} worse, {better:,} better"
    effect = prediction.detectable_effect
    seen = "" if effect is None else f"; a change for the worse of {percent_at_least(effect)} or more would show"
    return f"no change in {total}{seen}"


def prediction_remarks(report: Report) -> Iterator[Safe]:
    """A line for each, in sight: a design is changed more easily before it is built."""
    for each in report.predictions:
        words = Safe(verdict(each, predicted(report, each)))
        yield own(
            "**Predicted** by {}, scenario {} (simulated, not measured): {}.",
            code(each.model),
            code(each.scenario),
            words,
        )


def prediction_folds(report: Report, *, most_rows: int) -> Iterator[Fold]:
    for each in report.predictions:
        sections = predicted(report, each)
        if sections.changed:
            part: Part = replace(
                changed_part(sections, most_rows=most_rows),
                title=own("{}, scenario {}: before and after are simulated", code(each.model), code(each.scenario)),
            )
            yield Fold(summary=Safe(f"Predicted by simulation: {verdict(each, sections)}"), parts=(part,))


# Metrics out of control that were not called: chance, or baseline runs that do the same, explain them [N12, 5.3.1].
#
# They are no findings, but nothing that left its limits is swallowed either: whoever looks for a cause finds it here.

_HEAD = ("counter", "outside", "limit", "before", "after", "change", "why not called"), "lrrrrll"


def not_called(sections: Sections) -> tuple[Finding, ...]:
    """In the order of their violation relative to its limit."""
    findings = (entry for entry in sections.unchanged if entry.evidence.test == CONTROL_CHART and _violation(entry) > 1)
    return tuple(sorted(findings, key=lambda finding: (-_violation(finding), finding.evidence.key)))


def title(sections: Sections, count: int) -> str:
    """Such as "3 of 40 metrics left their limits, but were not called"."""
    charted = sum(finding.evidence.test == CONTROL_CHART for finding in sections.all)
    left = "left its limits, but was" if count == 1 else "left their limits, but were"
    return f"{count:,} of {counted(charted, sections.noun)} {left} not called"


def outside(finding: Finding) -> tuple[str, str]:
    """The violation ratio and what it may be; no foreign text."""
    return percent(finding.evidence.score or 0.0), percent(finding.evidence.threshold or 0.0)


def fold(sections: Sections, *, most_rows: int) -> Fold:
    """Without parts where there is nothing to show."""

    def cells_of(finding: Finding) -> Iterable[Safe]:
        ratio, limit = map(Safe, outside(finding))
        before, after = before_and_after(finding.evidence)
        name = benchmark(finding, with_metric=sections.several_metrics)
        change = change_cell(finding.evidence, bold=False)
        return name, ratio, limit, before, after, change, sentence_markdown(finding.reason)

    findings = not_called(sections)
    parts: tuple[Part, ...] = (table(findings, cells_of, head=_HEAD, most_rows=most_rows),) if findings else ()
    return Fold(summary=own("{}", Safe(title(sections, len(findings)))), parts=parts)


def _violation(finding: Finding) -> float:
    score, limit = finding.evidence.score, finding.evidence.threshold
    if not score or limit is None:
        return 0.0
    return score / limit if limit else math.inf


# The fold of everything that did not change, or that nobody may judge.

# A further column's alignment and cells.
Column = tuple[str, Callable[[Finding], Safe]]
_RESULTS_HEAD: Final = ("benchmark", "before", "after", "change")
_WHY: Final[Mapping[str, Column]] = {"why": ("l", lambda finding: sentence_markdown(finding.reason))}


def _acceptance(finding: Finding) -> Safe:
    return NOTHING if finding.accepted is None else accepted_by(finding.accepted, repository_url=None)


def results_fold(report: Report, sections: Sections, *, most_rows: int) -> Fold:
    def part(findings: tuple[Finding, ...], more: Mapping[str, Column]) -> Part:
        def row(finding: Finding) -> Iterable[Safe]:
            before, after = before_and_after(finding.evidence)
            name = benchmark(finding, with_metric=sections.several_metrics)
            change = change_cell(finding.evidence, bold=False)
            return name, before, after, change, *(cell(finding) for _, cell in more.values())

        alignment = "".join(align for align, _ in more.values())
        return table(findings, row, head=(_RESULTS_HEAD + tuple(more), f"lrrl{alignment}"), most_rows=most_rows)

    needed = more_samples(sections)
    decide = f" ({counted(needed, 'more sample')} would decide)" if needed else ""
    tables: tuple[tuple[tuple[Finding, ...], str, Mapping[str, Column]], ...] = (
        (sections.accepted, "accepted", {"accepted": ("l", _acceptance)}),
        (sections.unjudged, "not judged", {}),
        (sections.undecided, f"undecided{decide}", {"samples": ("l", samples), **_WHY}),
        (sections.untested, "not tested", _WHY),
        (sections.unchanged, "unchanged", {"would have been seen": ("r", visible_from)}),
    )
    parts = [(f"{len(findings):,} {title}", part(findings, more)) for findings, title, more in tables if findings]
    parts += [
        (f"{len(named):,} {word}", keys(named, most_rows=most_rows))
        for word, named in (("missing", by_benchmark(report.missing)), ("new", by_benchmark(report.new)))
        if named
    ]
    return Fold(
        summary=Safe(" · ".join(title for title, _ in parts)),
        # A single part has its title in the summary already.
        parts=tuple(titled(title, part) if len(parts) > 1 else part for title, part in parts),
    )
