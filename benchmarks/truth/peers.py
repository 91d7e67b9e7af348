"""Judges that users would run instead: benchstat's test, Welch's t and a ratio to the newest run."""

import math
import warnings
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

from perf_culprit.arrays import Booleans, Floats


class Called(NamedTuple):
    """A peer calls these benchmarks, (B,)."""

    proven: Booleans
    suspected: Booleans


# Log medians (B, U), and which of the units are the target's.
Peer = Callable[[Floats, Booleans], Called]


def by_mann_whitney(y: Floats, is_target: Booleans) -> Called:
    """Judge by benchstat's test and its 5%, each benchmark separately; proven after Bonferroni at 1%."""
    p_values = stats.mannwhitneyu(y[:, is_target], y[:, ~is_target], axis=1, method="exact").pvalue
    return Called(p_values * len(y) <= 0.01, p_values <= 0.05)


def by_welch(y: Floats, is_target: Booleans) -> Called:
    """Judge by Welch's t on the units' medians at 5%; proven after Bonferroni at 1%."""
    with warnings.catch_warnings(action="ignore"):  # counts that are all equal have no p-value
        p_values = stats.ttest_ind(y[:, is_target], y[:, ~is_target], axis=1, equal_var=False).pvalue
    p_values = np.nan_to_num(p_values, nan=1.0)
    return Called(p_values * len(y) <= 0.01, p_values <= 0.05)


def by_ratio(y: Floats, is_target: Booleans) -> Called:
    """Judge by github-action-benchmark's rule: twice the newest baseline; suspected from 10% on, a common threshold."""
    with np.errstate(invalid="ignore"):  # from zero to zero is no change
        change = y[:, is_target].mean(axis=1) - y[:, np.flatnonzero(~is_target)[-1]]
    return Called(np.abs(change) >= math.log(2), np.abs(change) >= math.log(1.1))


PEERS: Final[dict[str, Peer]] = {"Mann-Whitney": by_mann_whitney, "Welch": by_welch, "ratio": by_ratio}
