"""The number that an execution's samples become: the one of four that executions of one round agree on best.

The choice compares executions within rounds, whatever their side. So it is the same for every way to divide a round
into two sides, and no side can gain by it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.judge.statistic import MEDIAN
from perf_culprit.stats.machine_shift import without_block_means
from perf_culprit.stats.ragged import Ragged
from perf_culprit.stats.suite_prior import RESOLUTION
from perf_culprit.stats.unit_table import numbered

# The scatter of few executions chooses by chance, and the intervals of few rounds would be too short.
FEWEST_ROUNDS: Final = 4
# Of the median's variance. A smaller gain is not worth another number than the one that everybody expects.
WORTH_ANOTHER: Final = 0.8

# Times. The fastest executions of a rate have the largest numbers, so it is mirrored.
REDUCTIONS: Final[Mapping[str, Callable[[Ragged], Floats]]] = {
    MEDIAN: Ragged.medians,
    "mean": Ragged.means,
    "first quartile": lambda samples: samples.quantiles(0.25),
    "minimum": Ragged.minima,
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ExecutionValues:
    """`values` (m, U), NaN where missing; `reduction` (m,): the name of each benchmark's."""

    values: Floats
    reduction: tuple[str, ...]


def execution_values(
    samples: Ragged, at: tuple[Integers, Integers], *, rounds: Integers | None, kind: Integers, orientation: Floats
) -> ExecutionValues:
    """Reduce each row of `samples`, which is at (row, column) of the result.

    `rounds` (U,): of each execution; without them all are medians. `kind` (m,): its benchmarks share the choice.
    `orientation` (m,): counts, whose orientation is 0, keep the median.
    """
    shape = len(kind), int(at[1].max()) + 1
    values, reduction = _placed(samples.medians(), at, shape), [MEDIAN] * len(kind)
    is_open = _are_open(samples, at, values, orientation)
    if rounds is None or len(np.unique(rounds)) < FEWEST_ROUNDS or not is_open.any():
        return ExecutionValues(values=values, reduction=tuple(reduction))
    sign = np.where(orientation < 0, -1.0, 1.0)[at[0]]
    mirrored, block = Ragged(samples.values * samples.spread(sign), samples.sizes), numbered(rounds)
    reduced = {name: _placed(sign * reduce(mirrored), at, shape) for name, reduce in REDUCTIONS.items()}
    for rows in (np.flatnonzero(is_open & (kind == one)) for one in np.unique(kind[is_open])):
        scatter = {name: _scatter(numbers[rows], block) for name, numbers in reduced.items()}
        best = min(scatter, key=lambda name: scatter[name])
        if scatter[best] <= WORTH_ANOTHER * scatter[MEDIAN]:
            values[rows] = reduced[best][rows]
            for row in rows.tolist():
                reduction[row] = best
    return ExecutionValues(values=values, reduction=tuple(reduction))


def _are_open(samples: Ragged, at: tuple[Integers, Integers], medians: Floats, orientation: Floats) -> Booleans:
    """(m,): whether the benchmark is no count, has executions of several samples, and all its numbers are positive."""
    several, lowest = np.zeros(len(medians), np.bool_), np.full(len(medians), np.inf)
    np.logical_or.at(several, at[0], samples.sizes > 1)
    np.minimum.at(lowest, at[0], samples.minima())
    is_open: Booleans = several & (lowest > 0) & (orientation != 0)
    return is_open


def _placed(numbers: Floats, at: tuple[Integers, Integers], shape: tuple[int, int]) -> Floats:
    placed = np.full(shape, np.nan)
    placed[at] = numbers
    return placed


def _scatter(values: Floats, block: Integers) -> float:
    """The geometric mean over benchmarks of the variance of logarithms within rounds."""
    present = ~np.isnan(values)
    rest = without_block_means(np.log(np.where(present, values, 1.0)), present, block)
    # A coarse clock's minimum never varies, which proves nothing.
    return float(np.exp(np.log((rest**2).sum(axis=1) / present.sum(axis=1) + RESOLUTION**2 / 4).mean()))
