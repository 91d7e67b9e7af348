"""The usual ways: git's bisection with a significance test, and with an analysis of variance, on virtual commits.

Both measure one commit after the other, each in a separate job, and compare with the good end's samples.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import f_oneway, mannwhitneyu

from benchmarks.bisect.machine import Machine
from perf_culprit.model.bisection import CommitRange
from perf_culprit.search.descendants import Descendants

Floats = npt.NDArray[np.float64]
Slower = Callable[[Floats, Floats], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """`named` is None if the rival finds no difference between the ends; `batches`: jobs one after the other."""

    named: str | None
    executions: int
    batches: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Rival:
    """`repetitions` per commit; `check_ends`: the bad end is tested first."""

    repetitions: int
    slower: Slower
    check_ends: bool


def _mann_whitney(good: Floats, target: Floats) -> bool:
    return bool(mannwhitneyu(target, good, alternative="greater").pvalue < 0.05)


def _anova(good: Floats, target: Floats) -> bool:
    return bool(target.mean() > good.mean() and f_oneway(good, target).pvalue < 0.01)


RIVALS = {
    "git + Mann-Whitney": Rival(repetitions=10, slower=_mann_whitney, check_ends=False),
    "ANOVA": Rival(repetitions=20, slower=_anova, check_ends=True),
}


def play_rival(rival: Rival, commit_range: CommitRange, machine: Machine) -> Answer:
    """Halve the range by `git bisect`'s weights until one commit is left."""

    def job(commit: str) -> Floats:
        machine.executions += rival.repetitions
        level = machine.levels[commit] + machine.offset()
        return np.array([level + next(machine.noise) for _ in range(rival.repetitions)])

    reach = Descendants(commit_range)
    good = job(commit_range.good)
    batches = 1
    if rival.check_ends and not rival.slower(good, job(commit_range.bad)):
        return Answer(named=None, executions=machine.executions, batches=batches)
    left = np.ones(reach.size, dtype=np.bool_)
    while left.sum() > 1:
        inside = np.rint(reach.slow_mass(left.astype(np.float64))[1:])
        weight = np.where(left, np.minimum(inside, left.sum() - inside), -1)
        target = int(np.argmax(weight))
        ancestors = reach.column(target + 1)
        slow = rival.slower(good, job(commit_range.commits[target]))
        left &= ancestors if slow else ~ancestors
        batches += 1
    (last,) = np.flatnonzero(left)
    return Answer(named=commit_range.commits[int(last)], executions=machine.executions, batches=batches)
