"""The upper bound for any test: the most powerful invariant test, which knows the noise but not the level.

It knows all of the noise's parameters, the offset that a run's benchmarks share (the others show it) and the size of
the change. It does not know the benchmark's level. Its false alarm rate is that of the bot: the stated share of runs,
divided by the metrics and the two directions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy import special, stats

from benchmarks.truth.noise import MODE_RATIO, MODE_SHARE, Floats, Noise

SIMULATIONS: Final = 400
# The grid's step over the unknown level, in standard errors of it: exact for normal peaks to 1e-8 (trapezoidal rule).
GRID_STEP: Final = 1.0
# Kernel width of the density of recorded executions, as a part of their standard deviation.
KERNEL: Final = 0.2
MANY_DRAWS: Final = 40
LogDensity = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """Numbers of independent units: files, or executions of one job (`same_job`), with `samples` each."""

    baseline: int
    target: int
    samples: int
    same_job: bool = False


def best_power(noise: Noise, design: Design, *, effect: float, metrics: int, rate: float = 0.01) -> float:
    """Return the probability that the best test finds the change in one of `metrics`."""
    alpha = rate / metrics / 2
    shift, spread = float(np.log1p(effect)), unit_spread(noise, design)
    if not _has_modes(noise, design):
        error = spread * np.sqrt(1 / design.baseline + 1 / design.target)
        return float(special.ndtr(shift / error - special.ndtri(1 - alpha)))
    return _power_with_modes(spread, design, shift, alpha)


def unit_spread(noise: Noise, design: Design) -> float:
    """Return the standard deviation of a unit's best estimate of its benchmark's level, apart from its mode."""
    own = 0.0 if design.same_job else noise.own
    return float(np.sqrt(own**2 + noise.spread**2 * variance_of_location(noise, design.samples)))


def variance_of_location(noise: Noise, samples: int) -> float:
    """Return the variance in units of `spread` squared: inverse Fisher information of Student's t, or a mean's."""
    if np.isfinite(noise.tails):
        return float((noise.tails + 3) / (noise.tails + 1) / samples)
    lags = np.arange(1, samples)
    return float((1 + 2 * np.sum((1 - lags / samples) * noise.correlation**lags)) / samples)


def power_of_shift(
    density: LogDensity, draw: Callable[[int], Floats], design: Design, *, shift: float, alpha: float, spread: float
) -> float:
    """Return the power of the likelihood ratio with the level integrated out; `draw` simulates units at level 0.

    The critical value comes from the alternative's own simulations: P0(ratio > c) = E1[1 / ratio; ratio > c].
    """
    units = np.stack([draw(design.baseline + design.target) for _ in range(SIMULATIONS)])
    baseline, target = units[:, : design.baseline], units[:, design.baseline :] + shift
    reach = np.log(MODE_RATIO) + abs(shift) + 4 * spread
    grid = np.arange(-reach, reach, GRID_STEP * spread / np.sqrt(design.baseline + design.target))
    same = np.array([density(row[:, None] - grid).sum(axis=0) for row in baseline])
    ratios = []
    for of_baseline, row in zip(same, target, strict=True):
        moved = density(row[:, None] - shift - grid).sum(axis=0)
        unmoved = density(row[:, None] - grid).sum(axis=0)
        ratios.append(special.logsumexp(of_baseline + moved) - special.logsumexp(of_baseline + unmoved))
    ordered = np.sort(np.array(ratios))[::-1]
    sizes = np.cumsum(np.exp(-ordered)) / len(ordered)
    return float(np.count_nonzero(sizes <= alpha) / len(ordered))


def of_series(series: Sequence[Floats], design: Design, *, effect: float, metrics: int, rate: float = 0.01) -> float:
    """Return the best power for recorded executions, taken as independent draws from their own kernel density.

    With MANY_DRAWS on each side the best test has its limiting power, by Fisher's information of the density.
    """
    logs = np.concatenate([np.log(values) - np.median(np.log(values)) for values in series])
    points, heights = _log_density(tuple(logs.tolist()))
    alpha, shift = rate / metrics / 2, float(np.log1p(effect))
    baseline, target = design.baseline * design.samples, design.target * design.samples
    if min(baseline, target) >= MANY_DRAWS:
        density = np.exp(heights)
        information = float(np.trapezoid(np.gradient(heights, points) ** 2 * density, points))
        error = np.sqrt((1 / baseline + 1 / target) / information)
        return float(special.ndtr(shift / error - special.ndtri(1 - alpha)))
    rng = np.random.default_rng(1)
    return power_of_shift(
        lambda x: np.interp(x, points, heights),
        lambda count: rng.choice(logs, count) + KERNEL * logs.std() * rng.standard_normal(count),
        Design(baseline=baseline, target=target, samples=1),
        shift=shift,
        alpha=alpha,
        spread=float(logs.std()),
    )


@lru_cache(maxsize=4)
def _log_density(logs: tuple[float, ...]) -> tuple[Floats, Floats]:
    points = np.linspace(-3, 3, 6001)
    kernel = stats.gaussian_kde(logs, bw_method=KERNEL)
    return points, np.log(kernel(points) + 1e-6)


def _has_modes(noise: Noise, design: Design) -> bool:
    return noise.modes == "execution" or (noise.modes == "benchmark" and not design.same_job)


@lru_cache(maxsize=512)
def _power_with_modes(spread: float, design: Design, shift: float, alpha: float) -> float:
    rng = np.random.default_rng(1)
    weights = np.log([1 - MODE_SHARE, MODE_SHARE])
    centers = np.array([0.0, np.log(MODE_RATIO)])

    def density(x: Floats) -> Floats:
        z = (x[..., None] - centers) / spread
        logs: Floats = np.logaddexp.reduce(weights - 0.5 * z**2, axis=-1)
        return logs

    def draw(count: int) -> Floats:
        drawn: Floats = centers[(rng.random(count) < MODE_SHARE).astype(int)] + spread * rng.standard_normal(count)
        return drawn

    return power_of_shift(density, draw, design, shift=shift, alpha=alpha, spread=spread)
