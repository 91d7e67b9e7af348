"""Recommend settings from an audit's numbers, with the reasons."""

from collections.abc import Sequence

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.model.accuracy import CounterAudit, DetectorAudit, Recommendation
from perf_culprit.model.reason import AuditReason, Reason, because

# Round numbers that a person would configure. The last one is the largest that the configuration accepts.
ROUND_EFFECTS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)


def recommend(
    audits: Sequence[DetectorAudit],
    counters: Sequence[CounterAudit],
    *,
    settings: PolicySettings,
    detector: str,
    counter_detector: str,
) -> Recommendation:
    """Recommend the detector that finds most of those that hold their stated rates; then the one least often wrong.

    If none holds them, recommend the one with fewest false alarms, and a stricter profile.
    """
    reasons: list[Reason] = []
    chosen = _counter_detector(counters, counter_detector, reasons)
    if not audits:
        return Recommendation(
            detector=None, profile=None, counter_detector=chosen, minimum_effect=None, reasons=tuple(reasons)
        )
    quiet = [one for one in audits if one.alarms.low <= settings.proven and one.suspicions.low <= settings.suspected]
    best = min(quiet or audits, key=lambda one: _order(one, is_quiet=bool(quiet), configured=detector))
    code = AuditReason.AGREES_WITH_STATED if quiet else AuditReason.FEWEST_WRONG
    alarms = best.alarms
    grounds = [because(code, detector=best.detector, count=alarms.count, trials=alarms.trials, stated=settings.proven)]
    loud = [one.detector for one in audits if one not in quiet]
    if quiet and loud:
        grounds.append(because(AuditReason.OTHERS_TOO_LOUD, detectors=tuple(loud)))
    effect = _effect(best, settings=settings, reasons=grounds)
    return Recommendation(
        detector=best.detector,
        profile=None if quiet or settings.profile == "strict" else "strict",
        counter_detector=chosen,
        minimum_effect=effect,
        reasons=(*grounds, *reasons),
    )


def _order(audit: DetectorAudit, *, is_quiet: bool, configured: str) -> tuple[float, float, bool]:
    power = -sum(one.suspected + one.proven for one in audit.power)
    wrong = audit.alarms.share + audit.suspicions.share
    return (*((power, wrong) if is_quiet else (wrong, power)), audit.detector != configured)


def _counter_detector(counters: Sequence[CounterAudit], configured: str, reasons: list[Reason]) -> str | None:
    """The configured detector if it holds its stated rate, else one that does, else the configured one."""
    if not counters:
        return None
    quiet = [entry.detector for entry in counters if entry.is_quiet]
    best = configured if configured in quiet or not quiet else quiet[0]
    entry = next((entry for entry in counters if entry.detector == best), counters[0])
    if entry.stated_of_counters:
        code = AuditReason.COUNTERS_AGREE if entry.is_quiet else AuditReason.COUNTERS_TOO_LOUD
        rate = entry.metric_alarms
    else:
        code = AuditReason.COUNTER_RUNS_AGREE if entry.is_quiet else AuditReason.COUNTER_RUNS_TOO_LOUD
        rate = entry.alarms
    counted = {"count": rate.count, "trials": rate.trials}
    reasons.append(because(code, detector=entry.detector, stated=entry.stated_rate, **counted))
    return entry.detector


def _effect(entry: DetectorAudit, *, settings: PolicySettings, reasons: list[Reason]) -> float | None:
    if (visible := entry.detectable_effect) is None:
        reasons.append(because(AuditReason.NEVER_DETECTED))
        return None
    if visible <= settings.minimum_effect:
        reasons.append(because(AuditReason.NOISE_HIDES_LITTLE, effect=visible))
        return settings.minimum_effect
    reasons.append(because(AuditReason.SMALL_CHANGES_HIDDEN, effect=visible))
    return next((step for step in ROUND_EFFECTS if step >= visible), None)
