"""Evidence that a commit differs from its parent, valid under any shape of noise.

Both are executed once per round in random order. If they are equally fast, the two values of a round are exchangeable.
Given the two values, either order has probability 1/2, whatever the noise, the modes and the drift. Let f be the
density of (after - before) under a step. Each round contributes 2 f(d) / (f(d) + f(-d)), whose mean is 1 without a
step. The product over rounds is an e-process. It exceeds 1/a with probability a at most, at any stopping time (Ville's
inequality). A wrong f only costs power.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats

# The step of a pair in units of the expected one, and the probability of each.
STEPS: Final = np.array([1.0, 0.6, 0.3, -0.6, -1.0])
STEP_WEIGHTS: Final = np.array([0.6, 0.15, 0.1, 0.05, 0.1])
TAILS: Final = 3.0  # degrees of freedom of a difference: one extreme execution must not decide


@dataclass(frozen=True, kw_only=True, slots=True)
class DifferenceShape:
    """Differences of two executions of a round, learned before the judged rounds; natural logarithms.

    `width`: scale of the difference inside one mode. With probability `apart` the two are in different modes of the
    machine, separated by `gap`.
    """

    step: float
    width: float
    gap: float = 0.0
    apart: float = 0.0


def log_exchange(log_factors: Floats) -> float:
    """Return the log e-value of the exchange: the weighted mean over `STEPS`."""
    return float(np.logaddexp.reduce(log_factors + np.log(STEP_WEIGHTS)))


def combined(log_factors: Floats) -> float:
    """Return the mean of the e-values of the exchange (by step) and of the quotient, the last of `log_factors`."""
    return float(np.logaddexp(log_exchange(log_factors[:-1]), log_factors[-1]) - np.log(2))


def log_exchange_factors(differences: Floats, shape: DifferenceShape) -> Floats:
    """Log e-value of `differences` [n] (after - before, in their order) against "equally fast", for each of `STEPS`."""
    steps = shape.step * STEPS
    ahead = _log_density(differences[:, None] - steps, shape)
    behind = _log_density(-differences[:, None] - steps, shape)
    factors = np.log(2.0) + ahead - np.logaddexp(ahead, behind)
    return np.asarray(factors.sum(axis=0))


def log_quotient(differences: Floats, step: float, width: float, *, two_states: bool) -> float:
    """Log likelihood ratio of `differences` [n] under a step against none, for noise of a known `width`.

    Uses Student's t with `TAILS` degrees of freedom. Unlike the exchange, it relies on that noise. With `two_states`,
    "none" in each round is the likelier of that noise and a machine in two states. These are as far apart as the step,
    and each execution draws one. A quarter of its pairs look like the step, so a round counts ln 4 at most. The larger
    denominator keeps the mean at 1 for any share.
    """
    up, level, down = (log_t((differences - shift) / width) for shift in (step, 0.0, -step))
    if two_states:
        level = np.maximum(level, np.logaddexp(level + np.log(0.5), np.logaddexp(up, down) + np.log(0.25)))
    return float((up - level).sum())


def _log_density(rest: Floats, shape: DifferenceShape) -> Floats:
    """Log density up to a constant, which cancels in the quotient."""
    together = np.log1p(-shape.apart) + log_t(rest / shape.width)
    if shape.apart <= 0:
        return np.asarray(together)
    sides = np.logaddexp(log_t((rest - shape.gap) / shape.width), log_t((rest + shape.gap) / shape.width))
    return np.asarray(np.logaddexp(together, np.log(shape.apart / 2) + sides))


def log_t(z: Floats) -> Floats:
    """Log density of Student's t with `TAILS` degrees of freedom, up to a constant."""
    return np.asarray(-0.5 * (TAILS + 1) * np.log1p(z**2 / TAILS))
