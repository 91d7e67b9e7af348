"""A run's conclusion, its detectable effect, the order of its findings, and their confirmation."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from perf_culprit.judge.unit_factors import quantity_of_unit
from perf_culprit.model.finding import QUIET_VERDICTS, Finding, Level, Severity, SuiteChange, Verdict
from perf_culprit.model.reason import BY_CATEGORY, Reason, Remark, VerdictReason, because
from perf_culprit.model.report import Conclusion
from perf_culprit.model.run import MetricKey

READING_ORDER: Final = {
    Verdict.REGRESSION: 0,
    Verdict.IMPROVEMENT: 1,
    Verdict.SUSPECTED: 2,
    Verdict.DIFFERS: 3,
    Verdict.UNTESTED: 4,
    Verdict.NOT_SEEN: 5,
    Verdict.UNCHANGED: 5,
}
CONCLUSIONS: Final = {
    Verdict.REGRESSION: Conclusion.REGRESSION,
    Verdict.IMPROVEMENT: Conclusion.IMPROVEMENT,
    Verdict.DIFFERS: Conclusion.INCONCLUSIVE,
    Verdict.NOT_SEEN: Conclusion.NO_CHANGE,
    Verdict.UNCHANGED: Conclusion.NO_CHANGE,
}


def conclusion_of(findings: Sequence[Finding], *, suite: SuiteChange | None = None) -> Conclusion:
    """Return the most serious verdict, in the order of `Conclusion`.

    Untested metrics count only if nothing of their quantity was tested: equal counts do not make untested times green.
    """
    present = {CONCLUSIONS[finding.verdict] for finding in findings if finding.verdict in CONCLUSIONS}
    if any(finding.looks_worse for finding in findings) or (suite is not None and suite.is_suspected):
        present.add(Conclusion.SUSPECTED)
    elif any(finding.verdict is Verdict.SUSPECTED for finding in findings):
        present.add(Conclusion.NO_CHANGE)
    tested = {quantity_of_unit(finding.unit) for finding in findings if finding.verdict is not Verdict.UNTESTED}
    if any(finding.is_other_load or quantity_of_unit(finding.unit) not in tested for finding in findings):
        present.add(Conclusion.INCONCLUSIVE)
    if any(finding.is_of_other_benchmark for finding in findings):
        present.add(Conclusion.NOT_COMPARABLE)
    worst = next((conclusion for conclusion in Conclusion if conclusion in present), Conclusion.INCONCLUSIVE)
    is_open = suite is not None and suite.is_open and worst is Conclusion.NO_CHANGE
    return Conclusion.INCONCLUSIVE if is_open else worst


def smallest_detectable(findings: Sequence[Finding]) -> float | None:
    """Return the change that would have been seen in every unchanged metric: the largest of their detectable effects.

    Limits and votes exclude no effect of any size, so metrics judged by them do not count here.
    """
    unchanged = (entry for entry in findings if entry.verdict in QUIET_VERDICTS and not entry.is_set_aside)
    return max((entry.detectable_effect for entry in unchanged if entry.detectable_effect is not None), default=None)


def reading_order(finding: Finding) -> tuple[int, int, float, float, float, MetricKey]:
    if finding.is_by_limit:
        longest = finding.excess.time_in_violation
        return READING_ORDER[finding.verdict], 1, -finding.violation, -longest, 0.0, finding.key
    change = finding.relative_change
    return (
        READING_ORDER[finding.verdict],
        0,
        0 if finding.severity is Severity.MAJOR else 1,
        -list(Level).index(finding.level),
        -abs(float("inf") if change is None else change),
        finding.key,
    )


def is_flagged(finding: Finding) -> bool:
    return finding.verdict is Verdict.REGRESSION or finding.looks_worse


def flagged_benchmarks(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the benchmarks to measure again, in the order of the findings: regressions, and suspected ones."""
    return tuple(dict.fromkeys(finding.key.benchmark for finding in findings if is_flagged(finding)))


def confirmed(first: Sequence[Finding], second: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the first findings; flagged ones are replaced by the result of the second measurement.

    `second` judges independent, alternating executions of both sides by the same rule. Its rates cover only the flagged
    metrics. A finding that was not measured again stays: a missing measurement is no evidence.
    """
    again = {finding.key: finding for finding in second}
    return tuple(_confirm(finding, again.get(finding.key)) for finding in first)


def _confirm(finding: Finding, again: Finding | None) -> Finding:
    if not is_flagged(finding):
        return finding if again is None else replace(again, series=finding.series)
    if again is None:
        return _with_note(finding, because(Remark.NOT_MEASURED_AGAIN))
    if finding.reason.code in BY_CATEGORY and again.category_now == finding.category_now:
        # The accumulated change of many commits cannot be seen between two of them.
        return finding
    change = again.relative_change
    if again.verdict is Verdict.REGRESSION:
        return _with_note(replace(again, series=finding.series), because(Remark.CONFIRMED, change=change))
    # Refuted if the second interval excludes such a change; otherwise the question is open.
    is_refuted = again.verdict in {Verdict.UNCHANGED, Verdict.IMPROVEMENT}
    code = VerdictReason.REFUTED if is_refuted else VerdictReason.NOT_CONFIRMED
    rounds = None if is_refuted else again.reason.arguments.get("rounds")
    reason = because(code, first=finding.relative_change, change=change, rounds=rounds)
    verdict = again.verdict if is_refuted else Verdict.SUSPECTED
    return replace(again, verdict=verdict, reason=reason, severity=None, level=Level.NOTE, series=finding.series)


def withdrawn(finding: Finding, reason: Reason, verdict: Verdict = Verdict.UNTESTED) -> Finding:
    """Return the finding without its alarm."""
    return replace(finding, verdict=verdict, reason=reason, severity=None, level=Level.NOTE, detectable_effect=None)


def _with_note(finding: Finding, note: Reason) -> Finding:
    return replace(finding, notes=(*finding.notes, note))
