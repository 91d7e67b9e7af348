"""How much one commit differs from another: the difference of their levels, whatever the rest of the range does."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from perf_culprit.search import pattern_evidence
from perf_culprit.search.pattern_evidence import Design, Fit
from perf_culprit.search.round_samples import Samples
from perf_culprit.search.search_view import Standing

Floats = npt.NDArray[np.float64]

LEVEL: Final = 0.95  # of intervals, bounds and suspect sets
FEWEST_DOF: Final = 2  # below it the spread of a difference of levels is hardly known


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """A step in logarithms: Student's t of `dof` around `center`."""

    center: float
    spread: float
    dof: float

    @property
    def half(self) -> float:
        """Half the width of the interval at `LEVEL`."""
        return self.spread * float(stdtrit(self.dof, (1 + LEVEL) / 2))


def sizes_of(fit: Fit) -> tuple[Size, ...]:
    """Of each regressor."""
    spreads = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))
    return tuple(
        Size(center=float(center), spread=float(spread), dof=fit.dof)
        for center, spread in zip(fit.delta, spreads, strict=True)
    )


def round_differences(samples: Samples, before: int, after: int) -> Floats:
    """After less before in each round that has both [rounds]."""
    sides = [(samples.commit == commit).astype(np.float64) for commit in (before, after)]
    counts = np.array([np.bincount(samples.block, side, samples.blocks) for side in sides])
    sums = np.array([np.bincount(samples.block, side * samples.y, samples.blocks) for side in sides])
    both = counts.all(axis=0)
    first, second = sums[:, both] / counts[:, both]
    return np.asarray(second - first)


def mean_difference(own: Floats) -> Size:
    """Of differences [n], by their own variance; a single one says nothing of it."""
    spread = float(own.std(ddof=1) / np.sqrt(own.size)) if own.size > 1 else np.inf
    return Size(center=float(own.mean()), spread=spread, dof=max(own.size - 1, 1))


def level_difference(standing: Standing, low: int, high: int, *, cleaned: bool = False) -> Size | None:
    """From commit `low` to `high` (0..N), by all samples; None where either has none.

    Every commit has a level of its own, so that nothing is assumed about the rest of the range: its samples only say
    how noisy the machine is, and how far off a round was. Where that leaves too few to say how noisy it is, the other
    commits have the levels that the named steps give them. Samples `cleaned` of the machine's modes look surer than
    they are, so that sizes are of those that were measured.
    """
    samples = standing.model.design.samples if cleaned else standing.samples
    measured = samples.measured().tolist()
    if low not in measured or high not in measured:
        return None
    others = [commit for commit in measured if commit not in (low, high)]
    levels = [(samples.commit == commit).astype(np.float64) for commit in (high, *others)]
    if samples.count - 1 - len(levels) < FEWEST_DOF:
        rest = np.isin(samples.commit, others).astype(np.float64)
        levels = [levels[0], *(column for column in (rest, *(rest * standing.model.named_columns)) if column.any())]
    design = Design(samples, lambdas=standing.model.lambdas)
    return sizes_of(pattern_evidence.fit(design, np.stack(levels)))[0]


def step_size(standing: Standing, candidate: int) -> Size | None:
    """A commit against the nearest of its parents; None where an end of the edge was not measured."""
    before, after = standing.edges(candidate)
    sizes = [size for commit in before if (size := level_difference(standing, commit, after)) is not None]
    return min(sizes, key=lambda size: abs(size.center), default=None)


def named_sizes(standing: Standing) -> tuple[Size, ...]:
    """Of each named step, in topological order; one whose edge cannot be measured any more has the fit of all steps."""
    fitted = sizes_of(pattern_evidence.fit(standing.model.design, standing.model.named_columns))
    return tuple(step_size(standing, step) or size for step, size in zip(standing.named, fitted, strict=True))
