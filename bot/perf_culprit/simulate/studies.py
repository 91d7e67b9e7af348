"""Saturation, sweeps of configurations, and demands calibrated from measured counters.

A sweep's score is the product of crisp and discretised outputs, layer by layer [F11, 4.3.2.3.1].
"""

import math
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

import numpy as np
from scipy import optimize, special

from perf_culprit.arrays import Floats
from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.run import CounterTable, MetricKey, Run
from perf_culprit.model.simulation import Configuration, Demanded, Layer, Saturation, Simulation
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.progress import Say
from perf_culprit.python_child import process_pool
from perf_culprit.simulate.design import Calibrated, Design, Scenario, Scored
from perf_culprit.simulate.network import Network
from perf_culprit.simulate.replication import replicate, simulation
from perf_culprit.simulate.stations import Station, Streams, offered_loads, stations

# If more than this share of the requests after the warm-up is unanswered at the end, a queue grows. In a barely stable
# system the number of answers varies by its square root: 0.4% in an hour of 17 per second.
SHORTFALL: Final = 0.005
# The search ends when the ratio of both ends is this small.
_END_RATIO: Final = 1.01
# The search starts at the estimate of the utilisation law, and widens the bracket up to this number of times.
STEP: Final = 1.1


def saturation(design: Design, scenario: str, *, seed: int, tell: Say) -> Saturation:
    """Find two factors of all arrival rates: one with which the system kept up and one with which it did not."""
    chosen = design.scenario[scenario]
    loads = offered_loads(design, chosen)
    if not loads or loads[0].share == 0:
        step = "give a component threads or hardware, or a placeholder concurrent"
        raise UsageError("nothing in this model can be full", place=f"scenario {scenario}", next_step=step)
    answers: dict[float, bool] = {}

    def keeps_up(factor: float) -> bool:
        if factor not in answers:
            answers[factor] = _keeps_up(design, _scale_rates(chosen, factor), seed)
            tell(f"{factor * total_rate(design, chosen):.4g}/s: {'keeps up' if answers[factor] else 'falls behind'}")
        return answers[factor]

    stable = saturated = 1 / loads[0].share
    for _ in range(WORK_LIMITS.bracket_steps):
        if keeps_up(stable):
            break
        stable /= STEP
    for _ in range(WORK_LIMITS.bracket_steps):
        if not keeps_up(saturated):
            break
        stable, saturated = max(stable, saturated), saturated * STEP
    while saturated > stable * _END_RATIO:
        middle = (stable * saturated) ** 0.5
        stable, saturated = (middle, saturated) if keeps_up(middle) else (stable, middle)
    rate = total_rate(design, chosen)
    requests = rate * stable * (chosen.duration - chosen.start)
    return Saturation(stable=stable, saturated=saturated, rate=rate, error=2 / requests**0.5, bottleneck=loads[0])


