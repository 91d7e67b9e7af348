"""Units against units, where there may be a single one on a side: what can be said, for all that so few can tell.

The run is the unit of evidence between runs, the process within one: whatever moves all samples of a unit (another
machine, another memory layout, a busy hour) is seen once per unit, however many samples it has.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from scipy import special

from bot.stats.between_units import Prior, UnitTest, between_units
from bot.stats.exchange import FEWEST_RUNS, distances
from bot.stats.ragged import Floats, Integers, Ragged
from bot.stats.second_mode import Booleans, half_width_with_modes, mode_probability, tail_with_modes
from bot.stats.two_groups import TestResult

# Levels of runs on hosted machines of one kind differ by about 10 % (standard deviation); counts and sizes by what
# addresses and hash seeds move them.
TIMED_DEVIATION: Final = 0.10
COUNTED_DEVIATION: Final = 0.005
# What the stated deviation is worth beside what one or two runs show: as much as ten runs.
PRIOR_FREEDOM: Final = 10.0


def unit_test(
    target: Ragged,
    baseline: Ragged,
    *,
    families: Integers,
    timed: Booleans,
    level: float,
    target_allowance: Floats | None = None,
) -> UnitTest:
    """Target against baseline by one value per unit, at least one on each side; `between_units` with three doubts more.

    Fewer than four units have no variance to speak of: that of the suite's other metrics, at least a stated one, stands
    in. Where a metric depends on the machine (`timed`), one side may be in a mode that the other was never in. And a
    lone target is no change unless it is farther from the stored runs than these are from each other (`exchange`). The
    target's error is such that Student's interval at `level` has the right half-width.
    """
    deviation = np.where(timed, TIMED_DEVIATION, COUNTED_DEVIATION)
    test = between_units(
        target,
        baseline,
        families=families,
        target_allowance=target_allowance,
        prior=Prior(deviation=deviation, freedom=PRIOR_FREEDOM),
    )
    error, freedom = test.relative_error, test.result.degrees_of_freedom
    probability, p_value = np.zeros(len(error)), np.zeros(len(error))
    half_width = np.zeros(len(error))
    for family in np.unique(families):
        of_family = families == family
        rows = np.flatnonzero(of_family & timed)
        if len(rows):
            probability[rows] = mode_probability(test.sides.rows(rows))
        rows = np.flatnonzero(of_family & (target.sizes == 1) & (baseline.sizes >= FEWEST_RUNS))
        if len(rows):
            stored = distances(test.sides.baseline.rows(rows))
            p_value[rows] = stored.p_values(test.sides.difference[rows])
            half_width[rows] = stored.half_widths(level=level)
    p_value = np.maximum(p_value, tail_with_modes(test.sides.difference, error, freedom, probability))
    half_width = np.maximum(half_width, half_width_with_modes(error, freedom, probability, level=level))
    as_error = half_width / special.stdtrit(freedom, 0.5 + level / 2)
    return replace(
        test,
        result=TestResult(test.result.statistic, freedom, p_value),
        target_error=test.target_error + np.maximum(as_error**2 - error**2, 0.0) * test.target_size**2,
    )
