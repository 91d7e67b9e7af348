"""How much a named commit changes: its own level and its parent's, whatever the rest of the range does."""

from typing import Final

import numpy as np

from perf_culprit.search import pattern_evidence
from perf_culprit.search.parent_pairs import Size, sizes_of, step_size
from perf_culprit.search.pattern_evidence import Design
from perf_culprit.search.search_view import Standing

FEWEST_DOF: Final = 2  # below it the spread of a difference of levels is hardly known


def named_sizes(standing: Standing) -> tuple[Size, ...]:
    """Of each named step, in topological order.

    From the samples of the commit and of its parent alone, so that no unnamed step leaks into it. Where too few samples
    say how noisy the machine is, the confirming rounds count alone; a step that has neither (an edge that cannot be
    measured any more) has the fit of the named steps.
    """
    fitted = sizes_of(pattern_evidence.fit(standing.model.design, standing.model.named_columns))
    return tuple(_own_size(standing, step) or size for step, size in zip(standing.named, fitted, strict=True))


def level_difference(design: Design, low: int, high: int) -> Size | None:
    """From commit `low` to `high` (0..N), by all of their samples; None where either has none.

    Every commit has a level of its own, so that nothing is assumed about the rest of the range: its samples only say
    how noisy the machine is, and how far off a round was.
    """
    measured = design.samples.measured().tolist()
    if low not in measured or high not in measured:
        return None
    levels = [commit for commit in measured if commit != low]
    columns = np.stack([(design.samples.commit == commit).astype(np.float64) for commit in levels])
    return sizes_of(pattern_evidence.fit(design, columns))[levels.index(high)]


def _own_size(standing: Standing, candidate: int) -> Size | None:
    """Against the nearest parent of a merge, as the confirming rounds count it."""
    before, after = standing.edges(candidate)
    # As they were measured: samples cleaned of modes look surer than they are.
    design = Design(standing.samples, lambdas=standing.model.lambdas)
    differences = [size for commit in before if (size := level_difference(design, commit, after)) is not None]
    own = min(differences, key=lambda size: abs(size.center), default=None)
    return own if own is not None and own.dof >= FEWEST_DOF else step_size(standing, candidate)
