"""The posterior over candidates: which commit explains the samples, one step or two, beside the steps named before."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from perf_culprit.search import pattern_evidence, two_mode_noise
from perf_culprit.search.multi_step import StepSets, weighed_sets
from perf_culprit.search.noise import SMALLEST_SPREAD, MachineNoise
from perf_culprit.search.pair_evidence import log_t

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]

ONE_STEP_PRIOR: Final = 0.80
TWO_STEPS_PRIOR: Final = 0.15
RAMP_PRIOR: Final = 0.05
THREE_STEPS_PRIOR: Final = 0.05  # asked for only where a decay would be the answer
LARGEST_TRIPLE: Final = 12  # patterns of which three are taken
LARGEST_PAIRED: Final = 10  # patterns of which two further ones are taken
SLOW_SHARES: Final = (0.25, 0.5, 0.75)  # of a machine that may be in one of two states
PRICE: Final = float(np.log(TWO_STEPS_PRIOR / ONE_STEP_PRIOR))  # of one step more


@dataclass(frozen=True, kw_only=True)
class Model(MachineNoise):
    """All that the samples say. `prior` [N] sums to 1; `named` are candidates (0..N-1) that are steps already."""

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
    def _log_class_prior(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._class_prior))

    def column_of(self, candidate: int) -> Floats:
        """x_c over the samples [n]."""
        return self.reach.row(candidate)[self.samples.commit].astype(np.float64)

    @cached_property
    def named_columns(self) -> Floats:
        columns = [self.column_of(candidate) for candidate in self.named]
        return np.array(columns).reshape(len(columns), self.samples.count)

    @cached_property
    def _log_first(self) -> Floats:
        """Log m of one step and no other, by pattern [k] and the closed form."""
        return pattern_evidence.log_one_step(self.design, self._patterns[0])

    @cached_property
    def _log_one(self) -> Floats:
        """Log m of one further step, by pattern [k]."""
        patterns, _ = self._patterns
        if self.named:
            return pattern_evidence.log_further_steps(self.design, self.named_columns, patterns)
        if self.modes is None:
            return self._log_first
        block = self.samples.block
        return two_mode_noise.log_classes(self.samples.y, block, patterns, self.modes, references=int(self.ends.sum()))

    @cached_property
    def log_change(self) -> float:
        """Log BF of one step somewhere against none, on all samples, by the closed forms."""
        some = self._log_first + self._log_class_prior
        return float(np.logaddexp.reduce(some)) - pattern_evidence.log_no_step(self.design)

    @cached_property
    def log_two_states(self) -> float:
        """Log BF of one step somewhere against none on a machine in one of two states, on all samples.

        The states are as far apart as the ends and drawn independently by every execution, with the best share.
        A sample that lies beside the right end says up to ln 2. Rounds are taken to have no offsets of their own.
        """
        y, commit = self.samples.y, self.samples.commit
        width = max(self.spread_bound, SMALLEST_SPREAD)
        fast, slow = (log_t((y - y[commit == end].mean()) / width) for end in (0, self.reach.size))
        some = self._patterns[0] @ (slow - fast) + fast.sum() + self._log_class_prior
        none = (np.logaddexp(fast + np.log(1 - share), slow + np.log(share)).sum() for share in SLOW_SHARES)
        return float(np.logaddexp.reduce(some)) - max(map(float, none))

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
        some = float(np.logaddexp.reduce(self._log_one + self._log_class_prior))
        alone = np.arange(len(self.named))[None]
        none = float(pattern_evidence.log_sets(self.design, self.named_columns, alone)[0])
        return max(some - none + PRICE, self._further_pairs.log_total - none + 2 * PRICE)

    def _sets(self, size: int, among: Integers) -> StepSets:
        return weighed_sets(
            self.design,
            self._patterns[0],
            self._log_class_prior,
            size=size,
            among=among.tolist(),
            named=self.named_columns,
        )

    @cached_property
    def _further_pairs(self) -> StepSets:
        """Two further steps at once, which cancel where neither shows alone.

        Asked for in small ranges only, where every commit is measured; longer ones cannot see such a pair anyway.
        """
        count = len(self._class_prior)
        return self._sets(2, np.arange(count if self.named and count <= LARGEST_PAIRED else 0))

    @cached_property
    def _further_two(self) -> bool:
        """Two further steps are likelier than one, the price of the second paid."""
        return self._further_pairs.log_total + PRICE > float(np.logaddexp.reduce(self._log_one + self._log_class_prior))

    @cached_property
    def _pairs(self) -> StepSets:
        return self._sets(2, np.arange(len(self._class_prior)))

    @cached_property
    def _triples(self) -> StepSets:
        """Three steps among the likeliest patterns for one of two."""
        if not np.isfinite(self._pairs.log_total):  # too few commits can be a step
            return self._pairs
        likely = np.sum(self._pairs.masses(len(self._class_prior)), axis=0)
        return self._sets(3, np.sort(np.argsort(-likely, kind="stable")[:LARGEST_TRIPLE]))

    @cached_property
    def _log_shapes(self) -> tuple[float, float, float]:
        """Log (prior * m) of one step, of two, and of a steady decay."""
        one = float(np.logaddexp.reduce(self._log_first + self._log_class_prior))
        ramp = float(pattern_evidence.log_one_step(self.design, self.depth[self.samples.commit][None])[0])
        two = self._pairs.log_total + float(np.log(TWO_STEPS_PRIOR))
        return one + float(np.log(ONE_STEP_PRIOR)), two, ramp + float(np.log(RAMP_PRIOR))

    @cached_property
    def _log_three(self) -> float:
        return self._triples.log_total + float(np.log(THREE_STEPS_PRIOR))

    @cached_property
    def log_ramp(self) -> float:
        """Log BF of a steady decay against the best of one step, two and three."""
        one, two, ramp = self._log_shapes
        return ramp - max(one, two, self._log_three)

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
            return self._masses_of(self._further_pairs)
        return self._masses_of(self._pairs if self.step_count == 2 else self._triples)

    @cached_property
    def posterior(self) -> Floats:
        """P(c is a step) [N], averaged over up to as many steps as explain the samples best."""
        if self.step_count == 1:
            return self.mass
        if self.named:
            return np.asarray(np.minimum(np.sum(self.step_masses, axis=0), 1.0))
        one, two, _ = self._log_shapes
        three = self._log_three if self.step_count == 3 else -np.inf
        share = np.exp(np.array([one, two, three]) - np.logaddexp.reduce([one, two, three]))
        average = share[0] * self.mass + share[1] * np.sum(self._masses_of(self._pairs), axis=0)
        if self.step_count == 3:
            average = average + share[2] * np.sum(self.step_masses, axis=0)
        return np.asarray(np.minimum(average, 1.0))

    @property
    def looks_like_decay(self) -> bool:
        """A ramp is likelier than the steps, when more than one is needed."""
        return not self.named and self.step_count > 1 and self.log_ramp > 0

    @cached_property
    def depth(self) -> Floats:
        """The ramp's x_i = (a_i + 1) / N over commits [N + 1]."""
        return np.concatenate(([0.0], self.reach.ancestor_counts / self.reach.size))

    def _masses_of(self, sets: StepSets) -> tuple[Floats, ...]:
        """P(the first, second, … of a set is c) [N] each: the mass of patterns shared out by the prior among theirs."""
        _, member = self._patterns
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(self._class_prior[member] > 0, self.prior / self._class_prior[member], 0.0)
        return tuple(np.asarray(mass[member] * inside) for mass in sets.masses(len(self._class_prior)))
