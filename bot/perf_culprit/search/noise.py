"""Properties of the machine from both ends of the range: modes, spread, stability, and the size of the whole change."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from scipy.special import chdtri

from perf_culprit.arrays import Booleans
from perf_culprit.search import pattern_evidence, two_mode_noise
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.machine_modes import fit_modes, log_bayes_factor
from perf_culprit.search.pattern_evidence import PatternDesign
from perf_culprit.search.round_samples import Samples
from perf_culprit.stats.conventions import ROUNDING

# Possible change by unnamed commits, as a share of the whole change: real ones change a little everywhere.
UNNAMED: Final = 0.05
QUIET_SPREADS: Final = 6.0  # a value halfway between fast and slow is then at least 3 standard deviations from both
STABLE: Final = 2 / 3  # share of its information an execution keeps without ends; with both ends, a third per execution
FEW_RESIDUALS: Final = 4  # degrees of freedom below which the spread of single executions is only presumed
REFIT_GROWTH: Final = 1.2  # the shape is learned again when the rounds grew by this factor


@dataclass(frozen=True, kw_only=True)
class MachineNoise:
    """Estimated from the samples of the ends, whose sides are known. `one_machine`: it measured all rounds."""

    reach: Descendants
    samples: Samples
    one_machine: bool = True

    @cached_property
    def ends(self) -> Booleans:
        """Samples whose side is known beforehand [n]: the good end and the bad end.

        On several machines, only rounds with both ends are used, if there are any. A single end from a machine of
        another speed is no evidence on the step, and next to it a step looks like a mode.
        """
        block, commit = self.samples.block, self.samples.commit
        ends = np.isin(commit, (0, self.reach.size))
        both = ends & np.isin(block, np.intersect1d(block[commit == 0], block[commit == self.reach.size]))
        return ends if self.one_machine or not both.any() else both

    @cached_property
    def modes(self) -> two_mode_noise.Modes | None:
        """The learned shape; None while a normal fits as well."""
        # A fit of the first 5, 6, 8, 10, … rounds serves until the next of these numbers is reached.
        fitted_rounds, next_rounds = 5, 5
        while next_rounds <= self.samples.blocks:
            fitted_rounds, next_rounds = next_rounds, int(np.ceil(next_rounds * REFIT_GROWTH))
        keep = self.ends & (self.samples.block < fitted_rounds)
        bad = (self.samples.commit[keep] == self.reach.size).astype(np.float64)
        return _cached_fit(self.samples.y[keep].tobytes(), bad.tobytes(), self.samples.block[keep].tobytes())

    @cached_property
    def design(self) -> PatternDesign:
        """The samples for the closed forms, with the machine's modes removed if they were learned."""
        g, _ = pattern_evidence.wide_g(min(self.d_prime, 1 / UNNAMED))
        return PatternDesign(self._cleaned, lambdas=self.lambdas, g=g, unnamed=UNNAMED * self.change)

    @cached_property
    def _cleaned(self) -> Samples:
        return self.samples if self.modes is None else cleaned(self.samples, self.modes)

    @property
    def change(self) -> float:
        """The size of the step from end to end, in logarithms; 0 if they do not differ in the direction searched."""
        return max(float(self.step.delta[0]), 0.0)

    @property
    def lambdas(self) -> tuple[float, ...]:
        """Spreads of the rounds' offsets to average over; only 0 on a quiet machine, which has no notable offsets."""
        return (0.0,) if self.is_quiet else tuple(pattern_evidence.LAMBDAS)

    @cached_property
    def spread_bound(self) -> float:
        """Upper 95% bound of the standard deviation of one execution, offsets of rounds included.

        It is the bound of the ends or, if smaller, of all executions around their nearest end's level. It is never less
        than the certain variation of repetitions: the ends may have missed a slow spell, and states may look like the
        ends. With fewer than `FEW_RESIDUALS` degrees of freedom and no end repeated, the plain estimate is used. It is
        a presumption that cannot name a commit.
        """
        squares, dof = self._of_all
        if self.samples_tell:
            return max(min(_bound(*self._of_ends, 0.95), _bound(squares, dof, 0.95)), _bound(*self._repeated, 0.05))
        return float(np.sqrt(squares / dof)) if dof else 0.0

    @cached_property
    def samples_tell(self) -> bool:
        """Whether the noise has a bound at all."""
        return self._of_ends[1] > 0 or self._of_all[1] >= FEW_RESIDUALS

    @cached_property
    def _of_ends(self) -> tuple[float, int]:
        return self._levels(self.samples.select(self.ends))

    @cached_property
    def _of_all(self) -> tuple[float, int]:
        return self._levels(self.samples)

    def _levels(self, samples: Samples) -> tuple[float, int]:
        """Sum of squares and degrees of freedom of samples around the level of the nearest end."""
        ends = [samples.y[samples.commit == end] for end in (0, self.reach.size)]
        if not all(end.size for end in ends):
            return 0.0, 0
        levels = np.array([end.mean() for end in ends])
        bad = np.abs(samples.y - levels[1]) < np.abs(samples.y - levels[0])
        bad = np.where(samples.commit == 0, False, (samples.commit == self.reach.size) | bad)
        groups = [samples.y[bad], samples.y[~bad]]
        return sum(float(((group - group.mean()) ** 2).sum()) for group in groups), samples.count - 2

    @property
    def _repeated(self) -> tuple[float, int]:
        """Sum of squares and degrees of freedom of executions around the mean of their commit."""
        samples = self.samples if self.one_machine else self.samples.select(self.ends)
        counts = samples.counts(self.reach.size + 1)
        means = np.bincount(samples.commit, samples.y, len(counts)) / np.maximum(counts, 1)
        return float(((samples.y - means[samples.commit]) ** 2).sum()), samples.count - int(np.count_nonzero(counts))

    @cached_property
    def is_quiet(self) -> bool:
        """Whether the noise is so small relative to the change that a single execution tells fast from slow."""
        return self.one_machine and self.change > QUIET_SPREADS * max(self.spread_bound, ROUNDING)

    @cached_property
    def is_stable(self) -> bool:
        """Whether the machine's level hardly moves between rounds, as shown by the rounds with both ends.

        An execution without ends in its round keeps 1 / (1 + lambda^2) of its information. With both ends it costs
        three executions, so each is worth about a third. Without ends it must be worth twice that.
        """
        if not self.one_machine or self.modes is not None:
            return False
        ends = self.samples.select(self.ends)
        bad = (ends.commit == self.reach.size).astype(np.float64)
        shares = 1 / (1 + np.square(pattern_evidence.LAMBDAS))
        return float(pattern_evidence.lambda_weights(PatternDesign(ends), bad) @ shares) > STABLE

    @cached_property
    def step(self) -> pattern_evidence.Fit:
        """The whole change from end to end, from the ends only."""
        samples = self._cleaned.select(self.ends)
        return pattern_evidence.fit(
            PatternDesign(samples), (samples.commit == self.reach.size).astype(np.float64)[None]
        )

    @cached_property
    def log_reproduced(self) -> float:
        """Log BF10 of "the ends differ in the direction searched" against "no change", on the ends alone.

        With a learned shape, it is the mean of the plain BF and that under the shape. The mean of e-values is an
        e-value. No choice of shape can then deny a change that the plain form sees.
        """
        samples = self.samples.select(self.ends)
        bad = (samples.commit == self.reach.size).astype(np.float64)
        if not 0 < bad.sum() < samples.count:
            return 0.0
        plain = pattern_evidence.log_difference(samples, bad)
        if self.modes is None:
            return plain
        return float(np.logaddexp(plain, log_bayes_factor(samples.y, bad, samples.block)) - np.log(2))

    @cached_property
    def d_prime(self) -> float:
        """The step in units of one execution's noise: delta * sqrt(information)."""
        if self.modes is not None:
            return max(self.modes.step, 0.0) * float(np.sqrt(self.modes.information))
        return self.change / max(self.step.sigma, 1e-9)


