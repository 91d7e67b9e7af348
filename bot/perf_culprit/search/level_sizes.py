"""The difference between two commits: that of their levels, whatever happens in the rest of the range."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import stdtrit

from perf_culprit.arrays import Floats
from perf_culprit.search import pattern_evidence
from perf_culprit.search.pattern_evidence import Fit, PatternDesign
from perf_culprit.search.round_samples import Samples, samples_of
from perf_culprit.search.search_view import SearchView
from perf_culprit.stats.conventions import LEVEL

FEWEST_DOF: Final = 2  # with fewer the spread of a difference of levels is hardly known


@dataclass(frozen=True, kw_only=True, slots=True)
class StepSize:
    """A step in logarithms: Student's t of `dof` around `center`."""

    center: float
    spread: float
    dof: float

    @property
    def half(self) -> float:
        """Half the width of the interval at `LEVEL`."""
        return self.spread * float(stdtrit(self.dof, (1 + LEVEL) / 2))


def sizes_of(fit: Fit) -> tuple[StepSize, ...]:
    """Return the size of each regressor."""
    spreads = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))
    return tuple(
        StepSize(center=float(center), spread=float(spread), dof=fit.dof)
        for center, spread in zip(fit.delta, spreads, strict=True)
    )


def round_differences(samples: Samples, before: int, after: int) -> Floats:
    """Return after minus before in each round that has both [rounds]."""
    sides = [(samples.commit == commit).astype(np.float64) for commit in (before, after)]
    counts = np.array([np.bincount(samples.block, side, samples.blocks) for side in sides])
    sums = np.array([np.bincount(samples.block, side * samples.y, samples.blocks) for side in sides])
    both = counts.all(axis=0)
    first, second = sums[:, both] / counts[:, both]
    return np.asarray(second - first)


def mean_difference(own: Floats) -> StepSize:
    """Return the mean of differences [n], with its error from their variance; infinite for a single one."""
    spread = float(own.std(ddof=1) / np.sqrt(own.size)) if own.size > 1 else np.inf
    return StepSize(center=float(own.mean()), spread=spread, dof=max(own.size - 1, 1))


def level_difference(standing: SearchView, low: int, high: int, *, cleaned: bool = False) -> StepSize | None:
    """Return the difference from commit `low` to `high` (0..N), by all samples; None if either has none.

    Every commit has a level of its own, so nothing is assumed about the rest of the range. Its samples only estimate
    the machine's noise and the offset of each round. If too few remain to estimate the noise, the named steps determine
    the levels of the other commits. Samples `cleaned` of the machine's modes look too precise, so sizes use the
    measured ones.
    """
    samples = standing.model.design.samples if cleaned else standing.samples
    commits = samples.measured().tolist()
    if low not in commits or high not in commits:
        return None
    others = [commit for commit in commits if commit not in (low, high)]
    levels = [(samples.commit == commit).astype(np.float64) for commit in (high, *others)]
    if samples.count - 1 - len(levels) < FEWEST_DOF:
        rest = np.isin(samples.commit, others).astype(np.float64)
        levels = [levels[0], *(column for column in (rest, *(rest * standing.model.named_columns)) if column.any())]
    design = PatternDesign(samples, lambdas=standing.model.lambdas)
    return sizes_of(pattern_evidence.fit(design, np.stack(levels)))[0]


def difference(standing: SearchView, low: int, high: int) -> StepSize | None:
    """Return the difference of two commits; one outside the range (below 0) has a level in the rounds of both alone."""
    if low >= 0:
        return level_difference(standing, low, high)
    own = round_differences(samples_of(standing.state, standing.with_outside), low, high)
    return mean_difference(own) if own.size else None


def step_size(standing: SearchView, candidate: int) -> StepSize | None:
    """Return the size of a commit against the nearest of its parents; None if an end of the edge was not measured."""
    before, after = standing.edges(candidate)
    sizes = [size for commit in before if (size := difference(standing, commit, after)) is not None]
    return min(sizes, key=lambda size: abs(size.center), default=None)


def named_sizes(standing: SearchView) -> tuple[StepSize, ...]:
    """Return each named step's size, in topological order; from the fit of all if its edge is not measurable."""
    fitted = sizes_of(pattern_evidence.fit(standing.model.design, standing.model.named_columns))
    return tuple(step_size(standing, step) or size for step, size in zip(standing.named, fitted, strict=True))
