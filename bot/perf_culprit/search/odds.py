"""The odds at which a search decides, on one scale for all its decisions.

They are logarithms of Bayes factors and of e-values [Jeffreys 1961, appendix B; Kass & Raftery 1995].
"""

from typing import Final

ODDS_10: Final = 2.3  # there is no change
ODDS_20: Final = 3.0  # the ends differ; a commit differs from its parent: at most 5% of equal pairs ever reach it
ODDS_100: Final = 4.6  # one of several doubts; a further step, as several may be tried
ODDS_1000: Final = 6.9  # a change exists, by samples that the search itself chose; and it is no machine state
ODDS_10000: Final = 9.2  # a decay, which ends the search: three even steps look like one for a long time
