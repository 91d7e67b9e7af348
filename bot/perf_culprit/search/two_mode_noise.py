"""The shape of real noise: two modes of the machine, learned from the ends.

y = mu + delta*x + u_b + m + e. The mode m is 0 (slow) or -gap (fast), drawn by every execution. Heavy tails are the
case gap = 0. The levels mu and delta are summed over a grid, never plugged in (docs/evidence/bisection.md).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.search.pattern_evidence import wide_g

OUTLIER_SHARE: Final = 0.005  # executions that neither mode explains; limits the weight of one sample
OUTLIER_SPREADS: Final = 4.0  # their standard deviation, relative to that of the whole noise
NODES: Final = 11  # of the quadratures over the level and over the step
ROOT_TWO_PI: Final = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True, kw_only=True, slots=True)
class Modes:
    """Noise in two modes. `level` and `step` are the fitted mu and delta; all in natural logarithms."""

    gap: float
    slow_share: float
    slow_sd: float
    fast_sd: float
    offset_sd: float = 0.0
    level: float = 0.0
    step: float = 0.0

    @property
    def spread(self) -> float:
        """Standard deviation of the whole noise inside a round."""
        share = self.slow_share
        inside = share * self.slow_sd**2 + (1 - share) * self.fast_sd**2
        return float(np.sqrt(inside + share * (1 - share) * self.gap**2))

    def densities(self, residual: Floats) -> tuple[Floats, Floats]:
        """Return the density of a residual in the slow and in the fast mode."""
        spread = OUTLIER_SPREADS * self.spread
        wide = OUTLIER_SHARE * normal(residual + self.gap / 2, spread)
        slow = (1 - OUTLIER_SHARE) * normal(residual, self.slow_sd) + wide
        fast = (1 - OUTLIER_SHARE) * normal(residual + self.gap, self.fast_sd) + wide
        return slow, fast

    def density(self, residual: Floats) -> Floats:
        slow, fast = self.densities(residual)
        return np.asarray(self.slow_share * slow + (1 - self.slow_share) * fast)

    @property
    def information(self) -> float:
        """Fisher information of one execution about its level: integral of f'^2 / f."""
        reach = 4 * (self.slow_sd + self.fast_sd)
        # The rarer mode may be the slower one: then the gap is negative.
        grid = np.linspace(min(-self.gap, 0.0) - reach, max(-self.gap, 0.0) + reach, 801)
        f = self.density(grid)
        slope = np.gradient(f, grid)
        return float(np.sum(slope**2 / np.maximum(f, 1e-12)) * (grid[1] - grid[0]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds:
    """Executions by round, padded: `y`, `x` and `present` [rounds, length]."""

    y: Floats
    x: Floats
    present: Booleans


def pad(y: Floats, x: Floats, block: Integers) -> Rounds:
    """Arrange `y`, `x` [n] with ascending `block` numbers as padded rounds."""
    _, row, size = np.unique(block, return_inverse=True, return_counts=True)
    place = np.arange(len(y)) - np.repeat(np.cumsum(size) - size, size)
    shape = (len(size), int(size.max()))
    padded_y, padded_x, present = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    padded_y[row, place], padded_x[row, place], present[row, place] = y, x, True
    return Rounds(y=padded_y, x=padded_x, present=present)


def log_likelihood(rounds: Rounds, modes: Modes, *, level: Floats, step: Floats) -> Floats:
    """Log p(round | level, step) by round and node: [rounds, levels, steps]; the round's offset is integrated out."""
    if modes.offset_sd <= 0:
        return _log_densities(rounds, modes, level, step)
    # mu and u_b only enter as their sum: one grid of sums serves all levels.
    fine = min(modes.slow_sd, modes.fast_sd, modes.offset_sd) * 0.7
    reach = 3.2 * modes.offset_sd
    nodes = int(np.clip(np.ceil((np.ptp(level) + 2 * reach) / fine), 15, 81))
    sums = np.linspace(level.min() - reach, level.max() + reach, nodes)
    kernel = np.exp(-0.5 * ((sums[None] - level[:, None]) / modes.offset_sd) ** 2)
    kernel /= kernel.sum(axis=1, keepdims=True)
    log_p = _log_densities(rounds, modes, sums, step)
    highest = log_p.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.maximum(kernel @ np.exp(log_p - highest), 1e-300)) + highest)


