"""State what the tests have in common: the levels at which they decide, and how fine numbers are."""

from typing import Final

from scipy import special

LEVEL: Final = 0.95  # of intervals and bounds
ALPHA: Final = 1 - LEVEL
# What chance brings about once in a hundred times is no chance, for a check that only adds a word or leaves one out.
RARE: Final = 0.01
# Nine of ten changes of the given size are found; the customary value of power analysis.
POWER: Final = 0.9
FEW_RUNS: Final = 3  # fewer are no level, and do not show the variation between runs
FEW_SAMPLES: Final = 4  # the median and the tails of fewer are too rough
# Of a standard normal distribution; also its median absolute deviation.
UPPER_QUARTILE: Final = float(special.ndtri(0.75))
LARGEST_CHANGE: Final = 1e12  # relative: a larger one, of a baseline near zero, is meaningless
ROUNDING: Final = 1e-9  # relative: what differs by less is equal
NO_NOISE: Final = 1e-6  # relative: a smaller spread is that of a clock's rounding
