"""Whether the weights of sampled stacks are counts of samples, multiples of a period, or something else."""

import math
from dataclasses import dataclass
from typing import Final

# The units of a profile whose stacks are counted, and of one whose stacks have weights of their own.
SAMPLES: Final = "samples"
WEIGHT: Final = "weight"
# As many stacks with a common divisor have it hardly by chance: below 1 in 250 even for 2.
FEWEST_STACKS: Final = 8
# Of few stacks only a divisor that no handful of counts has: of 3 numbers by chance 1 in 10^9.
LARGE_PERIOD: Final = 1_000
# Counts of samples have rare stacks; where the rarest of FEWEST_STACKS has more, it is no count *(choice)*.
RAREST: Final = 100.0


@dataclass(kw_only=True, slots=True)
class Weights:
    """Of the stacks of one file, in any order; zeros say nothing."""

    stacks: int = 0
    divisor: int = 0
    smallest: float = math.inf
    is_whole: bool = True

    def add(self, weight: float) -> None:
        if weight <= 0:
            return
        self.stacks += 1
        self.smallest = min(self.smallest, weight)
        self.is_whole = self.is_whole and weight.is_integer()
        if self.is_whole:
            self.divisor = math.gcd(self.divisor, int(weight))

    @property
    def period(self) -> float | None:
        """What to divide by to count samples: 1 of counts; None where nothing makes counts of the weights."""
        if self.is_whole:
            if self.divisor >= LARGE_PERIOD or (self.divisor > 1 and self.stacks >= FEWEST_STACKS):
                return float(self.divisor)
            return None if self.stacks >= FEWEST_STACKS and self.smallest >= RAREST else 1.0
        return None
