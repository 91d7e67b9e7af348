"""The executions of a paired metric, each reduced to one number, in their rounds."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.model.run import Benchmark
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.conventions import LARGEST_CHANGE
from perf_culprit.stats.power import noncentrality

# For A B B A: the number of ways to choose the target's two of four executions.
WAYS_PER_ROUND: Final = math.comb(4, 2)
# A measurement that ends when it is decided is judged this often, and the looks share its error rates.
LOOKS: Final = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Executions:
    """`samples` of each execution, baseline's and target's, with `is_target` and its `round`; all of one length."""

    samples: tuple[tuple[float, ...], ...]
    is_target: tuple[bool, ...]
    round: tuple[int, ...]

    def medians(self) -> Floats:
        """(n,): the median of each execution's samples."""
        return np.array([np.median(samples) for samples in self.samples])


def least_rounds(proven: float) -> int:
    """Rounds of A B B A below which no labelling is rare enough, however large the difference."""
    return max(2, math.ceil(math.log(2 / proven) / math.log(WAYS_PER_ROUND)))


def first_proof(proven: float) -> int:
    """Return the rounds from which on a measurement that ends when it is decided can prove a change."""
    return least_rounds(proven / LOOKS)


def planned_looks(rounds: int, *, proven: float) -> tuple[int, ...]:
    """Return the rounds after which such a measurement can prove a change: by equal factors, and the last."""
    first = min(first_proof(proven), rounds)
    return tuple(sorted({rounds, *(round(first * (rounds / first) ** (look / (LOOKS - 1))) for look in range(LOOKS))}))


def minutes_in_turn(rounds: int, *, execution_s: float, build_s: float = 0.0) -> float:
    """Return the minutes of these rounds, with a build and a warm-up of each side."""
    return (2 * build_s + (2 + 4 * rounds) * execution_s) / 60


def shown_by_rounds(rounds: int, noise: float, *, alpha: float) -> float:
    """Return the change that these rounds of A B B A detect with the power; `noise` of an execution as a logarithm."""
    return math.expm1(
        min(noncentrality(3.0 * rounds - 1, alpha=alpha) * noise / math.sqrt(rounds), math.log(LARGEST_CHANGE))
    )


def rounds_that_show(change: float, noise: float, *, alpha: float, least: int) -> int | None:
    """Return the fewest rounds, at least `least`, that detect such a change; None beyond `advised_rounds`."""
    choices = range(least, WORK_LIMITS.advised_rounds + 1)
    place = bisect_left(choices, True, key=lambda count: shown_by_rounds(count, noise, alpha=alpha) <= change)
    return choices[place] if place < len(choices) else None


def executions_of(pair: MetricPair) -> Executions | None:
    """Return the executions of rounds in which both sides were executed; None if there is no such round.

    A benchmark without rounds is one execution, because its groups are processes of it. If any round is unknown, all
    executions count as one round: they alternated.
    """
    groups = [
        (is_target, *entry)
        for is_target, benchmarks in ((False, pair.baseline), (True, (pair.target,)))
        for entry in _split(benchmarks)
    ]
    if any(number is None for _, number, _ in groups):
        groups = [(is_target, 0, samples) for is_target, _, samples in groups]
    sides: dict[int | None, set[bool]] = {}
    for is_target, number, _ in groups:
        sides.setdefault(number, set()).add(is_target)
    repeated = [entry for entry in groups if len(sides[entry[1]]) > 1]
    if not repeated:
        return None
    repeated.sort(key=lambda entry: entry[1] or 0)
    return Executions(
        samples=tuple(samples for _, _, samples in repeated),
        is_target=tuple(is_target for is_target, _, _ in repeated),
        round=tuple(number or 0 for _, number, _ in repeated),
    )


def _split(benchmarks: Sequence[Benchmark]) -> list[tuple[int | None, tuple[float, ...]]]:
    """Each execution's round, None if it is unknown, and its samples."""
    groups: list[tuple[int | None, tuple[float, ...]]] = []
    for benchmark in benchmarks:
        samples = benchmark.samples or (benchmark.value,)
        if not benchmark.rounds:
            groups.append((None, samples))
            continue
        ends = accumulate(benchmark.group_sizes, initial=0)
        groups += [
            (number, samples[start:end]) for number, (start, end) in zip(benchmark.rounds, pairwise(ends), strict=True)
        ]
    return groups
