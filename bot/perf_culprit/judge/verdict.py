"""One metric's verdict from its evidence: only the decision rule of docs/decision-rule.md."""

import math
from dataclasses import dataclass
from typing import Final

from perf_culprit.config.policy_settings import MetricSettings, PolicySettings
from perf_culprit.judge.evidence_columns import EXACT
from perf_culprit.judge.paired_executions import first_proof
from perf_culprit.model.finding import Evidence, Level, Verdict
from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.reason import Reason, VerdictReason, because

# Of ten benchmarks, the number that differs between two runs of one commit, on a quiet machine and on a shared one:
# with samples in each run, and with a single number (docs/evidence/error-rates.md#differs).
DIFFER_BY_SAMPLES: Final = (1, 4)
DIFFER_BY_NUMBERS: Final = (3, 8)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """`worsening`: the relative change, positive if it is bad; infinite from zero."""

    verdict: Verdict
    reason: Reason
    worsening: float = 0.0
    detectable_effect: float | None = None


def decide(evidence: Evidence, *, metric: MetricSettings, policy: PolicySettings) -> Decided:
    """Decide by the tier of the engine's rate, and then by the interval."""
    worsening = worsening_of(evidence)
    if evidence.rate is None or worsening is None:
        reason = evidence.evidence_reason or because(VerdictReason.NOTHING_TESTED)
        return Decided(verdict=Verdict.UNTESTED, reason=reason)
    objection = evidence.evidence_reason
    if objection is None and (called := _call(evidence, worsening, policy)) is not None:
        return called
    # If the detector's own rule holds a change back, this size is not always detected.
    is_held_back = objection is not None and evidence.rate <= policy.suspected
    visible = None if is_held_back else evidence.precision.visible_change
    if _excludes(evidence, metric.minimum_effect):
        is_equal = evidence.test == EXACT and worsening == 0
        code = VerdictReason.EXACTLY_EQUAL if is_equal else VerdictReason.EXCLUDED
        reason = because(code, effect=metric.minimum_effect)
        return Decided(verdict=Verdict.UNCHANGED, reason=reason, worsening=worsening, detectable_effect=visible)
    if objection is None and visible is None:
        rounds = first_proof(policy.proven) if evidence.precision.rounds is None else None
        return Decided(
            verdict=Verdict.UNTESTED, reason=because(VerdictReason.BLIND, rounds=rounds), worsening=worsening
        )
    # Four digits are more than is shown, and few enough that many findings share a reason.
    reason = because(VerdictReason.NOTHING_SEEN, effect=None if visible is None else float(f"{visible:.4g}"))
    return Decided(verdict=Verdict.NOT_SEEN, reason=objection or reason, worsening=worsening, detectable_effect=visible)


def _call(evidence: Evidence, worsening: float, policy: PolicySettings) -> Decided | None:
    rate = 1.0 if evidence.rate is None else evidence.rate
    if rate <= policy.proven:
        return Decided(verdict=_proven(worsening), reason=_proof(evidence), worsening=worsening)
    if rate <= policy.suspected:
        return Decided(verdict=Verdict.SUSPECTED, reason=_what_decides(evidence, policy), worsening=worsening)
    if evidence.differs:
        return Decided(verdict=Verdict.DIFFERS, reason=_as_often(evidence, policy), worsening=worsening)
    return None


def decide_by_sample(evidence: Evidence, *, metric: MetricSettings) -> Decided:
    """Decide as the published test, with a single tier."""
    worsening = worsening_of(evidence) or 0.0
    if evidence.differs and reaches(worsening, metric.minimum_effect):
        reason = because(VerdictReason.SIGNIFICANT_BY_SAMPLE, p=evidence.p_value)
        return Decided(verdict=_proven(worsening), reason=reason, worsening=worsening)
    if _excludes(evidence, metric.minimum_effect):
        reason = because(VerdictReason.EXCLUDED, effect=metric.minimum_effect)
        return Decided(verdict=Verdict.UNCHANGED, reason=reason, worsening=worsening)
    return Decided(
        verdict=Verdict.NOT_SEEN, reason=because(VerdictReason.NOTHING_SEEN, effect=None), worsening=worsening
    )


def decide_by_strength(evidence: Evidence, *, metric: MetricSettings) -> Decided:
    """Decide by the newest step of a whole series, whose strength exceeds its limit if it raised an alarm."""
    if evidence.score is None or evidence.threshold is None:
        reason = evidence.evidence_reason or because(VerdictReason.NOTHING_TESTED)
        return Decided(verdict=Verdict.UNTESTED, reason=reason)
    worsening, verdict, effect = worsening_of(evidence) or 0.0, Verdict.NOT_SEEN, None
    if evidence.score <= evidence.threshold:
        code = VerdictReason.WITHIN_LIMIT
    elif not reaches(worsening, metric.minimum_effect):
        code, effect = VerdictReason.OVER_LIMIT_SMALL_EFFECT, metric.minimum_effect
    else:
        code, verdict = VerdictReason.OVER_LIMIT, _proven(worsening)
    reason = because(code, test=evidence.test, score=evidence.score, limit=evidence.threshold, effect=effect)
    return Decided(verdict=verdict, reason=reason, worsening=worsening)


def _proven(worsening: float) -> Verdict:
    return Verdict.REGRESSION if worsening > 0 else Verdict.IMPROVEMENT


def _proof(evidence: Evidence) -> Reason:
    if evidence.test == EXACT:
        return because(VerdictReason.EXACT_DIFFERENCE)
    return because(VerdictReason.SIGNIFICANT, rate=evidence.rate)


def _what_decides(evidence: Evidence, policy: PolicySettings) -> Reason:
    if evidence.precision.rounds is None:
        return because(VerdictReason.SUSPECTED, rate=evidence.rate, rounds=first_proof(policy.proven))
    return because(VerdictReason.SUSPECTED_ROUNDS, rate=evidence.rate, rounds=evidence.precision.rounds_to_prove)


def _as_often(evidence: Evidence, policy: PolicySettings) -> Reason:
    """How often unchanged benchmarks differ like this."""
    is_sampled = all(side is not None and side.count > 1 for side in (evidence.baseline, evidence.target))
    quiet, shared = DIFFER_BY_SAMPLES if is_sampled else DIFFER_BY_NUMBERS
    return because(VerdictReason.DIFFERS, quiet=quiet, shared=shared, rounds=first_proof(policy.proven))


def _excludes(evidence: Evidence, effect: float) -> bool:
    """Whether the interval excludes changes of the minimum effect: a factor, symmetric in both directions."""
    interval = evidence.confidence_interval
    if interval is None:
        return evidence.test == EXACT and evidence.relative_change == 0
    return interval.high < effect and interval.low > 1 / (1 + effect) - 1


def level_of(worsening: float, metric: MetricSettings) -> Level:
    if worsening >= metric.fail:
        return Level.FAIL
    return Level.WARN if worsening >= metric.warn else Level.NOTE


def worsening_of(evidence: Evidence) -> float | None:
    sign = evidence.metric.direction.worse_sign
    if evidence.relative_change is not None:
        # For a metric without a known direction, any change counts against the target.
        return evidence.relative_change * sign if sign else abs(evidence.relative_change)
    if evidence.baseline is None or evidence.target is None or evidence.baseline.value != 0:
        return None
    if evidence.target.value == 0:
        return 0.0
    # From zero to something is a change of any size, such as Go's first allocation.
    bad = sign == 0 or evidence.target.value * sign > 0
    return math.inf if bad else -math.inf
