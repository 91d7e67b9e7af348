"""One metric's verdict from its evidence: the decision rule of docs/decision-rule.md, and nothing else."""

import math
from dataclasses import dataclass, replace

from perf_culprit.config.policy_settings import MetricSettings, PolicySettings
from perf_culprit.judge.blocks import WAYS_PER_ROUND, rounds_needed
from perf_culprit.judge.change_point import ID as CHANGE_POINT
from perf_culprit.judge.evidence_columns import EXACT
from perf_culprit.judge.exact_counts import TEST as COUNTS
from perf_culprit.judge.summary_tests import WITHOUT_SAMPLE_COUNT
from perf_culprit.judge.visible_change import BLIND, detectable_effect, is_beyond, is_untold
from perf_culprit.model.finding import Evidence, Level, Verdict
from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.reason import Reason, VerdictReason, because
from perf_culprit.stats.power import further_target_samples

# A metric "looks worse" while its q-value is at most this: of runs in which nothing changed at most 10% have such a
# metric [Benjamini & Hochberg 1995], and half of these on the good side, which is not doubted.
SUSPICION = 0.10


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """`worsening`: the relative change, positive where it is bad; infinite from zero."""

    verdict: Verdict
    reason: Reason
    worsening: float = 0.0
    more_samples: int | None = None
    detectable_effect: float | None = None


def decide(
    evidence: Evidence,
    *,
    q_value: float | None,
    metric: MetricSettings,
    policy: PolicySettings,
    critical_p: float,
    paired: bool,
    suspicion_q: float | None = None,
) -> Decided:
    """`critical_p` is the p-value that would be significant in this run; sample counts are planned for it.

    `suspicion_q` is the q-value without the doubts that only more runs can remove, where it is another.
    """
    worsening = _worsening(evidence)
    too_few = too_few_samples(evidence, policy.minimum_samples)
    if evidence.p_value is None or q_value is None or worsening is None:
        tested = evidence.p_value is not None
        code = VerdictReason.NO_RELATIVE_CHANGE if tested else VerdictReason.NOTHING_TESTED
        return _inconclusive(evidence.evidence_reason or because(code))
    if too_few is not None:
        return _inconclusive(too_few, more_samples=_lacking_target_samples(evidence, policy.minimum_samples))
    effect = metric.minimum_effect
    is_proven = evidence.p_value < policy.alpha and q_value <= policy.false_discovery_rate
    if is_proven and reaches(worsening, effect):
        return _proven(evidence, worsening, q_value)
    visible = detectable_effect(evidence, minimum_effect=effect, critical_p=critical_p)
    untold = is_untold(evidence, minimum_effect=effect, visible=visible)
    unchanged = _unchanged(evidence, effect, is_proven=is_proven)
    if unchanged is not None and not untold:
        return _no_change(unchanged, worsening, visible)
    if (rounds := _least_rounds(evidence, critical_p)) is not None:
        # Alone it would be called: among so many that says little, and is no reason to be silent.
        is_alone_proven = reaches(worsening, effect, upwards=True) and evidence.p_value < policy.alpha
        return _of_too_few_rounds(evidence, worsening, rounds=rounds, is_suspect=is_alone_proven)
    suspicion_q = q_value if suspicion_q is None else suspicion_q
    # What is larger than what would have been seen was seen, whatever a detector's doubts say of it.
    is_seen = is_beyond(evidence, minimum_effect=effect, visible=visible)
    is_likely = is_seen or suspicion_q <= max(SUSPICION, policy.false_discovery_rate)
    return _open(
        evidence,
        worsening,
        effect,
        critical_p=critical_p,
        paired=paired,
        visible=visible,
        untold=untold,
        is_suspect=reaches(worsening, effect, upwards=True) and is_likely,
    )


def _of_too_few_rounds(evidence: Evidence, worsening: float, *, rounds: int, is_suspect: bool) -> Decided:
    if is_suspect:
        more_rounds = because(VerdictReason.LOOKS_WORSE_ROUNDS, rounds=rounds)
        return Decided(verdict=Verdict.INCONCLUSIVE, reason=more_rounds, worsening=worsening)
    return _inconclusive(because(VerdictReason.TOO_FEW_ROUNDS, count=evidence.precision.rounds, rounds=rounds))


def _open(
    evidence: Evidence,
    worsening: float,
    effect: float,
    *,
    critical_p: float,
    paired: bool,
    visible: float | None,
    untold: bool,
    is_suspect: bool,
) -> Decided:
    """A change is neither proven nor excluded."""
    more = _more_samples(evidence, effect, critical_p, paired=paired)
    is_blind = visible is not None and visible > BLIND
    if evidence.evidence_reason is None and not (is_suspect or untold or is_blind):
        # Four digits are more than is shown, and few enough that many findings share a reason.
        rounded = None if visible is None else float(f"{visible:.4g}")
        seen = because(VerdictReason.NOTHING_SEEN, effect=rounded)
        return replace(_no_change(seen, worsening, visible), more_samples=more)
    looks = _looks_worse(evidence, more, effect, critical_p, paired=paired)
    unseen = because(VerdictReason.UNTOLD, **looks.arguments) if untold else because(VerdictReason.BLIND)
    reason = evidence.evidence_reason or (looks if is_suspect else unseen)
    return Decided(verdict=Verdict.INCONCLUSIVE, reason=reason, worsening=worsening, more_samples=more)


