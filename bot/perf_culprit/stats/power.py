"""Required samples and detectable effects. Effects and errors are fractions of a mean."""

import math
from functools import lru_cache

from scipy import special

from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.conventions import POWER

NEARLY_NORMAL = 10_000  # degrees of freedom


# Most metrics of a suite share their degrees of freedom, and the inverse is slow.
@lru_cache(maxsize=1024)
def noncentrality(degrees_of_freedom: float, *, alpha: float) -> float:
    """Return how many standard errors a change needs for a two-sided t test at `alpha` to find it with the POWER.

    The non-centrality parameter of the t statistic whose POWER upper part lies beyond the critical value. Beyond 10,000
    degrees of freedom the normal distribution's, which agrees to three digits.
    """
    critical = float(special.stdtrit(degrees_of_freedom, 1 - alpha / 2))
    if degrees_of_freedom > NEARLY_NORMAL:
        return critical + float(special.ndtri(POWER))
    solution = float(special.nctdtrinc(degrees_of_freedom, 1 - POWER, critical))
    # If it cannot be calculated, as with one degree of freedom and a tiny alpha, no change is found.
    return solution if math.isfinite(solution) else math.inf


def repetitions_for_half_width(coefficient_of_variation: float, *, half_width: float, level: float) -> int:
    """Return how many samples give a confidence interval of ± `half_width` of the mean [H13, section 3]."""
    count = 2.0
    for _ in range(20):  # converges in a few steps: the quantile hardly changes with the count
        critical = float(special.stdtrit(max(count - 1, 1), 0.5 + level / 2))
        count = max(2.0, (critical * coefficient_of_variation / half_width) ** 2)
    return min(math.ceil(count), WORK_LIMITS.advised_repetitions)
