"""The seeded part that the tests run, and the cells of which it is known that they do not keep their word yet."""

from typing import Final

from benchmarks.truth.way import Way

# Enough for a rate of 1 % to be seen broken from 4 alarms on.
QUICK: Final = 60
QUICK_POWER: Final = 0

QUICK_CELLS: Final = frozenset(
    {
        ("one file per side", "own 3 %"),
        ("one file per side", "own 10 %"),
        ("one file per side", "modes per benchmark and run"),
        ("five files per side", "own 5 %"),
        ("two rounds", "AR 0.3"),
        ("five rounds", "AR 0.3"),
        ("five rounds", "modes per execution"),
        ("five rounds", "drift 1 % per execution"),
        ("twelve rounds of one number", "modes per execution"),
        ("measure", "AR 0.3"),
        ("history of 1 run", "own 3 %"),
        ("history of 1 run", "modes per benchmark and run"),
        ("counters, control_chart, recorded", "own 3 %"),
        ("counters, control_chart, recorded, beside benchmarks, 2000 rows", "lognormal"),
        ("counters, control_chart, recorded, beside benchmarks, load +14% in another table", "lognormal"),
        ("changes --online, 120 rows", "own 5 %"),
    }
)


def is_quick(way: Way, noise: str) -> bool:
    return (next(iter(way.rows)), noise) in QUICK_CELLS
