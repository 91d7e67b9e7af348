"""Deviations between consecutive versions, with transient regressions marked [B17, section V], as data.

The matrix has a row per metric and a cell per version. It is for viewing and decides nothing, so its many tests are
not corrected for their number.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from msgspec.structs import replace

from perf_culprit.model.finding import Interval
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind, reaches
from perf_culprit.model.run import Metric, MetricKey
from perf_culprit.model.series import Cell, DeviationMatrix, Level, Outcome, Row, TransientRegression, Version
from perf_culprit.stats.conventions import LEVEL
from perf_culprit.stats.order_interval import (
    MINIMUM_SAMPLES,
    MedianEstimate,
    mean_estimate,
    median_deviation,
    median_estimate,
)
from perf_culprit.stats.ragged import Ragged


@dataclass(frozen=True, slots=True)
class _VersionSamples:
    """The `names` and `samples` of the versions that have enough of them, oldest first, and the names of the others."""

    names: list[str]
    samples: list[tuple[float, ...]]
    too_few: list[str]


def deviation_matrix(
    versions: Sequence[Version], *, minimum_effect: float = DEFAULTS[DataKind.BENCHMARK]
) -> DeviationMatrix:
    """Compare every metric's consecutive versions, given oldest first. Summaries are skipped."""
    by_key: dict[MetricKey, _VersionSamples] = {}
    metrics: dict[MetricKey, Metric] = {}
    for version in versions:
        for benchmark in version.run.benchmarks:
            if not benchmark.samples:
                continue
            metrics.setdefault(benchmark.key, benchmark.metric)
            of_metric = by_key.setdefault(benchmark.key, _VersionSamples([], [], []))
            if len(benchmark.samples) < MINIMUM_SAMPLES:
                of_metric.too_few.append(version.name)
            else:
                of_metric.names.append(version.name)
                of_metric.samples.append(benchmark.samples)
    return DeviationMatrix(
        versions=tuple(version.name for version in versions),
        rows=tuple(_rows(by_key, metrics, minimum_effect=minimum_effect)),
        minimum_effect=minimum_effect,
    )


def _rows(
    by_key: Mapping[MetricKey, _VersionSamples], metrics: Mapping[MetricKey, Metric], *, minimum_effect: float
) -> list[Row]:
    rows = []
    medians, means = _estimates([samples for of_metric in by_key.values() for samples in of_metric.samples])
    start = 0
    for key, of_metric in by_key.items():
        size = len(of_metric.names)
        own, own_means = (estimate.part(start, start + size) for estimate in (medians, means))
        start += size
        cells = _cells(of_metric.names, own, metrics[key], minimum_effect=minimum_effect)
        of_means = _cells(of_metric.names, own_means, metrics[key], minimum_effect=minimum_effect)
        rows.append(
            Row(
                key=key,
                metric=metrics[key],
                first=of_metric.names[0] if size else None,
                cells=tuple(
                    replace(cell, mean_verdict=by_mean.verdict) for cell, by_mean in zip(cells, of_means, strict=True)
                ),
                levels=tuple(_levels(of_metric.names, own, own_means)),
                transient_regressions=_transient_regressions(
                    of_metric.names, own, cells, minimum_effect=minimum_effect
                ),
                too_few=tuple(of_metric.too_few),
            )
        )
    return rows


def _estimates(samples: Sequence[tuple[float, ...]]) -> tuple[MedianEstimate, MedianEstimate]:
    """Estimate the medians and the means."""
    if not samples:
        nothing = MedianEstimate(np.empty(0), np.empty(0), np.empty(0))
        return nothing, nothing
    sizes = np.array([len(entry) for entry in samples], dtype=np.intp)
    rows = Ragged(np.fromiter(chain.from_iterable(samples), np.float64), sizes)
    return median_estimate(rows), mean_estimate(rows)


def _levels(names: Sequence[str], medians: MedianEstimate, means: MedianEstimate) -> Iterator[Level]:
    columns = (medians.median, *medians.bounds(LEVEL), means.median, *means.bounds(LEVEL))
    for name, row in zip(names, zip(*(column.tolist() for column in columns), strict=True), strict=True):
        median, low, high, mean, mean_low, mean_high = row
        yield Level(
            version=name,
            median=median,
            interval=Interval(low=low, high=high, level=LEVEL),
            mean=mean,
            mean_interval=Interval(low=mean_low, high=mean_high, level=LEVEL),
        )


def _cells(
    names: Sequence[str], estimate: MedianEstimate, metric: Metric, *, minimum_effect: float
) -> tuple[Cell, ...]:
    before, after = estimate.part(0, -1), estimate.part(1, None)
    deviations = median_deviation(after, before, level=LEVEL)
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
    """Find the regressions whose former level an improvement reaches again; the earliest such level counts.

    A level is reached if the intervals overlap or the medians differ by less than the minimum effect (our choice).
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
