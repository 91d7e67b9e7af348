"""Closed-form marginal likelihoods: how well a pattern of slow and fast commits explains the samples.

Model: y = mu + sum_j delta_j x_j + u_b + e with e ~ N(0, sigma^2 / w), u_b ~ N(0, lambda^2 sigma^2) for block b.
Prior: mu flat, p(sigma^2) ~ 1/sigma^2, delta | sigma^2 ~ N(0, g sigma^2), half normal if delta > 0 is required.
The average over lambda in `LAMBDAS` has a prior of 1 / sqrt(1 + lambda^2): most machines are stable. The largest
lambda is the projection of the block means (docs/evidence/bisection.md).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import ndtri, stdtr

from perf_culprit.arrays import Floats, Integers
from perf_culprit.search.round_samples import Samples
from perf_culprit.stats.conventions import NO_NOISE

G: Final = 16.0  # prior variance of a step, in units of sigma^2, unless the ends show a larger one
USUAL_SCALE: Final = 0.8  # probability that a step has the usual scale; all larger scales share the rest
# Spread of the rounds' offsets, in units of sigma: from none to far above it, as between hosted runners.
LAMBDAS: Final = np.array([0.0, 0.35, 0.7, 1.4, 2.8, 6.0, 12.0])
SMALLEST_SSE: Final = NO_NOISE**2  # equal constant values have no spread


@dataclass(frozen=True, slots=True)
class Fit:
    """Posterior of the regressors given the model: means [k], covariance [k, k] of a t with `dof`."""

    delta: Floats
    covariance: Floats
    dof: float
    sigma: float


@dataclass(frozen=True)
class PatternDesign:
    """Samples with the cross products that every pattern needs; axis 0 of the results is lambda.

    `g`: prior variance of a step in units of sigma^2. `unnamed`: standard deviation of the changes by commits outside
    the searched steps, in logarithms. It prevents exact numbers from making every small change a step.
    """

    samples: Samples
    lambdas: tuple[float, ...] = tuple(LAMBDAS)
    g: float = G
    unnamed: float = 0.0

    @cached_property
    def _indicator(self) -> Floats:
        """Weights by sample and block [n, B]."""
        samples = self.samples
        indicator = np.zeros((samples.count, samples.blocks))
        indicator[np.arange(samples.count), samples.block] = samples.weight
        return indicator

    @cached_property
    def _shrink(self) -> Floats:
        """c_b = lambda^2 / (1 + lambda^2 W_b) [lambdas, B]: the share of a block's mean that is its offset."""
        squared = np.square(np.array(self.lambdas))[:, None]
        return np.asarray(squared / (1 + squared * self._indicator.sum(axis=0)))

    def products(self, a: Floats, b: Floats) -> Floats:
        """Return a' V^-1 b without the level mu, for all rows of a [p, n] and b [q, n]: [lambdas, p, q]."""
        ones = np.ones((1, self.samples.count))
        raw = self._raw(np.vstack([a, ones]), np.vstack([b, ones]))
        return np.asarray(raw[:, :-1, :-1] - raw[:, :-1, -1:] * raw[:, -1:, :-1] / raw[:, -1:, -1:])

    def paired_products(self, a: Floats) -> Floats:
        """Return the diagonal of `products(a, a)`: [lambdas, p]."""
        a_blocks = a @ self._indicator
        raw = (a * a) @ self.samples.weight - self._shrink @ np.square(a_blocks).T
        ones = np.ones((1, self.samples.count))
        levels = self._raw(np.vstack([a, ones]), ones)[:, :, 0]
        return np.asarray(raw - levels[:, :-1] ** 2 / levels[:, -1:])

    def _raw(self, a: Floats, b: Floats) -> Floats:
        a_blocks, b_blocks = a @ self._indicator, b @ self._indicator
        plain = (a * self.samples.weight) @ b.T
        return np.asarray(plain - (a_blocks * self._shrink[:, None]) @ b_blocks.T)

    @cached_property
    def syy(self) -> Floats:
        y = self.samples.y[None]
        return np.maximum(self.products(y, y)[:, 0, 0], SMALLEST_SSE) + self.dof * self.unnamed**2

    @cached_property
    def log_volume(self) -> Floats:
        """Log of prior(lambda) |V|^-1/2 (1' V^-1 1)^-1/2 by lambda, equal for all patterns: the lambdas' weights."""
        squared = np.square(np.array(self.lambdas))[:, None]
        ones = np.ones((1, self.samples.count))
        offsets = np.log1p(squared * self._indicator.sum(axis=0)).sum(axis=1)
        prior = 1 / np.sqrt(1 + squared[:, 0])
        return np.asarray(-0.5 * offsets - 0.5 * np.log(self._raw(ones, ones)[:, 0, 0]) + np.log(prior / prior.sum()))

    @property
    def dof(self) -> int:
        return max(self.samples.count - 1, 1)


