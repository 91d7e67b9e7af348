"""The seeded part that the tests run."""

from typing import Final

from benchmarks.truth.way import Way

QUICK: Final = 16
QUICK_POWER: Final = 0

# (the way's first row, noise)
QUICK_WAYS: Final = (
    ("one file per side", "own 3%"),
    ("one file per side", "modes per benchmark and run"),
    ("five files per side", "own 5%"),
    ("five files per side", "recorded"),
    ("five rounds", "AR 0.3"),
    ("five rounds", "modes per execution"),
    ("five rounds", "drift 1% per execution"),
    ("twelve rounds of one number", "recorded"),
    ("measure", "AR 0.3"),
    ("history of 1 run", "own 3%"),
    ("history of 1 run", "modes per benchmark and run"),
    ("counters, control_chart, recorded", "own 3%"),
    ("counters, control_chart, recorded, beside benchmarks, 2000 rows", "lognormal"),
    ("counters, control_chart, recorded, beside benchmarks, load +14% in another table", "lognormal"),
    ("counters, rule_ensemble, recorded, beside benchmarks, load +14% in another table", "own 3%"),
    ("changes --online, 120 rows", "own 5%"),
)

# (the way's first row, noise, effect), found in three of four trials at least: without calls every rate holds.
QUICK_FINDS: Final = (("five rounds", "AR 0.3", 0.15),)
QUICK_FOUND: Final = 0.75
QUICK_FIND_TRIALS: Final = 8


def is_quick(way: Way, noise: str) -> bool:
    return (next(iter(way.rows)), noise) in QUICK_WAYS
