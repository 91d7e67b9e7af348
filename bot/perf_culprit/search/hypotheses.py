"""The posterior over candidates: which commit explains the samples, by one step or more, after the named steps."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import factorial
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats, Integers
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search import pattern_evidence, two_mode_noise
from perf_culprit.search.noise import MachineNoise
from perf_culprit.search.pair_evidence import log_t
from perf_culprit.stats.conventions import ROUNDING

SLOW_SHARES: Final = (0.25, 0.5, 0.75)  # shares of slow executions on a machine in one of two states
PRICE: Final = float(np.log(0.15 / 0.80))  # logarithm of the price of one more step
RAMP_PRICE: Final = float(np.log(0.05 / 0.80))  # logarithm of the price of a decay instead of one step


@dataclass(frozen=True)
class StepSets:
    """`sets` of patterns [s, m] in topological order, and `log_m` [s]: log (prior * m) of each, in any order."""

    sets: Integers
    log_m: Floats

    @cached_property
    def log_total(self) -> float:
        return float(np.logaddexp.reduce(self.log_m)) if len(self.log_m) else -np.inf

    def masses(self, count: int) -> tuple[Floats, ...]:
        """P(the first, second, … step has each of `count` patterns), if the steps are one of the sets."""
        weight = np.exp(self.log_m - self.log_total)
        return tuple(np.bincount(column, weights=weight, minlength=count).astype(np.float64) for column in self.sets.T)


@dataclass(frozen=True, kw_only=True)
class SearchModel(MachineNoise):
    """The model of all samples. `named` are candidates (0..N-1); `prior` [N] sums to 1, or to 2 next to named ones."""

    prior: Floats
    named: tuple[int, ...] = ()

    @cached_property
    def _patterns(self) -> tuple[Floats, Integers]:
        """Distinct patterns over samples [k, n] and each hypothesis' pattern [N]."""
        commits = self.samples.measured()
        columns = np.stack([self.reach.column(int(commit)) for commit in commits])
        # Equal fingerprints mean equal patterns: 64 random bits per measured commit.
        bits = np.random.default_rng(0).integers(1, 2**63, size=len(commits), dtype=np.uint64)
        fingerprint = (columns * bits[:, None]).sum(axis=0, dtype=np.uint64)
        _, first, inverse = np.unique(fingerprint, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        place = np.searchsorted(commits, self.samples.commit)
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
        return self._log_one_somewhere - pattern_evidence.log_no_step(self.design)

    @cached_property
    def _log_one_somewhere(self) -> float:
        return float(np.logaddexp.reduce(self._log_first + self._log_class_prior))

    @cached_property
    def log_two_states(self) -> float:
        """Log BF of one step somewhere against none on a machine in one of two states, on all samples.

        The states are as far apart as the ends. Every execution draws one independently, with the most likely share. A
        sample near its expected end contributes up to ln 2. Rounds are assumed to have no offsets of their own.
        """
        y, commit = self.samples.y, self.samples.commit
        width = max(self.spread_bound, ROUNDING)
        fast, slow = (log_t((y - y[commit == end].mean()) / width) for end in (0, self.reach.size))
        some = self._patterns[0] @ (slow - fast) + fast.sum() + self._log_class_prior
        none = (np.logaddexp(fast + np.log(1 - share), slow + np.log(share)).sum() for share in SLOW_SHARES)
        return float(np.logaddexp.reduce(some)) - max(map(float, none))

    @cached_property
    def mass(self) -> Floats:
        """P(c | samples) [N] of the one (further) step."""
        return self._masses_of(self._steps[0])[0]

    @cached_property
    def _steps(self) -> tuple[StepSets, ...]:
        """One (further) step, two, and, if two are likelier, three among the likeliest patterns for one of two."""
        count, interior = len(self._class_prior), len(self.samples.measured()) - 2
        steps = [StepSets(np.arange(count)[:, None], self._log_one + self._log_class_prior)]
        if interior > 2:
            steps.append(self._sets(2, np.arange(count)))
        if interior > 3 and steps[1].log_total + PRICE > steps[0].log_total:
            likely = np.sum(steps[-1].masses(count), axis=0)
            steps.append(self._sets(3, np.sort(np.argsort(-likely, kind="stable")[: WORK_LIMITS.patterns_in_triples])))
        return tuple(steps)

    def _sets(self, size: int, among: Integers) -> StepSets:
        """Evaluate all sets of `size` of the patterns `among` these, each with all named steps."""
        sets = np.array(list(combinations(among.tolist(), size)), dtype=np.intp).reshape(-1, size)
        if not len(sets):
            return StepSets(sets, np.zeros(0))
        fixed = np.tile(np.arange(len(self.named)), (len(sets), 1))
        places = np.hstack([fixed, sets + len(self.named)]).astype(np.intp)
        log_m = pattern_evidence.log_sets(self.design, np.vstack([self.named_columns, self._patterns[0]]), places)
        return StepSets(sets, log_m + self._log_class_prior[sets].sum(axis=1) + float(np.log(factorial(size))))

    @cached_property
    def _log_counts(self) -> Floats:
        """Log (prior * m) of place + 1 steps, each with the price of one step more than the previous."""
        return np.array([steps.log_total + place * PRICE for place, steps in enumerate(self._steps)])

    @cached_property
    def step_count(self) -> int:
        """The number of (further) steps that explains the samples best: 1, 2 or 3; always 1 with a learned shape."""
        if self.modes is not None:
            return 1
        return int(np.argmin(np.append(np.diff(self._log_counts) > 0, False))) + 1

    @cached_property
    def log_further(self) -> float:
        """Log BF of more steps somewhere against the named steps alone, with the price of each extra step."""
        alone = np.arange(len(self.named))[None]
        none = float(pattern_evidence.log_sets(self.design, self.named_columns, alone)[0])
        return float(self._log_counts[self.step_count - 1]) - none + PRICE

    @cached_property
    def log_ramp(self) -> float:
        """Log BF of a steady decay against the best of one step, two and three, by the closed forms."""
        ramp = float(pattern_evidence.log_one_step(self.design, self.depth[self.samples.commit][None])[0])
        return ramp + RAMP_PRICE - max([self._log_one_somewhere, *map(float, self._log_counts[1:])])

    @cached_property
    def step_masses(self) -> tuple[Floats, ...]:
        """P(the first, second, … step is c) [N] each, for the number of steps that explains the samples best."""
        return self._masses_of(self._steps[self.step_count - 1])

    @cached_property
    def posterior(self) -> Floats:
        """P(c is a step) [N], averaged over up to the number of steps that explains the samples best."""
        log_counts = self._log_counts[: self.step_count]
        shares = np.exp(log_counts - np.logaddexp.reduce(log_counts))
        masses = [np.sum(self._masses_of(steps), axis=0) for steps in self._steps[: self.step_count]]
        return np.asarray(np.minimum(shares @ masses, 1.0))

    @property
    def looks_like_decay(self) -> bool:
        """Whether a ramp is likelier than the steps, if more than one is needed."""
        return not self.named and self.step_count > 1 and self.log_ramp > 0

    @cached_property
    def depth(self) -> Floats:
        """The ramp's x_i = (a_i + 1) / N over commits [N + 1]."""
        return np.concatenate(([0.0], self.reach.ancestor_counts / self.reach.size))

    def _masses_of(self, sets: StepSets) -> tuple[Floats, ...]:
        """P(the first, second, … of a set is c) [N] each: a pattern's mass, split by the prior."""
        _, member = self._patterns
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(self._class_prior[member] > 0, self.prior / self._class_prior[member], 0.0)
        return tuple(np.asarray(mass[member] * inside) for mass in sets.masses(len(self._class_prior)))
