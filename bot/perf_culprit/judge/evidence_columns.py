"""Evidence that does not come from the engine: for untested metrics, and for changes without a size."""

import math
from typing import Final

from perf_culprit.model.finding import Evidence, Side
from perf_culprit.model.reason import Reason
from perf_culprit.model.run import Metric, MetricKey

# No statistical test: these numbers depend only on the program.
EXACT: Final = "exact"
UNTESTED: Final = "none"


def untested(
    key: MetricKey,
    metric: Metric,
    reason: Reason | None = None,
    *,
    baseline: Side | None = None,
    target: Side | None = None,
    change: float | None = None,
) -> Evidence:
    """Return evidence for an untested metric, with the values that are known."""
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
    """Return the change as a fraction of the baseline; None if the baseline is (nearly) zero."""
    change = (target - baseline) / abs(baseline) if baseline else math.nan
    return change if math.isfinite(change) else None
