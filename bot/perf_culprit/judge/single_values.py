"""Counters that were read once in a run (a scrape of Prometheus): no series to chart, but a value per run."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from msgspec import structs

from perf_culprit.model.finding import Baseline
from perf_culprit.model.run import Benchmark, CounterTable, Run


def single_values(baseline: Baseline, target: Run) -> tuple[Baseline, Run]:
    """Return both sides with the target's tables of one instant as benchmarks of one sample each.

    A run whose table has more instants keeps the table, and has nothing to compare it with.
    """
    names = {table.name for table in target.counters if _is_single(table)}
    if not names:
        return baseline, target

    def chosen(table: CounterTable) -> bool:
        return table.name in names and _is_single(table)

    return replace(baseline, runs=tuple(_move(run, chosen) for run in baseline.runs)), _move(target, chosen)


def _is_single(table: CounterTable) -> bool:
    return len(table.times_s) == 1


def _move(run: Run, chosen: Callable[[CounterTable], bool]) -> Run:
    values = (
        Benchmark.of(name=table.name, metric=metric, samples=(value,))
        for table in run.counters
        if chosen(table)
        for metric, value in zip(table.metrics, table.values[0].tolist(), strict=True)
        if np.isfinite(value)
    )
    return structs.replace(
        run, benchmarks=(*run.benchmarks, *values), counters=tuple(table for table in run.counters if not chosen(table))
    )
