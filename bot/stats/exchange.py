"""Runs of an unchanged program are exchangeable: the newest is the farthest from the others no more often than any.

Student's t knows tails only as a normal distribution has them. Here each stored run is set beside the others as the
target is set beside them all, and the target's distance is looked up among theirs. Nothing is assumed but
exchangeability; beyond the farthest of them a power law is.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from bot.stats.moderation import steadied
from bot.stats.ragged import Floats, Ragged

# Below this, a run beside the others is no likeness of the target beside one run more.
FEWEST_RUNS: Final = 5
# Of the tail beyond what was seen: that of Student's t with five degrees of freedom.
TAIL_EXPONENT: Final = 5.0
# Of distances where the other runs do not vary at all.
FARTHEST: Final = 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class Distances:
    """Of stored runs from the others of their row, in standard errors of a prediction; `seen` (n,) ascending.

    `unit` (m,) is one standard error of the target's own.
    """

    seen: Floats
    unit: Floats

    def p_values(self, difference: Floats) -> Floats:
        """How often a run is at least so far (m,) from the others, counting the target itself."""
        distance = np.divide(
            np.abs(difference), self.unit, out=np.where(difference == 0, 0.0, FARTHEST), where=self.unit > 0
        )
        count = len(self.seen)
        farther = count - np.searchsorted(self.seen, distance)
        with np.errstate(over="ignore"):
            beyond = np.minimum(self.seen[-1] / np.maximum(distance, np.finfo(np.float64).tiny), 1.0)
        return np.asarray(np.where(farther > 0, farther + 1, beyond**TAIL_EXPONENT) / (count + 1))

    def half_widths(self, *, level: float) -> Floats:
        """The differences (m,) whose p-value is 1 - level."""
        allowed = (1 - level) * (len(self.seen) + 1)
        if allowed < 1:
            return np.asarray(self.seen[-1] * (1 / allowed) ** (1 / TAIL_EXPONENT) * self.unit)
        return np.asarray(self.seen[-min(int(allowed), len(self.seen))] * self.unit)


def distances(runs: Ragged, *, prior: Floats | float = 0.0, prior_freedom: Floats | float = 0.0) -> Distances:
    """`runs` holds one value per run, at least `FEWEST_RUNS` in each row; the rows are metrics of one kind.

    The `prior` (m,) is the variance that these have in common: of a handful of runs the own one is sometimes tiny, and
    the run left out then is far from the others for no reason of its own.
    """
    moments = runs.moments()
    count = runs.spread(moments.count)
    deviations = runs.values - runs.spread(moments.mean)
    # Mean and variance of the row without the run, from those with it.
    squares = runs.spread(moments.squares) - deviations**2 * count / (count - 1)
    shared, worth = (
        runs.spread(np.broadcast_to(np.asarray(each, np.float64), len(runs.sizes))) for each in (prior, prior_freedom)
    )
    variance = steadied(np.maximum(squares, 0.0) / (count - 2), count - 2, prior=shared, prior_freedom=worth)
    error = np.sqrt(variance * (count / (count - 1)))
    own = steadied(moments.variance, moments.count - 1, prior=prior, prior_freedom=prior_freedom)
    apart = np.abs(deviations) * count / (count - 1)
    seen = np.divide(apart, error, out=np.where(apart > 0, FARTHEST, 0.0), where=error > 1e-12 * apart)
    return Distances(
        seen=np.sort(np.minimum(seen, FARTHEST)),
        unit=np.sqrt(own * (1 + 1 / moments.count)),
    )
