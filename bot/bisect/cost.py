"""What the rest of a search will cost, from the size of the step against the noise."""

from typing import Final

import numpy as np

from bot.bisect.rounds import information_bits
from bot.bisect.standing import Standing
from bot.model.bisection import Phase

# Executions of the suspects themselves over the bound H / C, as simulated (benchmarks/bisect).
OVER_THE_BOUND: Final = 1.5
CONFIRMATION: Final = 12
STOP_BITS: Final = 3.0  # certainty above one half until the posterior stops the search


def entropy_bits(standing: Standing) -> float:
    mass = standing.model.mass
    return float(-(mass * np.log2(np.maximum(mass, 1e-300))).sum())


def expected_executions(standing: Standing, *, optimistic: bool = False) -> int:
    """Executions still to come: (H + stop) / C suspects, each with its part of the ends, and the confirmation.

    `optimistic` takes the step one standard error larger: only a search that is hopeless even so is not begun.
    """
    model = standing.model
    if standing.state.phase in (Phase.CONFIRM, Phase.RESIDUAL):
        return max(CONFIRMATION - standing.fresh_executions, 4)
    d_prime = model.d_prime
    if optimistic:
        d_prime += float(2 / np.sqrt(max(int(model.ends.sum()), 1)))
    suspects = OVER_THE_BOUND * (entropy_bits(standing) + STOP_BITS) / information_bits(d_prime)
    per_round = standing.state.settings.suspects_per_round
    return int(min(np.ceil(suspects * (2 + per_round) / per_round) + CONFIRMATION, 10**6))
