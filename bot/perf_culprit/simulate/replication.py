"""Independent replications of a scenario, their outputs, and a simulation as a run."""

import gc
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeAlias

import numpy as np
from scipy import special

from perf_culprit.arrays import Floats
from perf_culprit.model.run import Benchmark, CounterTable, Direction, Environment, Metric, MetricKey, Run
from perf_culprit.model.simulation import Estimate, Layer, Output, Replication, Simulation
from perf_culprit.progress import Say
from perf_culprit.python_child import process_pool
from perf_culprit.simulate.design import Design, Scenario
from perf_culprit.simulate.network import Channel, Network, StationVisits
from perf_culprit.simulate.stations import Streams, offered_loads

_OutputValues: TypeAlias = tuple[Output, Floats]

LAYERS = {"cpu": Layer.PHYSICAL, "ram": Layer.PHYSICAL, "disk": Layer.PHYSICAL, "places": Layer.WORLD_VIEW}


def _windowed_outputs(network: Network, edges: Floats) -> Iterator[_OutputValues]:
    """Each output with its mean in each window between two of the `edges` (n + 1,), shape (n,)."""
    yield from _requests(network, edges)
    for channels in network.channels.values():
        for channel in channels:
            yield from _link(channel, edges)
    if any(channel.link.loss for channels in network.channels.values() for channel in channels):
        yield _output("messages", "given up", "events/s", Layer.WORLD_VIEW), _per_second(network.given_up, edges)
    for place in network.places.values():
        yield from _component(place, edges)


def _requests(network: Network, edges: Floats) -> Iterator[_OutputValues]:
    for kind, responses in sorted(network.responses.items()):
        rows = np.array(responses, dtype=np.float64).reshape(-1, 3)
        fine = rows[rows[:, 2] == 1]
        busy, _ = np.histogram(fine[:, 1], edges, weights=fine[:, 1] - fine[:, 0])
        ended, _ = np.histogram(fine[:, 1], edges)
        throughput = _output(kind, "throughput", "requests/s", Layer.WORLD_VIEW, Direction.HIGHER_IS_BETTER)
        with np.errstate(invalid="ignore"):
            yield _output(kind, "response time", "s", Layer.WORLD_VIEW), busy / ended
        yield throughput, ended / np.diff(edges)


def _link(channel: Channel, edges: Floats) -> Iterator[_OutputValues]:
    link = channel.link
    if link.bandwidth is not None and link.shared:
        used = time_average([channel.busy], edges, first=1, last=2)
        yield _output(channel.name, "utilisation", "%", Layer.WORLD_VIEW), 100 * used
    if link.price_per_message or link.price_per_megabyte:
        uses = np.array(channel.uses, dtype=np.float64).reshape(-1, 3)
        cost, _ = np.histogram(uses[:, 0], edges, weights=uses[:, 2])
        sent, _ = np.histogram(uses[:, 0], edges, weights=uses[:, 1])
        with np.errstate(invalid="ignore", divide="ignore"):
            yield _output(channel.name, "cost per message", "$", Layer.WORLD_VIEW), cost / sent
        yield _output(channel.name, "cost per hour", "$", Layer.WORLD_VIEW), 3600 * cost / np.diff(edges)


def _component(place: StationVisits, edges: Floats) -> Iterator[_OutputValues]:
    station = place.station
    if not station.resources:
        return
    waiting = time_average(place.visits.values(), edges, first=0, last=1)
    yield _output(station.name, "queue length", "", Layer.COMPONENT), waiting
    if station.room is not None:
        yield _output(station.name, "refused", "requests/s", Layer.COMPONENT), _per_second(place.refused, edges)
    in_service = {kind: time_average([rows], edges, first=1, last=2) for kind, rows in place.visits.items()}
    for position, (resource, capacity) in enumerate(zip(station.resources, station.capacities, strict=True)):
        held = sum(
            (dict(station.services[kind].needs).get(position, 0.0) * busy for kind, busy in in_service.items()),
            start=np.zeros(len(edges) - 1),
        )
        layer = LAYERS.get(resource, Layer.COMPONENT)
        share = 100 * held / (capacity * station.instances)
        yield _output(station.name, f"{resource} utilisation", "%", layer), share


def _output(of: str, name: str, unit: str, layer: Layer, direction: Direction = Direction.LOWER_IS_BETTER) -> Output:
    return Output(of=of, metric=Metric(name=name, unit=unit, direction=direction), layer=layer)


def _per_second(times: Sequence[float], edges: Floats) -> Floats:
    counts, _ = np.histogram(np.array(times, dtype=np.float64), edges)
    return counts / np.diff(edges)


def time_average(visits: Iterable[Sequence[Sequence[float]]], edges: Floats, *, first: int, last: int) -> Floats:
    """Return the mean number of visits between their moments `first` and `last` in each window, shape (n,)."""
    kinds = [np.array(rows, dtype=np.float64) for rows in visits if rows]
    if not kinds:
        return np.zeros(len(edges) - 1)
    rows = np.concatenate(kinds)
    passed = _sum_of_minima(rows[:, last], edges) - _sum_of_minima(rows[:, first], edges)
    return np.diff(passed) / np.diff(edges)


def _sum_of_minima(moments: Floats, times: Floats) -> Floats:
    """The sum of min(moment, time) over all moments, for each time, shape (n,); future moments count as the time."""
    ordered = np.sort(moments)
    before = np.searchsorted(ordered, times)
    sums = np.concatenate([[0.0], np.cumsum(np.where(np.isfinite(ordered), ordered, 0.0))])
    answer: Floats = sums[before] + times * (len(ordered) - before)
    return answer


