"""Whether skewness and tails of samples are those of a normal distribution. For many metrics at once."""

import numpy as np
from scipy import special

from perf_culprit.stats.ragged import Floats, Ragged

# The approximations of both tests hold from here on [D'Agostino & Pearson 1973; Anscombe & Glynn 1983].
MINIMUM_SAMPLES = 20


def normality(samples: Ragged) -> Floats:
    """The p-values, shape (m,), of the omnibus test: K^2 = z(skewness)^2 + z(kurtosis)^2 [D'Agostino & Pearson 1973].

    Assumes independent samples, at least 20 per row. A constant row is as far from normal as can be: p = 0.
    """
    if samples.sizes.min() < MINIMUM_SAMPLES:
        raise ValueError(f"the test of normality needs at least {MINIMUM_SAMPLES} samples per row")
    moments = samples.moments()
    count = moments.count
    deviation = np.sqrt(moments.squares / count)
    varies = deviation > 0
    scores = (samples.values - samples.spread(moments.mean)) / samples.spread(np.where(varies, deviation, 1.0))
    skewness = Ragged(scores**3, samples.sizes).means()
    kurtosis = Ragged(scores**4, samples.sizes).means()
    statistic = _skewness_score(skewness, count) ** 2 + _kurtosis_score(kurtosis, count) ** 2
    return np.where(varies, special.chdtrc(2.0, statistic), 0.0)


def _skewness_score(skewness: Floats, n: Floats) -> Floats:
    """About standard normal for normal samples [D'Agostino 1970]."""
    y = skewness * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    beta = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    w_squared = np.sqrt(2 * (beta - 1)) - 1
    scaled: Floats = y * np.sqrt((w_squared - 1) / 2)
    return np.asarray(np.arcsinh(scaled) / np.sqrt(np.log(w_squared) / 2))


def _kurtosis_score(kurtosis: Floats, n: Floats) -> Floats:
    """About standard normal for normal samples [Anscombe & Glynn 1983]."""
    expected = 3 * (n - 1) / (n + 1)
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (kurtosis - expected) / np.sqrt(variance)
    skewness = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9)) * np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a = 6 + 8 / skewness * (2 / skewness + np.sqrt(1 + 4 / skewness**2))
    inner = (1 - 2 / a) / (1 + x * np.sqrt(2 / (a - 4)))
    return np.asarray((1 - 2 / (9 * a) - np.cbrt(inner)) / np.sqrt(2 / (9 * a)))
