"""The nested test: samples of one run, or of one process, are not independent, their means are.

A run on another machine, or a process with another memory layout, has an offset that all its samples share. Pooled
samples hide it, so that a target from a slower machine looks like a change with any certainty one likes.
"""

from dataclasses import dataclass

import numpy as np

from perf_culprit.stats.moderation import MINIMUM_FREEDOM, effective_number, moderate
from perf_culprit.stats.ragged import Booleans, Floats, Integers, Moments, Ragged
from perf_culprit.stats.second_mode import UnitSides
from perf_culprit.stats.two_groups import TestResult, student_t

# More columns than this add nothing to the estimate of the correlation between benchmarks.
CORRELATION_COLUMNS = 64


@dataclass(frozen=True, slots=True)
class Prior:
    """The standard deviation (m,) of a unit, known beforehand, and how many degrees of freedom it is worth.

    It stands in where the units have fewer than two; the suite's other metrics may raise it, not lower it.
    """

    deviation: Floats
    freedom: float


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitTest:
    """`result` with t and its p; `target_error` and `baseline_error` are squared standard errors of the two means.

    `sides` and the `relative_error` of their difference are on the scale that is compared, logarithms where all is
    positive (`logarithmic`); `target_size` (m,) brings the target's errors back. `prior` is the variance that a family
    has in common, worth `prior_freedom`; 0 where there is none.
    """

    result: TestResult
    target_error: Floats
    baseline_error: Floats
    sides: UnitSides
    relative_error: Floats
    logarithmic: Booleans
    target_size: Floats
    prior: Floats
    prior_freedom: Floats


def between_units(
    target: Ragged,
    baseline: Ragged,
    *,
    families: Integers,
    target_allowance: Floats | None = None,
    prior: Prior | None = None,
) -> UnitTest:
    """Target against baseline by the means of their units (runs or processes), one value per unit.

    F = MS between the two sides / MS of the unit means within the sides, given as t = sqrt(F) with a sign. One unit
    on the target's side makes it the prediction interval of a new run. Units weigh the same, whatever their samples.
    Logarithms are compared where all values are positive, because an offset is a factor: on the plain scale its
    skewness doubles the far tail on which multiplicity control rests. Other metrics are compared in units of their
    mean. Variances are moderated within `families` (m,): metrics of one kind share a number. `target_allowance` (m,)
    is what the target's mean varies more than a baseline unit's because it has fewer samples.
    Needs at least three units per metric in all, or a `prior`.
    """
    target_mean, baseline_mean = target.moments().mean, baseline.moments().mean
    positive = np.minimum(target.minima(), baseline.minima()) > 0
    size = np.where(baseline_mean == 0, 1.0, np.abs(baseline_mean))
    relative_target, relative_baseline = (_relative(side, positive, size) for side in (target, baseline))
    target_moments, baseline_moments = relative_target.moments(), relative_baseline.moments()
    sides = UnitSides(
        target=relative_target, baseline=relative_baseline, difference=target_moments.mean - baseline_moments.mean
    )
    freedom = target_moments.count + baseline_moments.count - 2
    squares = target_moments.squares + baseline_moments.squares
    variance = squares / np.maximum(freedom, 1)
    residuals = np.hstack(
        [_residual_matrix(relative_baseline, baseline_moments), _residual_matrix(relative_target, target_moments)]
    )
    moderated, total = variance.copy(), np.maximum(freedom, 1.0)
    shared, shared_freedom = np.zeros_like(variance), np.zeros_like(variance)
    for family in np.unique(families):
        rows = np.flatnonzero((families == family) & (baseline_mean != 0))
        number = effective_number(residuals[rows], freedom[rows])
        shrunk = moderate(variance[rows], freedom[rows], effective_number=number)
        moderated[rows], total[rows] = shrunk.variance, shrunk.degrees_of_freedom
        shared[rows], shared_freedom[rows] = shrunk.prior, shrunk.prior_freedom
        few = rows[freedom[rows] < MINIMUM_FREEDOM]
        if prior is not None and len(few):
            deviation = np.maximum(prior.deviation[few], sides.rows(few).deviation)
            prior_squares = prior.freedom * deviation**2
            moderated[few] = (prior_squares + squares[few]) / (prior.freedom + freedom[few])
            total[few] = prior.freedom + freedom[few]
    # Back to the metric's unit; on the logarithmic scale each side's error is a fraction of its own mean.
    target_size = np.where(positive, target_mean, size)
    allowance = np.zeros_like(variance) if target_allowance is None else target_allowance / target_size**2
    target_error = moderated / target_moments.count + allowance
    baseline_error = moderated / baseline_moments.count
    return UnitTest(
        result=student_t(sides.difference, target_error + baseline_error, total),
        target_error=target_error * target_size**2,
        baseline_error=baseline_error * size**2,
        sides=sides,
        relative_error=np.sqrt(target_error + baseline_error),
        logarithmic=positive,
        target_size=target_size,
        prior=shared,
        prior_freedom=shared_freedom,
    )


def _relative(units: Ragged, positive: Booleans, size: Floats) -> Ragged:
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
