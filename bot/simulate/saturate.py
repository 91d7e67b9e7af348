"""How many requests a scenario could have: the arrival rate at which the system no longer keeps up, by search."""

from typing import Final

import numpy as np

from bot.config.design import Design, Scenario
from bot.errors import UsageError
from bot.model.simulation import Saturation
from bot.simulate.network import Network
from bot.simulate.offered import offered_loads
from bot.simulate.replication import Tell
from bot.simulate.stations import stations
from bot.simulate.streams import Streams

# Of the requests that arrive after the warm-up more than this share are not answered in that time: a queue grows. One
# that is just stable ends longer or shorter by the square root of its requests: 0.4% in an hour of 17 per second.
SHORTFALL: Final = 0.005
# The search ends when both ends are so close.
CLOSE: Final = 1.01
# The utilisation law says where to begin; where it errs the bracket is widened so often.
STEP: Final = 1.1
MOST_STEPS: Final = 12


def saturation(design: Design, scenario: str, *, seed: int, tell: Tell) -> Saturation:
    """Between two factors of all arrival rates: one that was seen to keep up and one that was not."""
    chosen = design.scenario[scenario]
    loads = offered_loads(design, chosen)
    if not loads or loads[0].share == 0:
        step = "give a component threads or hardware, or a placeholder concurrent"
        raise UsageError("nothing in this model can be full", place=f"scenario {scenario}", next_step=step)
    answers: dict[float, bool] = {}

    def keeps_up(factor: float) -> bool:
        if factor not in answers:
            answers[factor] = _keeps_up(design, scaled(chosen, factor), seed)
            tell(f"{factor * total_rate(design, chosen):.4g}/s: {'keeps up' if answers[factor] else 'falls behind'}")
        return answers[factor]

    stable = saturated = 1 / loads[0].share
    for _ in range(MOST_STEPS):
        if keeps_up(stable):
            break
        stable /= STEP
    for _ in range(MOST_STEPS):
        if not keeps_up(saturated):
            break
        stable, saturated = max(stable, saturated), saturated * STEP
    while saturated > stable * CLOSE:
        middle = (stable * saturated) ** 0.5
        stable, saturated = (middle, saturated) if keeps_up(middle) else (stable, middle)
    rate = total_rate(design, chosen)
    requests = rate * stable * (chosen.duration - chosen.start)
    return Saturation(stable=stable, saturated=saturated, rate=rate, error=2 / requests**0.5, bottleneck=loads[0])


def scaled(scenario: Scenario, factor: float) -> Scenario:
    """With all arrival rates multiplied."""
    arrivals = tuple(arrival.model_copy(update={"rate": arrival.rate * factor}) for arrival in scenario.arrivals)
    return scenario.model_copy(update={"arrivals": arrivals})


def total_rate(design: Design, scenario: Scenario) -> float:
    """Requests per second from outside."""
    places = stations(design, scenario)
    return sum(arrival.rate * places[arrival.source].instances for arrival in scenario.arrivals)


def _keeps_up(design: Design, scenario: Scenario, seed: int) -> bool:
    network = Network(design, scenario, Streams(seed, 0))
    network.run()
    rows = np.array([row for responses in network.responses.values() for row in responses]).reshape(-1, 3)
    arrived = np.count_nonzero(rows[:, 0] >= scenario.start)
    answered = np.count_nonzero((rows[:, 1] >= scenario.start) & (rows[:, 1] <= scenario.duration) & (rows[:, 2] == 1))
    return bool(answered >= arrived * (1 - SHORTFALL))
