"""Expected cost of a search, before anything is measured."""

from dataclasses import dataclass
from math import ceil, log2
from typing import Final

import numpy as np

from perf_culprit.model.bisection import CommitRange, Engine, SearchSettings
from perf_culprit.search.cost import CONFIRMATION, OVER_THE_BOUND, STOP_BITS
from perf_culprit.search.descendants import Reach
from perf_culprit.search.next_rounds import information_bits
from perf_culprit.search.phases import FIRST_ANALYSIS
from perf_culprit.search.search_view import ROUNDS_WITHOUT_ENDS
from perf_culprit.search.weighted import tests_left

# Size of the step relative to the standard deviation of one execution: clearly visible, and hidden in its noise.
CLEAR: Final = 4.0
HIDDEN: Final = 1.0
# One machine with a nearly constant level: executions of the ends until a change is likely, and suspects relative to
# the bound. Both were simulated for 64 commits at d' of 1 to 3 (docs/evidence/bisection.md).
STABLE_ENDS: Final = 4
STABLE_OVER_THE_BOUND: Final = 1.3
COUNTED: Final = 4  # executions by counts in addition to one per halving


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """Executions for a step of four standard deviations of one execution, and for a step of one.

    With the weighted engine both are equal. `tests` is the number of its tests: of the bad end, of commits before it,
    and of the last one next to its parent.
    """

    clear: int
    hidden: int
    tests: int | None = None


def forecast(commit_range: CommitRange, settings: SearchSettings) -> Forecast:
    if settings.engine is Engine.WEIGHTED:
        left = np.ones(len(commit_range.commits), dtype=np.bool_)
        left[list(commit_range.unchanged)] = False
        usable = np.ones(left.size + 1, dtype=np.bool_)
        tests = 2 + tests_left(Reach(commit_range), usable, left) + bool(commit_range.merge_bases)
        return Forecast(clear=(each := 2 * settings.repetitions) * tests, hidden=each * tests, tests=tests)
    return Forecast(
        clear=executions_for(commit_range, settings, d_prime=CLEAR),
        hidden=executions_for(commit_range, settings, d_prime=HIDDEN),
    )


def executions_for(commit_range: CommitRange, settings: SearchSettings, *, d_prime: float) -> int:
    """Predict the executions for a step of `d_prime` standard deviations of one execution.

    Both ends run first, then (log2 N + certainty) / information suspects, each with its share of the ends (BISECT 4).
    The prior is assumed uniform over the possible culprits, and a single machine stable. With counts any step is clear.
    """
    candidates = max(len(commit_range.commits) - len(commit_range.unchanged), 1)
    bits = log2(candidates)
    if settings.counts:
        return ceil(bits) + COUNTED
    suspects = (bits + STOP_BITS) / information_bits(d_prime)
    per_ends = settings.suspects_per_round
    if not settings.one_machine:
        return 2 * FIRST_ANALYSIS + ceil(OVER_THE_BOUND * suspects * (2 + per_ends) / per_ends) + CONFIRMATION
    per_ends += ROUNDS_WITHOUT_ENDS
    return STABLE_ENDS + ceil(STABLE_OVER_THE_BOUND * suspects * (2 + per_ends) / per_ends) + CONFIRMATION // 3
