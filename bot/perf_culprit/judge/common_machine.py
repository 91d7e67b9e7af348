"""Check that both sides were measured on the same hardware."""

from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import Reason, VerdictReason, because
from perf_culprit.model.run import Run


def hardware_differences(baseline: Baseline, target: Run) -> tuple[Reason, ...]:
    """Return one reason per differing component if no baseline run has the target's hardware; otherwise nothing.

    Paired runs shared their machine, even if their files disagree.
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
