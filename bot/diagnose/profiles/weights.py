"""Whether the weights of sampled stacks are counts of samples, multiples of a period, or something else."""

import math
from dataclasses import dataclass, field
from typing import Final

# The units of a profile whose stacks are counted, and of one whose stacks have weights of their own.
SAMPLES: Final = "samples"
WEIGHT: Final = "weight"
# As many stacks with a common divisor have it hardly by chance: below 1 in 250 even for 2.
FEWEST_STACKS: Final = 8
# Of few stacks only a divisor that no handful of counts has: of 3 different numbers by chance 1 in 10^9. One number, or
# the same twice, is a multiple of itself: below a second's samples at 100 kHz it may be a count *(choice)*.
LARGE_PERIOD: Final = 1_000
PERIOD_OF_ONE: Final = 100_000
FEWEST_DIFFERENT: Final = 3
# Counts of samples have rare stacks; where the rarest of FEWEST_STACKS has more, it is no count *(choice)*.
RAREST: Final = 100.0


@dataclass(kw_only=True, slots=True)
class Weights:
    """Of the stacks of one file, in any order; zeros say nothing."""

    stacks: int = 0
    divisor: int = 0
    smallest: float = math.inf
    is_whole: bool = True
    _different: set[float] = field(default_factory=set, init=False)

    def add(self, weight: float) -> None:
        if weight <= 0:
            return
        self.stacks += 1
        if len(self._different) < FEWEST_DIFFERENT:
            self._different.add(weight)
        self.smallest = min(self.smallest, weight)
        self.is_whole = self.is_whole and weight.is_integer()
        if self.is_whole:
            self.divisor = math.gcd(self.divisor, int(weight))

    @property
    def period(self) -> float | None:
        """What to divide by to count samples: 1 of counts; None where nothing makes counts of the weights."""
        if self.is_whole:
            large = LARGE_PERIOD if len(self._different) == FEWEST_DIFFERENT else PERIOD_OF_ONE
            if self.divisor >= large or (self.divisor > 1 and self.stacks >= FEWEST_STACKS):
                return float(self.divisor)
            return None if self.stacks >= FEWEST_STACKS and self.smallest >= RAREST else 1.0
        return None