def _scale_rates(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with all arrival rates multiplied."""
    arrivals = tuple(arrival.model_copy(update={"rate": arrival.rate * factor}) for arrival in scenario.arrivals)
    return scenario.model_copy(update={"arrivals": arrivals})


def total_rate(design: Design, scenario: Scenario) -> float:
    """External requests per second."""
    places = stations(design, scenario)
    return sum(arrival.rate * places[arrival.source].instances for arrival in scenario.arrivals)


def _keeps_up(design: Design, scenario: Scenario, seed: int) -> bool:
    network = Network(design, scenario, Streams(seed, 0))
    network.run()
    rows = np.array([row for responses in network.responses.values() for row in responses]).reshape(-1, 3)
    arrived = np.count_nonzero(rows[:, 0] >= scenario.start)
    answered = np.count_nonzero((rows[:, 1] >= scenario.start) & (rows[:, 1] <= scenario.duration) & (rows[:, 2] == 1))
    return bool(answered >= arrived * (1 - SHORTFALL))


PERCENT = 100.0


def combinations(design: Design) -> Iterator[Mapping[str, str]]:
    """Yield the combinations of the values under sweep, with the last parameter changing fastest."""
    for values in product(*design.sweep.values()):
        yield {name: str(value) for name, value in zip(design.sweep, values, strict=True)}


def sweep(
    designs: Sequence[Design], scenario: str, *, seed: int, replications: int, tell: Say
) -> tuple[Configuration, ...]:
    """Simulate the designs, one per combination, and return the results in the same order."""
    tasks = [(design, scenario, seed, number) for design in designs for number in range(replications)]
    done = []
    with process_pool(min(os.cpu_count() or 1, len(tasks))) as pool:
        for result in pool.map(replicate, *zip(*tasks, strict=True)):
            done.append(result)
            tell(f"{designs[0].name} {scenario}: {len(done)} of {len(tasks)} simulations")
    parts = [done[start : start + replications] for start in range(0, len(done), replications)]
    return tuple(
        configuration(design.score, simulation(design, scenario, part, seed=seed))
        for design, part in zip(designs, parts, strict=True)
    )


def level_among(value: float, bounds: Sequence[float]) -> float:
    """Return the level among equally spaced ones: three bounds give 0.25, 0.5, 0.75 and 1 [F11, tables 4-6 and 4-7]."""
    return (bisect_right(bounds, value) + 1) / (len(bounds) + 1)


def configuration(entries: Sequence[Scored], simulated: Simulation) -> Configuration:
    """Score each layer with all outputs up to it; a layer without a scored output has no score. Lower is better."""
    estimates = {estimate.output.key: estimate for estimate in simulated.estimates}
    scored = {key: entry for entry in entries if (key := MetricKey(entry.of, entry.output)) in estimates}
    product, scores = 1.0, {}
    for layer in Layer:
        of_layer = [key for key in scored if estimates[key].output.layer is layer]
        if of_layer:
            product *= math.prod(_factor(scored[key], estimates[key].mean) for key in of_layer)
            scores[layer] = product
    return Configuration(simulation=simulated, scores=scores, scored=tuple(scored))


def _factor(entry: Scored, value: float) -> float:
    """The factor of one output. Utilisations are percentages."""
    return level_among(value / PERCENT, entry.levels) if entry.levels else value


_CONFIDENCE = 0.95


def calibrate(design: Design, scenario: str, run: Run) -> tuple[Demanded, ...]:
    """Fit the utilisation law: units in use = sum over kinds of requests per second x demand, and a constant part.

    Demands are at least 0: the squares are minimised under this constraint [Lawson & Hanson 1974]. Assumes rows longer
    than a request, and independent errors of rows.
    """
    places = stations(design, design.scenario[scenario])
    return tuple(demanded for entry in design.calibration for demanded in _demands(entry, places[entry.component], run))


def _demands(entry: Calibrated, station: Station, run: Run) -> Iterator[Demanded]:
    table = _table(entry, run)
    position = station.resources.index(entry.resource) if entry.resource in station.resources else None
    if position is None:
        raise DataError(
            f"has no {entry.resource}", place=station.name, next_step=f"give its {entry.resource} in the model"
        )
    used = _column(table, entry.counter) / 100 * station.capacities[position] * station.instances
    rates = np.stack([*(_column(table, name) for name in entry.rates.values()), np.ones(len(used))], axis=1)
    finite = np.isfinite(used) & np.isfinite(rates).all(axis=1)
    used, rates = used[finite], rates[finite]
    count, unknown = rates.shape
    if count <= unknown or np.linalg.matrix_rank(rates) < unknown:
        step = "measure under several rates and mixes"
        raise DataError(f"{count:,} rows do not tell {unknown - 1:,} demands apart", place=table.name, next_step=step)
    demands, residual = optimize.nnls(rates, used)
    variance = residual**2 / (count - unknown)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(rates.T @ rates)))
    quantile = special.stdtrit(count - unknown, (1 + _CONFIDENCE) / 2)
    total = float(((used - used.mean()) ** 2).sum())
    for kind, demand, error in zip(entry.rates, demands[:-1], errors, strict=False):
        service = station.services.get(kind)
        yield Demanded(
            component=entry.component,
            resource=entry.resource,
            request=kind,
            demand=float(demand),
            half_width=float(quantile * error),
            modelled=dict(service.needs).get(position, 0.0) * service.processing.mean if service else 0.0,
            explained=1 - residual**2 / total if total else 1.0,
        )


def _table(entry: Calibrated, run: Run) -> CounterTable:
    """The table with all of the entry's counters, which must have a common clock."""
    needed = {entry.counter, *entry.rates.values()}
    for table in run.counters:
        if needed <= {metric.name for metric in table.metrics}:
            return table
    raise DataError(
        f"no table has all of the counters {', '.join(sorted(needed))}",
        place="calibration",
        next_step="name counters of one file under calibration; `perf-culprit collect` shows what it holds",
    )


def _column(table: CounterTable, name: str) -> Floats:
    names = [metric.name for metric in table.metrics]
    values: Floats = table.values[:, names.index(name)]
    return values
