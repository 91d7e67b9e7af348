"""Runs of counters with known faults: a load that comes and goes, counters that follow it, and their own noise."""

from collections.abc import Mapping, Sequence

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.model.run import CounterTable, Direction, Environment, Metric, MetricKey, Run


def counter_table(
    values: Floats, *, name: str = "host", step_s: float = 60.0, start_s: float = 0.0, names: Sequence[str] = ()
) -> CounterTable:
    """`values` (n, m); counters are named c0, c1, … unless named."""
    named = names or [f"c{index}" for index in range(values.shape[1])]
    metrics = tuple(Metric(name=name, unit="", direction=Direction.UNKNOWN) for name in named)
    times_s = start_s + step_s * np.arange(len(values), dtype=np.float64)
    return CounterTable(name=name, metrics=metrics, times_s=times_s, values=values)


def counter_run(
    *tables: CounterTable,
    environment: Mapping[str, str] | None = None,
    commit: str | None = None,
    regressions: tuple[MetricKey, ...] = (),
) -> Run:
    components = {"cpu": "AMD EPYC 7763"} if environment is None else environment
    return Run(counters=tables, environment=Environment(components=components), commit=commit, regressions=regressions)


def noisy_counters(
    rng: np.random.Generator, *, counters: int = 6, instants: int = 90, own_offset: float = 0.0, noise: str = "normal"
) -> Floats:
    """(instants, counters) around 100, 101, … with noise of 3%; the later ones follow a common load, up to 0.9.

    `own_offset`: each counter of a run is off by a normal factor of this many noise deviations.
    """
    size = (instants, counters)
    own = rng.normal(size=size)
    if noise == "heavy-tailed":
        own = rng.standard_t(3, size) / np.sqrt(3)
    elif noise == "bimodal":
        own = 0.4 * own + 2.0 * (rng.random(size) < 0.4)
    share = np.linspace(0, 0.9, counters)
    load = rng.normal(size=(instants, 1))
    noisy = own * np.sqrt(1 - share**2) + load * share + own_offset * rng.normal(size=counters)
    values: Floats = (100.0 + np.arange(counters)) * (1 + 0.03 * noisy)
    return values