def _log_densities(rounds: Rounds, modes: Modes, level: Floats, step: Floats) -> Floats:
    residual = rounds.y[..., None, None] - level[:, None] - rounds.x[..., None, None] * step
    log_f = np.log(np.maximum(modes.density(residual), 1e-300))
    return np.asarray(np.where(rounds.present[..., None, None], log_f, 0.0).sum(axis=1))


def log_classes(y: Floats, block: Integers, x: Floats, modes: Modes, *, references: int) -> Floats:
    """Log m_c of patterns `x` [k, n] of zeros and ones with a positive step: [k].

    `references`: executions whose side is known; they determine the width of the grid of levels.
    """
    level, step, log_weight = _grid(modes, references, int(block[-1]) + 1)
    total = _table(y, block, x, modes, level, step)
    return np.asarray(np.logaddexp.reduce(total + log_weight, axis=(1, 2)))


def log_null(y: Floats, block: Integers, modes: Modes) -> float:
    """Log m_0: no step; comparable with `log_classes` on the same samples."""
    level, _, _ = _grid(modes, len(y), int(block[-1]) + 1)
    table = log_likelihood(pad(y, np.zeros_like(y), block), modes, level=level, step=np.zeros(1)).sum(axis=0)
    return float(np.logaddexp.reduce(table, axis=None) + np.log(level[1] - level[0]))


def _grid(modes: Modes, references: int, rounds: int) -> tuple[Floats, Floats, Floats]:
    """Nodes of mu and delta, and their log weights: node spacing and the prior delta ~ N+(0, g / information).

    g is at least `G` and allows the fitted step (`wide_g`).
    """
    information = modes.information
    per_end = max(references / 2, 2.0)
    level_se = float(np.sqrt(1 / (information * per_end) + modes.offset_sd**2 / rounds))
    step_se = float(np.sqrt(2 / (information * per_end)))
    level = modes.level + np.linspace(-3, 3, NODES) * level_se
    low = max(modes.step - 3.2 * step_se, 0.02 / np.sqrt(information))
    step = np.linspace(low, max(modes.step + 3.2 * step_se, low + step_se), NODES)
    # The width of one mode is no evidence on the size of a step: a prior of that scale would deny a large one.
    g, log_share = wide_g(modes.step * np.sqrt(information))
    log_prior = log_share + np.log(2 / ROOT_TWO_PI * np.sqrt(information / g)) - step**2 * information / (2 * g)
    return level, step, log_prior + np.log(step[1] - step[0]) + np.log(level[1] - level[0])


def _table(  # noqa: PLR0917 - the formula's symbols in their order
    y: Floats, block: Integers, x: Floats, modes: Modes, level: Floats, step: Floats
) -> Floats:
    """Log likelihood by pattern and node [k, levels, steps]; equal patterns of a round are computed once."""
    _, start = np.unique(block, return_index=True)
    # 64 random bits per execution (one set per round): equal sums mean equal patterns of one round.
    bits = np.random.default_rng(2).integers(1, 2**63, size=len(y), dtype=np.uint64)
    own = np.random.default_rng(3).integers(1, 2**63, size=len(start), dtype=np.uint64)
    fingerprint = np.add.reduceat(x.astype(np.uint64) * bits, start, axis=1) + own
    _, first, inverse = np.unique(fingerprint, return_index=True, return_inverse=True)
    inverse = inverse.reshape(fingerprint.shape)
    pattern, number = np.divmod(first, len(start))
    plain = [pad(y, row, block) for row in x]
    chosen = np.stack([plain[p].x[b] for p, b in zip(pattern, number, strict=True)])
    rounds = Rounds(y=plain[0].y[number], x=chosen, present=plain[0].present[number])
    table = log_likelihood(rounds, modes, level=level, step=step).reshape(len(first), -1)
    return np.stack([table[row].sum(axis=0) for row in inverse]).reshape(len(x), len(level), len(step))


def normal(residual: Floats, sd: Floats | float) -> Floats:
    return np.asarray(np.exp(-0.5 * (residual / sd) ** 2) / (ROOT_TWO_PI * sd))
