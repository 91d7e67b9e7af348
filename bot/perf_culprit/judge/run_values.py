"""One value per run of a metric, for series over commits."""

import math
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from perf_culprit.judge.estimate import estimate
from perf_culprit.judge.metric_pairs import scale_benchmark
from perf_culprit.judge.statistic import MEDIAN, common_statistic
from perf_culprit.judge.unit_factors import conversion_factor
from perf_culprit.model.reason import SeriesReason, because, left_out_reasons
from perf_culprit.model.run import Benchmark, Run
from perf_culprit.model.series import Series

if TYPE_CHECKING:
    from perf_culprit.model.run import MetricKey


def run_values(benchmarks: Sequence[Benchmark]) -> tuple[float, ...] | None:
    """Return the median of each run's samples; if runs state another statistic and no median, that one for all.

    None if runs state different ones: a mean among medians would look like a change.
    """
    statistic = common_statistic(benchmarks, preferred=MEDIAN)
    return None if statistic is None else tuple(estimate(entry, statistic).value for entry in benchmarks)


def metric_series(
    runs: Sequence[Run], *, minimum_effect: "Callable[[MetricKey], float]", pattern: str = "*"
) -> tuple[Series, ...]:
    """Return one series per metric of the benchmarks that match the shell pattern, in the unit of its newest run."""
    by_key: dict[MetricKey, dict[int, Benchmark]] = {}
    for index, run in enumerate(runs):
        for benchmark in run.benchmarks:
            by_key.setdefault(benchmark.key, {})[index] = benchmark
    metrics = {key: entries for key, entries in by_key.items() if fnmatchcase(key.benchmark, pattern)}
    several = len({key.metric for key in metrics}) > 1
    return tuple(
        _series(
            f"{key.benchmark} {key.metric}" if several else key.benchmark,
            metrics[key],
            count=len(runs),
            minimum_effect=minimum_effect(key),
        )
        for key in sorted(metrics)
    )


def _series(name: str, entries: dict[int, Benchmark], *, count: int, minimum_effect: float) -> Series:
    last = entries[max(entries)]
    newest = last.metric
    comparable: dict[int, Benchmark] = {}
    others = len(entries)
    entries = {index: entry for index, entry in entries.items() if entry.is_version_of(last)}
    for index, entry in entries.items():
        if (factor := conversion_factor(entry.metric.unit, newest.unit)) is not None:
            comparable[index] = entry if factor == 1.0 else scale_benchmark(entry, newest, factor)
    notes = list(left_out_reasons({SeriesReason.OTHER_VERSION: others - len(entries)}))
    if left_out := len(entries) - len(comparable):
        notes.append(because(SeriesReason.OTHER_UNIT, unit=newest.unit or "none", count=left_out))
    if (pooled := run_values(list(comparable.values()))) is None:
        notes.append(because(SeriesReason.MIXED_STATISTICS))
    values = dict(zip(comparable, pooled or (), strict=False))
    return Series(
        name=name,
        values=tuple(values.get(index, math.nan) for index in range(count)),
        unit=newest.unit,
        minimum_effect=minimum_effect,
        notes=tuple(notes),
    )
