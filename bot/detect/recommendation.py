"""From an audit's numbers to settings, with the reasons."""

from collections.abc import Sequence

from bot.detect.settings import PolicySettings
from bot.model.audit import DetectorAudit, Recommendation, TrialKind

# Round numbers that a person would write into a configuration.
ROUND_EFFECTS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)
# A detector that finds a little less is no worse: the order of the registry decides.
SAME_EFFECT = 1.1


def recommend(
    audits: Sequence[DetectorAudit], *, kind: TrialKind, settings: PolicySettings, samples_per_run: int
) -> Recommendation:
    """The most sensitive detector among those that did not cry too often; the smallest round effect that it finds."""
    stated = settings.false_discovery_rate
    quiet = [entry for entry in audits if entry.alarms.low <= stated]
    best = _most_sensitive(quiet or [min(audits, key=lambda entry: entry.alarms.share)])
    reasons = [_quietness(best, stated=stated, any_quiet=bool(quiet))]
    loud = [entry.detector for entry in audits if entry not in quiet]
    if quiet and loud:
        reasons.append(f"{', '.join(loud)}: more false alarms than the stated rate allows")
    effect = _round_up(best.detectable_effect)
    if best.detectable_effect is None:
        reasons.append("more than 10 % of the injected changes were not found at any size")
    elif best.detectable_effect <= settings.minimum_effect:
        effect = settings.minimum_effect
        reasons.append(f"the noise hides no more than {_percent(best.detectable_effect)} in 90 % of the trials")
    else:
        reasons.append(f"changes below {_percent(best.detectable_effect)} are found in less than 90 % of the trials")
    samples = best.samples_needed
    if samples is not None and samples <= samples_per_run:
        samples = samples_per_run
        reasons.append(f"{samples} samples per run are enough for {_percent(settings.minimum_effect)}")
    elif samples is not None:
        reasons.append(
            f"{samples} samples per run would find {_percent(settings.minimum_effect)} in 90 % of the metrics"
        )
    elif kind is TrialKind.STORED_RUNS and effect != settings.minimum_effect:
        reasons.append(
            f"runs differ by more than samples can make up for: to find {_percent(settings.minimum_effect)}, measure "
            "both commits in one job"
        )
    return Recommendation(detector=best.detector, minimum_effect=effect, samples=samples, reasons=tuple(reasons))


def _most_sensitive(audits: Sequence[DetectorAudit]) -> DetectorAudit:
    effects = [float("inf") if entry.detectable_effect is None else entry.detectable_effect for entry in audits]
    return next(entry for entry, effect in zip(audits, effects, strict=True) if effect <= min(effects) * SAME_EFFECT)


def _quietness(entry: DetectorAudit, *, stated: float, any_quiet: bool) -> str:
    rate = entry.alarms
    counted = f"{rate.count} of {rate.trials} runs had a false alarm by {entry.detector}"
    if any_quiet:
        return f"{counted}, which agrees with the stated {_percent(stated)}"
    return f"{counted}, more than the stated {_percent(stated)} allows, but fewer than by any other detector"


def _round_up(effect: float | None) -> float | None:
    return None if effect is None else next((step for step in ROUND_EFFECTS if step >= effect), effect)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %"
