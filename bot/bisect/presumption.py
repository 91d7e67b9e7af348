"""The search begins before the noise is known, where so far every execution is plainly fast or plainly slow."""

from typing import Final

import numpy as np

from bot.bisect.standing import SMALL_RANGE, Standing

QUIET_ANALYSIS: Final = 2  # executions per end after which a quiet machine is believed
EARLY_ANALYSIS: Final = 4  # executions per end after which overwhelming evidence begins the search


def seems_quiet(standing: Standing) -> bool:
    """Both ends ran once, and so far every execution lies beside one of them: the search may as well begin.

    The noise is only presumed until there are enough executions, and the ends run again where it is not so.
    """
    model, counts = standing.model, standing.samples.counts(standing.reach.size + 1)
    if not counts[0] == counts[-1] == 1 or standing.reach.size <= SMALL_RANGE or standing.state.named:
        return False
    is_negligible = model.change < np.log1p(standing.state.settings.minimum_effect)
    return (
        model.is_quiet
        and not is_negligible
        and (model.samples_tell or standing.leading[1] < standing.state.settings.stop)
    )


def is_premature(standing: Standing) -> bool:
    """The search began because all seemed quiet, and is not; more rounds of the ends may have been under way then."""
    counts = standing.samples.counts(standing.reach.size + 1)
    per_end = min(counts[0], counts[-1])
    if per_end < QUIET_ANALYSIS:
        return not seems_quiet(standing)
    return bool(per_end < EARLY_ANALYSIS and not standing.model.is_quiet)
