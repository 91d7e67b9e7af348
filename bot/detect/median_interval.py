"""Medians with Olive's confidence intervals, and the two conditions of a deviation [B17].

docs/detectors/median-interval.md has the reasons and the measured error rates.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from bot.detect import summary
from bot.detect.detector import DetectorOptions
from bot.detect.evidence import Tested, evidence_of
from bot.detect.levels import Metrics, without_modes
from bot.detect.medians import LEVELS, MedianStatistics, median_statistics
from bot.detect.pairs import MetricPair, are_timed, metric_families
from bot.detect.rows import Rows
from bot.detect.samples import has_samples
from bot.detect.statistic import MEDIAN
from bot.model.finding import Evidence, Side
from bot.model.reason import Remark, Untested, because
from bot.stats.median_interval import LEVEL, MINIMUM_SAMPLES, MedianEstimate
from bot.stats.power import samples_per_side
from bot.stats.ragged import Floats
from bot.stats.relative import MeanEstimate, bounded_change, samples_error

ID = "median_interval"

# Two intervals of equal width just touch where their difference has this p-value (normal quantiles).
TOUCHING_ALPHA = 2 * float(special.ndtr(-math.sqrt(2) * float(special.ndtri(0.5 + LEVEL / 2))))


def detect(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    """One evidence per pair, in order; pairs without samples get the weaker tests of `summary`."""
    kinds = [_kind(pair) for pair in pairs]
    if set(kinds) == {"enough"}:
        return _by_samples(pairs, options)
    by_samples = iter(_by_samples([pair for pair, kind in zip(pairs, kinds, strict=True) if kind == "enough"], options))
    by_summary = iter(
        summary.assess(
            [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == "none"], options, preferred=MEDIAN
        )
    )
    return [
        next(by_samples) if kind == "enough" else next(by_summary) if kind == "none" else _too_few(pair)
        for pair, kind in zip(pairs, kinds, strict=True)
    ]


def _kind(pair: MetricPair) -> str:
    if pair.obstacle is not None or not has_samples(pair):
        return "none"
    return "enough" if min(_counts(pair)) >= MINIMUM_SAMPLES else "few"


def _counts(pair: MetricPair) -> tuple[int, int]:
    return len(pair.target.samples), sum(len(run.samples) for run in pair.baseline)


def _too_few(pair: MetricPair) -> Evidence:
    target, baseline = _counts(pair)
    name, count = ("target", target) if target < MINIMUM_SAMPLES else ("baseline", baseline)
    return Evidence(
        key=pair.key,
        metric=pair.metric,
        test=summary.UNTESTED,
        baseline=None,
        target=None,
        reason=because(Untested.TOO_FEW_FOR_MEDIAN, side=name, count=count, minimum=MINIMUM_SAMPLES),
    )


def _by_samples(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    if not pairs:
        return []
    level = 1 - options.alpha
    timed = are_timed(pairs)
    metrics = Metrics(families=metric_families(pairs), timed=timed, confidence=level)
    measured = median_statistics(pairs, metrics, paired=options.paired)
    target = MeanEstimate(measured.target.median, measured.target_error)
    baseline = MeanEstimate(measured.baseline.median, measured.baseline_error)
    change = bounded_change(
        target,
        baseline,
        degrees_of_freedom=measured.degrees_of_freedom,
        half_width=measured.half_width,
        logarithmic=measured.logarithmic,
        level=level,
    )
    tested = Tested(
        level=level,
        statistic="median",
        tests=[LEVELS[deciding] for deciding in np.nanargmax(measured.p_values, axis=0).tolist()],
        p_value=np.nanmax(measured.p_values, axis=0),
        change=change,
        constant=measured.constant,
        exact=measured.constant & ~timed,
        samples_needed=_samples_needed(measured, options),
        precision={
            "degrees_of_freedom": measured.degrees_of_freedom,
            "standard_error": change.error,
            "target_samples_error": samples_error(measured.target_samples_error, baseline.mean),
            "p_of_samples": measured.deviation.difference.p_value,
            "p_without_modes": without_modes(measured.p_values, measured.p_without_modes),
        },
        details=_details(measured),
    )
    overlapping = measured.deviation.excludes_zero & measured.deviation.overlap
    return evidence_of(
        pairs,
        tested,
        baseline=_sides(measured, measured.baseline, measured.baseline_count, measured.run_counts),
        target=_sides(measured, measured.target, measured.target_count, measured.target_run_counts),
        notes=lambda index, _: (because(Remark.INTERVALS_OVERLAP),) if overlapping[index] else (),
    )


def _samples_needed(measured: MedianStatistics, options: DetectorOptions) -> Floats:
    square = np.where(measured.baseline.median == 0, np.inf, measured.baseline.median**2)
    # What differs between whole runs: no number of samples lessens it.
    between = measured.target_error - measured.target_samples_error
    return samples_per_side(
        measured.target_samples_error * measured.target_count / square,
        between * (1 + 1 / measured.run_counts) / square,
        effect=options.minimum_effect,
        alpha=min(options.alpha, TOUCHING_ALPHA),
    )


def _sides(measured: MedianStatistics, estimate: MedianEstimate, counts: Floats, runs: Floats) -> Sequence[Side]:
    half_widths = estimate.bounds()[1] - estimate.median
    relative = np.full_like(half_widths, np.nan)
    np.divide(half_widths, np.abs(estimate.median), out=relative, where=estimate.median != 0)
    columns = (np.ldexp(estimate.median, measured.exponent), counts, runs, relative)

    def sides(start: int, end: int) -> list[Side]:
        return [
            Side(
                value=median,
                statistic="median",
                median=median,
                count=int(count),
                runs=int(of_runs),
                relative_half_width=None if math.isnan(half_width) else half_width,
            )
            for median, count, of_runs, half_width in zip(
                *(column[start:end].tolist() for column in columns), strict=True
            )
        ]

    return Rows(len(relative), sides)


def _details(measured: MedianStatistics) -> dict[str, Floats]:
    """The numbers behind the evidence by name."""
    bounds = [
        np.ldexp(end, measured.exponent) for side in (measured.target, measured.baseline) for end in side.bounds()
    ]
    return {
        "difference_excludes_zero": measured.deviation.excludes_zero.astype(np.float64),
        "intervals_overlap": measured.deviation.overlap.astype(np.float64),
        "p_difference": measured.deviation.difference.p_value,
        "p_median_test": measured.p_median_test,
        **dict(zip(("p_between_runs", "p_between_processes"), measured.p_values[1:], strict=True)),
        **dict(zip(("target_low", "target_high", "baseline_low", "baseline_high"), bounds, strict=True)),
    }
