"""A simulation as a run like any other: samples for the detectors of benchmarks, tables for those of counters."""

from collections.abc import Iterator, Sequence

import numpy as np

from bot.config.design import Design
from bot.model.counter import CounterTable
from bot.model.environment import Environment
from bot.model.run import Benchmark, Run
from bot.model.simulation import Replication
from bot.simulate.offered import offered_loads


def sampled_run(design: Design, scenario: str, done: Sequence[Replication], *, seed: int) -> Run:
    """Each output with a sample per replication. These are independent, which is what tests ask of samples.

    Replications of one number share their random numbers with those of another design: they are rounds.
    """
    benchmarks = []
    for index, output in enumerate(done[0].outputs):
        means = {number: float(one.means[index]) for number, one in enumerate(done) if np.isfinite(one.means[index])}
        if means:
            benchmarks.append(
                Benchmark(
                    name=output.of,
                    metric=output.metric,
                    samples=tuple(means.values()),
                    group_sizes=(1,) * len(means),
                    rounds=tuple(means),
                )
            )
    return _run(design, scenario, seed, benchmarks=tuple(benchmarks))


def counter_run(design: Design, scenario: str, done: Sequence[Replication], *, seed: int) -> Run:
    """A table per component, link and kind of request: the intervals of all replications, one after another."""
    series = np.concatenate([one.series for one in done])
    outputs = done[0].outputs
    tables = []
    for name in dict.fromkeys(output.of for output in outputs):
        columns = [index for index, output in enumerate(outputs) if output.of == name]
        tables.append(
            CounterTable(
                name=name,
                metrics=tuple(outputs[column].metric for column in columns),
                times_s=np.arange(len(series), dtype=np.float64) * done[0].interval_s,
                values=series[:, columns],
            )
        )
    return _run(design, scenario, seed, counters=tuple(tables))


def _run(
    design: Design,
    scenario: str,
    seed: int,
    *,
    benchmarks: tuple[Benchmark, ...] = (),
    counters: tuple[CounterTable, ...] = (),
) -> Run:
    return Run(
        benchmarks=benchmarks,
        counters=counters,
        suite=f"{design.name} {scenario}",
        notes=tuple(_unstable(design, scenario)),
        environment=Environment(components={"simulated": f"scenario {scenario}, seed {seed}"}),
    )


def _unstable(design: Design, scenario: str) -> Iterator[str]:
    """What a comparison of means has to say first: they depend on how long the scenario lasts."""
    for load in offered_loads(design, design.scenario[scenario]):
        if load.share >= 1:
            full = f"{load.share:,.0%} of the {load.resource} of {load.component}"
            yield f"the simulated scenario {scenario} is unstable: it asks for {full}, and means depend on its duration"
