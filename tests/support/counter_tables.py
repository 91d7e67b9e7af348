"""Short ways to read and to describe counter tables in tests."""

import math
from collections.abc import Sequence

import numpy as np

from perf_culprit.model.run import CounterTable, Direction, Metric, Run
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.source import Source


def read(text: str, *, tool: str = "auto", name: str = "counters.csv") -> Run:
    return collect_sources([Source(name, text.encode())], Reading(tool=tool))


def only_table(run: Run) -> CounterTable:
    (table,) = run.counters
    return table


def columns(table: CounterTable) -> dict[str, list[float | None]]:
    """Return each counter's values; None for a missing one."""
    return {
        metric.name: [None if math.isnan(value) else value for value in table.values[:, index].tolist()]
        for index, metric in enumerate(table.metrics)
    }


def table_of(
    *, name: str = "host", times_s: Sequence[float], load: Sequence[float] | None = None, **values: Sequence[float]
) -> CounterTable:
    return CounterTable(
        name=name,
        metrics=tuple(Metric(name=key, unit="%", direction=Direction.UNKNOWN) for key in values),
        times_s=np.array(times_s, dtype=np.float64),
        values=np.array(list(values.values()), dtype=np.float64).T,
        load=None if load is None else np.array(load, dtype=np.float64),
        load_name=None if load is None else "requests/s",
    )


def same(one: CounterTable, other: CounterTable) -> bool:
    loads = (one.load is None) == (other.load is None)
    if loads and one.load is not None and other.load is not None:
        loads = np.array_equal(one.load, other.load, equal_nan=True)
    return (
        loads
        and (one.name, one.metrics, one.load_name) == (other.name, other.metrics, other.load_name)
        and np.array_equal(one.times_s, other.times_s)
        and np.array_equal(one.values, other.values, equal_nan=True)
    )
