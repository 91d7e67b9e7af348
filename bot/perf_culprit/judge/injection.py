"""How large a worsening must be to be found: every metric is made worse by bisection until it just is."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perf_culprit.config.policy_settings import MetricSettings
from perf_culprit.judge.benchmark_findings import critical_p_after
from perf_culprit.judge.detector import BenchmarkDetector, DetectorOptions
from perf_culprit.judge.limit_verdict import decide_by_limit
from perf_culprit.judge.metric_pairs import MetricPair, scaled
from perf_culprit.judge.verdict import decide
from perf_culprit.model.finding import Evidence, Verdict
from perf_culprit.model.run import Direction
from perf_culprit.stats.ragged import Booleans, Floats

SMALLEST_EFFECT, LARGEST_EFFECT = 0.005, 2.56
# A throughput can fall by no more than all of it.
LARGEST_FALL = 0.95
# Halvings of the nine octaves between: the answer is known to about a tenth of itself.
STEPS = 6


def smallest_effects(
    pairs: Sequence[MetricPair],
    detector: BenchmarkDetector,
    *,
    options: DetectorOptions,
    rng: np.random.Generator,
) -> Floats:
    """The smallest worsening per pair that would be called a regression, shape (m,), whatever the minimum effect.

    Each metric is judged as the only one that changed in its suite: all are injected at once, and its q-value is its
    p-value times their number, which is what Benjamini & Hochberg ask of a single discovery. Infinite where the largest
    effect is not found; NaN where the target is zero, which no factor changes, and where there is an alarm without any
    injection, which would count as found. `rng` moves each metric's steps, so that
    all metrics together are known finer than one.
    """
    falls = np.array([pair.metric.direction is Direction.HIGHER_IS_BETTER for pair in pairs])
    high = np.log(np.where(falls, LARGEST_FALL, LARGEST_EFFECT))
    step = (high - np.log(SMALLEST_EFFECT)) / 2**STEPS
    low = np.log(SMALLEST_EFFECT) - step * rng.random(len(pairs))

    rules = [replace(options.settings.of(pair.key), minimum_effect=0.0) for pair in pairs]

    def detected(effects: Floats) -> Booleans:
        worse = [worsened(pair, effect) for pair, effect in zip(pairs, effects.tolist(), strict=True)]
        return np.array(
            [
                _is_regression(entry, metric=metric, options=options, metrics=len(pairs))
                for entry, metric in zip(detector.detect(worse, options), rules, strict=True)
            ],
            dtype=np.bool_,
        )

    ever = detected(np.exp(high))
    for _ in range(STEPS if ever.any() else 0):
        middle = (low + high) / 2
        hit = detected(np.exp(middle))
        low, high = np.where(hit, low, middle), np.where(hit, middle, high)
    effects = np.where(ever, np.exp(high), np.inf)
    untold = detected(np.zeros(len(pairs))) | np.array([pair.target.value == 0 for pair in pairs], dtype=np.bool_)
    return np.where(untold, np.nan, effects)


def worsened(pair: MetricPair, effect: float) -> MetricPair:
    """The pair with every number of the target moved by `effect` times itself to the bad side."""
    sign = pair.metric.direction.worse_sign or 1
    factor = 1 + effect * sign * (1 if pair.target.value >= 0 else -1)
    return replace(pair, target=scaled(pair.target, pair.target.metric, factor))


def _is_regression(evidence: Evidence, *, metric: MetricSettings, options: DetectorOptions, metrics: int) -> bool:
    settings = options.settings
    if evidence.score is not None:
        chance, level = evidence.excess.chance, evidence.excess.level_chance
        q_value = None if chance is None else min(1.0, chance * metrics)
        level_q = None if level is None else min(1.0, level * metrics)
        decided = decide_by_limit(
            evidence, q_value=q_value, level_q=level_q, metric=metric, policy=settings, by_effect=True
        )
    else:
        q_value = None if evidence.p_value is None else min(1.0, evidence.p_value * metrics)
        critical_p = critical_p_after(settings, tests=metrics)
        decided = decide(
            evidence, q_value=q_value, metric=metric, policy=settings, critical_p=critical_p, paired=options.paired
        )
    changes = {Verdict.REGRESSION}
    if evidence.metric.direction is Direction.UNKNOWN:
        changes.add(Verdict.IMPROVEMENT)
    return decided.verdict in changes
