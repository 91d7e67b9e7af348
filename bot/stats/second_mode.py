"""What a handful of runs cannot show: a second mode that one side of a comparison was in and the other was not.

Benchmarks of one machine jump between levels: memory layout, a neighbour, a clock. Units (runs or processes) that were
all in one mode look quiet, and the first ones in the other mode look like a change of any certainty. How often that may
happen is learned from the suite: its other benchmarks jump too, or have had every chance to. All take per-metric arrays
of shape (m,), on the scale of logarithms (relative to the mean where values are not positive).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bot.stats.ragged import Floats, Ragged

Booleans = NDArray[np.bool_]

# How often a benchmark of two modes is in its rarer one. Two recorded series of one program are there in 15 and 25 % of
# their executions (docs/error-rates.md).
RARER_SHARE: Final = 0.2
# Of the gap between two modes, a Rayleigh distribution: half are wider than x 1.34, one in ten wider than x 1.7, one in
# a hundred wider than x 2.1. The two recorded series have gaps of x 1.5 and x 1.6.
GAP_SCALE: Final = 0.35
# The neutral prior of the share of benchmarks that have two modes: it moves the median of what is learned least
# [Kerman 2011].
PRIOR_COUNT: Final = 1 / 3
# Fewer benchmarks can all jump together, with their machine: they are no witnesses for each other.
FEWEST_WITNESSES: Final = 10
# Without witnesses: the same prior after the two recorded series, both of which have two modes.
PRIOR_SHARE: Final = (2 + PRIOR_COUNT) / (2 + 2 * PRIOR_COUNT)
# Fewer units than this on both sides together have no spread of their own: their difference has to tell.
FEWEST_UNITS: Final = 4
# A jump is a distance that the other distances do not explain: in units of their robust deviation, and at least.
JUMP_DEVIATIONS: Final = 5.0
SMALLEST_JUMP: Final = 0.03
# Of a normal distribution: the standard deviation over the median absolute deviation.
MAD_FACTOR: Final = 1.4826
# The gap's distribution as a sum: distances and weights of narrow slices, out to one gap in 10^5.
_EDGES: Final = np.linspace(0.0, 3.4 * GAP_SCALE, 41)
GAPS: Final[Floats] = (_EDGES[1:] + _EDGES[:-1]) / 2
GAP_WEIGHTS: Final[Floats] = np.exp(-((_EDGES[:-1] / GAP_SCALE) ** 2)) - np.exp(-((_EDGES[1:] / GAP_SCALE) ** 2))


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitSides:
    """The units of both sides of m metrics of one kind, one value each, and the `difference` (m,) of their means."""

    target: Ragged
    baseline: Ragged
    difference: Floats

    def rows(self, chosen: NDArray[np.intp]) -> "UnitSides":
        return UnitSides(
            target=self.target.rows(chosen), baseline=self.baseline.rows(chosen), difference=self.difference[chosen]
        )

    @property
    def few(self) -> Booleans:
        return np.asarray(self.target.sizes + self.baseline.sizes < FEWEST_UNITS)

    @property
    def distances(self) -> Floats:
        """Of the two means, on the scale of one unit; without what all of many benchmarks share."""
        shared = np.median(self.difference) if len(self.difference) >= FEWEST_WITNESSES else 0.0
        return np.asarray(np.abs(self.difference - shared) / np.sqrt(1 / self.target.sizes + 1 / self.baseline.sizes))

    @property
    def deviation(self) -> float:
        """How much single units of these metrics deviate, robustly: jumps have little part in it.

        0 where nothing tells.
        """
        apart = [_deviations(side.rows(np.flatnonzero(~self.few))) for side in (self.target, self.baseline)]
        # In a side of an odd number of units the median itself has no distance.
        witnesses = self.distances[self.few & (len(self.difference) >= FEWEST_WITNESSES)]
        known = np.concatenate([witnesses, *(side[side > 0] for side in apart)])
        return MAD_FACTOR * float(np.median(known)) if len(known) else 0.0


def mode_probability(sides: UnitSides) -> Floats:
    """The probability that one side is in a mode of which the metric's other side shows nothing, shape (m,).

    The metrics' jumps tell how many of them have two modes (empirical Bayes, each without itself). A metric that jumps
    within a side has shown its modes, and its variance knows them.
    """
    # Where nothing tells how much units deviate, nothing tells a jump from it.
    deviation = sides.deviation
    limit = max(JUMP_DEVIATIONS * deviation, SMALLEST_JUMP) if deviation > 0 else np.inf
    shown = np.zeros(len(sides.difference), dtype=np.bool_)
    for side in (sides.target, sides.baseline):
        shown |= Ragged(_deviations(side), side.sizes).maxima() > limit
    jumped = (shown | (sides.few & (sides.distances > limit))).astype(np.float64)
    target, baseline = sides.target.sizes.astype(np.float64), sides.baseline.sizes.astype(np.float64)
    # Each side alike and, of those, the two sides apart.
    alike = _alike(target) * _alike(baseline)
    apart = sum(
        first**target * second**baseline
        for first, second in ((RARER_SHARE, 1 - RARER_SHARE), (1 - RARER_SHARE, RARER_SHARE))
    )
    chance = 1 - np.where(sides.few, _alike(target + baseline), alike)
    others, chances = jumped.sum() - jumped, chance.sum() - chance
    share = np.minimum((PRIOR_COUNT + others) / (2 * PRIOR_COUNT + np.maximum(chances, others)), 1.0)
    if len(jumped) < FEWEST_WITNESSES:
        share = np.full_like(chance, PRIOR_SHARE)
    return np.where(shown, 0.0, share * apart / (1 - share + share * alike))


def tail_with_modes(difference: Floats, error: Floats, freedom: Floats, probability: Floats) -> Floats:
    """Two-sided p-values (m,): Student's t, and with the `probability` a gap between two modes beside it.

    `error` is the standard error of `difference`; without any, only a gap explains a difference.
    """
    distance = np.abs(difference)
    scale = np.maximum(error, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        p_value: Floats = np.minimum(2 * special.stdtr(freedom, -distance / scale), 1.0)
        rows = np.flatnonzero((probability > 0) & (distance > 0))
        d, s, f = (column[rows, None] for column in (distance, scale, freedom))
        of_gap = (special.stdtr(f, (GAPS - d) / s) + special.stdtr(f, -(GAPS + d) / s)) @ GAP_WEIGHTS
    p_value[rows] = (1 - probability[rows]) * p_value[rows] + probability[rows] * np.minimum(of_gap, 1.0)
    return p_value


def half_width_with_modes(error: Floats, freedom: Floats, probability: Floats, *, level: float) -> Floats:
    """The distance (m,) beyond which `tail_with_modes` falls below 1 - level: half of the change's interval."""
    width = np.asarray(special.stdtrit(freedom, 0.5 + level / 2) * error)
    rows = np.flatnonzero(probability > (1 - level) / 20)
    below, above = width[rows], width[rows] + _EDGES[-1]
    for _ in range(14 if len(rows) else 0):
        middle = (below + above) / 2
        inside = tail_with_modes(middle, error[rows], freedom[rows], probability[rows]) > 1 - level
        below, above = np.where(inside, middle, below), np.where(inside, above, middle)
    width[rows] = above
    return width


def _alike(units: Floats) -> Floats:
    """The probability that so many units of a benchmark with two modes are all in the same."""
    return np.asarray(RARER_SHARE**units + (1 - RARER_SHARE) ** units)


def _deviations(side: Ragged) -> Floats:
    return np.abs(side.values - side.spread(side.medians())) if len(side.sizes) else side.values
