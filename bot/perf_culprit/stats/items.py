"""Items, one number per level of each counter, and the instants at which each holds, as bits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perf_culprit.arrays import ABSENT, Booleans, Floats, Integers
from perf_culprit.stats.discretise import LevelTable

Bits = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Items of m counters with `sizes` (m,) levels each: item = the counter's start + its level."""

    sizes: Integers

    @property
    def starts(self) -> Integers:
        return np.cumsum(self.sizes) - self.sizes

    @property
    def total(self) -> int:
        return int(self.sizes.sum())

    @property
    def counters(self) -> Integers:
        """The counter of each item."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def level(self, item: int) -> int:
        return int(item - self.starts[self.counters[item]])

    def counts(self, levels: LevelTable) -> Integers:
        """Return the number of instants at which each item holds; `levels` (n, m)."""
        present = levels != ABSENT
        return np.bincount((levels + self.starts)[present], minlength=self.total)


def shares_change(items: Items, old: LevelTable, new: LevelTable) -> Floats:
    """1 - cos between each counter's shares of levels in two runs, shape (m,); 0 for a counter missing in one run.

    The confidence change of [F11, eq. 5-1] for more than two outcomes; `old` and `new` are (n, m).
    """
    before, after = items.counts(old).astype(np.float64), items.counts(new).astype(np.float64)
    dot, *squares = (np.add.reduceat(product, items.starts) for product in (before * after, before**2, after**2))
    lengths = np.sqrt(squares[0] * squares[1])
    change: Floats = 1 - np.divide(dot, lengths, out=np.ones_like(dot), where=lengths > 0)
    return np.clip(change, 0.0, 1.0)


def indicator_matrix(levels: LevelTable, items: Items, chosen: Integers) -> NDArray[np.float32]:
    """1 where the item holds, else 0: shape (n, k) for the `chosen` items (k,)."""
    counters = items.counters[chosen]
    holds: Booleans = levels[:, counters] == chosen - items.starts[counters]
    return holds.astype(np.float32)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeldBits:
    """Instants at which each item holds, one bit each in words of 64: `held` (items, words), `observed` (m, words)."""

    held: Bits
    observed: Bits

    @classmethod
    def of(cls, levels: LevelTable, items: Items) -> "HeldBits":
        """Return the bits of `levels` (n, m); a counter is observed where its level is not missing."""
        held = np.zeros((items.total, -(-len(levels) // 64)), dtype=np.uint64)
        present = levels != ABSENT
        for instant, (row, is_present) in enumerate(zip(levels, present, strict=True)):
            word, bit = divmod(instant, 64)
            held[(row + items.starts)[is_present], word] |= np.uint64(1 << bit)
        observed = np.bitwise_or.reduceat(held, items.starts, axis=0) if len(items.sizes) else held[:0]
        return cls(held=held, observed=observed)


def to_instants(bits: Bits, count: int) -> Booleans:
    """Return the first `count` bits of each row (..., words) as booleans, shape (..., count)."""
    octets = bits.astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little").astype(bool)
