"""What the evidence on benchmarks comes to: q-values over all of them, a verdict for each."""

from collections.abc import Sequence

from bot.detect.categories import CategoryChange, category_change
from bot.detect.limits import decide_by_limit, level_q_values_of, limit_q_values
from bot.detect.pairs import MetricPair, some_samples
from bot.detect.settings import MetricSettings, PolicySettings
from bot.detect.verdict import Decided, decide, level_of
from bot.model.finding import Evidence, Finding, Level, Severity, Verdict
from bot.stats.multiplicity import known_q_values


def critical_p_of(evidence: Sequence[Evidence], settings: PolicySettings) -> float:
    """What the p-value of the next discovery would have to be [Benjamini & Hochberg 1995]."""
    q_values = known_q_values([entry.p_value for entry in evidence])
    discoveries = sum(q <= settings.false_discovery_rate for q in q_values.values())
    return min(settings.alpha, settings.false_discovery_rate * (discoveries + 1) / max(len(q_values), 1))


def benchmark_findings(
    pairs: Sequence[MetricPair],
    evidence: Sequence[Evidence],
    settings: PolicySettings,
    *,
    critical_p: float,
    paired: bool,
) -> list[Finding]:
    """One finding per pair and its evidence, q-values over all of them. `critical_p` as `critical_p_of` gives it."""
    # A detector has either p-values or scores.
    q_values = {**known_q_values([entry.p_value for entry in evidence]), **limit_q_values(evidence)}
    suspicion = known_q_values([_p_without_modes(entry) for entry in evidence])
    level_q_values = level_q_values_of(evidence)
    findings = []
    for index, (pair, entry) in enumerate(zip(pairs, evidence, strict=True)):
        metric = settings.of(pair.key)
        q_value = q_values.get(index)
        if entry.score is not None:
            decided = decide_by_limit(
                entry,
                q_value=q_value,
                level_q=level_q_values.get(index),
                metric=metric,
                policy=settings,
                by_effect=True,
            )
        else:
            decided = decide(
                entry,
                q_value=q_value,
                suspicion_q=suspicion.get(index),
                metric=metric,
                policy=settings,
                critical_p=critical_p,
                paired=paired,
            )
        findings.append(_finding(pair, entry, decided, metric, q_value))
    return findings


def _p_without_modes(evidence: Evidence) -> float | None:
    without = evidence.precision.p_without_modes
    return evidence.p_value if without is None else without


def _finding(
    pair: MetricPair, evidence: Evidence, decided: Decided, metric: MetricSettings, q_value: float | None
) -> Finding:
    category = CategoryChange()
    if evidence.target is not None:
        category = category_change(pair, target_mean=evidence.target.value, settings=metric)
    regressed = decided.verdict is Verdict.REGRESSION
    # Thousands of unchanged metrics need no chart.
    is_drawn = pair.obstacle is None and decided.verdict is not Verdict.NO_CHANGE
    return Finding(
        evidence=evidence,
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
        baseline_samples=some_samples(pair.baseline) if is_drawn else (),
        target_samples=some_samples((pair.target,)) if is_drawn else (),
    )
