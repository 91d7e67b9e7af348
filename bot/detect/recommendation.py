"""From an audit's numbers to settings, with the reasons."""

from collections.abc import Sequence

from bot.detect.settings import PolicySettings
from bot.model.audit import CounterAudit, DetectorAudit, Recommendation, TrialKind

# Round numbers that a person would write into a configuration.
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
    reasons: list[str] = []
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
    grounds = [_quietness(best, stated=stated, any_quiet=bool(quiet))]
    loud = [entry.detector for entry in audits if entry not in quiet]
    if quiet and loud:
        grounds.append(f"{', '.join(loud)}: more wrong alarms than the stated rate allows")
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


def _counter_detector(counters: Sequence[CounterAudit], configured: str, reasons: list[str]) -> str | None:
    """The one in force if it keeps its word, else one that does, else the one in force."""
    if not counters:
        return None
    quiet = [entry.detector for entry in counters if entry.is_quiet]
    best = configured if configured in quiet or not quiet else quiet[0]
    entry = next((entry for entry in counters if entry.detector == best), counters[0])
    rate, what = (entry.metric_alarms, "counters") if entry.stated_of_counters else (entry.alarms, "runs")
    verb = "agrees with" if entry.is_quiet else "is more than"
    reasons.append(
        f"{rate.count:,} of {rate.trials:,} {what} had a wrong alarm by {entry.detector}, which {verb} the stated "
        f"{_percent(entry.stated_rate)}"
    )
    return entry.detector


def _most_sensitive(audits: Sequence[DetectorAudit]) -> DetectorAudit:
    effects = [float("inf") if entry.detectable_effect is None else entry.detectable_effect for entry in audits]
    return next(entry for entry, effect in zip(audits, effects, strict=True) if effect <= min(effects) * SAME_EFFECT)


def _quietness(entry: DetectorAudit, *, stated: float, any_quiet: bool) -> str:
    rate = entry.alarms
    counted = f"{entry.detector} would have been wrong in {rate.count:,} of {rate.trials:,} runs"
    if any_quiet:
        return f"{counted}, which agrees with the stated {_percent(stated)}"
    return f"{counted}, more than the stated {_percent(stated)} allows, but fewer than any other detector"


def _stricter(entry: DetectorAudit, *, stated: float, reasons: list[str]) -> float | None:
    for level, rate in entry.stricter:
        if rate.low <= stated:
            reasons.append(
                f"with a false-discovery-rate of {_percent(level)} it would have been wrong in {rate.count:,} of "
                f"{rate.trials:,} runs"
            )
            return level
    reasons.append("no false-discovery-rate makes it keep its word here: measure both commits in one job")
    return None


def _effect(entry: DetectorAudit, *, settings: PolicySettings, reasons: list[str]) -> float | None:
    visible = entry.detectable_effect
    if visible is None:
        reasons.append("more than 10% of the injected changes were not found at any size")
        return None
    if visible <= settings.minimum_effect:
        reasons.append(f"the noise hides no more than {_percent(visible)} in 90% of the trials")
        return settings.minimum_effect
    reasons.append(f"changes below {_percent(visible)} are found in less than 90% of the trials")
    return next((step for step in ROUND_EFFECTS if step >= visible), visible)


def _samples(
    entry: DetectorAudit,
    kind: TrialKind,
    effect: float | None,
    *,
    settings: PolicySettings,
    samples_per_run: int,
    reasons: list[str],
) -> int | None:
    samples, wanted = entry.samples_needed, _percent(settings.minimum_effect)
    if samples is not None and samples <= samples_per_run:
        reasons.append(f"{samples_per_run} samples per run are enough for {wanted}")
        return samples_per_run
    if samples is not None:
        reasons.append(f"{samples} samples per run would find {wanted} in 90% of the metrics")
    elif kind is TrialKind.STORED_RUNS and effect != settings.minimum_effect:
        reasons.append(
            f"runs differ by more than samples can make up for: to find {wanted}, measure both commits in one job"
        )
    return samples


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g}%"
