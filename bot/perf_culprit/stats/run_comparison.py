"""Units against units, where there may be a single one on a side: what can be said, for all that so few can tell.

The run is the unit of evidence between runs, the process within one: whatever moves all samples of a unit (another
machine, another memory layout, a busy hour) is seen once per unit, however many samples it has.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.stats.between_units import Prior, between_units
from perf_culprit.stats.moderation import steadied
from perf_culprit.stats.ragged import Booleans, Floats, Integers, Ragged
from perf_culprit.stats.second_mode import (
    FEWEST_UNITS,
    UnitSides,
    half_width_with_modes,
    mode_probability,
    tail_with_modes,
)
from perf_culprit.stats.serial import serial_factor

# Levels of runs on hosted machines of one kind differ by about 10% (standard deviation); counts and sizes by what
# addresses and hash seeds move them.
TIMED_DEVIATION: Final = 0.10
COUNTED_DEVIATION: Final = 0.005
# What the stated deviation is worth beside what one or two runs show: as much as ten runs.
PRIOR_FREEDOM: Final = 10.0
# Fewer stored runs, of a lone target, have a spread that is known beforehand: what the runs' samples are not sure of
# themselves is not in it.
FEW_RUNS: Final = FEWEST_UNITS - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitComparison:
    """Per metric (m,). `half_width` is that of the change's interval, of its logarithm where `logarithmic`.

    The errors are squared standard errors of the two means, such that Student's interval has that width.
    `p_without_modes` leaves out the doubt that one side is in a mode that the other was never in: what looks like a
    change has a small one.
    """

    p_value: Floats
    half_width: Floats
    logarithmic: Booleans
    degrees_of_freedom: Floats
    target_error: Floats
    baseline_error: Floats
    p_without_modes: Floats

    @property
    def columns(self) -> Floats:
        """(7, m), in this order; `logarithmic` as a number."""
        return np.stack(
            [
                self.p_value,
                self.target_error,
                self.baseline_error,
                self.degrees_of_freedom,
                self.half_width,
                self.logarithmic.astype(np.float64),
                self.p_without_modes,
            ]
        )


@dataclass(frozen=True, slots=True)
class RunSizes:
    """One side's number of `runs` (m,) and the mean (m,) of 1 / n over them, n being a run's number of samples."""

    inverse_counts: Floats
    runs: Integers


def uncertain_share(target: RunSizes, baseline: RunSizes) -> Floats:
    """Times a sample's variance, what the spread of runs lacks of the error of the difference, shape (m,).

    A spread between runs has in it how uncertain each run's mean is; only of target runs with fewer samples there is
    more. Of fewer than four runs there is no such spread.
    """
    own, others = target.inverse_counts / target.runs, baseline.inverse_counts / baseline.runs
    more = np.maximum(target.inverse_counts - baseline.inverse_counts, 0.0) / target.runs
    return np.asarray(np.where(target.runs + baseline.runs < FEWEST_UNITS, own + others, more))


def scale_at(target: Floats, baseline: Floats) -> Floats:
    """What the baseline's noise is worth at the target's level, as a factor, shape (m,): an offset is one, too.

    1 down to half the baseline's level, so that a level which is lower by chance has no less noise; below it twice the
    proportion *(choice)*. Without it a fall to a thousandth would hide in the noise of what was there before.
    """
    ratio = np.divide(target, baseline, out=np.ones_like(target), where=(target > 0) & (baseline > 0))
    return np.asarray(np.minimum(2 * ratio, 1.0))


def unit_test(
    target: Ragged,
    baseline: Ragged,
    *,
    families: Integers,
    timed: Booleans,
    level: float,
    target_allowance: Floats | None = None,
    in_turn: bool = False,
) -> UnitComparison:
    """Target against baseline by one value per unit, at least one on each side; `between_units` with four doubts more.

    Fewer than four units have no variance to speak of: that of the suite's other metrics, at least a stated one, stands
    in. Where a metric depends on the machine (`timed`), one side may be in a mode that the other was never in, and
    several units of each side, which are in the order of their time, may have drifted apart (`serial`) unless the sides
    were measured `in_turn`. And a lone target is no change unless it is farther from the stored runs than these are
    from each other (`exchange`). `level` is that of the interval.
    """
    deviation = np.where(timed, TIMED_DEVIATION, COUNTED_DEVIATION)
    test = between_units(
        target,
        baseline,
        families=families,
        target_allowance=target_allowance,
        prior=Prior(deviation=deviation, freedom=PRIOR_FREEDOM),
    )
    error, freedom = test.relative_error.copy(), test.result.degrees_of_freedom
    probability, p_value = np.zeros(len(error)), np.zeros(len(error))
    half_width = np.zeros(len(error))
    for family in np.unique(families):
        of_family = families == family
        rows = np.flatnonzero(of_family & timed)
        if len(rows):
            sides = test.sides.rows(rows)
            probability[rows] = mode_probability(sides)
            if not in_turn:
                error[rows] *= np.sqrt(serial_factor(sides.target, sides.baseline))
        rows = np.flatnonzero(of_family & (target.sizes == 1) & (baseline.sizes >= FEWEST_RUNS))
        if len(rows):
            stored = distances(
                test.sides.baseline.rows(rows), prior=test.prior[rows], prior_freedom=test.prior_freedom[rows]
            )
            p_value[rows] = stored.p_values(test.sides.difference[rows])
            half_width[rows] = stored.half_widths(level=level)
    spreads = ((error, freedom), (_stated_error(error, test.sides, deviation), freedom + PRIOR_FREEDOM))
    tails, plain = (
        np.minimum(*(tail_with_modes(test.sides.difference, *spread, of_modes) for spread in spreads))
        for of_modes in (probability, np.zeros_like(probability))
    )
    widths = [half_width_with_modes(*spread, probability, level=level) for spread in spreads]
    half_width = np.maximum(half_width, np.minimum(*widths))
    as_error = half_width / special.stdtrit(freedom, 0.5 + level / 2)
    return UnitComparison(
        p_value=np.maximum(p_value, tails),
        half_width=half_width,
        logarithmic=test.logarithmic,
        degrees_of_freedom=freedom,
        target_error=test.target_error + np.maximum(as_error**2 - test.relative_error**2, 0.0) * test.target_size**2,
        baseline_error=test.baseline_error,
        p_without_modes=np.maximum(p_value, plain),
    )


def _stated_error(error: Floats, sides: UnitSides, deviation: Floats) -> Floats:
    """Of the difference, where units vary by the stated deviation beside what they show themselves.

    A handful of units knows its own spread so badly that Student's t asks for the impossible; with the stated one
    added, which is worth more units, it asks for less than of a single unit, and never for more.
    """
    units = 1 / sides.target.sizes + 1 / sides.baseline.sizes
    return np.sqrt(error**2 + deviation**2 * units)


# Below this, a run beside the others is no likeness of the target beside one run more.
FEWEST_RUNS: Final = 5
# Of the tail beyond what was seen: that of Student's t with five degrees of freedom.
TAIL_EXPONENT: Final = 5.0
# A run so many standard errors from the others is a wild one *(choice)*: their spread says what the target's is worth.
WILD: Final = 10.0
# Of distances where the other runs do not vary at all.
FARTHEST: Final = 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class Distances:
    """Of stored runs from the others of their row, in standard errors of a prediction; `seen` (n,) ascending.

    `unit` (m,) is one standard error of the target's own: of a row with a wild run that in which this one was found
    wild. Else the wild run would count twice, and the target had to be as many times farther away.
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
    farthest = np.maximum.reduceat(seen, runs.starts)
    # The error beside a row's farthest run is its smallest: all others have this run in theirs.
    beside = np.minimum.reduceat(error, runs.starts)
    unit = np.where(farthest > WILD, beside, np.sqrt(own * (1 + 1 / moments.count)))
    return Distances(seen=np.sort(np.minimum(seen, FARTHEST)), unit=unit)
