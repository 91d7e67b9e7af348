"""Verdicts on counters, which a detector judges by a limit instead of a rate: docs/decision-rule.md."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

import numpy as np
from msgspec import structs

from perf_culprit.arrays import Floats
from perf_culprit.config.policy_settings import MetricSettings, PolicySettings
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.detector import detector_of
from perf_culprit.judge.metric_pairs import some_of
from perf_culprit.judge.one_load import at_one_load
from perf_culprit.judge.rule_votes import true_stretches
from perf_culprit.judge.verdict import Decided, level_of, worsening_of
from perf_culprit.model.detectors import Scale
from perf_culprit.model.finding import PROVEN, QUIET_VERDICTS, Drawn, Evidence, Finding, Level, Verdict
from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.reason import Reason, Remark, VerdictReason, because
from perf_culprit.model.run import TimeSeries
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.chart_limits import DEFAULT_LIMITS, PERCENTILES
from perf_culprit.stats.common_rate import interval_medians
from perf_culprit.stats.conventions import FEW_RUNS, FEW_SAMPLES
from perf_culprit.stats.multiplicity import known_q_values, number, numbers

# Percentiles of a counter's samples: if none of them moves by the minimum effect, no change is called.
MOVED_PERCENTILES: Final = (50, *PERCENTILES[DEFAULT_LIMITS])


def decide_by_limit(
    evidence: Evidence, *, q_value: float | None, metric: MetricSettings, policy: PolicySettings
) -> Decided:
    """Decide by the score and its limit.

    `q_value` is that of the excess over the limit. A small one suffices if there are enough runs; two do not show how
    runs differ. Two other conditions also suffice: the level of the target's median among the runs' medians, and a
    limit set by the operator.
    """
    score, limit = evidence.score, evidence.threshold
    if score is None or limit is None:
        reason = evidence.evidence_reason or because(VerdictReason.NOTHING_TESTED)
        return Decided(verdict=Verdict.UNTESTED, reason=reason)
    if too_few := _too_few_samples(evidence):
        return Decided(verdict=Verdict.UNTESTED, reason=too_few)
    worsening = worsening_of(evidence) or 0.0
    if score > limit and evidence.evidence_reason is not None:
        return Decided(verdict=Verdict.UNTESTED, reason=evidence.evidence_reason, worsening=worsening)
    verdict, level = Verdict.NOT_SEEN, evidence.excess.level_chance
    small = not reaches(worsening, metric.minimum_effect)
    runs = evidence.baseline.runs if evidence.baseline is not None else 0
    rule, enough = detector_of(evidence.test).limit, runs >= FEW_RUNS
    by_level = level is not None and level <= policy.proven and not small
    by_excess = q_value is None or q_value <= surest(evidence, policy)
    if score <= limit:
        code = VerdictReason.WITHIN_LIMIT
    elif by_level or rule.is_set(policy) or rule.is_published(policy) or (by_excess and enough):
        code, verdict = VerdictReason.OVER_LIMIT, _side(evidence, worsening)
    else:
        code = VerdictReason.OVER_LIMIT_LIKE_BASELINE if enough else VerdictReason.OVER_LIMIT_FEW_RUNS
        if level is not None and level <= policy.suspected and not small:
            code, verdict = VerdictReason.OVER_LIMIT_SUSPECTED if enough else code, Verdict.SUSPECTED
    visible = _visible(evidence) if verdict is Verdict.NOT_SEEN else None
    reason = _scored(code, evidence, runs=runs)
    return Decided(verdict=verdict, reason=reason, worsening=worsening, detectable_effect=visible)


def _too_small(evidence: Evidence, worsening: float, minimum_effect: float) -> Decided:
    """Decide for a counter whose medians and tails differ by less than the minimum effect."""
    visible = _visible(evidence)
    return Decided(
        verdict=Verdict.NOT_SEEN,
        reason=_scored(VerdictReason.OVER_LIMIT_SMALL_EFFECT, evidence, effect=minimum_effect),
        worsening=worsening,
        detectable_effect=None if visible is None else max(visible, minimum_effect),
    )


def _visible(evidence: Evidence) -> float | None:
    """The detectable effect; None if a larger change was not called."""
    visible, change = evidence.excess.detectable_effect, evidence.relative_change
    if visible is None or change is None:
        return visible
    return None if change <= -1 or abs(math.log1p(change)) > math.log1p(visible) else visible


def _too_few_samples(evidence: Evidence) -> Reason | None:
    for name, side in (("target", evidence.target), ("baseline", evidence.baseline)):
        if side is not None and side.count < FEW_SAMPLES:
            return because(VerdictReason.TOO_FEW_SAMPLES, side=name, count=side.count, minimum=FEW_SAMPLES)
    return None


def surest(evidence: Evidence, policy: PolicySettings) -> float:
    """Return the attainable false discovery rate: n exchangeable baseline runs cannot show less than 1 / n."""
    runs = evidence.baseline.runs if evidence.baseline is not None else 1
    return max(policy.proven, 1 / runs)


def counter_findings(
    tables: Sequence[TablePair], evidence: Sequence[Evidence], settings: PolicySettings
) -> list[Finding]:
    """Return one finding per evidence. Only changed counters get a series: medians of long series are slow."""
    q_values = known_q_values(numbers(entry.excess.chance for entry in evidence))
    places = chain.from_iterable(((pair, index) for index in range(len(pair.metrics))) for pair in tables)
    ranked = sorted(range(len(evidence)), key=lambda row: -evidence[row].violation)
    rows_with_chart = {row for row in ranked[: WORK_LIMITS.charts] if exceeds_threshold(evidence[row])}
    findings = []
    for row, ((pair, index), entry) in enumerate(zip(places, evidence, strict=True)):
        q_value = number(q_values[row])
        metric = settings.of(entry.key)
        decided = decide_by_limit(entry, q_value=q_value, metric=metric, policy=settings)
        has_minimum = decided.verdict in PROVEN and not detector_of(entry.test).limit.is_published(settings)
        if has_minimum and _moved_little(entry, pair, index, metric.minimum_effect):
            decided = _too_small(entry, decided.worsening, metric.minimum_effect)
        changed = decided.verdict in PROVEN
        regressed = decided.verdict is Verdict.REGRESSION
        finding = Finding.judged(
            # A table has thousands of counters: notes on scaling matter only where something changed.
            structs.replace(entry, notes=()) if decided.verdict in QUIET_VERDICTS else entry,
            verdict=decided.verdict,
            reason=decided.reason,
            level=level_of(decided.worsening, metric) if regressed else Level.NOTE,
            minimum_effect=metric.minimum_effect,
            detectable_effect=decided.detectable_effect,
            series=pair.medians(index) if changed else (),
        )
        findings.append(with_chart(finding, pair, index) if row in rows_with_chart else finding)
    return findings


def _moved_little(evidence: Evidence, pair: TablePair, index: int, minimum_effect: float) -> bool:
    """Whether neither the median nor a tail of the samples moved by the minimum effect; a new spread is a change."""
    if reaches(worsening_of(evidence) or 0.0, minimum_effect):
        return False
    target, runs, _ = _charted_sides(evidence, pair, index)
    before, after = (np.nanpercentile(side, MOVED_PERCENTILES) for side in (np.concatenate(runs), target))
    usual = abs(before[0])
    return bool(usual and not reaches((after - before) / usual, minimum_effect).any())


def chance_notes(findings: Iterable[Finding]) -> list[Reason]:
    """Report how many metrics are out of control, and how many chance would give: 1 in (baseline runs + 1)."""
    charted = [finding for finding in findings if finding.excess.chance is not None]
    if not charted:
        return []
    alarms = sum(exceeds_threshold(entry) for entry in charted)
    by_chance = sum(1 / (entry.baseline.runs + 1) for entry in charted if entry.baseline is not None)
    return [because(Remark.OUT_OF_CONTROL, found=alarms, count=len(charted), chance=by_chance)]


def exceeds_threshold(evidence: Evidence) -> bool:
    return evidence.score is not None and evidence.threshold is not None and evidence.score > evidence.threshold


def _scored(code: VerdictReason, evidence: Evidence, *, effect: float | None = None, runs: int | None = None) -> Reason:
    score, limit = evidence.score, evidence.threshold
    few = runs if code is VerdictReason.OVER_LIMIT_FEW_RUNS else None
    rate = evidence.excess.level_chance if code is VerdictReason.OVER_LIMIT_SUSPECTED else None
    if evidence.scale is Scale.OUTSIDE:
        return because(code, outside=score, limit_outside=limit, effect=effect, runs=few, rate=rate)
    return because(code, test=evidence.test, score=score, limit=limit, effect=effect, runs=few, rate=rate)


def _side(evidence: Evidence, worsening: float) -> Verdict:
    """The verdict by the side of the limits that is violated more than usual; the bad one comes first [METHODS 2.7]."""
    if not (sign := evidence.metric.direction.worse_sign):
        return Verdict.REGRESSION
    violated = (evidence.excess.above, evidence.excess.below)
    worse, better = violated if sign > 0 else violated[::-1]
    if worse or better:
        return Verdict.REGRESSION if worse else Verdict.IMPROVEMENT
    # Both sides are violated a little, or the detector does not distinguish them.
    return Verdict.IMPROVEMENT if worsening < 0 else Verdict.REGRESSION


def with_chart(finding: Finding, pair: TablePair, index: int) -> Finding:
    """Add the chart of the counter at `index` of the pair, with the limits or levels that its evidence names."""
    target, runs, is_scaled = _charted_sides(finding, pair, index)
    chart_data = Drawn(
        baseline_samples=_some(runs),
        target_samples=_some([target]),
        time_series=_time_series(finding, pair.target.times_s, target, is_scaled=is_scaled),
    )
    return structs.replace(finding, drawn=chart_data)


def _charted_sides(evidence: Evidence, pair: TablePair, index: int) -> tuple[Floats, Sequence[Floats], bool]:
    """Return the target's samples and each run's, and whether they had to be scaled to one load."""
    if evidence.scale is Scale.OUTSIDE:
        at_any_load = "load_slope" in evidence.details and "load_doubt" not in evidence.details
        (target, scaled), is_scaled = at_one_load(pair, index, at_any_load=at_any_load)
        return target, scaled, is_scaled
    one = slice(index, index + 1)
    return pair.target_values(one)[:, 0], [run.values(one)[:, 0] for run in pair.baseline], False


def _some(sides: Sequence[Floats]) -> tuple[float, ...]:
    pooled = np.concatenate(sides)
    return some_of(np.sort(pooled[np.isfinite(pooled)]).tolist())


def _time_series(evidence: Evidence, times_s: Floats, values: Floats, *, is_scaled: bool) -> TimeSeries | None:
    if len(times_s) < 2:
        return None
    count = min(len(times_s), WORK_LIMITS.chart_intervals)
    step_s = float(times_s[-1] - times_s[0]) / (len(times_s) - 1)
    edges_s = np.linspace(times_s[0], times_s[-1] + step_s, count + 1)
    medians = interval_medians(times_s, values[:, None], edges_s=edges_s)[:, 0]
    # An instant that came slightly late leaves an empty interval, which is not a gap.
    alone = np.isnan(medians[1:-1]) & np.isfinite(medians[:-2]) & np.isfinite(medians[2:])
    medians[1:-1][alone] = (medians[:-2] / 2 + medians[2:] / 2)[alone]
    start_s, interval_s = float(edges_s[0]), float(edges_s[1] - edges_s[0])
    if evidence.rules is not None:
        lower, upper = evidence.rules.lower_boundary, evidence.rules.upper_boundary
        violations = evidence.rules.violations
    else:
        lower, upper = (evidence.details.get(f"{side}_control_limit", np.nan) for side in ("lower", "upper"))
        # The lowest values were dropped as idle time, and are no violations.
        idle = np.nanquantile(values, evidence.details.get("idle_share", 0.0))
        below = (medians < lower) & (medians >= idle)
        violations = tuple(
            (start_s + first * interval_s, start_s + last * interval_s)
            for first, last in true_stretches(below | (medians > upper))
        )
    return TimeSeries(
        values=tuple(medians.tolist()),
        start_s=start_s,
        interval_s=interval_s,
        lower=lower,
        upper=upper,
        violations=violations,
        is_scaled=is_scaled,
    )
