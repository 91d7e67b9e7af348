"""Deviations between consecutive versions, and those that were only a transient regression [B17, section V], as data.

A matrix: one row per metric, one cell per version. No multiplicity control: it is a picture to look at, not a gate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from perf_culprit.model.finding import Interval
from perf_culprit.model.minimum_effect import DEFAULTS, Kind, reaches
from perf_culprit.model.run import Metric, MetricKey
from perf_culprit.model.series import Cell, DeviationMatrix, Outcome, Row, TransientRegression, Version
from perf_culprit.stats.order_interval import LEVEL, MINIMUM_SAMPLES, MedianEstimate, deviation, median_estimate
from perf_culprit.stats.ragged import Floats, Ragged


@dataclass(frozen=True, slots=True)
class _Measured:
    """A metric's versions that have enough samples, oldest first, and where their estimates start."""

    names: list[str]
    samples: list[tuple[float, ...]]
    too_few: list[str]


def deviation_matrix(
    versions: Sequence[Version], *, minimum_effect: float = DEFAULTS[Kind.BENCHMARK]
) -> DeviationMatrix:
    """Compare every metric's consecutive versions, given oldest first. Summaries take no part."""
    measured: dict[MetricKey, _Measured] = {}
    metrics: dict[MetricKey, Metric] = {}
    for version in versions:
        for benchmark in version.run.benchmarks:
            if not benchmark.samples:
                continue
            metrics.setdefault(benchmark.key, benchmark.metric)
            of_metric = measured.setdefault(benchmark.key, _Measured([], [], []))
            if len(benchmark.samples) < MINIMUM_SAMPLES:
                of_metric.too_few.append(version.name)
            else:
                of_metric.names.append(version.name)
                of_metric.samples.append(benchmark.samples)
    return DeviationMatrix(
        versions=tuple(version.name for version in versions),
        rows=tuple(_rows(measured, metrics, minimum_effect=minimum_effect)),
        minimum_effect=minimum_effect,
    )


def _rows(
    measured: Mapping[MetricKey, _Measured], metrics: Mapping[MetricKey, Metric], *, minimum_effect: float
) -> list[Row]:
    rows = []
    estimates = _estimates([samples for of_metric in measured.values() for samples in of_metric.samples])
    start = 0
    for key, of_metric in measured.items():
        size = len(of_metric.names)
        own = MedianEstimate(*(column[start : start + size] for column in estimates))
        start += size
        cells = _cells(of_metric.names, own, metrics[key], minimum_effect=minimum_effect)
        rows.append(
            Row(
                key=key,
                metric=metrics[key],
                first=of_metric.names[0] if size else None,
                cells=cells,
                transient_regressions=_transient_regressions(
                    of_metric.names, own, cells, minimum_effect=minimum_effect
                ),
                too_few=tuple(of_metric.too_few),
            )
        )
    return rows


def _estimates(samples: Sequence[tuple[float, ...]]) -> tuple[Floats, Floats, Floats]:
    if not samples:
        return np.empty(0), np.empty(0), np.empty(0)
    sizes = np.array([len(entry) for entry in samples], dtype=np.intp)
    medians = median_estimate(Ragged(np.fromiter(chain.from_iterable(samples), np.float64), sizes))
    return medians.median, medians.error, medians.degrees_of_freedom


def _cells(
    names: Sequence[str], estimate: MedianEstimate, metric: Metric, *, minimum_effect: float
) -> tuple[Cell, ...]:
    before = MedianEstimate(estimate.median[:-1], estimate.error[:-1], estimate.degrees_of_freedom[:-1])
    after = MedianEstimate(estimate.median[1:], estimate.error[1:], estimate.degrees_of_freedom[1:])
    deviations = deviation(after, before, level=LEVEL)
    (old_low, old_high), (low, high) = before.bounds(LEVEL), after.bounds(LEVEL)
    columns = (
        deviations.excludes_zero,
        deviations.overlap,
        before.median,
        after.median,
        low,
        high,
        np.maximum(np.maximum(low - old_high, old_low - high), 0.0),
    )
    cells = []
    for name, row in zip(names[1:], zip(*(column.tolist() for column in columns), strict=True), strict=True):
        significant, overlaps, old, new, lower, upper, gap = row
        change = (new - old) / abs(old) if old else None
        outcome = Outcome.OVERLAP
        if significant:
            outcome = Outcome.SIGNIFICANT_OVERLAP if overlaps else Outcome.DEVIATION
        cells.append(
            Cell(
                version=name,
                outcome=outcome,
                verdict=_verdict(outcome, new - old, change, metric, minimum_effect),
                median=new,
                interval=Interval(low=lower, high=upper, level=LEVEL),
                relative_change=change,
                gap=gap / abs(old) if old else None,
            )
        )
    return tuple(cells)


def _verdict(
    outcome: Outcome, difference: float, change: float | None, metric: Metric, minimum_effect: float
) -> Literal["regression", "improvement", "no_change"]:
    worsening = difference * metric.direction.worse_sign
    if (
        outcome is not Outcome.DEVIATION
        or worsening == 0
        or (change is not None and not reaches(change, minimum_effect))
    ):
        return "no_change"
    return "regression" if worsening > 0 else "improvement"


def _transient_regressions(
    names: Sequence[str], estimate: MedianEstimate, cells: Sequence[Cell], *, minimum_effect: float
) -> tuple[TransientRegression, ...]:
    """The regressions whose former level an improvement reaches again; the earliest such level counts.

    A level is reached where the intervals overlap or the medians differ by less than the minimum effect (choice).
    """
    low, high = estimate.bounds(LEVEL)
    open_regressions: list[int] = []
    regressions = []
    for after, cell in enumerate(cells, start=1):
        if cell.verdict == "regression":
            open_regressions.append(after)
        elif cell.verdict == "improvement":
            for position, start in enumerate(open_regressions):
                former = start - 1
                apart = estimate.median[after] - estimate.median[former]
                close = not reaches(apart, minimum_effect * abs(estimate.median[former]))
                if close or (low[after] <= high[former] and low[former] <= high[after]):
                    regressions.append(TransientRegression(start=names[start], end=names[after]))
                    del open_regressions[position:]
                    break
    return tuple(regressions)
