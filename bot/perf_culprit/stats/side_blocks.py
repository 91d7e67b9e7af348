"""Executions of two sides in rounds, and the ways in which their sides could have been dealt out.

If nothing changed, the executions of one round are exchangeable: every choice of those that belong to the target was
equally likely. Levels that differ between rounds do not matter to it, and no shape of the noise is assumed.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from perf_culprit.stats.ragged import Booleans, Floats, Integers

Singles = NDArray[np.float32]
Floating = TypeVar("Floating", NDArray[np.float32], Floats)

# Up to this many arrangements all are looked at; p-values are then fractions of their number.
MOST_ENUMERATED: Final = 8_192
# Else so many are drawn. The observed one counts among them, so the test stays exact [Phipson & Smyth 2010].
DRAWN: Final = 4_000
SEED: Final = 1
# Of one round: beyond, its arrangements are not listed.
MOST_PATTERNS: Final = 1_000


@dataclass(frozen=True)
class Blocks:
    """`is_target` and `block` (n,): each execution's side and round, rounds ascending, both sides in each of them."""

    is_target: Booleans
    block: Integers

    @cached_property
    def rows(self) -> tuple[Integers, ...]:
        """The executions of each round."""
        return tuple(np.flatnonzero(self.block == number) for number in np.unique(self.block))

    @cached_property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Per round: its executions, and how many of them are the target's."""
        return tuple((len(rows), int(self.is_target[rows].sum())) for rows in self.rows)

    @cached_property
    def log_arrangements(self) -> float:
        """Natural logarithm of the number of ways in which the target's executions can be chosen."""
        return float(sum(math.log(math.comb(size, of_target)) for size, of_target in self.sizes))

    @property
    def least_p_value(self) -> float:
        """Of a two-sided test: the observed arrangement and its mirror image are the most extreme ones."""
        return min(1.0, 2.0 * math.exp(-self.log_arrangements))

    @cached_property
    def enumerates(self) -> bool:
        return self.log_arrangements <= math.log(MOST_ENUMERATED) + 1e-9

    def centred(self, values: Floating) -> Floating:
        """Values (..., n) without their round's mean. No matrix product: those of this size are slow on busy cores."""
        starts = np.array([rows[0] for rows in self.rows])
        sizes = np.array([len(rows) for rows in self.rows])
        means = np.add.reduceat(values, starts, axis=-1) / sizes.astype(values.dtype)
        return np.asarray(values - np.repeat(means, sizes, axis=-1), dtype=values.dtype)

    @cached_property
    def weights(self) -> Singles:
        """(n,): the sum over a round's target executions has the variance weight * squares of its centred values."""
        weights = np.empty(len(self.block), dtype=np.float32)
        for rows, (size, of_target) in zip(self.rows, self.sizes, strict=True):
            weights[rows] = of_target * (size - of_target) / (size * (size - 1))
        return weights

    def patterns(self) -> tuple[Singles, ...] | None:
        """Per round (ways, executions): every choice of the target's; None where a round has too many."""
        if max(math.comb(size, of_target) for size, of_target in self.sizes) > MOST_PATTERNS:
            return None
        return tuple(_choices(size, of_target) for size, of_target in self.sizes)

    @cached_property
    def arrangements(self) -> Singles:
        """(m, n) zeros and ones: all arrangements where they can be listed, else the observed one and drawn ones."""
        if self.enumerates:
            return self._all()
        rng = np.random.default_rng(SEED)
        drawn = np.empty((DRAWN, len(self.block)), dtype=np.float32)
        drawn[:] = self.is_target
        for rows in self.rows:
            drawn[1:, rows] = rng.permuted(drawn[1:, rows], axis=1)
        return drawn

    def _all(self) -> Singles:
        listed = np.zeros((1, len(self.block)), dtype=np.float32)
        for rows, (size, of_target) in zip(self.rows, self.sizes, strict=True):
            choices = _choices(size, of_target)
            listed = np.repeat(listed, len(choices), axis=0)
            listed[:, rows] = np.tile(choices, (len(listed) // len(choices), 1))
        return listed


def between(values: Floats, blocks: Blocks) -> Floats:
    """(m, k) for values (m, n): target minus baseline for each two executions of one round."""
    pairs = [
        (target, other)
        for rows in blocks.rows
        for target in rows[blocks.is_target[rows]]
        for other in rows[~blocks.is_target[rows]]
    ]
    targets, others = np.array(pairs, dtype=np.intp).T
    difference: Floats = values[:, targets] - values[:, others]
    return difference


def _choices(size: int, of_target: int) -> Singles:
    chosen = np.array(list(combinations(range(size), of_target)), dtype=np.intp)
    choices = np.zeros((len(chosen), size), dtype=np.float32)
    np.put_along_axis(choices, chosen, 1.0, axis=1)
    return choices
