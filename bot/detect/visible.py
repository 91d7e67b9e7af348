"""How large a change would have been seen in a metric: the honest half of "nothing found"."""

from scipy import special

from bot.model.finding import Evidence
from bot.stats.power import POWER

# A detector without degrees of freedom has errors that count as known: the normal distribution's.
NORMAL_FREEDOM = 1e9


def detectable_effect(evidence: Evidence, *, minimum_effect: float, critical_p: float) -> float | None:
    """The smallest change, as a fraction, found with 90 % power at `critical_p`; no less than the minimum effect.

    The standard error is that of the interval, taken as t-distributed. None where the change has no interval.
    """
    interval = evidence.confidence_interval
    if interval is None:
        return None
    freedom = evidence.details.get("degrees_of_freedom", NORMAL_FREEDOM)
    error = (interval.high - interval.low) / 2 / float(special.stdtrit(freedom, 0.5 + interval.level / 2))
    quantiles = float(special.stdtrit(freedom, 1 - critical_p / 2) + special.stdtrit(freedom, POWER))
    return max(minimum_effect, quantiles * error)
