"""One finding as the cells of a Markdown table, and the table of what changed."""

from collections.abc import Iterable, Sequence

from bot.model.finding import Acceptance, Evidence, Finding, Level, Severity, Verdict
from bot.report import numbers
from bot.report.charts import bar, sparkline
from bot.report.inert import NO_BREAK, Safe, code, commit, join, own, prose, unbroken
from bot.report.sections import Sections, crossing
from bot.report.view import Part, table
from bot.report.wording import CHANGE_POINT, CONTROL_CHART, comparison
from bot.report.words import counted

NOTHING = Safe("\N{EN DASH}")
CATEGORY_LIMIT = 40
MOST_BESIDE = 3
# Their evidence is a number per run, whatever the number of samples.
BETWEEN_RUNS = frozenset({"run_values", "anova_between_runs", "median_interval_between_runs"})


def benchmark(finding: Finding, *, with_metric: bool) -> Safe:
    key = finding.evidence.key
    name = code(key.benchmark)
    return own("{} · {}", name, prose(key.metric, limit=60)) if with_metric else name


def accepted_by(accepted: Acceptance, *, repository_url: str | None) -> Safe:
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


def change(evidence: Evidence, *, bold: bool) -> Safe:
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
            change(finding.evidence, bold=True),
            certainty(finding),
            state(finding, beside=sections.beside.get(finding.evidence.key, ())),
        )

    return table(sections.changed, cells_of, head=_CHANGED, most_rows=most_rows)
