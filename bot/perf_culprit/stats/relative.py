"""The relative change of two means, and how sure one can be of it."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from perf_culprit.stats.ragged import Booleans, Floats, Moments
from perf_culprit.stats.two_groups import satterthwaite


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """`mean` and its `squared_error` (the square of its standard error), shapes (m,)."""

    mean: Floats
    squared_error: Floats


def relative_change(target: Floats, baseline: Floats) -> Floats:
    """(target - baseline) / |baseline|, shape (m,); NaN where the baseline is zero.

    The absolute value keeps the sign's meaning for negative means: above zero is always a larger number.
    """
    change = np.full_like(target, np.nan)
    return np.divide(target - baseline, np.abs(baseline), out=change, where=baseline != 0)


def relative_error(target: MeanEstimate, baseline: MeanEstimate) -> Floats:
    """Standard error of the relative change (delta method), shape (m,); NaN where the baseline is zero."""
    error = np.full_like(target.mean, np.nan)
    nonzero = baseline.mean != 0
    ratio = np.divide(target.mean, baseline.mean, out=np.zeros_like(target.mean), where=nonzero)
    variance = target.squared_error + ratio**2 * baseline.squared_error
    return np.divide(np.sqrt(variance), np.abs(baseline.mean), out=error, where=nonzero)


def welch_freedom(target: Moments, baseline: Moments) -> Floats:
    """Welch-Satterthwaite degrees of freedom of target - ratio * baseline, at the estimated ratio; shape (m,)."""
    nonzero = baseline.mean != 0
    ratio = np.divide(target.mean, baseline.mean, out=np.ones_like(target.mean), where=nonzero)
    return satterthwaite(
        target.variance / target.count,
        target.count - 1,
        ratio**2 * baseline.variance / baseline.count,
        baseline.count - 1,
    )


def change_interval(
    target: MeanEstimate, baseline: MeanEstimate, *, degrees_of_freedom: Floats, level: float
) -> tuple[Floats, Floats]:
    """Fieller's confidence interval of the relative change [Fieller 1954]: low and high, shapes (m,).

    All ratios r for which target - r * baseline is within t standard errors of zero. Assumes independent, roughly
    normal means. NaN on both ends where the baseline's mean is not clearly different from zero: the set is unbounded.
    """
    critical = special.stdtrit(degrees_of_freedom, 0.5 + level / 2) ** 2
    usable = baseline.mean != 0
    size = np.where(usable, np.abs(baseline.mean), 1.0)
    sign = np.where(baseline.mean < 0, -1.0, 1.0)
    quadratic = 1.0 - critical * baseline.squared_error / size**2
    usable &= quadratic > 0
    quadratic = np.where(usable, quadratic, 1.0)
    ratio = target.mean / size * sign
    constant = ratio**2 - critical * target.squared_error / size**2
    root = np.sqrt(np.maximum(ratio**2 - quadratic * constant, 0.0))
    # A larger ratio to a negative baseline is a smaller number: its sign turns the ends around.
    ends = ((ratio - root) / quadratic - 1.0) * sign, ((ratio + root) / quadratic - 1.0) * sign
    return np.where(usable, np.minimum(*ends), np.nan), np.where(usable, np.maximum(*ends), np.nan)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """The relative changes of m metrics with the ends of their intervals, and standard errors: NaN where not known."""

    change: Floats
    low: Floats
    high: Floats
    error: Floats


def logarithmic_interval(change: Floats, half_width: Floats) -> tuple[Floats, Floats]:
    """Low and high, shapes (m,), of relative changes whose logarithm is known to +- `half_width`."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (1 + change) * np.exp(-half_width) - 1, (1 + change) * np.exp(half_width) - 1


def bounded_change(
    target: MeanEstimate,
    baseline: MeanEstimate,
    *,
    degrees_of_freedom: Floats,
    half_width: Floats,
    logarithmic: Booleans,
    level: float,
) -> Change:
    """With Fieller's interval; where `logarithmic` the change's logarithm is known to +- `half_width` (m,) instead.

    That excludes zero exactly where the test on logarithms does, up to the difference of means and geometric means.
    """
    change = relative_change(target.mean, baseline.mean)
    ends = zip(
        logarithmic_interval(change, half_width),
        change_interval(target, baseline, degrees_of_freedom=degrees_of_freedom, level=level),
        strict=True,
    )
    low, high = (np.where(logarithmic, by_logarithm, fieller) for by_logarithm, fieller in ends)
    return Change(change=change, low=low, high=high, error=relative_error(target, baseline))


def samples_error(squared_error: Floats, baseline: Floats) -> Floats:
    """Of the relative change, by a part of the target's squared error alone; NaN where the baseline's mean is zero."""
    error = np.full_like(baseline, np.nan)
    return np.divide(np.sqrt(squared_error), np.abs(baseline), out=error, where=baseline != 0)
