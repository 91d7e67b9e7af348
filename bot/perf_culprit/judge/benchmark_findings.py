"""The verdict for each benchmark from its evidence, and its response-time category."""

from collections.abc import Sequence

from msgspec import UNSET

from perf_culprit.config.policy_settings import MetricSettings, PolicySettings
from perf_culprit.judge.categories import CategoryChange
from perf_culprit.judge.metric_pairs import MetricPair, some_samples
from perf_culprit.judge.unit_factors import milliseconds_per
from perf_culprit.judge.verdict import Decided, decide, decide_by_sample, decide_by_strength, level_of
from perf_culprit.model.detectors import Scale
from perf_culprit.model.finding import PROVEN, QUIET_VERDICTS, Drawn, Evidence, Finding, Level, Severity, Verdict
from perf_culprit.model.reason import VerdictReason, because


def benchmark_findings(
    pairs: Sequence[MetricPair],
    evidence: Sequence[Evidence],
    categories: Sequence[CategoryChange],
    settings: PolicySettings,
    *,
    inherits: bool,
) -> list[Finding]:
    """Return one finding per pair, from its evidence and its category.

    `inherits`: if the baseline was already beyond its category, the target did not cause it.
    """
    findings = []
    for pair, entry, category in zip(pairs, evidence, categories, strict=True):
        metric = settings.of(pair.key)
        decided = _decide(entry, metric, settings)
        is_own = not (inherits and category.is_inherited)
        outcome = _decide_category(decided, category, settings) if is_own else decided
        is_major = is_own and _is_beyond(category, entry, settings)
        findings.append(_finding(pair, entry, outcome, category, metric, is_major=is_major))
    return findings


def _decide(evidence: Evidence, metric: MetricSettings, settings: PolicySettings) -> Decided:
    if evidence.is_by_sample:
        return decide_by_sample(evidence, metric=metric)
    if evidence.scale is Scale.STRENGTH:
        return decide_by_strength(evidence, metric=metric)
    return decide(evidence, metric=metric, policy=settings)


def _decide_category(decided: Decided, category: CategoryChange, settings: PolicySettings) -> Decided:
    """Judge leaving the category as a change of its own, as large as the target's distance beyond the limit."""
    if category.beyond is None or category.rate > settings.suspected or decided.verdict in PROVEN:
        return decided
    is_proven = category.rate <= settings.proven
    if not is_proven and (decided.verdict is Verdict.SUSPECTED or decided.worsening <= 0):
        return decided
    return Decided(
        verdict=Verdict.REGRESSION if is_proven else Verdict.SUSPECTED,
        reason=because(
            VerdictReason.LEFT_CATEGORY if is_proven else VerdictReason.LEFT_CATEGORY_SUSPECTED,
            category=str(category.assigned),
            limit=category.limit_ms or 0.0,
            beyond=category.beyond,
            rate=category.rate,
        ),
        worsening=category.beyond,
    )


def _is_beyond(category: CategoryChange, evidence: Evidence, settings: PolicySettings) -> bool:
    """Whether the level is surely beyond the category: by its own rate, or by the whole interval of the change."""
    if category.beyond is None or category.rate <= settings.proven:
        return category.beyond is not None
    interval, change = evidence.confidence_interval, evidence.relative_change
    if interval is None or change is None:
        return interval is None
    return (1 + category.beyond) * (1 + interval.low) / (1 + change) >= 1


def _finding(
    pair: MetricPair,
    evidence: Evidence,
    decided: Decided,
    category: CategoryChange,
    metric: MetricSettings,
    *,
    is_major: bool,
) -> Finding:
    regressed = decided.verdict is Verdict.REGRESSION
    # Thousands of unchanged metrics need no chart.
    is_drawn = pair.obstacle is None and decided.verdict not in QUIET_VERDICTS
    return Finding.judged(
        evidence,
        verdict=decided.verdict,
        reason=decided.reason,
        severity=(Severity.MAJOR if is_major else Severity.MINOR) if regressed else None,
        level=level_of(decided.worsening, metric) if regressed else Level.NOTE,
        detectable_effect=decided.detectable_effect,
        minimum_effect=metric.minimum_effect,
        category=category.assigned,
        category_now=category.now,
        category_limit=None
        if category.limit_ms is None
        else category.limit_ms / (milliseconds_per(evidence.unit) or 1.0),
        series=pair.series if is_drawn else (),
        drawn=Drawn(baseline_samples=some_samples(pair.baseline), target_samples=some_samples((pair.target,)))
        if is_drawn
        else UNSET,
    )
