"""Other metrics of the executions that a search made: whether they step at the same commit."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import log
from typing import Final

import numpy as np

from perf_culprit.model.bisection import CommitRange
from perf_culprit.search import pattern_evidence
from perf_culprit.search.confirmation import CONFIRM_ROUNDS
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.level_sizes import mean_difference
from perf_culprit.search.odds import ODDS_20
from perf_culprit.search.pattern_evidence import PatternDesign
from perf_culprit.search.round_samples import Samples

REFUTING_ANALYSIS: Final = 6  # executions per end before an expected change is denied
REFUTED_SHARE: Final = 0.5  # of the expected change: a change often looks larger than it is

Block = Mapping[str, float]


class StepPlace(StrEnum):
    """Location of a metric's step, relative to a commit that another metric named."""

    HERE = "here"
    ELSEWHERE = "elsewhere"
    NOWHERE = "nowhere"  # no worsening was seen again
    UNKNOWN = "unknown"


def place_of(
    commit_range: CommitRange, blocks: Sequence[Block], culprit: str, *, worse_sign: int, convincing: float = ODDS_20
) -> StepPlace:
    """Determine whether the metric steps at `culprit`.

    `blocks` hold a positive number per commit, measured together; a shared effect is the machine's. The evidence for
    one step of any candidate is compared as in a search. `convincing` is the log Bayes factor from which a step counts
    as seen.
    """
    position = {commit: place for place, commit in enumerate((commit_range.good, *commit_range.commits))}
    rows = [
        (worse_sign * log(value), position[commit], number)
        for number, block in enumerate(blocks)
        for commit, value in block.items()
        if commit in position
    ]
    if len({number for *_, number in rows}) < CONFIRM_ROUNDS or culprit not in position:
        return StepPlace.UNKNOWN
    y, commit, owner = (np.array(column) for column in zip(*rows, strict=True))
    _, block_number = np.unique(owner, return_inverse=True)
    design = PatternDesign(Samples(y=y, commit=commit, block=block_number, weight=np.ones(len(y))))
    reach = Descendants(commit_range)
    steps = pattern_evidence.log_one_step(design, np.stack([reach.row(c)[commit] for c in range(reach.size)]) * 1.0)
    if steps.max() - pattern_evidence.log_no_step(design) < convincing:
        return StepPlace.NOWHERE
    return StepPlace.HERE if steps.max() - steps[position[culprit] - 1] < ODDS_20 else StepPlace.ELSEWHERE


def excludes_step(commit_range: CommitRange, blocks: Sequence[Block], *, worse_sign: int, expected: float) -> bool:
    """Return whether the ends, executed together, exclude half of a step for the worse by `expected`, in logarithms.

    Uses Student's t over the blocks and assumes that they are independent.
    """
    good, bad = commit_range.good, commit_range.bad
    steps = [worse_sign * log(block[bad] / block[good]) for block in blocks if good in block and bad in block]
    if len(steps) < REFUTING_ANALYSIS:
        return False
    size = mean_difference(np.array(steps))
    return excludes(size.center, size.half, expected=expected)


def excludes(center: float, half: float, *, expected: float) -> bool:
    """Return whether half of the expected change would have been seen, but was not; `half` is half the interval.

    The half interval must be smaller than half the expected change, which is then four standard errors away. A change
    that the interval asserts is never denied, however small.
    """
    return max(half, center + half) < REFUTED_SHARE * expected and center - half <= 0
