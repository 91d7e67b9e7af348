"""How large a change would have been seen in a metric: the honest half of "nothing found"."""

import math

from scipy import special

from bot.model.finding import Evidence, Interval
from bot.model.metric import Direction
from bot.stats.power import noncentrality

# A detector without degrees of freedom has errors that count as known: the normal distribution's.
NORMAL_FREEDOM = 1e9
# More than this, a millionfold, is no number that tells anything.
LARGEST = 1e6
# A metric in which not even a tenfold worsening would have been seen was not tested.
BLIND = 9.0


def detectable_effect(evidence: Evidence, *, minimum_effect: float, critical_p: float) -> float | None:
    """The smallest worsening, as a fraction, found with 90 % power at `critical_p`; no less than the minimum effect.

    The standard error is that of the interval, taken as t-distributed around the change's logarithm: noise grows with
    the level. None where the change has no interval.
    """
    interval = evidence.confidence_interval
    if interval is None:
        return None
    freedom = evidence.details.get("degrees_of_freedom", NORMAL_FREEDOM)
    error = _half_width(interval) / float(special.stdtrit(freedom, 0.5 + interval.level / 2))
    shift = noncentrality(freedom, alpha=critical_p) * error if error else 0.0
    falls = evidence.metric.direction is Direction.HIGHER_IS_BETTER
    effect = -math.expm1(-shift) if falls else math.expm1(min(shift, math.log(LARGEST)))
    return max(minimum_effect, effect)


def _half_width(interval: Interval) -> float:
    """Of the logarithm of the quotient; of the change itself where that may be a loss of everything."""
    if interval.low <= -1:
        return (interval.high - interval.low) / 2
    return (math.log1p(interval.high) - math.log1p(interval.low)) / 2
