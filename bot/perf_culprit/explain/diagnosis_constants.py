"""All numbers that decide the order of suspects and the certainty of an answer.

`python -m benchmarks.diagnose.replay --vary` varies each of them on recorded slowdowns.
"""

from typing import Final

from perf_culprit.stats.conventions import LEVEL

# A smaller part of a slowdown, or of the whole, is not what a reader looks for.
NOTABLE: Final = 0.1
# A smaller share of the whole makes no program slower: a microsecond more, from caches or a clock.
TRIFLE: Final = 0.005
# The part of the score that the diff decides, if there is one.
TOUCHED: Final = 2 / 3

# Confidence of a bound over all methods together; the remainder is the chance that a doubt takes.
CONFIDENCE: Final = LEVEL
# Smallest share of the whole that is tested: the rest is noise.
SMALLEST_SHARE: Final = 0.001
# Relative variation from run to run of a method's share, and of a machine: no number of samples shows less.
RUN_TO_RUN: Final = 0.05
# A difference that is no longer the machine's: of the whole, of the time in methods of one revision, of one method.
MUCH: Final = 0.25
# From this number of repetitions on, the largest and the smallest fifth are trimmed [Yuen 1974]. A test of counts needs
# this number of samples of both sides, times DISPERSION.
FEWEST_TO_TRIM: Final = 5
# Minimum number of methods for a median or a line.
ENOUGH_METHODS: Final = 8
# Variance of one profile's counts in Poisson's, because consecutive stacks depend on each other.
DISPERSION: Final = 2.0
# A method is called equally often if its calls differ only as much as caches and hashes cause.
SAME_CALLS: Final = 0.01
