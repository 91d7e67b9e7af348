"""When everything moved together: another machine, not another program."""

import math
from collections.abc import Sequence
from statistics import median, quantiles

from perf_culprit.judge.evidence_columns import EXACT
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence
from perf_culprit.model.reason import Reason, VerdictReason, because
from perf_culprit.model.run import Run

# Of fewer metrics all can move in one direction by one change of the program.
MINIMUM_METRICS = 10
# Share of the metrics that moved significantly in the same direction.
COMMON_SHARE = 0.9
# A faster machine speeds up all code by about the same factor: the middle half of the changes lies within this
# fraction of their median.
COMMON_SPREAD = 0.5


def common_shift(evidence: Sequence[Evidence], *, alpha: float) -> float | None:
    """The relative change of time that nearly all metrics share; None where there is no such thing.

    Runs are not yet their own level here: an offset of a run is what is looked for, so the test of the samples counts.
    Counted metrics (allocations) do not depend on the machine and are left out.
    """
    noisy = [
        entry
        for entry in evidence
        if entry.p_value is not None and entry.test != EXACT and entry.metric.direction.worse_sign
    ]
    if len(noisy) < MINIMUM_METRICS:
        return None
    moved = []
    for entry in noisy:
        change, of_samples = entry.relative_change, entry.precision.p_of_samples
        p_value = entry.p_value if of_samples is None else of_samples
        if change is not None and change > -1 and p_value is not None and p_value < alpha:
            moved.append(math.log1p(change) * entry.metric.direction.worse_sign)
    slower = sum(shift > 0 for shift in moved)
    if max(slower, len(moved) - slower) < COMMON_SHARE * len(noisy):
        return None
    same = [shift for shift in moved if (shift > 0) == (2 * slower > len(moved))]
    first, _, third = quantiles(same, n=4)
    middle = median(same)
    return math.expm1(middle) if third - first <= COMMON_SPREAD * abs(middle) else None


def hardware_differences(baseline: Baseline, target: Run) -> tuple[Reason, ...]:
    """What differs, one reason per component, if no baseline run has the target's hardware; else nothing.

    Paired runs shared their machine, whatever their files say.
    """
    if baseline.source is BaselineSource.PAIRED or not baseline.runs:
        return ()
    environment = target.environment
    if any(not environment.differences(run.environment) for run in baseline.runs):
        return ()
    newest = baseline.runs[-1].environment
    return tuple(
        because(
            VerdictReason.OTHER_HARDWARE,
            component=name,
            here=environment.components[name],
            there=newest.components[name],
        )
        for name in environment.differences(newest)
    )
