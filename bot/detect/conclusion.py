"""What a run's findings come to: the conclusion, what would have been seen, and the order in which they are read."""

from collections.abc import Sequence
from typing import Final

from bot.detect.limits import violation
from bot.model.finding import Finding, Level, Severity, Verdict
from bot.model.metric import MetricKey
from bot.model.report import Conclusion

READING_ORDER: Final = {
    Verdict.REGRESSION: 0,
    Verdict.IMPROVEMENT: 1,
    Verdict.INCONCLUSIVE: 2,
    Verdict.NO_CHANGE: 3,
}
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
    evidence = finding.evidence
    if evidence.score is not None:
        longest = evidence.excess.time_in_violation
        return READING_ORDER[finding.verdict], 1, -violation(evidence), -longest, 0.0, evidence.key
    change = evidence.relative_change
    return (
        READING_ORDER[finding.verdict],
        0,
        0 if finding.severity is Severity.MAJOR else 1,
        -list(Level).index(finding.level),
        -abs(float("inf") if change is None else change),
        evidence.key,
    )
