"""Regressions that a second measurement must see, too, before anyone is told. docs/confirm.md has the rates."""

from collections.abc import Sequence
from dataclasses import replace

from bot.model.finding import Finding, Level, Verdict
from bot.model.reason import Reason, Remark, VerdictReason, because


def flagged_benchmarks(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The benchmarks to measure again, in the order of the findings."""
    return tuple(
        dict.fromkeys(finding.evidence.key.benchmark for finding in findings if finding.verdict is Verdict.REGRESSION)
    )


def confirmed(first: Sequence[Finding], second: Sequence[Finding]) -> tuple[Finding, ...]:
    """The first findings, of which only those stay regressions that the second measurement judges so as well.

    `second` judges independent samples by the same rule, its false discovery rate over the flagged metrics only. What
    was not measured again stays: a missing measurement speaks for nobody.
    """
    again = {finding.evidence.key: finding for finding in second}
    return tuple(_confirmed(finding, again.get(finding.evidence.key)) for finding in first)


def _confirmed(finding: Finding, again: Finding | None) -> Finding:
    if finding.verdict is not Verdict.REGRESSION:
        return finding
    if again is None:
        return _noted(finding, because(Remark.NOT_MEASURED_AGAIN))
    change = again.evidence.relative_change
    if again.verdict is Verdict.REGRESSION:
        return _noted(finding, because(Remark.CONFIRMED, change=change))
    reason = because(VerdictReason.NOT_CONFIRMED, change=change)
    refuted = again.verdict is Verdict.NO_CHANGE and again.is_decided
    return _noted(
        replace(
            finding,
            # One that moved the other way, or in which a regression could hide, leaves the question open.
            verdict=Verdict.NO_CHANGE if refuted else Verdict.INCONCLUSIVE,
            reason=reason,
            severity=None,
            level=Level.NOTE,
            more_samples=None,
            detectable_effect=again.detectable_effect,
        ),
        reason,
    )


def _noted(finding: Finding, note: Reason) -> Finding:
    return replace(finding, evidence=replace(finding.evidence, notes=(*finding.evidence.notes, note)))