# Windows of a replication: 10 to 30 lose little, and more would be correlated [Schmeiser 1982].
_WINDOWS: Final = 20
# With fewer replications the interval's width is itself uncertain; A/A comparisons also need some values.
FEWEST_REPLICATIONS: Final = 5
_CONFIDENCE: Final = 0.95


def replicate(design: Design, scenario: str, seed: int, number: int) -> Replication:
    """Run one replication; the same seed and number give the same result."""
    chosen = design.scenario[scenario]
    network = Network(design, chosen, Streams(seed, number))
    with _without_garbage_collection():
        network.run()
    edges = np.linspace(chosen.start, chosen.duration, _WINDOWS + 1)
    pairs = list(_windowed_outputs(network, edges))
    whole = [values for _, values in _windowed_outputs(network, edges[[0, -1]])]
    return Replication(
        outputs=tuple(output for output, _ in pairs),
        means=np.concatenate(whole),
        series=np.stack([values for _, values in pairs], axis=1),
        interval_s=float(edges[1] - edges[0]),
    )


def replications(
    design: Design,
    scenario: str,
    *,
    seed: int,
    tell: Say,
    exactly: int | None = None,
    fewest: int = FEWEST_REPLICATIONS,
) -> list[Replication]:
    """Run the replications that the scenario's precision needs, or `exactly` that number; a process per core."""
    chosen = design.scenario[scenario]
    limit = max(chosen.replications, fewest) if exactly is None else exactly
    fewest = fewest if exactly is None else exactly
    done: list[Replication] = []
    one = partial(replicate, design, scenario, seed)
    workers = min(os.cpu_count() or 1, limit)
    with process_pool(workers) as pool:
        while True:
            first = len(done)
            done += pool.map(one, range(first, min(first + workers, limit)))
            widths = precise_widths(done, chosen)
            precision = f", ± {max(widths):.1%}" if widths and math.isfinite(max(widths)) else ""
            tell(f"{design.name} {scenario}: {len(done)} of at most {limit} replications{precision}")
            # Check one by one, so that the result does not depend on the number of cores.
            for number in range(max(first + 1, fewest), len(done) + 1):
                if number == limit or is_precise(precise_widths(done[:number], chosen), chosen.precision):
                    return done[:number]


def is_precise(widths: Sequence[float], precision: float) -> bool:
    return all(width <= precision for width in widths)


def precise_widths(done: Sequence[Replication], scenario: Scenario) -> list[float]:
    """Return the relative half widths of the intervals that must be narrow."""
    chosen = {MetricKey(each.of, each.output) for each in scenario.precise}
    return [
        math.inf if estimate.half_width is None else estimate.half_width / (estimate.mean or 1.0)
        for estimate in estimates(done)
        if (estimate.output.key in chosen if chosen else estimate.output.metric.name == "response time")
    ]


def estimates(done: Sequence[Replication]) -> tuple[Estimate, ...]:
    """Means over independent replications with Student's interval [Law 2015, 9.4.1]; only of observed outputs."""
    values = np.stack([replication.means for replication in done])
    counts = np.isfinite(values).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, np.nansum(values, axis=0) / counts, np.nan)
        errors = np.sqrt(np.nansum((values - means) ** 2, axis=0) / (counts - 1) / counts)
    quantiles = special.stdtrit(np.maximum(counts - 1, 1), (1 + _CONFIDENCE) / 2)
    return tuple(
        Estimate(output=output, mean=float(mean), half_width=float(error * quantile) if number > 1 else None)
        for output, mean, error, quantile, number in zip(done[0].outputs, means, errors, quantiles, counts, strict=True)
        if number
    )


def simulation(design: Design, scenario: str, done: Sequence[Replication], *, seed: int) -> Simulation:
    chosen = design.scenario[scenario]
    return Simulation(
        design=design.name,
        scenario=scenario,
        parameters={name: str(value) for name, value in design.parameters.items()},
        seed=seed,
        replications=len(done),
        simulated_s=chosen.duration,
        estimates=estimates(done),
        offered=offered_loads(design, chosen),
        is_precise=is_precise(precise_widths(done, chosen), chosen.precision),
    )


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: there are millions of small rows, no cycles, and the search costs 20% of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def sampled_run(design: Design, scenario: str, done: Sequence[Replication], *, seed: int) -> Run:
    """Return a run with one sample per replication and output. Replications are independent, as tests require.

    Replications with the same number share random numbers between designs, so they are rounds.
    """
    benchmarks = []
    for index, output in enumerate(done[0].outputs):
        means = {number: float(one.means[index]) for number, one in enumerate(done) if np.isfinite(one.means[index])}
        if means:
            benchmarks.append(
                Benchmark.of(
                    name=output.of,
                    metric=output.metric,
                    samples=tuple(means.values()),
                    group_sizes=(1,) * len(means),
                    rounds=tuple(means),
                )
            )
    return _run(design, scenario, seed, benchmarks=tuple(benchmarks))


def counter_run(design: Design, scenario: str, done: Sequence[Replication], *, seed: int) -> Run:
    """Return a table per component, link and kind of request: the intervals of all replications, one after another."""
    series = np.concatenate([replication.series for replication in done])
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
    """Notes on unstable scenarios: their means depend on the duration, so comparisons need a warning."""
    for load in offered_loads(design, design.scenario[scenario]):
        if load.share >= 1:
            full = f"{load.share:,.0%} of the {load.resource} of {load.component}"
            yield f"the simulated scenario {scenario} is unstable: it asks for {full}, and means depend on its duration"