def _bound(squares: float, dof: int, level: float) -> float:
    """Bound of a standard deviation, below it with probability `level`; infinite or 0 without repetitions."""
    if dof <= 0:
        return 0.0 if level < 1 / 2 else np.inf
    return float(np.sqrt(squares / chdtri(dof, level)))


@lru_cache(maxsize=64)
def _cached_fit(y: bytes, bad: bytes, block: bytes) -> two_mode_noise.Modes | None:
    """Cache the fit: learning takes tens of milliseconds, and the same executions are needed many times."""
    numbers = np.frombuffer(y, dtype=np.float64), np.frombuffer(bad, dtype=np.float64)
    if not 0 < numbers[1].sum() < len(numbers[1]):
        return None
    return fit_modes(*numbers, np.frombuffer(block, dtype=np.intp))


def cleaned(samples: Samples, modes: two_mode_noise.Modes) -> Samples:
    """Remove the known part of the machine's mode from the samples, and weight them by the width of their mode.

    Every commit gets its own level (the most probable on a grid over its samples), so a commit between two steps keeps
    its place.
    """
    y = samples.y.copy()
    weight = np.ones_like(y)
    for commit in samples.measured():
        own = samples.commit == commit
        values = samples.y[own]
        grid = np.linspace(values.min(), values.max() + modes.gap, 81)
        slow, fast = modes.densities(values - grid[:, None])
        score = np.log(modes.slow_share * slow + (1 - modes.slow_share) * fast).sum(axis=1)
        level = grid[int(np.argmax(score))]
        slow, fast = modes.densities(values - level)
        share = modes.slow_share * slow / (modes.slow_share * slow + (1 - modes.slow_share) * fast)
        y[own] = values + (1 - share) * modes.gap
        weight[own] = share + (1 - share) * min((modes.slow_sd / modes.fast_sd) ** 2, 4.0)
    return samples.with_values(y, weight)
