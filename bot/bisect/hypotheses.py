"""The posterior over candidates: which commit explains the samples, one step or two, beside the steps named before."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, logsumexp

from bot.bisect import evidence, shape
from bot.bisect.evidence import Design
from bot.bisect.reach import Reach
from bot.bisect.samples import Samples

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]

ONE_STEP_PRIOR: Final = 0.80
TWO_STEPS_PRIOR: Final = 0.15
RAMP_PRIOR: Final = 0.05
THREE_STEPS_PRIOR: Final = 0.05  # asked for only where a decay would be the answer
LARGEST_TRIPLE: Final = 12  # patterns of which three are taken
LARGEST_PAIRED: Final = 10  # patterns of which two further ones are taken
PLAIN: Final = 8.0  # a step of this many spreads of both modes together is plain in a normal form as well
# What commits may change beside the named steps, as a part of the whole change: real ones change a little everywhere.
UNNAMED: Final = 0.05
QUIET: Final = (
    6.0  # a value half way between fast and slow is then 3 standard deviations from either, in the worst case
)
STABLE: Final = 2 / 3  # of an execution's information that it keeps without ends of its own: twice what ends leave it
SMALLEST_SPREAD: Final = 1e-9
REFIT_GROWTH: Final = 1.2  # the shape is learned again when the rounds grew by this factor


@dataclass(frozen=True)
class Model:
    """All that the samples say. `prior` [N] sums to 1; `named` are candidates (0..N-1) that are steps already."""

    reach: Reach
    samples: Samples
    prior: Floats
    named: tuple[int, ...] = ()
    one_machine: bool = True

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

    @property
    def modes(self) -> shape.Modes | None:
        """The learned shape where it helps: modes that lie close together against the step are mere noise."""
        modes = self.learned_modes
        return None if modes is None or modes.step > PLAIN * modes.spread else modes

    @cached_property
    def learned_modes(self) -> shape.Modes | None:
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
        g, _ = evidence.wide_g(min(self.d_prime, 1 / UNNAMED))
        return Design(self._cleaned, lambdas=self.lambdas, g=g, unnamed=UNNAMED * self.change)

    @cached_property
    def _cleaned(self) -> Samples:
        return self.samples if self.modes is None else cleaned(self.samples, self.modes)

    @property
    def change(self) -> float:
        """The size of the step from end to end, in logarithms; 0 where the ends do not differ in the way looked for."""
        return max(float(self.step.delta[0]), 0.0)

    @property
    def lambdas(self) -> tuple[float, ...]:
        """Spreads of the rounds' offsets to average over; a quiet machine has shown that it has none to speak of."""
        return (0.0,) if self.is_quiet else tuple(evidence.LAMBDAS)

    @cached_property
    def spread_bound(self) -> float:
        """Upper 95 % bound of the standard deviation of one execution of the ends, offsets of rounds included."""
        samples = self.samples
        ends = [samples.y[samples.commit == end] for end in (0, self.reach.size)]
        dof = sum(len(end) - 1 for end in ends if len(end))
        if dof < 1:
            return np.inf
        squares = sum(float(((end - end.mean()) ** 2).sum()) for end in ends if len(end))
        return float(np.sqrt(squares / chdtri(dof, 0.95)))

    @cached_property
    def is_quiet(self) -> bool:
        """The noise is so small against the change that an execution by itself tells fast from slow."""
        return self.one_machine and self.change > QUIET * max(self.spread_bound, SMALLEST_SPREAD)

    @cached_property
    def is_stable(self) -> bool:
        """The level of the machine hardly moves from round to round, as the rounds with both ends show it.

        An execution without ends of its own keeps 1 / (1 + lambda^2) of its information, one of a round with both ends
        about a third of what the round costs.
        """
        if not self.one_machine or self.modes is not None:
            return False
        ends = self.samples.select(self.ends)
        bad = (ends.commit == self.reach.size).astype(np.float64)
        kept = 1 / (1 + np.square(evidence.LAMBDAS))
        return float(evidence.lambda_weights(Design(ends), bad) @ kept) > STABLE

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
        price = float(np.log(TWO_STEPS_PRIOR / ONE_STEP_PRIOR))
        return max(some - none + price, self._log_further_two - none + 2 * price)

    @cached_property
    def _further_pairs(self) -> tuple[Integers, Floats]:
        """Two further steps at once, which cancel where neither shows alone: patterns [s, 2], log (prior * m) [s].

        Asked for in small ranges only, where every commit is measured; longer ones cannot see such a pair anyway.
        """
        patterns, _ = self._patterns
        if not self.named or len(patterns) > LARGEST_PAIRED:
            return np.zeros((0, 2), dtype=np.intp), np.zeros(0)
        pairs = np.stack(np.triu_indices(len(patterns), 1), axis=1)
        known = np.tile(np.arange(len(self.named)), (len(pairs), 1))
        sets = np.hstack([known, pairs + len(self.named)]).astype(np.intp)
        with np.errstate(divide="ignore"):
            log_prior = np.log(self._class_prior)[pairs].sum(axis=1) + np.log(2.0)
        return pairs, evidence.log_sets(self.design, np.vstack([self.named_columns, patterns]), sets) + log_prior

    @cached_property
    def _log_further_two(self) -> float:
        _, log_m = self._further_pairs
        return float(logsumexp(log_m)) if len(log_m) else -np.inf

    @cached_property
    def _further_two(self) -> bool:
        """Two further steps are likelier than one, the price of the second paid."""
        with np.errstate(divide="ignore"):
            one = float(logsumexp(self._log_one + np.log(self._class_prior)))
        return self._log_further_two + float(np.log(TWO_STEPS_PRIOR / ONE_STEP_PRIOR)) > one

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
        """Log BF of a steady decay against the best of one step, two and three."""
        one, two, ramp = self._log_shapes
        return ramp - max(one, two, self._log_three)

    @cached_property
    def _triples(self) -> tuple[Integers, Floats]:
        """Three steps among the likeliest patterns for one of two: patterns [t, 3] and log (prior * m) [t]."""
        patterns, _ = self._patterns
        best = np.sort(np.argsort(-logsumexp(self._log_pair, axis=1))[:LARGEST_TRIPLE])
        triples = np.array(list(combinations(best.tolist(), 3)), dtype=np.intp).reshape(-1, 3)
        if not len(triples):
            return triples, np.zeros(0)
        with np.errstate(divide="ignore"):
            log_prior = np.log(self._class_prior)[triples].sum(axis=1) + np.log(6.0)
        return triples, evidence.log_sets(self.design, patterns, triples) + log_prior

    @cached_property
    def _log_three(self) -> float:
        _, log_m = self._triples
        return float(logsumexp(log_m) + np.log(THREE_STEPS_PRIOR)) if len(log_m) else -np.inf

    @cached_property
    def step_count(self) -> int:
        """How many (further) steps explain the samples best: 1, 2 or 3.

        More than one is asked for only where enough commits between the ends were measured, and only by the closed
        forms: the learned shape knows a single step.
        """
        interior = len(self.samples.measured()) - 2
        if self.named:
            return 2 if self._further_two else 1
        if self.modes is not None or interior < 3:
            return 1
        one, two, _ = self._log_shapes
        if two <= one:
            return 1
        return 3 if interior >= 4 and self._log_three > two else 2

    @cached_property
    def step_masses(self) -> tuple[Floats, ...]:
        """P(the first, second, … step is c) [N] each, for as many steps as explain the samples best."""
        if self.step_count == 1:
            return (self.mass,)
        if self.named:
            return self._masses_of(*self._further_pairs)
        return self.pair_masses if self.step_count == 2 else self._triple_masses

    @cached_property
    def posterior(self) -> Floats:
        """P(c is a step) [N], averaged over up to as many steps as explain the samples best."""
        if self.step_count == 1:
            return self.mass
        if self.named:
            return np.asarray(np.minimum(np.sum(self.step_masses, axis=0), 1.0))
        one, two, _ = self._log_shapes
        three = self._log_three if self.step_count == 3 else -np.inf
        share = np.exp(np.array([one, two, three]) - logsumexp([one, two, three]))
        average = share[0] * self.mass + share[1] * np.sum(self.pair_masses, axis=0)
        if self.step_count == 3:
            average = average + share[2] * np.sum(self._triple_masses, axis=0)
        return np.asarray(np.minimum(average, 1.0))

    @property
    def looks_like_decay(self) -> bool:
        """A ramp is likelier than the steps, when more than one is needed."""
        return not self.named and self.step_count > 1 and self.log_ramp > 0

    @cached_property
    def depth(self) -> Floats:
        """The ramp's x_i = (a_i + 1) / N over commits [N + 1]."""
        return np.concatenate(([0.0], self.reach.ancestor_counts / self.reach.size))

    @cached_property
    def pair_masses(self) -> tuple[Floats, ...]:
        """P(first step is c), P(second step is c) [N] if there are two; first in topological order."""
        joint = np.triu(np.exp(self._log_pair - logsumexp(self._log_pair))) * 2
        return tuple(self._over_candidates(joint.sum(axis=axis)) for axis in (1, 0))

    @cached_property
    def _triple_masses(self) -> tuple[Floats, ...]:
        return self._masses_of(*self._triples)

    def _masses_of(self, sets: Integers, log_m: Floats) -> tuple[Floats, ...]:
        """P(the first, second, … of a set is c) [N] each, for sets of patterns [s, m]."""
        weight = np.exp(log_m - logsumexp(log_m))
        count = len(self._class_prior)
        return tuple(
            self._over_candidates(np.bincount(column, weights=weight, minlength=count).astype(np.float64))
            for column in sets.T
        )

    def _over_candidates(self, class_mass: Floats) -> Floats:
        """The mass of patterns [k] shared out by the prior among their candidates [N]."""
        _, member = self._patterns
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(self._class_prior[member] > 0, self.prior / self._class_prior[member], 0.0)
        return np.asarray(class_mass[member] * inside)

    @cached_property
    def step(self) -> evidence.Fit:
        """The whole change from end to end, ends only."""
        samples = self._cleaned.select(self.ends)
        return evidence.fit(Design(samples), (samples.commit == self.reach.size).astype(np.float64)[None])

    @cached_property
    def d_prime(self) -> float:
        """The step in units of one execution's noise: delta * sqrt(information)."""
        if self.modes is not None:
            return max(self.modes.step, 0.0) * float(np.sqrt(self.modes.information))
        return self.change / max(self.step.sigma, 1e-9)


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
