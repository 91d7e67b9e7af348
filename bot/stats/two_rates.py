"""Tests of two counts: of equal rates, and of equal shares of two wholes. Array in, array out, shapes (m,)."""

from typing import Final

import numpy as np
from scipy import special

from bot.stats.ragged import Floats

# Below it in some cell the chi-squared approximation is not to be trusted [Campbell 2007, section 5].
SMALLEST_EXPECTED: Final = 1.0


def equal_rates(target: Floats, baseline: Floats, *, target_exposure: Floats, baseline_exposure: Floats) -> Floats:
    """Two-sided p-values that two Poisson counts have one rate per exposure [Przyborowski & Wilenski 1940].

    Given both counts, the target's is binomial with the target's share of the exposure; p is twice the smaller tail.
    Exact; counts need not be whole (weights of samples). Assumes independent events. p = 1 where nothing was counted.
    """
    total = target + baseline
    share = target_exposure / (target_exposure + baseline_exposure)
    some = total > 0
    # Tails of the binomial by the incomplete beta function; a count of 0 or of all has one tail of probability 1.
    counted, rest = np.where(some, target, 0.0), np.where(some, baseline, 0.0)
    at_least = np.where(counted > 0, special.betainc(np.maximum(counted, 1e-300), rest + 1, share), 1.0)
    at_most = np.where(rest > 0, special.betaincc(counted + 1, np.maximum(rest, 1e-300), share), 1.0)
    return np.where(some, np.minimum(2.0 * np.minimum(at_least, at_most), 1.0), 1.0)


def equal_shares(target: Floats, baseline: Floats, *, target_whole: Floats, baseline_whole: Floats) -> Floats:
    """Two-sided p-values that two binomial counts have one share of their wholes.

    Pearson's chi-squared test with N - 1 for N where every expected number is at least 1, else the test of equal rates
    with the wholes as exposure, which is exact for small shares and conservative for others [Campbell 2007]. Assumes
    independent trials. Every whole must be positive and no count above its whole.
    """
    whole = target_whole + baseline_whole
    pooled = (target + baseline) / whole
    expected = np.minimum(pooled, 1 - pooled) * np.minimum(target_whole, baseline_whole)
    variance = pooled * (1 - pooled) * (1 / target_whole + 1 / baseline_whole) * whole / (whole - 1)
    difference = target / target_whole - baseline / baseline_whole
    usable = expected >= SMALLEST_EXPECTED
    chi_squared = np.divide(difference**2, variance, out=np.zeros_like(variance), where=usable)
    exact = equal_rates(target, baseline, target_exposure=target_whole, baseline_exposure=baseline_whole)
    return np.where(usable, special.chdtrc(1.0, chi_squared), exact)


def rate_ratio_interval(target: Floats, baseline: Floats, *, level: float) -> tuple[Floats, Floats]:
    """Bounds of the ratio of two Poisson rates of equal exposure, by its logarithm; NaN where a count is 0."""
    return _ratio_interval(target, baseline, 1 / _known(target) + 1 / _known(baseline), level=level)


def share_ratio_interval(
    target: Floats, baseline: Floats, *, target_whole: Floats, baseline_whole: Floats, level: float
) -> tuple[Floats, Floats]:
    """Bounds of the ratio of two binomial shares, by its logarithm [Katz et al. 1978]; NaN where a count is 0."""
    variance = 1 / _known(target) - 1 / target_whole + 1 / _known(baseline) - 1 / baseline_whole
    low, high = _ratio_interval(target, baseline, np.maximum(variance, 0.0), level=level)
    wholes = baseline_whole / target_whole
    return low * wholes, high * wholes


def _known(count: Floats) -> Floats:
    return np.where(count > 0, count, np.nan)


def _ratio_interval(target: Floats, baseline: Floats, variance: Floats, *, level: float) -> tuple[Floats, Floats]:
    ratio = target / _known(baseline)
    factor = np.exp(special.ndtri(0.5 + level / 2) * np.sqrt(variance))
    return ratio / factor, ratio * factor
