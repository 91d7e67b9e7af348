"""Every combination of a sweep's values, beside each other, with its score.

The score is the product of crisp and discretised outputs, layer by layer [F11, 4.3.2.3.1].
"""

import math
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from bot.children import process_pool
from bot.config.design import Design, Scored
from bot.model.metric import MetricKey
from bot.model.simulation import Configuration, Layer, Simulation
from bot.simulate.replication import Tell, replicate, simulation

PERCENT = 100.0


def combinations(design: Design) -> Iterator[Mapping[str, str]]:
    """Of the values that the model lists under sweep, the last parameter changing fastest."""
    for values in product(*design.sweep.values()):
        yield {name: str(value) for name, value in zip(design.sweep, values, strict=True)}


def sweep(
    designs: Sequence[Design], scenario: str, *, seed: int, replications: int, tell: Tell
) -> tuple[Configuration, ...]:
    """The designs in the order given, one per combination."""
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


def level(value: float, bounds: Sequence[float]) -> float:
    """The level among equally ranked ones: three bounds give 0.25, 0.5, 0.75 and 1 [F11, tables 4-6 and 4-7]."""
    return (bisect_right(bounds, value) + 1) / (len(bounds) + 1)


def configuration(entries: Sequence[Scored], simulated: Simulation) -> Configuration:
    """By layer the score with all that is known up to it; a layer without a scored output has none. Lower is better."""
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
    """Utilisations are percentages."""
    return level(value / PERCENT, entry.levels) if entry.levels else value
