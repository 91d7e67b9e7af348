"""The tail of a difference between blocks: Student's t, and jumps to modes that the blocks did not show."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.arrays import Booleans, Floats

GAP: Final = 0.1
STANDARD_ERRORS: Final = 2.5
STAYS: Final = 0.3  # factor for each further block of the side: all of them would have to be in that mode


CORPUS: Final = 60.0  # values of the suite that the corpus's tail is worth
LEARNED: Final = 0.05  # smallest share of the suite's own tails, from which the tail is extrapolated


@dataclass(frozen=True, slots=True)
class Jumps:
    """How often a side of one block is in a mode of its own, and the powers by which its tail falls.

    `by_noise`: with the difference in standard errors. `by_size`: with its size.
    """

    share: float
    by_noise: float
    by_size: float


# Fitted on ten forks each of the benchmarks of 15 Java systems. A third of the jumps exceeds 10%, and 4% double the
# time. A proof may not count on quiet benchmarks jumping less. For a suspicion, half of its size follows the noise.
TO_SUSPECT: Final = Jumps(0.022, 0.75, 0.75)
TO_PROVE: Final = Jumps(0.03, 0.0, 1.5)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Tail:
    """`error` and `freedom` of Student's t, and how often sides jump, in units of a side of one block; one shape."""

    error: Floats
    freedom: Floats
    jumps: Floats

    def of(self, size: Floats, jumps: Jumps = TO_SUSPECT) -> Floats:
        """P(|difference| >= size) by noise alone."""
        z = size / self.error
        jump = np.minimum(jumps.share * self.jumps, 0.5)
        student = 2 * special.stdtr(self.freedom, -z)
        far = (1 + z / STANDARD_ERRORS) ** -jumps.by_noise * (1 + size / GAP) ** -jumps.by_size
        tail: Floats = (1 - jump) * student + jump * far
        return tail

    def distance(self, level: float | Floats, jumps: Jumps = TO_SUSPECT) -> Floats:
        """(B,): the difference whose tail is `level`."""
        return largest_where(lambda size: self.of(size, jumps) > level, len(self.error), -14.0, 12.0)


def largest_where(holds: Callable[[Floats], Booleans], count: int, low_log: float, high_log: float) -> Floats:
    """(count,): the value up to which `holds` is true, by bisection of its logarithm."""
    low, high = np.full(count, low_log), np.full(count, high_log)
    for _ in range(50):
        middle = (low + high) / 2
        held = holds(np.exp(middle))
        low, high = np.where(held, middle, low), np.where(held, high, middle)
    largest: Floats = np.exp(low)
    return largest


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SuiteTail:
    """The corpus's tail, corrected by tails of the suite itself that no change caused.

    The prior is a Dirichlet process around the corpus (Ferguson 1973). The share of the suite's own tails that are as
    small is weighted by `worth`, the corpus by CORPUS. Beyond the smallest LEARNED of them the share follows the power
    of the tail that fits there.
    """

    others: Floats
    worth: float
    learned_at: float
    power: float

    @classmethod
    def of(cls, others: Floats, worth: float) -> "SuiteTail":
        """Learn from the tails `others`, in any order, worth that number of values."""
        others = np.sort(others)
        rank, at, power = max(3, int(np.ceil(LEARNED * len(others)))), 0.0, 1.0
        if rank <= len(others):
            at = float(others[rank - 1])
            power = min(np.log(rank / len(others)) / min(np.log(max(at, 1e-300)), -1e-9), 1.0)
        return cls(others=others, worth=worth if len(others) else 0.0, learned_at=at, power=power)

    def corrected(self, tails: Floats) -> Floats:
        """Return the share of a benchmark's unchanged comparisons with such a tail."""
        share = np.searchsorted(self.others, tails * (1 + 1e-9), side="right") / max(len(self.others), 1)
        beyond = np.maximum(np.maximum(tails, 1e-300) ** self.power - tails, 0)
        share = np.where(tails < self.learned_at, np.maximum(share, beyond), share)
        corrected: Floats = (CORPUS * tails + self.worth * share) / (CORPUS + self.worth)
        return corrected

    def critical(self, share: float) -> float:
        """Return the tail that is corrected to `share`."""
        return float(largest_where(lambda tails: self.corrected(tails) <= share, 1, -690.0, 0.0)[0])


def how_often(others: Floats) -> Floats:
    """Return how often a side jumps, where one has a single block and one `others`; few blocks leave more open."""
    often: Floats = (1 + STAYS ** np.maximum(others - 1.0, 0)) * (1 + 1 / np.maximum(others, 1.0))
    return often
