"""Independent replications of a scenario, beside each other, until the response times are known well enough."""

import gc
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import numpy as np
from scipy import special

from bot.children import process_pool
from bot.config.design import Design, Scenario
from bot.model.metric import MetricKey
from bot.model.simulation import Estimate, Replication, Simulation
from bot.simulate.network import Network
from bot.simulate.offered import offered_loads
from bot.simulate.outputs import outputs
from bot.simulate.streams import Streams

# Windows of a replication: 10 to 30 lose little, and more would depend on each other [Schmeiser 1982].
WINDOWS: Final = 20
# Of an interval of few replications the width itself is a guess; and A/A comparisons need some values.
FEWEST: Final = 5
LEVEL: Final = 0.95

Tell = Callable[[str], None]


def replicate(design: Design, scenario: str, seed: int, number: int) -> Replication:
    """One replication; the same seed and number give the same one."""
    chosen = design.scenario[scenario]
    network = Network(design, chosen, Streams(seed, number))
    with _without_garbage_collection():
        network.run()
    edges = np.linspace(chosen.start, chosen.duration, WINDOWS + 1)
    pairs = list(outputs(network, edges))
    whole = [values for _, values in outputs(network, edges[[0, -1]])]
    return Replication(
        outputs=tuple(output for output, _ in pairs),
        means=np.concatenate(whole),
        series=np.stack([values for _, values in pairs], axis=1),
        interval_s=float(edges[1] - edges[0]),
    )


def replications(
    design: Design, scenario: str, *, seed: int, tell: Tell, exactly: int | None = None, fewest: int = FEWEST
) -> list[Replication]:
    """As many as the scenario's precision needs, or `exactly` so many; a process per core."""
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
            shown = f", ± {max(widths):.1%}" if widths and math.isfinite(max(widths)) else ""
            tell(f"{design.name} {scenario}: {len(done)} of at most {limit} replications{shown}")
            # One by one, so that the number does not depend on the number of cores.
            for number in range(max(first + 1, fewest), len(done) + 1):
                if number == limit or is_precise(precise_widths(done[:number], chosen), chosen.precision):
                    return done[:number]


def is_precise(widths: Sequence[float], precision: float) -> bool:
    return all(width <= precision for width in widths)


def precise_widths(done: Sequence[Replication], scenario: Scenario) -> list[float]:
    """The relative half widths of the intervals that have to be narrow."""
    chosen = {MetricKey(each.of, each.output) for each in scenario.precise}
    return [
        math.inf if entry.half_width is None else entry.half_width / (entry.mean or 1.0)
        for entry in estimates(done)
        if (entry.output.key in chosen if chosen else entry.output.metric.name == "response time")
    ]


def estimates(done: Sequence[Replication]) -> tuple[Estimate, ...]:
    """Means over independent replications with Student's interval [Law 2015, 9.4.1]; only of what was observed."""
    values = np.stack([one.means for one in done])
    counts = np.isfinite(values).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, np.nansum(values, axis=0) / counts, np.nan)
        errors = np.sqrt(np.nansum((values - means) ** 2, axis=0) / (counts - 1) / counts)
    quantiles = special.stdtrit(np.maximum(counts - 1, 1), (1 + LEVEL) / 2)
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
    """Millions of small rows and no cycle among them: looking for cycles costs a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