def log_no_step(design: PatternDesign) -> float:
    """Log m_0: no change at all. Comparable with the other functions on the same design."""
    return float(np.logaddexp.reduce(design.log_volume - 0.5 * design.dof * np.log(design.syy)))


def wide_g(size: float) -> tuple[float, float]:
    """Return a prior variance that allows a step of `size` standard deviations, and the log probability of that scale.

    With one fixed scale a step of many standard deviations would be nearly impossible, and strong evidence would count
    little. This is the "information paradox" (Liang et al. 2008, Mixtures of g priors, section 2). Scales are powers of
    4; the j-th beyond the usual one has probability (1 - `USUAL_SCALE`) / (j (j + 1)).
    """
    scale = int(np.ceil(max(2 * np.log2(max(size, 1e-300)) - np.log2(G), 0.0) / 2))
    if scale == 0:
        return G, float(np.log(USUAL_SCALE))
    return G * 4.0**scale, float(np.log((1 - USUAL_SCALE) / (scale * (scale + 1))))


def log_one_step(design: PatternDesign, x: Floats) -> Floats:
    """Log m_c for patterns `x` [k, n] in [0, 1] with a positive step: [k].

    log m_c = -1/2 log(1 + g Sxx) - (n-1)/2 log SSE_c + log(2 T(t_c)). SSE_c = Syy - Sxy^2/D, D = Sxx + 1/g, t_c = Sxy /
    sqrt(D SSE_c / (n-1)). T is the t distribution's cdf (docs/evidence/bisection.md).
    """
    sxx = np.maximum(design.paired_products(x), 0.0)
    sxy = design.products(x, design.samples.y[None])[:, :, 0]
    d = sxx + 1 / design.g
    sse = np.maximum(design.syy[:, None] - sxy**2 / d, SMALLEST_SSE)
    t = sxy / np.sqrt(d * sse / design.dof)
    tail = np.log(np.maximum(2 * stdtr(design.dof, t), 1e-300))
    log_m = -0.5 * np.log1p(design.g * sxx) - 0.5 * design.dof * np.log(sse) + tail
    return np.asarray(np.logaddexp.reduce(log_m + design.log_volume[:, None], axis=0))


def log_further_steps(design: PatternDesign, named: Floats, x: Floats) -> Floats:
    """Log m of `named` [k, n] and one more pattern of `x` [s, n], steps of either sign: [s]."""
    sets, k = len(x), len(named)
    y = design.samples.y[None]
    gram = np.empty((len(design.lambdas), sets, k + 1, k + 1))
    gram[:, :, :k, :k] = design.products(named, named)[:, None]
    cross = design.products(x, named)
    gram[:, :, k, :k] = cross
    gram[:, :, :k, k] = cross
    gram[:, :, k, k] = design.paired_products(x)
    xty = np.empty((len(design.lambdas), sets, k + 1))
    xty[:, :, :k] = design.products(named, y)[:, None, :, 0]
    xty[:, :, k] = design.products(x, y)[:, :, 0]
    return _log_normal(design, gram, xty)


def log_sets(design: PatternDesign, x: Floats, sets: Integers) -> Floats:
    """Log m of sets of patterns `x` [k, n], given as indices [s, m]; steps of either sign: [s].

    log m = -1/2 log |I + g X'X| - (n-1)/2 log(Syy - (X'y)' (X'X + I/g)^-1 X'y), X and y centred.
    """
    products = design.products(x, x)
    xy = design.products(x, design.samples.y[None])[:, :, 0]
    return _log_normal(design, products[:, sets[:, :, None], sets[:, None, :]], xy[:, sets])


