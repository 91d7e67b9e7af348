"""Variances from few runs, stabilized by the other benchmarks of the suite (empirical Bayes).

With three runs a single variance is imprecise, but a suite has hundreds of them. The method is that of limma [Smyth
2004, section 6], with two guards of our own. Benchmarks of one run share its machine, unlike genes: the shared part
counts only as often as it is independent. No variance is ever lowered.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from perf_culprit.arrays import Floats


@dataclass(frozen=True, slots=True)
class Moderated:
    """`variance` and its `degrees_of_freedom`, shapes (m,); `prior_freedom` is infinite for equal variances.

    `prior` is the suite's variance, 0 where it has none.
    """

    variance: Floats
    degrees_of_freedom: Floats
    prior_freedom: float
    prior: float = 0.0


def moderate(variance: Floats, freedom: Floats, *, effective_number: float) -> Moderated:
    """Shrink `variance` (m,) with `freedom` (m,) towards the suite's; leave rows of zero variance out.

    `effective_number` is the number of independent rows that the m rows are worth. It caps the degrees of freedom, as
    limma caps them at the pooled ones. It also removes the shared part from the expected spread of the log variances.
    """
    used = (variance > 0) & (freedom > 1)  # the correlation between benchmarks needs two
    count = int(used.sum())
    if count < 2 or effective_number <= 1.0:
        return Moderated(variance, freedom, 0.0)
    own, own_freedom = variance[used], freedom[used]
    half = own_freedom / 2
    logs = np.log(own) - special.digamma(half) + np.log(half)
    shared = max(0.0, (1 / effective_number - 1 / count) / (1 - 1 / count))
    excess = float(logs.var(ddof=1) - (1 - shared) * special.polygamma(1, half).mean())
    if excess > 0:
        prior_freedom = 2 * _inverse_trigamma(excess)
        prior = float(np.exp(logs.mean() + special.digamma(prior_freedom / 2) - np.log(prior_freedom / 2)))
    else:
        prior_freedom, prior = np.inf, float(np.average(own, weights=own_freedom))
    moderated, total = variance.copy(), freedom.copy()
    moderated[used] = steadied(own, own_freedom, prior=prior, prior_freedom=prior_freedom)
    pooled = effective_number * float(own_freedom.mean())
    total[used] = np.maximum(own_freedom, np.minimum(own_freedom + prior_freedom, pooled))
    return Moderated(moderated, total, prior_freedom, prior)


def steadied(variance: Floats, freedom: Floats, *, prior: Floats | float, prior_freedom: Floats | float) -> Floats:
    """Move each variance towards the prior, weighted by the degrees of freedom of both; never lower it."""
    own = np.divide(freedom, freedom + prior_freedom, out=np.zeros_like(variance), where=np.isfinite(prior_freedom))
    return np.maximum(variance, own * variance + (1 - own) * prior)


def effective_number(residuals: Floats, freedom: Floats) -> float:
    """Return how many independent rows the rows of `residuals` are worth: 1 / mean adjusted squared correlation.

    `residuals` (m, k): deviations of the k runs from the row's mean, 0 where a run is missing; `freedom` (m,). A run
    shared by all benchmarks (a slow machine) correlates the rows; then hundreds are worth a few. The squared
    correlation is adjusted for its expectation 1 / freedom under independence, as in tests of sphericity [Bai &
    Saranadasa 1996, section 3].
    """
    norms = np.sqrt((residuals**2).sum(axis=1))
    used = (norms > 0) & (freedom > 1)
    count = int(used.sum())
    if count < 2:
        return 1.0
    unit = residuals[used] / norms[used, None]
    inverse = float((1.0 / freedom[used]).mean())
    # The sum of squared correlations over all pairs is the squared norm of the small (k, k) Gram matrix.
    squared = float(((unit.T @ unit) ** 2).sum()) / count**2
    adjusted = (squared - inverse) / (1 - inverse)
    return float(min(max(1 / adjusted, 1.0), count)) if adjusted > 1 / count else float(count)


def _inverse_trigamma(value: float) -> float:
    """Solve trigamma(x) = value by Newton's method [Smyth 2004, appendix]; its start makes it monotone."""
    result = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, result))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, result))
        result += step
        if -step / result < 1e-8:
            break
    return result
