"""Runs of counters under load, seeded, for tests and benchmarks of the detectors."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.run import CounterTable, Direction, Metric, Run

Floats = NDArray[np.float64]


def counter_table(
    columns: Mapping[str, Floats | Sequence[float]],
    *,
    load: Floats | None = None,
    name: str = "host",
    directions: Mapping[str, Direction] | None = None,
) -> CounterTable:
    """One counter per entry; a direction that is not named is unknown."""
    values = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns.values()])
    told = directions or {}
    return CounterTable(
        name=name,
        metrics=tuple(Metric(name=key, unit="", direction=told.get(key, Direction.UNKNOWN)) for key in columns),
        times_s=15.0 * np.arange(len(values), dtype=np.float64),
        values=values,
        load=load,
        load_name=None if load is None else "requests",
    )


def counter_run(columns: Mapping[str, Floats | Sequence[float]], *, load: Floats | None = None) -> Run:
    return Run(counters=(counter_table(columns, load=load),))


def noisy_counters(
    rng: np.random.Generator,
    *,
    counters: int,
    instants: int,
    own_offset: float = 0.0,
    shared_offset: float = 0.0,
    effects: Floats | float = 1.0,
) -> Run:
    """Draw counters around 50 with a noise of 10%, half of them following the load.

    Offsets are standard deviations of a whole run's level: per counter, and of all counters together. `effects`
    (counters,) multiplies the levels.
    """
    load = rng.normal(4000, 300, instants)
    values = rng.normal(50, 5, (instants, counters))
    values[:, ::2] += 0.02 * (load - 4000)[:, None]
    values *= effects * np.exp(rng.normal(0, own_offset, counters) + rng.normal(0, shared_offset))
    metrics = tuple(Metric(name=f"counter_{n:05}", unit="", direction=Direction.UNKNOWN) for n in range(counters))
    times = 15.0 * np.arange(instants, dtype=np.float64)
    table = CounterTable(name="host", metrics=metrics, times_s=times, values=values, load=load, load_name="requests")
    return Run(counters=(table,))


def stored(*runs: Run) -> Baseline:
    return Baseline(runs=runs, source=BaselineSource.FILES)
