"""What the evidence on benchmarks comes to: q-values over all of them, a verdict for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from msgspec import UNSET

from perf_culprit.config.policy_settings import CategoryConfig, MetricSettings, PolicySettings
from perf_culprit.judge.limit_verdict import decide_by_limit
from perf_culprit.judge.metric_pairs import MetricPair, some_samples
from perf_culprit.judge.unit_factors import milliseconds_per
from perf_culprit.judge.verdict import Decided, decide, level_of
from perf_culprit.model.count import Count
from perf_culprit.model.finding import Drawn, Evidence, Finding, Level, Severity, Verdict
from perf_culprit.model.run import Direction
from perf_culprit.stats.multiplicity import known_q_values, number, numbers
from perf_culprit.stats.ragged import Floats


def p_values_of(evidence: Sequence[Evidence]) -> Floats:
    """Of the test, without modes, of the excess over a limit, and of the level: (m, 4), NaN where there is none."""
    return numbers(chain.from_iterable(map(_p_values, evidence))).reshape(-1, 4)


def critical_p_of(p_values: Floats, settings: PolicySettings) -> float:
    """What the p-value of the next discovery would have to be [Benjamini & Hochberg 1995], given those (m,) of all."""
    q_values = known_q_values(p_values)
    tests, discoveries = np.isfinite(q_values).sum(), (q_values <= settings.false_discovery_rate).sum()
    return critical_p_after(settings, tests=int(tests), discoveries=int(discoveries))


def critical_p_after(settings: PolicySettings, *, tests: int, discoveries: int = 0) -> float:
    """The same by their numbers; without discoveries that of a metric that alone changes."""
    return min(settings.alpha, settings.false_discovery_rate * (discoveries + 1) / max(tests, 1))


def benchmark_findings(
    pairs: Sequence[MetricPair],
    evidence: Sequence[Evidence],
    settings: PolicySettings,
    *,
    p_values: Floats,
    critical_p: float,
    paired: bool,
) -> list[Finding]:
    """One finding per pair and its evidence, q-values over all of them.

    `p_values` and `critical_p` as `p_values_of` and `critical_p_of` give them.
    """
    by_p, suspicion, by_limit, of_level = map(known_q_values, p_values.T)
    # A detector has either p-values or scores.
    q_values = np.where(np.isnan(by_limit), by_p, by_limit)
    findings = []
    for index, (pair, entry) in enumerate(zip(pairs, evidence, strict=True)):
        metric = settings.of(pair.key)
        q_value = number(q_values[index])
        if entry.score is not None:
            decided = decide_by_limit(
                entry, q_value=q_value, level_q=number(of_level[index]), metric=metric, policy=settings, by_effect=True
            )
        else:
            decided = decide(
                entry,
                q_value=q_value,
                suspicion_q=number(suspicion[index]),
                metric=metric,
                policy=settings,
                critical_p=critical_p,
                paired=paired,
            )
        findings.append(_finding(pair, entry, decided, metric, q_value))
    return findings


def _p_values(evidence: Evidence) -> tuple[float | None, ...]:
    without, excess = evidence.precision.p_without_modes, evidence.excess
    return evidence.p_value, evidence.p_value if without is None else without, excess.chance, excess.level_chance


def _finding(
    pair: MetricPair, evidence: Evidence, decided: Decided, metric: MetricSettings, q_value: float | None
) -> Finding:
    category = CategoryChange()
    if evidence.target is not None:
        category = category_change(pair, target_mean=evidence.target.value, settings=metric)
    regressed = decided.verdict is Verdict.REGRESSION
    # Thousands of unchanged metrics need no chart.
    is_drawn = pair.obstacle is None and decided.verdict is not Verdict.NO_CHANGE
    return Finding.judged(
        evidence,
        verdict=decided.verdict,
        reason=decided.reason,
        q_value=q_value,
        severity=(Severity.MAJOR if category.violated else Severity.MINOR) if regressed else None,
        level=level_of(decided.worsening, metric) if regressed else Level.NOTE,
        more_samples=decided.more_samples,
        detectable_effect=decided.detectable_effect,
        minimum_effect=metric.minimum_effect,
        category=category.assigned,
        category_now=category.now,
        series=pair.series if is_drawn else (),
        drawn=Drawn(baseline_samples=some_samples(pair.baseline), target_samples=some_samples((pair.target,)))
        if is_drawn
        else UNSET,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class CategoryChange:
    """`violated`: the target no longer meets the requirement of the assigned category."""

    assigned: str | None = None
    now: str | None = None
    violated: bool = False


def category_change(pair: MetricPair, *, target_mean: float, settings: MetricSettings) -> CategoryChange:
    """The category assigned by hand, stored with the baseline or of its oldest run, and the target's.

    Only response times have categories. A stored name that is no longer configured is as good as none.
    """
    milliseconds = milliseconds_per(pair.metric.unit)
    if (
        pair.metric.name == Count.BUILD_TIME
        or milliseconds is None
        or pair.metric.direction is not Direction.LOWER_IS_BETTER
        or pair.obstacle is not None
    ):
        return CategoryChange()
    names = [category.name for category in settings.categories]
    stored = (settings.category, *(run.category for run in pair.baseline))
    candidates = (name for name in stored if name in names)
    assigned = next(candidates, None) or category_of(pair.baseline[0].value * milliseconds, settings.categories)
    now = category_of(target_mean * milliseconds, settings.categories)
    return CategoryChange(assigned=assigned, now=now, violated=names.index(now) > names.index(assigned))


def category_of(time_ms: float, categories: Sequence[CategoryConfig]) -> str:
    """The first category whose upper bound is above `time_ms`; the last one if there is none."""
    return next((one.name for one in categories if one.below is None or time_ms < one.below), categories[-1].name)
