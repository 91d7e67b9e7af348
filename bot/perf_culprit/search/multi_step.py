"""Sets of two or three steps, evaluated at once: their patterns, and how well each set explains the samples."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import factorial

import numpy as np
import numpy.typing as npt

from perf_culprit.search import pattern_evidence
from perf_culprit.search.pattern_evidence import Design

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class StepSets:
    """`sets` of patterns [s, m] in topological order, and `log_m` [s]: log (prior * m) of each, in any order."""

    sets: Integers
    log_m: Floats

    @cached_property
    def log_total(self) -> float:
        return float(np.logaddexp.reduce(self.log_m)) if len(self.log_m) else -np.inf

    def masses(self, count: int) -> tuple[Floats, ...]:
        """P(the first, second, … step has each of `count` patterns), if the steps are one of the sets."""
        weight = np.exp(self.log_m - self.log_total)
        return tuple(np.bincount(column, weights=weight, minlength=count).astype(np.float64) for column in self.sets.T)


def weighed_sets(
    design: Design, patterns: Floats, log_prior: Floats, *, size: int, among: Iterable[int], named: Floats
) -> StepSets:
    """Evaluate all sets of `size` of the `patterns` [k, n] `among` these, each with all `named` steps [m, n]."""
    sets = np.array(list(combinations(among, size)), dtype=np.intp).reshape(-1, size)
    if not len(sets):
        return StepSets(sets, np.zeros(0))
    fixed = np.tile(np.arange(len(named)), (len(sets), 1))
    places = np.hstack([fixed, sets + len(named)]).astype(np.intp)
    log_m = pattern_evidence.log_sets(design, np.vstack([named, patterns]), places)
    return StepSets(sets, log_m + log_prior[sets].sum(axis=1) + float(np.log(factorial(size))))
