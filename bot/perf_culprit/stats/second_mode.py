"""What a handful of runs cannot show: a second mode that one side of a comparison was in and the other was not.

Benchmarks of one machine jump between levels: memory layout, a neighbour, a clock. Units (runs or processes) that were
all in one mode look quiet, and the first ones in the other mode look like a change of any certainty. How often that may
happen is learned from the suite: its other benchmarks jump too, or have had every chance to. All take per-metric arrays
of shape (m,), on the scale of logarithms (relative to the mean where values are not positive).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.stats.ragged import Booleans, Floats, Integers, Ragged

# How often a benchmark of two modes is in its rarer one. Two recorded series of one program are there in 15 and 25% of
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
# Of an interval's half width, or of the p-value there as a fraction.
TOLERANCE: Final = 1e-5
# More have never been needed where the tail is smooth.
NEWTON_STEPS: Final = 8
BLOCK: Final = 2_000
_TINY: Final = np.finfo(np.float64).tiny
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

    def rows(self, chosen: Integers) -> "UnitSides":
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
        deviations = np.concatenate([witnesses, *(side[side > 0] for side in apart)])
        return MAD_FACTOR * float(np.median(deviations)) if len(deviations) else 0.0


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
    with np.errstate(over="ignore"):
        p_value: Floats = np.minimum(2 * special.stdtr(freedom, -distance / np.maximum(error, _TINY)), 1.0)
    for rows in _blocks(np.flatnonzero((probability > 0) & (distance > 0))):
        p_value[rows] = _tail(distance[rows], error[rows], freedom[rows], probability[rows])[0]
    return p_value


def half_width_with_modes(error: Floats, freedom: Floats, probability: Floats, *, level: float) -> Floats:
    """The distance (m,) at which `tail_with_modes` falls below 1 - level: half of the change's interval."""
    width = np.asarray(special.stdtrit(freedom, 0.5 + level / 2) * error)
    for rows in _blocks(np.flatnonzero(probability > (1 - level) / 20)):
        width[rows] = _distance_at(1 - level, width[rows], error[rows], freedom[rows], probability[rows])
    return width


def _distance_at(p_value: float, low: Floats, error: Floats, freedom: Floats, probability: Floats) -> Floats:
    """Where the tail is `p_value`, between `low` and that with the widest gap added, to TOLERANCE.

    Newton's method on the tail's logarithm, which is nearly a line unless the error is much smaller than a slice of the
    gap: then the tail is a staircase, and halving the bracket finds the step.
    """
    below, above = low.copy(), low + _EDGES[-1]
    # Near the answer where either the error or the gap is negligible.
    gap = GAP_SCALE * np.sqrt(np.log(np.maximum(probability / p_value, 1.0)))
    distance: Floats = np.clip(np.hypot(low, gap), below, above)
    rows = np.arange(len(low))
    for turn in count():
        at = distance[rows]
        tail, density = _tail(at, error[rows], freedom[rows], probability[rows])
        below[rows], above[rows] = np.where(tail > p_value, (at, above[rows]), (below[rows], at))
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = np.log(tail / p_value)
            step = at + excess * tail / density
        inside = (step >= below[rows]) & (step <= above[rows]) & (turn < NEWTON_STEPS)
        still = (np.abs(excess) > TOLERANCE) & (above[rows] - below[rows] > TOLERANCE)
        rows, step = rows[still], np.where(inside, step, (below[rows] + above[rows]) / 2)[still]
        if not len(rows):
            break
        distance[rows] = step
    return distance


def _tail(distance: Floats, error: Floats, freedom: Floats, probability: Floats) -> tuple[Floats, Floats]:
    """The p-values (m,) of `tail_with_modes`, and how much they fall per unit of `distance`."""
    d, s, f = (column[:, None] for column in (distance, np.maximum(error, _TINY), freedom))
    peak = np.exp(special.gammaln((f + 1) / 2) - special.gammaln(f / 2)) / np.sqrt(np.pi * f)

    def tails(at: Floats) -> tuple[Floats, Floats]:
        """Above each distance, and the density there."""
        with np.errstate(over="ignore"):
            return special.stdtr(f, -at / s), peak / s * (1 + (at / s) ** 2 / f) ** (-(f + 1) / 2)

    one, towards, away = tails(d), tails(d - GAPS), tails(d + GAPS)
    p_value, density = (
        (1 - probability) * 2 * of_one[:, 0] + probability * ((to + fro) @ GAP_WEIGHTS)
        for of_one, to, fro in zip(one, towards, away, strict=True)
    )
    return np.minimum(p_value, 1.0), density


def _blocks(rows: Integers) -> Iterator[Integers]:
    """`rows` in parts whose slices of gaps fit into a processor's cache, whatever the size of the suite."""
    return (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))


def _alike(units: Floats) -> Floats:
    """The probability that so many units of a benchmark with two modes are all in the same."""
    return np.asarray(RARER_SHARE**units + (1 - RARER_SHARE) ** units)


def _deviations(side: Ragged) -> Floats:
    return np.abs(side.values - side.spread(side.medians())) if len(side.sizes) else side.values
