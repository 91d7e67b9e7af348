"""A step beside the named ones: whether it is looked for, and when that ends."""

from typing import Final

import numpy as np

from perf_culprit.model.bisection import NEGLIGIBLE
from perf_culprit.search import pattern_evidence, residual
from perf_culprit.search.parent_pairs import pair_differences, pooled, step_size, unpooled
from perf_culprit.search.search_view import Standing, executions

LIKELY: Final = 3.0  # log BF, prices paid, at which a further step is searched; below 0 the search for it ends
ATTEMPTS: Final = 2  # failed confirmations after which no further step is looked for
# Part of the budget that the search for a further step may cost: a confirmed culprit is an answer already.
SHARE: Final = 0.25
CONFIRMED_SHARE: Final = 0.4  # with the confirmation of what that search came to


def is_sought(standing: Standing) -> bool:
    """Whether one more step is likely, large enough to matter, and still affordable."""
    model = standing.model
    if standing.exhausted or is_given_up(standing):
        return False
    if model.log_further <= LIKELY and not residual.is_left_over(standing):
        return False
    further = [model.column_of(int(np.argmax(mass))) for mass in model.step_masses]
    steps = np.abs(pattern_evidence.fit(model.design, np.vstack([model.named_columns, *further])).delta)
    named = len(model.named)
    return bool(steps[named:].max() >= NEGLIGIBLE * steps[:named].max())


def is_explained(standing: Standing) -> bool:
    """The search for a further step has measured, and what it measured speaks against one."""
    return bool(standing.fresh_rounds) and standing.model.log_further < 0 and not residual.is_left_over(standing)


def is_given_up(standing: Standing, *, share: float = SHARE) -> bool:
    state = standing.state
    last = state.named[-1]
    spent = executions(state.results[last.rounds :])
    failed = len(state.withdrawn) - last.withdrawn
    return spent > share * state.settings.budget_executions or failed >= ATTEMPTS


def is_small(standing: Standing, candidate: int) -> bool:
    """A further step that its own rounds show to be smaller than what is looked for, by their own variance as well."""
    differences = pair_differences(standing, candidate)
    if differences is None:
        return False
    sizes = pooled(standing, differences), unpooled(differences)
    named = (step_size(standing, other) for other in standing.named)
    largest = max((abs(size.center) for size in named if size is not None), default=0.0)
    return abs(sizes[0].center) + min(size.half for size in sizes) < NEGLIGIBLE * largest
