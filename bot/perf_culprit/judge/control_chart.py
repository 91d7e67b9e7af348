"""Control charts of samples and of counters [N12]; docs/detectors/control-chart.md has rule, reasons and rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from msgspec.structs import replace
from scipy import special

from perf_culprit.arrays import Floats
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.counter_samples import Prepared, cut_runs, prepare_counters
from perf_culprit.judge.detector import Detector, DetectorOptions, LimitRule, Sweep
from perf_culprit.judge.evidence_columns import relative, untested
from perf_culprit.judge.families import in_families
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.one_load import load_as_cause
from perf_culprit.judge.run_medians import RunMedians, level_chances, median_allowance
from perf_culprit.judge.suite_units import SuiteUnits
from perf_culprit.judge.unit_evidence import Description, assess
from perf_culprit.model.finding import Evidence, Excess, Side
from perf_culprit.model.reason import Reason, Remark, Untested, VerdictReason, because
from perf_culprit.model.run import Benchmark, Metric, MetricKey
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.chart_limits import Chart, chance_of_excess, chart, excesses, shifted_ratios
from perf_culprit.stats.conventions import FEW_RUNS, POWER

# The smallest detectable one of these effects is reported; steps of a tenth.
EFFECTS: Final = np.geomspace(0.005, 10.0, 80)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Charted:
    """`own_excesses` are those of the baseline runs, each against the others.

    `ratios` (len(EFFECTS),): least violation ratios of the target, had it been worse by each of EFFECTS. `medians` are
    those of the runs.
    """

    chart: Chart
    excess: float
    own_excesses: Floats
    ratios: Floats | None
    medians: RunMedians


def _describe(pairs: Sequence[MetricPair], suite: SuiteUnits, options: DetectorOptions) -> Sequence[Description]:
    del suite  # a chart uses samples
    return [_description(pair, options) for pair in pairs]


def _description(pair: MetricPair, options: DetectorOptions) -> Description:
    if not pair.target.samples or not any(run.samples for run in pair.baseline):
        return Description(obstacle=because(Untested.NEEDS_SAMPLES))
    prepared = _samples(pair)
    if reason := _no_values(prepared):
        return Description(obstacle=reason)
    made = _chart(prepared, options)
    score, limit = made.violations.ratio, made.threshold
    inside = because(VerdictReason.WITHIN_LIMIT, outside=score, limit_outside=limit)
    return Description(
        details=_chart_details(made),
        notes=_notes(made, options),
        objection=inside if score <= limit else None,
        score=score,
        threshold=limit,
    )


def _detect_counters(tables: Sequence[TablePair], options: DetectorOptions) -> list[Evidence]:
    """Return one evidence per counter of each table, in order."""
    entries = [
        _assess(key, metric, obstacle, prepared, options)
        for pair in tables
        for key, metric, obstacle, prepared in zip(
            pair.keys, pair.metrics, pair.obstacles, prepare_counters(pair, options.settings.control_chart), strict=True
        )
    ]
    alone = (key in pair.unsettled for pair in tables for key in pair.keys)
    return in_families(entries, partial(_with_chances, options), alone=alone)


def _samples(pair: MetricPair) -> Prepared:
    def samples(benchmark: Benchmark) -> Floats:
        return np.array(benchmark.samples, dtype=np.float64)

    runs = [samples(run) for run in pair.baseline if run.samples]
    target = samples(pair.target)
    cuts = [max(1, len(run) // max(len(target), 1)) for run in runs]
    return Prepared(
        target=np.sort(target),
        runs=tuple(np.sort(run) for run in runs),
        parts=cut_runs(list(zip(runs, cuts, strict=True))),
        allowance=median_allowance(target, runs, longer=max(cuts) > 1) if runs and len(target) else 0.0,
    )


def _assess(
    key: MetricKey, metric: Metric, obstacle: Reason | None, prepared: Prepared, options: DetectorOptions
) -> tuple[Evidence, Charted | None]:
    reason = obstacle or _no_values(prepared)
    if reason is not None:
        return untested(key, metric, reason), None
    made = _chart(prepared, options)
    charted = Charted(
        chart=made,
        excess=made.violations.ratio - made.threshold,
        own_excesses=excesses(made.left_out) if made.left_out else np.empty(0),
        ratios=_worse_ratios(prepared.target, made, metric),
        medians=prepared.medians,
    )
    baseline = _side(np.concatenate(prepared.runs), median=made.limits.center, runs=len(prepared.runs))
    target = _side(prepared.target, median=float(np.median(prepared.target)), runs=1)
    change = 0.0 if target.value == baseline.value else relative(target.value, baseline.value)
    out_of_control, is_guarded = charted.excess > 0, not options.settings.control_chart.is_published
    evidence = Evidence.of(
        key=key,
        metric=metric,
        test="control_chart",
        baseline=baseline,
        target=target,
        relative_change=change,
        score=made.violations.ratio,
        threshold=made.threshold,
        excess=Excess(
            above=made.violations.above > made.threshold_above, below=made.violations.below > made.threshold_below
        ),
        details={**_chart_details(made), **prepared.details, **(_normality(prepared) if out_of_control else {})},
        evidence_reason=load_as_cause(change, prepared.load_difference) if out_of_control and is_guarded else None,
        notes=(*prepared.notes, *_notes(made, options)),
    )
    return evidence, charted


def _chart(prepared: Prepared, options: DetectorOptions) -> Chart:
    return chart(
        prepared.target,
        prepared.runs,
        parts=prepared.parts,
        kind=options.settings.control_chart.limits,
        single_run_margin=options.settings.control_chart.single_run_margin,
        own_threshold=options.settings.control_chart.violation_threshold,
    )


def _no_values(prepared: Prepared) -> Reason | None:
    if not len(prepared.target):
        return because(Untested.TARGET_MISSING)
    return None if prepared.runs else because(Untested.BASELINE_MISSING)


def _chart_details(made: Chart) -> dict[str, float]:
    return {
        "lower_control_limit": made.limits.lower,
        "center_line": made.limits.center,
        "upper_control_limit": made.limits.upper,
        "share_above": made.violations.above,
        "share_below": made.violations.below,
        "threshold_above": made.threshold_above,
        "threshold_below": made.threshold_below,
    }


def _notes(made: Chart, options: DetectorOptions) -> tuple[Reason, ...]:
    if made.left_out or options.settings.control_chart.violation_threshold is not None:
        return ()
    margin = options.settings.control_chart.single_run_margin
    return (because(Remark.LONE_CHART, expected=made.threshold - margin, margin=margin),)


def _normality(prepared: Prepared) -> Mapping[str, float]:
    """Shapiro-Wilk p-values of the target before and after the idle time was dropped (METHODS 2.6)."""
    if prepared.unfiltered is None or len(prepared.target) < 3:
        return {}
    from scipy import stats

    def p_value(ordered: Floats) -> float:
        sample = ordered[
            np.linspace(0, len(ordered) - 1, min(len(ordered), WORK_LIMITS.shapiro_samples)).astype(np.intp)
        ]
        return float(stats.shapiro(sample).pvalue) if sample[0] != sample[-1] else 1.0

    return {"shapiro_p_with_idle_time": p_value(prepared.unfiltered), "shapiro_p": p_value(prepared.target)}


def _worse_ratios(target: Floats, made: Chart, metric: Metric) -> Floats | None:
    """Violation ratios in 90% of targets worse by each of `EFFECTS`; the smaller one if no direction is good."""
    if not made.limits.center:
        return None
    sign = metric.direction.worse_sign
    shifts = abs(made.limits.center) * EFFECTS
    ways = [shifted_ratios(target, made.limits, way * shifts) for way in ((sign,) if sign else (1, -1))]
    ratios = np.minimum.reduce(ways)
    worse: Floats = ratios - float(special.ndtri(POWER)) * np.sqrt(ratios * (1 - ratios) / len(target))
    return worse


def _with_chances(options: DetectorOptions, entries: Sequence[tuple[Evidence, Charted | None]]) -> list[Evidence]:
    """Add the probability of such an excess, from these metrics' baseline runs, and of such a median.

    Also add the effect at which the target would have been more out of control than any baseline run.
    """
    usable = [charted for _, charted in entries if charted is not None and len(charted.own_excesses)]
    of_baseline = np.concatenate([charted.own_excesses for charted in usable]) if usable else np.empty(0)
    chances = iter(chance_of_excess(np.array([charted.excess for charted in usable]), of_baseline=of_baseline).tolist())
    charts = [(charted.medians, entry.metric) for entry, charted in entries if charted is not None]
    levels = iter(level_chances(charts, tiers=options.tiers))
    largest = max(0.0, float(of_baseline.max(initial=0.0)))
    evidence = []
    for entry, charted in entries:
        if charted is None:
            evidence.append(entry)
            continue
        excess = replace(
            entry.excess,
            level_chance=next(levels).rate,
            chance=next(chances) if len(charted.own_excesses) else None,
            detectable_effect=_detectable(charted, largest),
        )
        evidence.append(replace(entry, excess=excess))
    return evidence


def _detectable(charted: Charted, largest: float) -> float | None:
    if charted.ratios is None or len(charted.medians.runs) < FEW_RUNS:
        return None
    visible = np.flatnonzero(charted.ratios > charted.chart.threshold + largest)
    return float(EFFECTS[visible[0]]) if len(visible) else None


def _side(samples: Floats, *, median: float, runs: int) -> Side:
    return Side(
        value=median,
        statistic="median",
        mean=float(samples.mean()),
        median=median,
        standard_deviation=float(samples.std(ddof=1)) if len(samples) > 1 else None,
        count=len(samples),
        runs=runs,
    )


DETECTOR: Final = Detector(
    # A call needs the engine's call and samples outside the limits.
    detect=partial(assess, test="control_chart", describe=_describe),
    detect_counters=_detect_counters,
    limit=LimitRule(
        is_set=lambda policy: policy.control_chart.violation_threshold is not None,
        is_published=lambda policy: policy.control_chart.is_published,
        alarms=(0.06, 0.16),  # of ten and three runs: docs/evidence/control-chart.md#measured-rates
    ),
    # None is the threshold from each counter's baseline runs.
    sweep=Sweep(
        option="violation_threshold",
        values=(0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, None),
        is_limit=True,
    ),
)
