"""Which counters broken rules speak against: a rule accuses its consequent, but its premise may be what changed."""

import numpy as np
from numpy.typing import NDArray

from bot.stats.ragged import Integers

NO_COUNTER = -1
NEVER = np.iinfo(np.intp).max
# Counters this close to the most accused are taken at once, so that rounds stay few.
NEARLY = 0.9


def rounds_of_blame(
    premises: Integers, consequents: Integers, broken: NDArray[np.bool_], *, moved: NDArray[np.bool_]
) -> Integers:
    """The round in which each of m counters is blamed, shape (m,), NEVER where it is not.

    All rules whose premise holds somewhere in the target: `premises` (r, l) are counters padded with NO_COUNTER,
    `consequents` (r,), `broken` (r,). `moved` (m,): its levels, whatever the others do, are not those of before.

    Choice, where the source blames every consequent: a counter that is always high breaks each "when it is high, so is
    the other" though the other has not changed. So consequents that moved are blamed first. After them, again and
    again, come those with the largest share of broken rules; a rule is silent once its premise is blamed.
    """
    counters = len(moved)
    rounds = np.full(counters, NEVER, dtype=np.intp)
    rounds[(np.bincount(consequents[broken], minlength=counters) > 0) & moved] = 0
    # The last entry is for NO_COUNTER, which is never blamed.
    blamed = np.append(rounds != NEVER, False)
    while True:
        testifies = ~blamed[premises].any(axis=1) & ~blamed[consequents]
        wrong = np.bincount(consequents[testifies & broken], minlength=counters)
        if not wrong.any():
            return rounds
        share = wrong / np.maximum(np.bincount(consequents[testifies], minlength=counters), 1)
        chosen = share >= NEARLY * share.max()
        rounds[chosen] = rounds[rounds != NEVER].max(initial=0) + 1
        blamed[:-1] |= chosen
