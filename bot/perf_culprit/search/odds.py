"""The odds at which a search decides: logarithms of Bayes factors and of e-values, one ladder for all its questions.

10 to 1: there is no change ("strong" [Jeffreys 1961, appendix B]). 20 to 1: the ends differ, or a commit differs
from its parent ("strong" [Kass & Raftery 1995]; at most 5% of equal pairs ever reach it). 100 to 1: one of several
doubts, or a further step, of which several may be tried. 1,000 to 1: samples that the search itself chose. 10,000 to
1: a decay, which ends the search, and like which three even steps look for long.
"""

from typing import Final

ODDS_10: Final = 2.3
ODDS_20: Final = 3.0
ODDS_100: Final = 4.6
ODDS_1000: Final = 6.9
ODDS_10000: Final = 9.2