def _proven(evidence: Evidence, worsening: float, q_value: float) -> Decided:
    verdict = Verdict.REGRESSION if worsening > 0 else Verdict.IMPROVEMENT
    significant = because(VerdictReason.SIGNIFICANT, test=evidence.test, q_value=q_value)
    reason = because(VerdictReason.EXACT_DIFFERENCE) if evidence.test == EXACT else significant
    return Decided(verdict=verdict, reason=reason, worsening=worsening)


def _unchanged(evidence: Evidence, effect: float, *, is_proven: bool) -> Reason | None:
    """Why there was no worsening of the minimum effect; None where there may be one."""
    worst = _worst_case(evidence)
    if is_proven:
        return because(VerdictReason.BELOW_MINIMUM_EFFECT, effect=effect)
    if worst is None or reaches(worst, effect, upwards=True):
        return None
    if evidence.test == EXACT:
        return because(VerdictReason.EXACTLY_EQUAL)
    return because(VerdictReason.EXCLUDED, effect=effect)


def _no_change(reason: Reason, worsening: float, detectable: float | None) -> Decided:
    return Decided(verdict=Verdict.NO_CHANGE, reason=reason, worsening=worsening, detectable_effect=detectable)


def level_of(worsening: float, metric: MetricSettings) -> Level:
    if worsening >= metric.fail:
        return Level.FAIL
    return Level.WARN if worsening >= metric.warn else Level.NOTE


def _inconclusive(reason: Reason, *, more_samples: int | None = None) -> Decided:
    return Decided(verdict=Verdict.INCONCLUSIVE, reason=reason, more_samples=more_samples)


def _is_lone_run(evidence: Evidence, *, paired: bool) -> bool:
    return not paired and evidence.baseline is not None and evidence.baseline.runs == 1


def _more_samples(evidence: Evidence, effect: float, critical_p: float, *, paired: bool) -> int | None:
    error, of_target = evidence.precision.standard_error, evidence.precision.target_samples_error
    # However many samples, they are of one run.
    if error is None or of_target is None or evidence.target is None or _is_lone_run(evidence, paired=paired):
        return None
    return further_target_samples(
        evidence.target.count, error=error, target_error=of_target, effect=effect, alpha=critical_p
    )


def _least_rounds(evidence: Evidence, critical_p: float) -> int | None:
    """The rounds that can prove a change among as many metrics, where those that were measured cannot."""
    if evidence.precision.least_p_value <= critical_p:
        return None
    return math.ceil(math.log(2 / critical_p) / math.log(WAYS_PER_ROUND))


def _looks_worse(
    evidence: Evidence, more_samples: int | None, effect: float, critical_p: float, *, paired: bool
) -> Reason:
    """With what would decide."""
    if _is_lone_run(evidence, paired=paired):
        return because(VerdictReason.LONE_RUN)
    error, rounds = evidence.precision.standard_error, evidence.precision.rounds
    if more_samples is not None:
        return because(VerdictReason.LOOKS_WORSE_SAMPLES, samples=more_samples)
    if paired and error is not None and rounds is not None:
        needed = rounds_needed(rounds, error=error, effect=effect, alpha=critical_p)
        return because(VerdictReason.LOOKS_WORSE_ROUNDS, rounds=needed)
    if evidence.precision.target_samples_error is not None:
        return because(VerdictReason.LOOKS_WORSE_ROUNDS if paired else VerdictReason.LOOKS_WORSE_BETWEEN_RUNS)
    return because(VerdictReason.LOOKS_WORSE)


def too_few_samples(evidence: Evidence, minimum: int) -> Reason | None:
    if evidence.test in {*WITHOUT_SAMPLE_COUNT, CHANGE_POINT, COUNTS}:
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
    if evidence.baseline is None or evidence.target is None or evidence.baseline.value != 0:
        return None
    if evidence.target.value == 0:
        return 0.0
    # From zero to something is a change of any size: Go's first allocation.
    bad = sign == 0 or evidence.target.value * sign > 0
    return float("inf") if bad else float("-inf")


def _worst_case(evidence: Evidence) -> float | None:
    """The interval's bad end, positive where it is a worsening."""
    if (interval := evidence.confidence_interval) is None:
        return 0.0 if evidence.test == EXACT else None
    sign = evidence.metric.direction.worse_sign
    ends = (interval.low, interval.high)
    return max(end * sign if sign else abs(end) for end in ends)
