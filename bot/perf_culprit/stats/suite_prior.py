"""The prior of a benchmark's variance: the variances of its suite, combined with a corpus."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.arrays import Floats

# Fitted on ten forks each of the benchmarks of 15 Java systems, and on executions on a shared machine.
RESOLUTION: Final = 0.002  # no unit is more precise
SCALE: Final = 0.015  # standard deviation of a unit in the corpus
SCALE_SPREAD: Final = 2.5  # variance of the corpus's log variances: how much benchmarks differ in their scale
SPREAD_WORTH: Final = 3.0  # number of benchmarks of the suite that this is worth
MACHINES: Final = 15.0  # variance of the log variances of machines: a crowded one is 20 times as loud as a calm one
SCALE_WORTH: Final = 0.1  # number of benchmarks of the suite that the corpus's scale is worth
# Standard deviation of a suite's units on dedicated machines, at most. 15 of 15 Java systems are below 0.03, suites on
# a shared machine above 0.10. There, consecutive units of a side are more often in a slow spell together.
CALM: Final = 0.05
LEAST_SPREAD: Final = 0.15
# From suites whose noises differ 30-fold, where each benchmark stands for itself; some benchmark is always noisy.
WORTHS: Final = (0.05, 12.0)
_WORTHS: Final = np.geomspace(*WORTHS, 400)
_SPREADS: Final = -special.polygamma(1, _WORTHS / 2)


@dataclass(frozen=True, slots=True)
class SuitePrior:
    """`variance` of a benchmark's unit, worth `worth` degrees of freedom; `own` is the suite's without the corpus."""

    worth: float
    variance: float
    own: float = 0.0

    def moderated(self, squares: Floats, freedom: Floats | float) -> Floats:
        """Combine the prior with sums of `squares` of that freedom."""
        moderated: Floats = (self.worth * self.variance + squares) / (self.worth + freedom)
        return moderated


def suite_prior(variances: Floats, freedom: float) -> SuitePrior:
    """Return the prior of variances (m,), m >= 1, each estimated with `freedom`.

    Smyth, Linear models and empirical Bayes methods (2004), with quantiles instead of moments. Tenths and
    quarters tell the spread. So a fifth of the suite with another noise counts, and one wild benchmark does not.
    """
    logs = np.log(np.maximum(variances, RESOLUTION**2 / 4))
    tenth, quarter, middle, last, most = np.quantile(logs, [0.1, 0.25, 0.5, 0.75, 0.9])
    others = len(logs) - 1  # a benchmark alone is no suite
    share, weight = others / (others + SCALE_WORTH), others / (others + SPREAD_WORTH)
    wide = max((last - quarter) / 1.349, (most - tenth) / 2.563) ** 2 - float(special.polygamma(1, freedom / 2))
    spread = weight * max(wide, LEAST_SPREAD) + (1 - weight) * SCALE_SPREAD + (1 - share) * MACHINES
    worth = float(np.interp(-spread, _SPREADS, _WORTHS))
    own = float(np.exp(middle) * freedom / special.chdtri(freedom, 0.5))
    return SuitePrior(worth, own**share * SCALE ** (2 * (1 - share)), own)
