"""The posterior over candidates: which commit explains the samples, one step or two, beside the steps named before."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from bot.bisect import evidence, shape
from bot.bisect.evidence import Design
from bot.bisect.reach import Reach
from bot.bisect.samples import Samples

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]

ONE_STEP_PRIOR: Final = 0.80
TWO_STEPS_PRIOR: Final = 0.15
RAMP_PRIOR: Final = 0.05
REFIT_GROWTH: Final = 1.2  # the shape is learned again when the rounds grew by this factor


@dataclass(frozen=True)
class Model:
    """All that the samples say. `prior` [N] sums to 1; `named` are candidates (0..N-1) that are steps already."""

    reach: Reach
    samples: Samples
    prior: Floats
    named: tuple[int, ...] = ()

    @cached_property
    def _patterns(self) -> tuple[Floats, Integers]:
        """Distinct patterns over samples [k, n] and each hypothesis' pattern [N]."""
        measured = self.samples.measured()
        columns = np.stack([self.reach.column(int(commit)) for commit in measured])
        # Equal fingerprints are equal patterns: 64 random bits per measured commit.
        bits = np.random.default_rng(0).integers(1, 2**63, size=len(measured), dtype=np.uint64)
        fingerprint = (columns * bits[:, None]).sum(axis=0, dtype=np.uint64)
        _, first, inverse = np.unique(fingerprint, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        place = np.searchsorted(measured, self.samples.commit)
        patterns = columns[:, first[order]].T[:, place].astype(np.float64)
        return patterns, rank[inverse].astype(np.intp)

    @cached_property
    def _class_prior(self) -> Floats:
        patterns, member = self._patterns
        return np.asarray(np.bincount(member, weights=self.prior, minlength=len(patterns)))

    @cached_property
    def ends(self) -> npt.NDArray[np.bool_]:
        """Samples whose side is known beforehand [n]: the good end and the bad end."""
        return np.isin(self.samples.commit, (0, self.reach.size))

    @cached_property
    def modes(self) -> shape.Modes | None:
        """The learned shape, or None while a normal does as well."""
        rounds, sure = 5, 5
        while rounds <= self.samples.blocks:
            sure, rounds = rounds, int(np.ceil(rounds * REFIT_GROWTH))
        keep = self.ends & (self.samples.block < sure)
        bad = (self.samples.commit[keep] == self.reach.size).astype(np.float64)
        return _cached_fit(self.samples.y[keep].tobytes(), bad.tobytes(), self.samples.block[keep].tobytes())

    @cached_property
    def design(self) -> Design:
        """The samples for the closed forms, cleaned of the machine's modes where those were learned."""
        if self.modes is None:
            return Design(self.samples)
        return Design(cleaned(self.samples, self.modes))

    def column_of(self, candidate: int) -> Floats:
        """x_c over the samples [n]."""
        return self.reach.row(candidate)[self.samples.commit].astype(np.float64)

    @cached_property
    def named_columns(self) -> Floats:
        return np.stack([self.column_of(candidate) for candidate in self.named])

    @cached_property
    def _log_one(self) -> Floats:
        """Log m of one further step, by pattern [k]."""
        patterns, _ = self._patterns
        if self.named:
            return evidence.log_further_steps(self.design, self.named_columns, patterns)
        if self.modes is None:
            return evidence.log_one_step(self.design, patterns)
        block = self.samples.block
        return shape.log_classes(self.samples.y, block, patterns, self.modes, references=int(self.ends.sum()))

    @cached_property
    def mass(self) -> Floats:
        """P(c | samples) [N] of the one (further) step."""
        _, member = self._patterns
        with np.errstate(divide="ignore"):
            log_class = np.where(self._class_prior > 0, self._log_one, -np.inf)
        class_mass = np.exp(log_class - log_class[self._class_prior > 0].max())
        mass = self.prior * class_mass[member]
        return np.asarray(mass / mass.sum())

    @cached_property
    def log_further(self) -> float:
        """Log BF of one more step somewhere against the named steps alone, with the price of one step more."""
        with np.errstate(divide="ignore"):
            some = float(logsumexp(self._log_one + np.log(self._class_prior)))
        none = float(evidence.log_steps(self.design, self.named_columns[None])[0])
        return some - none + float(np.log(TWO_STEPS_PRIOR / ONE_STEP_PRIOR))

    @cached_property
    def shares(self) -> tuple[float, float, float]:
        """P(one step), P(two steps), P(ramp) when nothing is named yet, by the closed forms."""
        log_one, log_two, log_ramp = self._log_shapes
        total = logsumexp([log_one, log_two, log_ramp])
        return tuple(float(np.exp(part - total)) for part in (log_one, log_two, log_ramp))  # type: ignore[return-value] # three

    @cached_property
    def _log_pair(self) -> Floats:
        """Log (prior * m) of ordered pairs of patterns [k, k], the diagonal -inf."""
        patterns, _ = self._patterns
        with np.errstate(divide="ignore"):
            log_prior = np.log(self._class_prior)
        return np.asarray(evidence.log_pairs(self.design, patterns) + log_prior + log_prior[:, None])

    @cached_property
    def _log_shapes(self) -> tuple[float, float, float]:
        patterns, _ = self._patterns
        with np.errstate(divide="ignore"):
            one = logsumexp(evidence.log_one_step(self.design, patterns) + np.log(self._class_prior))
        two = logsumexp(self._log_pair) if len(patterns) > 1 else -np.inf
        ramp = evidence.log_one_step(self.design, self.depth[self.samples.commit][None])[0]
        priors = np.log([ONE_STEP_PRIOR, TWO_STEPS_PRIOR, RAMP_PRIOR])
        return float(one + priors[0]), float(two + priors[1]), float(ramp + priors[2])

    @cached_property
    def log_ramp(self) -> float:
        """Log BF of a steady decay against the better of one step and two."""
        one, two, ramp = self._log_shapes
        return ramp - max(one, two)

    @cached_property
    def depth(self) -> Floats:
        """The ramp's x_i = (a_i + 1) / N over commits [N + 1]."""
        return np.concatenate(([0.0], self.reach.ancestor_counts() / self.reach.size))

    @cached_property
    def pair_masses(self) -> tuple[Floats, Floats]:
        """P(first step is c), P(second step is c) [N] if there are two; first in topological order."""
        _, member = self._patterns
        joint = np.exp(self._log_pair - logsumexp(self._log_pair))
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(self._class_prior[member] > 0, self.prior / self._class_prior[member], 0.0)
        first = np.triu(joint).sum(axis=1) * 2
        second = np.triu(joint).sum(axis=0) * 2
        return first[member] * inside, second[member] * inside

    @cached_property
    def step(self) -> evidence.Fit:
        """The whole change from end to end, ends only."""
        samples = self.samples.select(self.ends) if self.modes is None else self.design.samples.select(self.ends)
        return evidence.fit(Design(samples), (samples.commit == self.reach.size).astype(np.float64)[None])

    @cached_property
    def d_prime(self) -> float:
        """The step in units of one execution's noise: delta * sqrt(information)."""
        if self.modes is not None:
            return max(self.modes.step, 0.0) * float(np.sqrt(self.modes.information))
        return max(float(self.step.delta[0]), 0.0) / max(self.step.sigma, 1e-9)


@lru_cache(maxsize=64)
def _cached_fit(y: bytes, bad: bytes, block: bytes) -> shape.Modes | None:
    """Learning takes tens of milliseconds and the same executions are asked about many times."""
    numbers = np.frombuffer(y, dtype=np.float64), np.frombuffer(bad, dtype=np.float64)
    if not 0 < numbers[1].sum() < len(numbers[1]):
        return None
    return shape.fit_modes(*numbers, np.frombuffer(block, dtype=np.intp))


def cleaned(samples: Samples, modes: shape.Modes) -> Samples:
    """The samples with the machine's mode taken out, as well as it is known, and weighted by the width of their mode.

    Every commit gets a level of its own (the most probable one on a grid over its samples), so that a commit between
    two steps keeps its place.
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
