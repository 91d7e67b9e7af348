"""One-way ANOVA of the target's samples against the baseline's [H13], with runs and processes as levels of their own.

docs/detectors/anova.md has the reasons and the measured error rates.
"""

from collections.abc import Sequence

import numpy as np

from bot.detect import blocks, summary
from bot.detect.detector import DetectorOptions
from bot.detect.evidence import MOST_DETAILED, Tested, evidence_of
from bot.detect.levels import LEVELS, Decision, Metrics, decide, without_modes
from bot.detect.pairs import MetricPair, are_timed, metric_families
from bot.detect.samples import SampleStatistics, has_samples, sample_statistics
from bot.detect.side import describe_sides, precision_notes
from bot.model.finding import Evidence, Side
from bot.stats.power import samples_per_side
from bot.stats.ragged import Floats
from bot.stats.relative import MeanEstimate, bounded_change, samples_error
from bot.stats.two_groups import welch

ID = "anova"

# METHODS 1: Welch's variant is reported beside ANOVA where Levene's test finds unequal variances.
LEVENE_ALPHA = 0.05


def detect(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    """One evidence per pair, in order; pairs without samples get the weaker tests of `summary`."""
    if options.paired:
        return blocks.detect(pairs, options)
    sampled = [pair.obstacle is None and has_samples(pair) for pair in pairs]
    if all(sampled):
        return _by_samples(pairs, options)
    by_samples = iter(_by_samples([pair for pair, yes in zip(pairs, sampled, strict=True) if yes], options))
    by_summary = iter(summary.assess([pair for pair, yes in zip(pairs, sampled, strict=True) if not yes], options))
    return [next(by_samples if yes else by_summary) for yes in sampled]


def _by_samples(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    if not pairs:
        return []
    tested, baseline, target = _tested(pairs, options)
    return evidence_of(pairs, tested, baseline=baseline, target=target, notes=lambda _, side: precision_notes(side))


def _tested(pairs: Sequence[MetricPair], options: DetectorOptions) -> tuple[Tested, Sequence[Side], Sequence[Side]]:
    """What was found, and both sides: the statistics behind it are gone before a large suite's evidence takes room."""
    measured = sample_statistics(pairs)
    timed = are_timed(pairs)
    metrics = Metrics(families=metric_families(pairs), timed=timed, confidence=1 - options.alpha)
    decision = decide(measured, metrics)
    runs = measured.run_means.moments()
    target = MeanEstimate(measured.target.mean, decision.uncertain.target_error)
    baseline = MeanEstimate(runs.mean, decision.uncertain.baseline_error)
    change = bounded_change(
        target,
        baseline,
        degrees_of_freedom=decision.uncertain.degrees_of_freedom,
        half_width=decision.uncertain.half_width,
        logarithmic=decision.uncertain.logarithmic == 1,
        level=metrics.confidence,
    )
    tested = Tested(
        level=metrics.confidence,
        statistic="mean",
        tests=[LEVELS[level] for level in decision.deciding.tolist()],
        p_value=np.nanmax(decision.p_values, axis=0),
        change=change,
        constant=measured.constant,
        exact=measured.constant & ~timed,
        samples_needed=_samples_needed(measured, decision, runs.mean, options),
        precision={
            # Views would keep all columns of the levels.
            "degrees_of_freedom": decision.uncertain.degrees_of_freedom.copy(),
            "standard_error": change.error,
            "target_samples_error": samples_error(decision.uncertain.target_samples_error, runs.mean),
            "p_of_samples": decision.p_values[0].copy(),
            "p_without_modes": without_modes(decision.p_values, decision.p_without_modes),
        },
        details=_details(measured, decision) if len(pairs) <= MOST_DETAILED else {},
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
    return tested, baseline_sides, target_sides


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


def _details(measured: SampleStatistics, decision: Decision) -> dict[str, Floats]:
    """The numbers behind the evidence by name."""
    p_welch = welch(measured.target, measured.baseline).p_value
    return {
        "f": decision.statistic,
        **dict(zip(("p_anova", "p_between_runs", "p_between_processes"), decision.p_values, strict=True)),
        "p_levene": measured.levene_p,
        "p_welch": np.where(measured.levene_p < LEVENE_ALPHA, p_welch, np.nan),
    }
