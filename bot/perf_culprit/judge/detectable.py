"""How large an injected slowdown must be to be found, in trials of a detector."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.benchmark_findings import critical_p_after
from perf_culprit.judge.detector import BenchmarkDetector, DetectorOptions
from perf_culprit.judge.injection import smallest_effects
from perf_culprit.judge.metric_pairs import MetricPair, pair_metrics
from perf_culprit.judge.trials import Trial
from perf_culprit.model.accuracy import MetricLimit
from perf_culprit.model.finding import BaselineSource
from perf_culprit.model.run import Direction, Metric, MetricKey
from perf_culprit.stats.ragged import Floats

POWER: Final = 0.9
BOOTSTRAPS: Final = 400


def injected_effects(
    trials: Sequence[Trial], detector: BenchmarkDetector, *, settings: PolicySettings, rng: np.random.Generator
) -> tuple[list[MetricKey], Floats]:
    """The metrics, and the smallest effect found per trial and metric, shape (trials, m)."""
    pairs_of = [trial_pairs(trial, settings) for trial in trials]
    keys = list(dict.fromkeys(pair.key for pairs in pairs_of for pair in pairs))
    column = {key: index for index, key in enumerate(keys)}
    effects = np.full((len(trials), len(keys)), np.nan)
    for row, (trial, pairs) in enumerate(zip(trials, pairs_of, strict=True)):
        smallest = smallest_effects(pairs, detector, options=_options(trial, settings), rng=rng)
        effects[row, [column[pair.key] for pair in pairs]] = smallest
    return keys, effects


def trial_pairs(trial: Trial, settings: PolicySettings) -> tuple[MetricPair, ...]:
    def direction(metric: Metric, key: MetricKey) -> Direction:
        return settings.of(key).direction or metric.direction

    pairs = pair_metrics(trial.baseline, trial.target, direction=direction if settings.benchmarks else None).pairs
    return tuple(pair for pair in pairs if pair.obstacle is None and not settings.of(pair.key).ignore)


def _options(trial: Trial, settings: PolicySettings) -> DetectorOptions:
    return DetectorOptions(settings=settings, paired=trial.baseline.source is BaselineSource.PAIRED)


def detectable_effect(effects: Floats) -> float | None:
    if not len(effects):
        return None
    value = float(np.quantile(effects, POWER, method="higher"))
    return value if np.isfinite(value) else None


def detectable_range(effects: Floats, rng: np.random.Generator) -> tuple[float, float | None] | None:
    """95% range over resampled target runs: the trials of one run share its machine, so runs are what is drawn."""
    drawn = []
    for _ in range(BOOTSTRAPS):
        sample = effects[rng.integers(0, len(effects), len(effects))]
        sample = sample[~np.isnan(sample)]
        if len(sample):
            drawn.append(float(np.quantile(sample, POWER, method="higher")))
    if not drawn:
        return None
    low, high = np.quantile(drawn, (0.025, 0.975), method="nearest").tolist()
    return (low, high if np.isfinite(high) else None) if np.isfinite(low) else None


def metric_limits(keys: Sequence[MetricKey], effects: Floats) -> tuple[MetricLimit, ...]:
    # Minus infinity: no trial had a number that a factor changes.
    worst: list[float] = np.max(np.where(np.isnan(effects), -np.inf, effects), axis=0).tolist()
    limits = [
        MetricLimit(key=key, effect=value if np.isfinite(value) else None)
        for key, value in zip(keys, worst, strict=True)
        if value > 0
    ]
    return tuple(sorted(limits, key=lambda entry: (-(entry.effect or np.inf), entry.key)))


def samples_needed(trial: Trial, detector: BenchmarkDetector, settings: PolicySettings) -> int | None:
    pairs = trial_pairs(trial, settings)
    evidence = detector.detect(pairs, _options(trial, settings).at(critical_p_after(settings, tests=len(pairs))))
    needed = [
        np.inf if entry.samples_needed is None else entry.samples_needed
        for entry in evidence
        if entry.p_value is not None and entry.precision.standard_error is not None
    ]
    if not needed:
        return None
    value = float(np.quantile(needed, POWER, method="higher"))
    return int(value) if np.isfinite(value) else None
