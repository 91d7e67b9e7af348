"""The result of a comparison of two sides before the tiers call it, and the budget that all its tests share."""

from dataclasses import dataclass
from typing import Final

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.stats.heavy_tail import Tail
from perf_culprit.stats.machine_shift import JudgedShift

# A run is warned about if any benchmark changed or all moved together: both share the rate of a suspicion.
OF_BENCHMARKS: Final = 0.75
OF_SHIFT: Final = 1 - OF_BENCHMARKS


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ComparedSides:
    """B benchmarks of two sides; changes are logarithms, (B,).

    `change`: without the shift that the machine explains; `raw_change`: with it. `rate`: the share of unchanged runs in
    which any benchmark looks as different, or the suite moves as far. `proof`: the same for a proof; 1 if none is
    possible. `limit`: the change that is suspected. `half_width`: the least half of the interval.
    `differs`: the numbers differ beyond the scatter, but the blocks are too few to tell how much these differ.
    """

    change: Floats
    raw_change: Floats
    tail: Tail
    rate: Floats
    proof: Floats
    limit: Floats
    shift: JudgedShift | None = None
    half_width: Floats | float = 0.0
    differs: Booleans | bool = False


def any_kind(shifts: list[JudgedShift]) -> JudgedShift | None:
    """Return the least likely shift of several kinds, corrected for their number and the shift's part of the budget."""
    if not shifts:
        return None
    least = min(shifts, key=lambda shift: shift.rate)
    return JudgedShift(change=least.change, error=least.error, rate=min(least.rate * len(shifts) / OF_SHIFT, 1.0))


def of_benchmarks(*, is_shift_told: bool) -> float:
    """Return the benchmarks' part of the budget: all of it where no shift is judged."""
    return OF_BENCHMARKS if is_shift_told else 1.0
