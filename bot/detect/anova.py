"""One-way ANOVA of the target's samples against the baseline's [H13], with runs and processes as levels of their own.

docs/detectors/anova.md has the reasons and the measured error rates.
"""

import math
from collections.abc import Sequence

import numpy as np

from bot.detect import blocks, summary
from bot.detect.detector import DetectorOptions
from bot.detect.levels import LEVELS, P_WITHOUT_MODES, Decision, Metrics, decide, without_modes
from bot.detect.pairs import MetricPair, are_timed, metric_families
from bot.detect.samples import SampleStatistics, has_samples, sample_statistics
from bot.detect.side import describe_sides, precision_notes
from bot.detect.units import milliseconds_per
from bot.model.finding import Evidence, Interval
from bot.model.reason import Reason, Remark, Untested, because
from bot.stats.power import samples_per_side
from bot.stats.ragged import Floats
from bot.stats.relative import MeanEstimate, change_interval, relative_change, relative_error, unit_interval
from bot.stats.two_groups import welch

ID = "anova"
DESCRIPTION = "Analysis of variance of all samples, checked against the variation between runs and processes"
DOCS = "detectors/anova.md"

# METHODS 1: Welch's variant is reported beside ANOVA where Levene's test finds unequal variances.
LEVENE_ALPHA = 0.05


def detect(pairs: Sequence[MetricPair], options: DetectorOptions) -> list[Evidence]:
    """One evidence per pair, in order; pairs without samples get the weaker tests of `summary`."""
    if options.paired:
        return blocks.detect(pairs, options)
    sampled = [pair.obstacle is None and has_samples(pair) for pair in pairs]
    by_samples = iter(_by_samples([pair for pair, yes in zip(pairs, sampled, strict=True) if yes], options))
    by_summary = iter(summary.assess([pair for pair, yes in zip(pairs, sampled, strict=True) if not yes], options))
    return [next(by_samples if yes else by_summary) for yes in sampled]


def _by_samples(pairs: Sequence[MetricPair], options: DetectorOptions) -> list[Evidence]:
    if not pairs:
        return []
    measured = sample_statistics(pairs)
    timed = are_timed(pairs)
    metrics = Metrics(families=metric_families(pairs), timed=timed, confidence=1 - options.alpha)
    decision = decide(measured, metrics)
    runs = measured.run_means.moments()
    target = MeanEstimate(measured.target.mean, decision.uncertain.target_error)
    baseline = MeanEstimate(runs.mean, decision.uncertain.baseline_error)
    change = relative_change(target.mean, baseline.mean)
    fieller = change_interval(
        target, baseline, degrees_of_freedom=decision.uncertain.degrees_of_freedom, level=1 - options.alpha
    )
    low, high = unit_interval(change, decision.uncertain.half_width, decision.uncertain.logarithmic == 1, fieller)
    columns = (
        decision.deciding,
        np.nanmax(decision.p_values, axis=0),
        change,
        low,
        high,
        _samples_needed(measured, decision, runs.mean, options),
        measured.constant,
        measured.constant & ~timed,
    )
    baseline_sides = describe_sides(
        measured.baseline, measured.baseline_median, means=runs.mean, runs=runs.count, exponent=measured.exponent
    )
    target_sides = describe_sides(
        measured.target,
        measured.target_median,
        means=measured.target.mean,
        runs=measured.target_means.sizes.astype(np.float64),
        exponent=measured.exponent,
    )
    details = _details(measured, decision, target, baseline)
    evidence = []
    for index, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        level, p_value, change, lower, upper, needed, constant, exact = row
        pair, side = pairs[index], target_sides[index]
        bounded = not np.isnan(lower)
        notes = precision_notes(side)
        if constant and milliseconds_per(pair.metric.unit) is not None:
            notes = (because(Remark.COARSE_CLOCK),)
        evidence.append(
            Evidence(
                key=pair.key,
                metric=pair.metric,
                test=summary.EXACT if exact else LEVELS[level],
                baseline=baseline_sides[index],
                target=side,
                relative_change=None if np.isnan(change) else change,
                confidence_interval=Interval(low=lower, high=upper, level=1 - options.alpha) if bounded else None,
                p_value=p_value,
                samples_needed=None if exact or np.isnan(needed) else int(needed),
                reason=None if bounded else _unbounded_reason(baseline_sides[index].mean),
                details={} if exact else details[index],
                notes=notes,
            )
        )
    return evidence


def _samples_needed(
    measured: SampleStatistics, decision: Decision, baseline_mean: Floats, options: DetectorOptions
) -> Floats:
    level = decision.uncertain
    square = np.where(baseline_mean == 0, np.inf, baseline_mean**2)
    # What differs between whole runs: no number of samples lessens it. Only the run level has such a part.
    between = level.target_error - level.target_samples_error
    return samples_per_side(
        level.target_samples_error * measured.target.count / square,
        between * (1 + 1 / measured.run_means.sizes) / square,
        effect=options.minimum_effect,
        alpha=options.alpha,
    )


def _details(
    measured: SampleStatistics, decision: Decision, target: MeanEstimate, baseline: MeanEstimate
) -> list[dict[str, float]]:
    """The numbers behind each evidence by name; what does not exist or is infinite is left out."""
    p_welch = welch(measured.target, measured.baseline).p_value
    of_samples = MeanEstimate(target.mean, decision.uncertain.target_samples_error)
    certain = MeanEstimate(baseline.mean, np.zeros_like(baseline.mean))
    columns = {
        "f": decision.statistic,
        **dict(zip(("p_anova", "p_between_runs", "p_between_processes"), decision.p_values, strict=True)),
        P_WITHOUT_MODES: without_modes(decision.p_values, decision.p_without_modes),
        "p_levene": measured.levene_p,
        "p_welch": np.where(measured.levene_p < LEVENE_ALPHA, p_welch, np.nan),
        "degrees_of_freedom": decision.uncertain.degrees_of_freedom,
        "standard_error": relative_error(target, baseline),
        "standard_error_of_target_samples": relative_error(of_samples, certain),
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [{name: value for name, value in zip(columns, row, strict=True) if math.isfinite(value)} for row in rows]


def _unbounded_reason(baseline_mean: float) -> Reason:
    code = Untested.BASELINE_ZERO if baseline_mean == 0 else Untested.BASELINE_NEAR_ZERO
    return because(code, statistic="mean")
