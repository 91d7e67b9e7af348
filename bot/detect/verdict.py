"""One metric's verdict from its evidence: the decision rule of docs/decision-rule.md, and nothing else."""

from dataclasses import dataclass

from bot.detect.change_point import ID as CHANGE_POINT
from bot.detect.settings import MetricSettings, PolicySettings
from bot.detect.summary import EXACT, WITHOUT_SAMPLE_COUNT
from bot.model.finding import Evidence, Level, Verdict
from bot.model.reason import Reason, VerdictReason, because
from bot.stats.power import further_target_samples


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """`worsening`: the relative change, positive where it is bad; infinite from zero."""

    verdict: Verdict
    reason: Reason
    worsening: float = 0.0
    more_samples: int | None = None


def decide(
    evidence: Evidence,
    *,
    q_value: float | None,
    metric: MetricSettings,
    policy: PolicySettings,
    critical_p: float,
    paired: bool,
) -> Decided:
    """`critical_p` is the p-value that would be significant in this run; sample counts are planned for it."""
    if evidence.p_value is None or q_value is None:
        return _inconclusive(evidence.reason or because(VerdictReason.NOTHING_TESTED))
    too_few = too_few_samples(evidence, policy.minimum_samples)
    if too_few:
        return _inconclusive(too_few, more_samples=_lacking_target_samples(evidence, policy.minimum_samples))
    worsening = _worsening(evidence)
    if worsening is None:
        return _inconclusive(evidence.reason or because(VerdictReason.NO_RELATIVE_CHANGE))
    if evidence.p_value < policy.alpha and q_value <= policy.false_discovery_rate:
        return _significant(evidence, worsening, metric.minimum_effect, q_value)
    worst = _worst_case(evidence)
    if worst is not None and worst < metric.minimum_effect:
        exact = evidence.test == EXACT
        excluded = because(VerdictReason.EXCLUDED, effect=metric.minimum_effect)
        reason = because(VerdictReason.EXACTLY_EQUAL) if exact else excluded
        return Decided(verdict=Verdict.NO_CHANGE, reason=reason, worsening=worsening)
    return _undecided(evidence, worsening, metric.minimum_effect, critical_p, paired=paired)


def _significant(evidence: Evidence, worsening: float, minimum_effect: float, q_value: float) -> Decided:
    if abs(worsening) < minimum_effect:
        reason = because(VerdictReason.BELOW_MINIMUM_EFFECT, effect=minimum_effect)
        return Decided(verdict=Verdict.NO_CHANGE, reason=reason, worsening=worsening)
    verdict = Verdict.REGRESSION if worsening > 0 else Verdict.IMPROVEMENT
    significant = because(VerdictReason.SIGNIFICANT, test=evidence.test, q_value=q_value)
    reason = because(VerdictReason.EXACT_DIFFERENCE) if evidence.test == EXACT else significant
    return Decided(verdict=verdict, reason=reason, worsening=worsening)


def level_of(worsening: float, metric: MetricSettings) -> Level:
    if worsening >= metric.fail:
        return Level.FAIL
    return Level.WARN if worsening >= metric.warn else Level.NOTE


def _inconclusive(reason: Reason, *, more_samples: int | None = None) -> Decided:
    return Decided(verdict=Verdict.INCONCLUSIVE, reason=reason, more_samples=more_samples)


def _undecided(evidence: Evidence, worsening: float, effect: float, critical_p: float, *, paired: bool) -> Decided:
    if evidence.reason is not None:
        return _inconclusive(evidence.reason)
    more = None
    error = evidence.details.get("standard_error")
    of_target = evidence.details.get("standard_error_of_target_samples")
    if error is not None and of_target is not None and evidence.target is not None:
        more = further_target_samples(
            evidence.target.count, error=error, target_error=of_target, effect=effect, alpha=critical_p
        )
    if more is not None:
        code = VerdictReason.TOO_NOISY_SAMPLES
    elif of_target is not None:
        code = VerdictReason.TOO_NOISY_ROUNDS if paired else VerdictReason.TOO_NOISY_BETWEEN_RUNS
    else:
        code = VerdictReason.TOO_NOISY
    reason = because(code, effect=effect, samples=more)
    return Decided(verdict=Verdict.INCONCLUSIVE, reason=reason, worsening=worsening, more_samples=more)


def too_few_samples(evidence: Evidence, minimum: int) -> Reason | None:
    if evidence.test in WITHOUT_SAMPLE_COUNT or evidence.test == CHANGE_POINT:
        return None
    for name, side in (("target", evidence.target), ("baseline", evidence.baseline)):
        if side is not None and side.count < minimum:
            return because(VerdictReason.TOO_FEW_SAMPLES, side=name, count=side.count, minimum=minimum)
    return None


def _lacking_target_samples(evidence: Evidence, minimum: int) -> int | None:
    if evidence.target is None or evidence.baseline is None or evidence.baseline.count < minimum:
        return None
    return minimum - evidence.target.count


def _worsening(evidence: Evidence) -> float | None:
    sign = evidence.metric.direction.worse_sign
    if evidence.relative_change is not None:
        # Of a metric with no known direction any departure counts against the target.
        return evidence.relative_change * sign if sign else abs(evidence.relative_change)
    if evidence.baseline is None or evidence.target is None or evidence.baseline.mean != 0:
        return None
    if evidence.target.mean == 0:
        return 0.0
    # From zero to something is a change of any size: Go's first allocation.
    bad = sign == 0 or evidence.target.mean * sign > 0
    return float("inf") if bad else float("-inf")


def _worst_case(evidence: Evidence) -> float | None:
    """The interval's bad end, positive where it is a worsening."""
    interval = evidence.confidence_interval
    if interval is None:
        return 0.0 if evidence.test == EXACT else None
    sign = evidence.metric.direction.worse_sign
    ends = (interval.low, interval.high)
    return max(end * sign if sign else abs(end) for end in ends)
