"""Start of the search before the noise is known, if every execution so far is clearly fast or clearly slow."""

from typing import Final

import numpy as np

from perf_culprit.model.minimum_effect import reaches
from perf_culprit.search.odds import ODDS_20
from perf_culprit.search.search_view import SMALL_RANGE, Standing

QUIET_ANALYSIS: Final = 2  # executions per end after which a machine is accepted as quiet
START: Final = 1.0  # log BF at which a search starts; nothing is named before the odds are 20
CONTRADICTED: Final = -0.1  # log BF; a single execution of each end is no evidence: 0


def seems_quiet(standing: Standing) -> bool:
    """Whether the search may start: both ends ran once, and every execution so far lies near one of them.

    The noise is only presumed until there are enough executions; if the presumption fails, the ends run again.
    """
    model, counts = standing.model, standing.samples.counts(standing.reach.size + 1)
    if not counts[0] == counts[-1] == 1 or standing.reach.size <= SMALL_RANGE or standing.state.named:
        return False
    if _is_contradicted(standing):
        return False
    is_negligible = not reaches(model.change, np.log1p(standing.state.settings.minimum_effect), upwards=True)
    return (
        model.is_quiet
        and not is_negligible
        and (model.samples_tell or standing.leading[1] < standing.state.settings.stop)
    )


def begins_early(standing: Standing, log_bf: float) -> bool:
    """Whether to start: a change is likely by the ends, and by all executions."""
    return min(log_bf, standing.model.log_change) > START


def is_premature(standing: Standing) -> bool:
    """Whether the search started because the machine seemed quiet or a change likely, but this no longer holds."""
    counts = standing.samples.counts(standing.reach.size + 1)
    per_end = min(counts[0], counts[-1])
    if per_end < QUIET_ANALYSIS:
        return not seems_quiet(standing)
    # If the ends certainly differ, more of their executions would not help.
    return _is_contradicted(standing) and standing.model.log_reproduced < ODDS_20


def _is_contradicted(standing: Standing) -> bool:
    """Whether no commit explains the samples better than no change does."""
    return standing.model.modes is None and standing.model.log_change < CONTRADICTED
