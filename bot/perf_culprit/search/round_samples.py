"""Results of rounds as arrays: one row per execution, in execution order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from statistics import fmean
from typing import Self

import numpy as np

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.model.bisection import Result, SearchState, Sought


@dataclass(frozen=True, kw_only=True, slots=True)
class Samples:
    """`y` [n]: natural logarithm of the value; larger means more of the change that is searched.

    `commit` [n]: 0 good end, 1..N candidates. `block` [n]: 0..B-1, the round. `weight` [n]: precision relative to an
    ordinary sample.
    """

    y: Floats
    commit: Integers
    block: Integers
    weight: Floats

    @property
    def count(self) -> int:
        return len(self.y)

    @property
    def blocks(self) -> int:
        return int(self.block[-1]) + 1 if self.count else 0

    def measured(self) -> Integers:
        """Return the commits that have samples, ascending."""
        return np.unique(self.commit)

    def counts(self, size: int) -> Integers:
        """Count the samples of each commit [size]."""
        return np.bincount(self.commit, minlength=size)

    def select(self, keep: Booleans) -> Self:
        """Return only the rows in `keep` [n]; blocks are renumbered."""
        _, block = np.unique(self.block[keep], return_inverse=True)
        return type(self)(
            y=self.y[keep], commit=self.commit[keep], block=block.astype(np.intp), weight=self.weight[keep]
        )

    def with_values(self, y: Floats, weight: Floats | None = None) -> Self:
        return type(self)(y=y, commit=self.commit, block=self.block, weight=self.weight if weight is None else weight)


def samples_of(state: SearchState, positions: Mapping[str, int], results: Sequence[Result] | None = None) -> Samples:
    """Collect the usable values of `results` (default: stored and recorded ones), of the commits in `positions`."""
    jobs = {job.id: job for job in state.jobs}
    sign = orientation(state)
    y: list[float] = []
    commit: list[int] = []
    block: list[int] = []
    for number, result in enumerate((*state.stored, *state.results) if results is None else results):
        job = jobs.get(result.job_id)
        for name in sorted(result.values) if job is None else job.commits:
            if name not in positions:
                continue
            values = result.values.get(name, ())
            y += [sign * float(np.log(value)) for value in values]
            commit += [positions[name]] * len(values)
            block += [number] * len(values)
    _, numbered = np.unique(np.array(block, dtype=np.intp), return_inverse=True)
    return Samples(
        y=np.array(y), commit=np.array(commit, dtype=np.intp), block=numbered.astype(np.intp), weight=np.ones(len(y))
    )


def orientation(state: SearchState) -> int:
    """Return the sign of the change searched in the metric: for worse, for better, or what the ends' means show.

    Means of two modes may mislead: if either direction is searched, both are weighed before the search (`phases`).
    """
    worse = state.settings.direction.worse_sign
    if state.settings.sought is not Sought.ANY:
        return worse if state.settings.sought is Sought.WORSE else -worse
    good, bad = (
        [log(value) for result in (*state.stored, *state.results) for value in result.values.get(end, ())]
        for end in (state.commit_range.good, state.commit_range.bad)
    )
    rises = not good or not bad or worse * (fmean(bad) - fmean(good)) >= 0
    return worse if rises else -worse


def autocorrelation(residuals: Floats, block: Integers) -> float | None:
    """Lag-1 autocorrelation of consecutive executions; None below 8 pairs or without spread."""
    pairs = [(a, b) for a, b in pairwise(range(len(residuals))) if block[a] == block[b]]
    centered = residuals - residuals.mean() if len(residuals) else residuals
    spread = float(centered @ centered)
    if len(pairs) < 8 or spread <= 1e-18:
        return None
    first, second = np.array(pairs).T
    return float(np.mean(centered[first] * centered[second]) / (spread / len(centered)))
