"""Evidence that does not come from the engine: of what was not tested, and of changes that have no size."""

import math
from typing import Final

from perf_culprit.model.finding import Evidence, Side
from perf_culprit.model.reason import Reason
from perf_culprit.model.run import Metric, MetricKey

# No test: of numbers that vary with nothing but the program.
EXACT: Final = "exact"
UNTESTED: Final = "none"
# The published ANOVA of samples, in place of the engine's judgement of units.
BY_SAMPLE: Final = "anova_by_sample"


def untested(
    key: MetricKey,
    metric: Metric,
    reason: Reason | None = None,
    *,
    baseline: Side | None = None,
    target: Side | None = None,
    change: float | None = None,
) -> Evidence:
    """Of a metric that no test is made of: described, where there is something to describe."""
    return Evidence.of(
        key=key,
        metric=metric,
        test=UNTESTED,
        baseline=baseline,
        target=target,
        relative_change=change,
        evidence_reason=reason,
    )


def relative(target: float, baseline: float) -> float | None:
    """The change as a fraction of the baseline; None where that is (nearly) zero."""
    change = (target - baseline) / abs(baseline) if baseline else math.nan
    return change if math.isfinite(change) else None
