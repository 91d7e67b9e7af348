"""How large a change would have been seen in a metric: the honest half of "nothing found"."""

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace
from scipy import special

from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.model.finding import Evidence, Interval
from perf_culprit.model.run import Direction
from perf_culprit.stats.multiplicity import number, numbers
from perf_culprit.stats.power import POWER, noncentrality

# A detector without degrees of freedom has errors that count as known: the normal distribution's.
NORMAL_FREEDOM = 1e9
# More samples are not judged twice.
MOST_SAMPLES = 2_000_000
# More than this, a millionfold, is no number that tells anything.
LARGEST = 1e6
# A metric in which not even a tenfold worsening would have been seen was not tested.
BLIND = 9.0


def at_critical(
    pairs: Sequence[MetricPair],
    evidence: Sequence[Evidence],
    detect: Callable[[Sequence[MetricPair], DetectorOptions], Sequence[Evidence]],
    options: DetectorOptions,
    *,
    critical_p: float,
) -> Sequence[Evidence]:
    """The evidence with the half width of each interval at `critical_p`, where the detector can be asked twice.

    Between runs a change must leave the modes and tails that the detector allows for, not only Student's: the t
    distribution would promise too much. Paired intervals come from counting swaps, and large suites take their time:
    for these the t distribution has to do.
    """
    samples = sum(len(pair.target.samples) + sum(len(run.samples) for run in pair.baseline) for pair in pairs)
    if options.paired or samples > MOST_SAMPLES or critical_p >= options.settings.alpha:
        return evidence
    if not any(entry.p_value is not None and entry.p_value >= critical_p for entry in evidence):
        return evidence
    intervals = (entry.confidence_interval for entry in detect(pairs, options.at(critical_p)))
    widths = numbers(None if interval is None else _half_width(interval) for interval in intervals)
    return [
        replace(entry, precision=replace(entry.precision, critical_half_width=number(width)))
        for entry, width in zip(evidence, widths, strict=True)
    ]


def detectable_effect(evidence: Evidence, *, minimum_effect: float, critical_p: float) -> float | None:
    """The smallest worsening, as a fraction, found with 90% power at `critical_p`; no less than the minimum effect.

    The standard error is that of the interval, taken as t-distributed around the change's logarithm: noise grows with
    the level. None where the change has no interval.
    """
    if (interval := evidence.confidence_interval) is None:
        return None
    freedom = evidence.precision.degrees_of_freedom or NORMAL_FREEDOM
    error = _half_width(interval) / float(special.stdtrit(freedom, 0.5 + interval.level / 2))
    shift = noncentrality(freedom, alpha=critical_p) * error if error else 0.0
    if (critical := evidence.precision.critical_half_width) is not None:
        shift = max(shift, critical + float(special.ndtri(POWER)) * error)
    falls = evidence.metric.direction is Direction.HIGHER_IS_BETTER
    effect = -math.expm1(-shift) if falls else math.expm1(min(shift, math.log(LARGEST)))
    return max(minimum_effect, effect)


def is_beyond(evidence: Evidence, *, minimum_effect: float, visible: float | None) -> bool:
    """Whether the change is larger than what would have been seen: of quotients, a tenth is as far as ten times."""
    change = evidence.relative_change
    if change is None or visible is None or abs(change) <= min(minimum_effect, visible):
        return False
    falls = evidence.metric.direction is Direction.HIGHER_IS_BETTER
    return _distance(change) > _distance(-visible if falls else visible)


def is_untold(evidence: Evidence, *, minimum_effect: float, visible: float | None) -> bool:
    """Whether "nothing found" would be contradicted: by an interval of larger changes only, or by the change itself."""
    interval = evidence.confidence_interval
    if interval is not None and (interval.low > minimum_effect or interval.high < -minimum_effect):
        return True
    return is_beyond(evidence, minimum_effect=minimum_effect, visible=visible)


def _distance(change: float) -> float:
    """From no change, of the logarithm of the quotient."""
    return abs(math.log1p(change)) if change > -1 else math.inf


def _half_width(interval: Interval) -> float:
    """Of the logarithm of the quotient; of the change itself where that may be a loss of everything."""
    if interval.low <= -1:
        return (interval.high - interval.low) / 2
    return (math.log1p(interval.high) - math.log1p(interval.low)) / 2
