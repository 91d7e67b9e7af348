"""The configuration score: the product of crisp and discretised outputs, layer by layer [F11, 4.3.2.3.1]."""

import math
from bisect import bisect_right
from collections.abc import Sequence

from bot.config.design import Scored
from bot.model.metric import MetricKey
from bot.model.simulation import Configuration, Layer, Simulation

PERCENT = 100.0


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
