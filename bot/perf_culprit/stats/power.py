"""How many samples would decide, and what effect could have been seen. Effects and errors are fractions of a mean."""

import math
from functools import lru_cache

import numpy as np
from scipy import special

from perf_culprit.stats.ragged import Floats

# Nine of ten changes of the size in question are found; the customary value of power analysis.
POWER = 0.9
NEARLY_NORMAL = 1e4
# A count beyond this is no advice.
MOST_SAMPLES = 100_000


def needed_error(effect: float, *, alpha: float) -> float:
    """The largest standard error of a relative change at which `effect` is found with the power (normal quantiles)."""
    return effect / float(special.ndtri(1 - alpha / 2) + special.ndtri(POWER))


def samples_per_side(sample_variance: Floats, fixed_variance: Floats, *, effect: float, alpha: float) -> Floats:
    """Samples per side that would decide `effect`, shape (m,); NaN where no number would.

    `sample_variance` is the squared coefficient of variation of one sample, `fixed_variance` what more samples do not
    lessen (runs that differ as wholes).
    """
    room = needed_error(effect, alpha=alpha) ** 2 - fixed_variance
    needed = np.full_like(sample_variance, np.nan)
    np.divide(2 * sample_variance, room, out=needed, where=room > 0)
    needed = np.ceil(needed) + 1
    return np.where(needed <= MOST_SAMPLES, np.maximum(needed, 2), np.nan)


def further_target_samples(count: int, *, error: float, target_error: float, effect: float, alpha: float) -> int | None:
    """Further target samples that would decide `effect` at this noise with the power; None where no number would.

    `error` is the standard error of the relative change now, `target_error` the part of it that shrinks with the
    square root of the target's `count`.
    """
    fixed = max(error**2 - target_error**2, 0.0)
    room = needed_error(effect, alpha=alpha) ** 2 - fixed
    if room <= 0:
        return None
    needed = math.ceil(min(target_error**2 * count / room, 2.0 * MOST_SAMPLES)) + 1
    return max(needed - count, 1) if needed <= MOST_SAMPLES else None


# The metrics of a suite mostly share their degrees of freedom, and its inverse takes long.
@lru_cache(maxsize=1024)
def noncentrality(degrees_of_freedom: float, *, alpha: float) -> float:
    """How many standard errors a change must have to be found with the power by a two-sided t test at `alpha`.

    The non-centrality parameter of the t statistic whose POWER upper part lies beyond the critical value (the normal
    distribution's beyond 10,000 degrees of freedom, where they agree to three digits).
    """
    critical = float(special.stdtrit(degrees_of_freedom, 1 - alpha / 2))
    if degrees_of_freedom > NEARLY_NORMAL:
        return critical + float(special.ndtri(POWER))
    solution = float(special.nctdtrinc(degrees_of_freedom, 1 - POWER, critical))
    # Beyond what can be calculated, as with one degree of freedom and a tiny alpha, nothing is found.
    return solution if math.isfinite(solution) else math.inf


def repetitions_for_half_width(coefficient_of_variation: float, *, half_width: float, level: float) -> int:
    """Samples at which the mean's confidence interval shrinks to `half_width` of the mean [H13, section 3]."""
    count = 2.0
    for _ in range(20):  # converges in a few steps: the quantile hardly changes with the count
        critical = float(special.stdtrit(max(count - 1, 1), 0.5 + level / 2))
        count = max(2.0, (critical * coefficient_of_variation / half_width) ** 2)
    return min(math.ceil(count), MOST_SAMPLES)
