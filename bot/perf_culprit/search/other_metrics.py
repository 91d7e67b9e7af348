"""Other metrics of the executions that a search made: whether they step where the search's own does."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import log, sqrt
from statistics import fmean, stdev
from typing import Final

import numpy as np
from scipy.special import stdtrit

from perf_culprit.model.bisection import CommitRange
from perf_culprit.search.descendants import Floats, Reach
from perf_culprit.search.parent_pairs import LEVEL

# A Bayes factor of 20 by the likelihood ratio of two least-squares fits: "strong" [Kass & Raftery 1995].
CONVINCING: Final = log(20)
LEAST_BLOCKS: Final = 3
REFUTING_ANALYSIS: Final = 6  # executions per end before a change that was expected is denied
REFUTED_SHARE: Final = 0.5  # of it: what looked like a change is often larger than it is

Block = Mapping[str, float]


class Place(StrEnum):
    """Where a metric steps, seen from a commit that another metric named."""

    HERE = "here"
    ELSEWHERE = "elsewhere"
    NOWHERE = "nowhere"  # no worsening was seen again
    UNKNOWN = "unknown"


def place_of(
    commit_range: CommitRange, blocks: Sequence[Block], culprit: str, *, worse_sign: int, convincing: float = CONVINCING
) -> Place:
    """Whether the metric steps at `culprit`.

    `blocks` hold a positive number per commit, measured side by side; what they share is the machine's. One step of
    any candidate is fitted to their logarithms by least squares, and those fits are compared; `convincing` is the
    logarithm of the ratio from which on one was seen at all.
    """
    position = {commit: place for place, commit in enumerate((commit_range.good, *commit_range.commits))}
    rows = [
        (number, position[commit], log(value))
        for number, block in enumerate(blocks)
        for commit, value in block.items()
        if commit in position
    ]
    if len({number for number, _, _ in rows}) < LEAST_BLOCKS or culprit not in position:
        return Place.UNKNOWN
    owner, commits = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    y = _centred(np.array([row[2] for row in rows]) * worse_sign, owner)
    reach = Reach(commit_range)
    measured = np.unique(commits)
    columns = {int(commit): reach.column(int(commit)) for commit in measured}
    x = _centred(np.array([columns[int(commit)] for commit in commits], dtype=np.float64), owner)
    product, length = x.T @ y, np.einsum("ij,ij->j", x, x)
    fits = np.where(product > 0, product**2 / np.maximum(length, 1e-12), 0.0)  # of a step for the worse
    total = float(y @ y)
    half = len(rows) / 2
    own = position[culprit] - 1

    def likelihood(explained: float) -> float:
        return -half * log(max(total - explained, total * 1e-9, 1e-18))

    best = likelihood(float(fits.max(initial=0.0)))
    if best - likelihood(0.0) < convincing:
        return Place.NOWHERE
    return Place.HERE if best - likelihood(float(fits[own])) < CONVINCING else Place.ELSEWHERE


def is_refuted(commit_range: CommitRange, blocks: Sequence[Block], *, worse_sign: int, expected: float) -> bool:
    """Whether the ends, executed side by side, exclude half of a step for the worse by `expected`, in logarithms.

    Student's t over the blocks; it assumes that they are independent.
    """
    good, bad = commit_range.good, commit_range.bad
    steps = [worse_sign * log(block[bad] / block[good]) for block in blocks if good in block and bad in block]
    if len(steps) < REFUTING_ANALYSIS:
        return False
    half = float(stdtrit(len(steps) - 1, (1 + LEVEL) / 2)) * stdev(steps) / sqrt(len(steps))
    return excludes(fmean(steps), half, expected=expected)


def excludes(center: float, half: float, *, expected: float) -> bool:
    """Whether half of the change that was expected would have been seen, and was not; `half` is half the interval.

    It must be narrower than that half to either side, so that a change of the expected size is four standard errors
    away; and a change that it asserts is never denied, however small.
    """
    return max(half, center + half) < REFUTED_SHARE * expected and center - half <= 0


def _centred(values: Floats, owner: np.ndarray) -> Floats:
    """Without the mean of each block, of every column."""
    out = values.astype(np.float64)
    for number in np.unique(owner):
        rows = owner == number
        out[rows] -= out[rows].mean(axis=0)
    return out
