"""From an audit's numbers to settings, with the reasons."""

from collections.abc import Sequence

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.model.accuracy import CounterAudit, DetectorAudit, Recommendation, TrialKind
from perf_culprit.model.reason import AuditReason, Reason, because

# Round numbers that a person would write into a configuration.
# The configuration takes up to the last.
ROUND_EFFECTS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)
# A detector that finds a little less is no worse: the order of the registry decides.
SAME_EFFECT = 1.1


def recommend(
    audits: Sequence[DetectorAudit],
    counters: Sequence[CounterAudit],
    *,
    kind: TrialKind,
    settings: PolicySettings,
    samples_per_run: int,
    counter_detector: str,
) -> Recommendation:
    """The most sensitive detector among those that keep their word; the smallest round effect that it finds.

    Where none does, a smaller false discovery rate at which the quietest would have.
    """
    reasons: list[Reason] = []
    chosen = _counter_detector(counters, counter_detector, reasons)
    if not audits:
        return Recommendation(
            detector=None,
            false_discovery_rate=None,
            counter_detector=chosen,
            minimum_effect=None,
            samples=None,
            reasons=tuple(reasons),
        )
    stated = settings.false_discovery_rate
    quiet = [entry for entry in audits if entry.alarms.low <= stated]
    best = _most_sensitive(quiet or [min(audits, key=lambda entry: entry.alarms.share)])
    code, alarms = AuditReason.AGREES_WITH_STATED if quiet else AuditReason.FEWEST_WRONG, best.alarms
    grounds = [because(code, detector=best.detector, count=alarms.count, trials=alarms.trials, stated=stated)]
    loud = [entry.detector for entry in audits if entry not in quiet]
    if quiet and loud:
        grounds.append(because(AuditReason.OTHERS_TOO_LOUD, detectors=tuple(loud)))
    rate = stated if quiet else _stricter(best, stated=stated, reasons=grounds)
    effect = _effect(best, settings=settings, reasons=grounds)
    samples = _samples(best, kind, effect, settings=settings, samples_per_run=samples_per_run, reasons=grounds)
    return Recommendation(
        detector=best.detector,
        false_discovery_rate=rate,
        counter_detector=chosen,
        minimum_effect=effect,
        samples=samples,
        reasons=(*grounds, *reasons),
    )


def _counter_detector(counters: Sequence[CounterAudit], configured: str, reasons: list[Reason]) -> str | None:
    """The one in force if it keeps its word, else one that does, else the one in force."""
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


def _most_sensitive(audits: Sequence[DetectorAudit]) -> DetectorAudit:
    effects = [float("inf") if entry.detectable_effect is None else entry.detectable_effect for entry in audits]
    return next(entry for entry, effect in zip(audits, effects, strict=True) if effect <= min(effects) * SAME_EFFECT)


def _stricter(entry: DetectorAudit, *, stated: float, reasons: list[Reason]) -> float | None:
    for level, rate in entry.stricter:
        if rate.low <= stated:
            reasons.append(because(AuditReason.STRICTER_RATE, rate=level, count=rate.count, trials=rate.trials))
            return level
    reasons.append(because(AuditReason.NO_RATE_HELPS))
    return None


def _effect(entry: DetectorAudit, *, settings: PolicySettings, reasons: list[Reason]) -> float | None:
    if (visible := entry.detectable_effect) is None:
        reasons.append(because(AuditReason.NEVER_DETECTED))
        return None
    if visible <= settings.minimum_effect:
        reasons.append(because(AuditReason.NOISE_HIDES_LITTLE, effect=visible))
        return settings.minimum_effect
    reasons.append(because(AuditReason.SMALL_CHANGES_HIDDEN, effect=visible))
    return next((step for step in ROUND_EFFECTS if step >= visible), None)


def _samples(
    entry: DetectorAudit,
    kind: TrialKind,
    effect: float | None,
    *,
    settings: PolicySettings,
    samples_per_run: int,
    reasons: list[Reason],
) -> int | None:
    samples, wanted = entry.samples_needed, settings.minimum_effect
    if samples is not None and samples <= samples_per_run:
        reasons.append(because(AuditReason.SAMPLES_ENOUGH, samples=samples_per_run, effect=wanted))
        return samples_per_run
    if samples is not None:
        reasons.append(because(AuditReason.SAMPLES_WANTED, samples=samples, effect=wanted))
    elif kind is TrialKind.STORED_RUNS and effect != settings.minimum_effect:
        reasons.append(because(AuditReason.RUNS_DIFFER_MORE, effect=wanted))
    return samples
