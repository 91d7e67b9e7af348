"""What a run's findings come to: the conclusion, what would have been seen, their order, and their confirmation."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from perf_culprit.judge.limit_verdict import violation
from perf_culprit.model.finding import Finding, Level, Severity, Verdict
from perf_culprit.model.reason import Reason, Remark, VerdictReason, because
from perf_culprit.model.report import Conclusion
from perf_culprit.model.run import MetricKey

READING_ORDER: Final = {Verdict.REGRESSION: 0, Verdict.IMPROVEMENT: 1, Verdict.INCONCLUSIVE: 2, Verdict.NO_CHANGE: 3}
CONCLUSIONS: Final = {
    Verdict.REGRESSION: Conclusion.REGRESSION,
    Verdict.INCONCLUSIVE: Conclusion.INCONCLUSIVE,
    Verdict.IMPROVEMENT: Conclusion.IMPROVEMENT,
    Verdict.NO_CHANGE: Conclusion.NO_CHANGE,
}


def conclusion_of(findings: Sequence[Finding]) -> Conclusion:
    """The loudest verdict, in `Conclusion`'s own order. What could not be tested is silent where anything could be."""
    present = {CONCLUSIONS[finding.verdict] for finding in findings if not finding.is_untested}
    return next((conclusion for conclusion in Conclusion if conclusion in present), Conclusion.INCONCLUSIVE)


def smallest_detectable(findings: Sequence[Finding]) -> float | None:
    """The change that would have been seen in every metric judged `no_change`: the largest of theirs.

    Limits and votes exclude no effect of any size: metrics judged by them have no part in this.
    """
    unchanged = (entry for entry in findings if entry.verdict is Verdict.NO_CHANGE and entry.accepted is None)
    return max((entry.detectable_effect for entry in unchanged if entry.detectable_effect is not None), default=None)


def reading_order(finding: Finding) -> tuple[int, int, float, float, float, MetricKey]:
    if finding.score is not None:
        longest = finding.excess.time_in_violation
        return READING_ORDER[finding.verdict], 1, -violation(finding), -longest, 0.0, finding.key
    change = finding.relative_change
    return (
        READING_ORDER[finding.verdict],
        0,
        0 if finding.severity is Severity.MAJOR else 1,
        -list(Level).index(finding.level),
        -abs(float("inf") if change is None else change),
        finding.key,
    )


def flagged_benchmarks(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The benchmarks to measure again, in the order of the findings."""
    return tuple(dict.fromkeys(finding.key.benchmark for finding in findings if finding.verdict is Verdict.REGRESSION))


def confirmed(first: Sequence[Finding], second: Sequence[Finding]) -> tuple[Finding, ...]:
    """The first findings, of which only those stay regressions that the second measurement judges so as well.

    `second` judges independent samples by the same rule, its false discovery rate over the flagged metrics only. What
    was not measured again stays: a missing measurement speaks for nobody.
    """
    again = {finding.key: finding for finding in second}
    return tuple(_confirmed(finding, again.get(finding.key)) for finding in first)


def _confirmed(finding: Finding, again: Finding | None) -> Finding:
    if finding.verdict is not Verdict.REGRESSION:
        return finding
    if again is None:
        return _noted(finding, because(Remark.NOT_MEASURED_AGAIN))
    change = again.relative_change
    if again.verdict is Verdict.REGRESSION:
        return _noted(finding, because(Remark.CONFIRMED, change=change))
    reason = because(VerdictReason.NOT_CONFIRMED, change=change)
    refuted = again.verdict is Verdict.NO_CHANGE and again.is_decided
    # One that moved the other way, or in which a regression could hide, leaves the question open.
    verdict = Verdict.NO_CHANGE if refuted else Verdict.INCONCLUSIVE
    return replace(_noted(withdrawn(finding, reason, verdict), reason), detectable_effect=again.detectable_effect)


def withdrawn(finding: Finding, reason: Reason, verdict: Verdict = Verdict.INCONCLUSIVE) -> Finding:
    """The finding without its alarm."""
    return replace(
        finding,
        verdict=verdict,
        reason=reason,
        severity=None,
        level=Level.NOTE,
        more_samples=None,
        detectable_effect=None,
    )


def _noted(finding: Finding, note: Reason) -> Finding:
    return replace(finding, notes=(*finding.notes, note))
