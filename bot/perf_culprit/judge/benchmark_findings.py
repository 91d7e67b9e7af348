"""What the evidence on benchmarks comes to: a verdict for each, and its response-time category."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import UNSET

from perf_culprit.config.policy_settings import CategoryConfig, MetricSettings, PolicySettings
from perf_culprit.judge.limit_verdict import decide_by_limit
from perf_culprit.judge.metric_pairs import MetricPair, some_samples
from perf_culprit.judge.unit_factors import milliseconds_per
from perf_culprit.judge.verdict import Decided, decide, level_of
from perf_culprit.model.count import Count
from perf_culprit.model.finding import QUIET, Drawn, Evidence, Finding, Level, Severity, Verdict
from perf_culprit.model.run import Direction


def benchmark_findings(
    pairs: Sequence[MetricPair], evidence: Sequence[Evidence], settings: PolicySettings
) -> list[Finding]:
    """One finding per pair and its evidence."""
    return [
        _finding(pair, entry, _decided(entry, settings.of(pair.key), settings), settings.of(pair.key))
        for pair, entry in zip(pairs, evidence, strict=True)
    ]


def _decided(evidence: Evidence, metric: MetricSettings, settings: PolicySettings) -> Decided:
    if evidence.rate is None and evidence.score is not None:
        return decide_by_limit(evidence, q_value=None, metric=metric, policy=settings, by_effect=True)
    return decide(evidence, metric=metric, policy=settings)


def _finding(pair: MetricPair, evidence: Evidence, decided: Decided, metric: MetricSettings) -> Finding:
    category = CategoryChange()
    if evidence.target is not None:
        category = category_change(pair, target_mean=evidence.target.value, settings=metric)
    regressed = decided.verdict is Verdict.REGRESSION
    # Thousands of unchanged metrics need no chart.
    is_drawn = pair.obstacle is None and decided.verdict not in QUIET
    return Finding.judged(
        evidence,
        verdict=decided.verdict,
        reason=decided.reason,
        severity=(Severity.MAJOR if category.violated else Severity.MINOR) if regressed else None,
        level=level_of(decided.worsening, metric) if regressed else Level.NOTE,
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
