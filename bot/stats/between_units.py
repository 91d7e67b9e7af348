"""The nested test: samples of one run, or of one process, are not independent, their means are.

A run on another machine, or a process with another memory layout, has an offset that all its samples share. Pooled
samples hide it, so that a target from a slower machine looks like a change with any certainty one likes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bot.stats.moderation import effective_number, moderate
from bot.stats.ragged import Floats, Integers, Moments, Ragged
from bot.stats.two_groups import TestResult, student_t

# More columns than this add nothing to the estimate of the correlation between benchmarks.
CORRELATION_COLUMNS = 64


@dataclass(frozen=True, slots=True)
class UnitTest:
    """`result` with t and its p; `target_error` and `baseline_error` are squared standard errors of the two means."""

    result: TestResult
    target_error: Floats
    baseline_error: Floats


def between_units(
    target: Ragged, baseline: Ragged, *, families: Integers, target_allowance: Floats | None = None
) -> UnitTest:
    """Target against baseline by the means of their units (runs or processes), one value per unit.

    F = MS between the two sides / MS of the unit means within the sides, given as t = sqrt(F) with a sign. One unit
    on the target's side makes it the prediction interval of a new run. Units weigh the same, whatever their samples.
    Logarithms are compared where all values are positive, because an offset is a factor: on the plain scale its
    skewness doubles the far tail on which multiplicity control rests. Other metrics are compared in units of their
    mean. Variances are moderated within `families` (m,): metrics of one kind share a number. `target_allowance` (m,)
    is what the target's mean varies more than a baseline unit's because it has fewer samples.
    Needs at least three units per metric in all.
    """
    target_mean, baseline_mean = target.moments().mean, baseline.moments().mean
    positive = np.minimum(target.minima(), baseline.minima()) > 0
    size = np.where(baseline_mean == 0, 1.0, np.abs(baseline_mean))
    relative_target, relative_baseline = (_relative(side, positive, size) for side in (target, baseline))
    target_moments, baseline_moments = relative_target.moments(), relative_baseline.moments()
    freedom = target_moments.count + baseline_moments.count - 2
    variance = (target_moments.squares + baseline_moments.squares) / freedom
    residuals = np.hstack(
        [_residual_matrix(relative_baseline, baseline_moments), _residual_matrix(relative_target, target_moments)]
    )
    moderated, total = variance.copy(), freedom.copy()
    for family in np.unique(families):
        rows = np.flatnonzero((families == family) & (baseline_mean != 0))
        number = effective_number(residuals[rows], freedom[rows])
        shrunk = moderate(variance[rows], freedom[rows], effective_number=number)
        moderated[rows], total[rows] = shrunk.variance, shrunk.degrees_of_freedom
    # Back to the metric's unit; on the logarithmic scale each side's error is a fraction of its own mean.
    target_size = np.where(positive, target_mean, size)
    allowance = np.zeros_like(variance) if target_allowance is None else target_allowance / target_size**2
    target_error = moderated / target_moments.count + allowance
    baseline_error = moderated / baseline_moments.count
    result = student_t(target_moments.mean - baseline_moments.mean, target_error + baseline_error, total)
    return UnitTest(result, target_error * target_size**2, baseline_error * size**2)


def _relative(units: Ragged, positive: NDArray[np.bool_], size: Floats) -> Ragged:
    logarithmic = np.repeat(positive, units.sizes)
    logarithms = np.log(units.values, out=np.zeros_like(units.values), where=logarithmic)
    return Ragged(np.where(logarithmic, logarithms, units.values / units.spread(size)), units.sizes)


def _residual_matrix(units: Ragged, moments: Moments) -> Floats:
    """(m, k): each unit's distance from its side's mean; the n-th column is the n-th unit, 0 where there is none."""
    columns = np.arange(len(units.values)) - units.spread(units.starts.astype(np.float64)).astype(np.intp)
    rows = np.repeat(np.arange(len(units.sizes)), units.sizes)
    kept = columns < CORRELATION_COLUMNS
    matrix = np.zeros((len(units.sizes), min(int(units.sizes.max()), CORRELATION_COLUMNS)))
    matrix[rows[kept], columns[kept]] = (units.values - units.spread(moments.mean))[kept]
    return matrix
