"""A commit beside its parent in the rounds that confirm it: the only ones that its own search did not choose."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import fdtri, stdtrit

from perf_culprit.model.bisection import Purpose
from perf_culprit.search import pattern_evidence
from perf_culprit.search.pattern_evidence import Design, Fit
from perf_culprit.search.round_samples import Samples, samples_of
from perf_culprit.search.search_view import Standing

Floats = npt.NDArray[np.float64]

LEVEL: Final = 0.95
LACK_OF_FIT: Final = 0.99  # of the F distribution: above it the named steps do not explain the other commits


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


def pair_differences(standing: Standing, candidate: int) -> Floats | None:
    """The commit less its parent in each of its confirming rounds [rounds]; None where there are none.

    Of a merge the parent that is nearest counts.
    """
    before, after = standing.edges(candidate)
    good_and_bad = {standing.state.commit_range.good, standing.state.commit_range.bad}
    confirming = {
        job.id
        for job in standing.state.jobs
        if job.purpose is Purpose.CONFIRM or (job.purpose is Purpose.REPRODUCE and set(job.commits) > good_and_bad)
    }
    results = [result for result in standing.state.results if result.job_id in confirming]
    samples = samples_of(standing.state, standing.positions, results)
    measured = [own for own in (round_differences(samples, commit, after) for commit in before) if own.size]
    return min(measured, key=lambda differences: abs(differences.mean()), default=None)


def step_size(standing: Standing, candidate: int) -> Size | None:
    """What the commit changes against its parent, from its confirming rounds alone; None where there are none.

    A fit over all samples would mix in the steps that nobody named. The width is Student's t of the differences,
    their variance pooled with that of the ends' differences within rounds: three rounds alone know little of it. Of a
    quiet or stable machine it is that of two of all executions around the levels of the named steps, or, where these do
    not fit (lack-of-fit test: Draper & Smith 1998, section 2.1), around each commit's own. Assumes that all vary alike.
    """
    own = pair_differences(standing, candidate)
    return None if own is None else pooled(standing, own)


def pooled(standing: Standing, own: Floats) -> Size:
    """The mean of a pair's differences [n], with the spread that `step_size` explains."""
    if standing.model.is_quiet or standing.model.is_stable:
        variance, dof = _around_levels(standing)
    else:
        ends = round_differences(standing.samples.select(standing.model.ends), 0, standing.reach.size)
        squares, dof = _within((own, ends))
        variance = squares / max(dof, 1)
    center = float(own.mean())
    return Size(center=center, spread=float(np.sqrt(variance / own.size)) if dof else abs(center), dof=max(dof, 1))


def unpooled(own: Floats) -> Size:
    """The same by the differences' own variance; a single one says nothing of it."""
    spread = float(own.std(ddof=1) / np.sqrt(own.size)) if own.size > 1 else np.inf
    return Size(center=float(own.mean()), spread=spread, dof=max(own.size - 1, 1))


def _around_levels(standing: Standing) -> tuple[float, int]:
    """Variance of the difference of two executions, with its degrees of freedom."""
    samples = standing.samples
    fit = pattern_evidence.fit(Design(samples, lambdas=(0.0,)), standing.model.named_columns)
    pure, dof = _within(samples.y[samples.commit == commit] for commit in samples.measured())
    lacking, lacking_dof = fit.sigma**2 * fit.dof - pure, fit.dof - dof
    if dof and lacking_dof > 0 and lacking / lacking_dof > fdtri(lacking_dof, dof, LACK_OF_FIT) * pure / dof:
        return 2 * pure / dof, dof
    return 2 * fit.sigma**2, int(fit.dof)


def _within(groups: Iterable[Floats]) -> tuple[float, int]:
    """Sum of squares around the groups' own means, with its degrees of freedom."""
    filled = [group for group in groups if group.size]
    return sum(float(((group - group.mean()) ** 2).sum()) for group in filled), sum(g.size - 1 for g in filled)