def _log_normal(design: PatternDesign, gram: Floats, xty: Floats) -> Floats:
    """`gram` [lambdas, s, k, k], `xty` [lambdas, s, k] -> [s]."""
    identity = np.eye(gram.shape[-1])
    solved = np.linalg.solve(gram + identity / design.g, xty[..., None])[..., 0]
    sse = np.maximum(design.syy[:, None] - (xty * solved).sum(axis=-1), SMALLEST_SSE)
    log_det = np.linalg.slogdet(identity + design.g * gram)[1]
    log_m = -0.5 * log_det - 0.5 * design.dof * np.log(sse) + design.log_volume[:, None]
    return np.asarray(np.logaddexp.reduce(log_m, axis=0))


def lambda_weights(design: PatternDesign, x: Floats) -> Floats:
    """P(lambda) given one regressor `x` [n], for the design's lambdas [lambdas]."""
    sxx = design.paired_products(x[None])[:, 0]
    sxy = design.products(x[None], design.samples.y[None])[:, 0, 0]
    sse = np.maximum(design.syy - sxy**2 / (sxx + 1 / design.g), SMALLEST_SSE)
    log_m = design.log_volume - 0.5 * np.log1p(design.g * sxx) - 0.5 * design.dof * np.log(sse)
    return np.asarray(np.exp(log_m - np.logaddexp.reduce(log_m)))


def fit(design: PatternDesign, x: Floats) -> Fit:
    """Estimate the steps of regressors `x` [k, n] at the most probable lambda, with a flat prior."""
    k = len(x)
    y = design.samples.y[None]
    gram, xty = design.products(x, x), design.products(x, y)[:, :, 0]
    ridge = np.eye(k) * 1e-9
    solved = np.linalg.solve(gram + ridge, xty[..., None])[..., 0]
    sse = np.maximum(design.syy - (xty * solved).sum(axis=-1), SMALLEST_SSE)
    dof = max(design.samples.count - 1 - k, 1)
    # Integrate out the steps like the level; otherwise each further regressor would make offsets of rounds likelier.
    log_m = design.log_volume - 0.5 * np.linalg.slogdet(gram + ridge)[1] - 0.5 * dof * np.log(sse)
    best = int(np.argmax(log_m))
    variance = sse[best] / dof
    return Fit(
        delta=solved[best],
        covariance=np.linalg.inv(gram[best] + ridge) * variance,
        dof=float(dof),
        sigma=float(np.sqrt(variance)),
    )


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 0, ties sharing their mean, shape (n,)."""
    order = np.sort(values)
    below = np.searchsorted(order, values, side="left")
    return np.asarray((below + np.searchsorted(order, values, side="right")) / 2.0)


def log_difference(samples: Samples, x: Floats) -> float:
    """Log BF of a positive step between two sides, `x` [n] 0 or 1, against none.

    It is the geometric mean of two BFs. One uses logarithms (an e-value under normal noise). The other uses normal
    scores of the pooled ranks, which keeps its power under heavy tails.
    """
    scores = ndtri(mid_ranks(samples.y) / samples.count)
    return 0.5 * (_log_step(samples, x) + _log_step(samples.with_values(scores), x, g=G))


def _log_step(samples: Samples, x: Floats, *, g: float | None = None) -> float:
    """Log BF of a step `x` on a scale of `g`; by default on the usual scale or that of the observed step."""
    scales = [wide_g(0.0), wide_g(_size(samples, x))] if g is None else [(g, 0.0)]
    designs = [(PatternDesign(samples, g=scale), log_share) for scale, log_share in dict(scales).items()]
    steps = [float(log_one_step(design, x[None])[0]) + log_share for design, log_share in designs]
    return float(np.logaddexp.reduce(steps)) - log_no_step(designs[0][0])


def _size(samples: Samples, x: Floats) -> float:
    """The step in standard deviations of one execution."""
    own = fit(PatternDesign(samples), x[None])
    return abs(float(own.delta[0])) / max(own.sigma, 1e-9)
