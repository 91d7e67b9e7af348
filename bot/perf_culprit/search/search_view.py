"""Everything that follows from a state: samples, measurable commits, and the model of the samples."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.model.bisection import FailureKind, Job, Outcome, OutcomeKind, Phase, Purpose, Result, SearchState
from perf_culprit.model.run import short_hash
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.hypotheses import SearchModel
from perf_culprit.search.odds import ODDS_20
from perf_culprit.search.round_samples import Samples, orientation, samples_of

# A crash may be the machine's fault; a failed build is the commit's. Crashing as often as working is too often.
# Once may be chance: failures of a commit, and of confirmations, after which there are no more.
FAILURES_TO_STOP: Final = 2
HARDLY_WORKS: Final = 0.15  # chance to run below which a commit is not tried: between five in a row that failed
SMALL_RANGE: Final = 8  # up to this size each candidate is measured before an answer: steps may cancel
QUIET_ANALYSIS: Final = 2  # executions per end after which a machine is accepted as quiet
FIRST_ANALYSIS: Final = 10  # executions per end before any decision but an early start
WHOLE_ROUNDS: Final = 2  # rounds of all commits at the start of a small range
ROUNDS_WITHOUT_ENDS: Final = 3  # consecutive rounds without ends on a stable machine
LIKELY: Final = 0.8  # posterior from which on a suspect and its parent are the most useful commits

# What a round is for, and the commits that it measures.
Round = tuple[Purpose, tuple[int, ...]]


@dataclass(frozen=True)
class SearchView:
    """A state, interpreted. Commits are 0 (good end; merge bases too, once measured fast), 1..N candidates.

    Below 0 are the commits that no model contains: merge bases, then the candidates' parents outside the range.
    """

    state: SearchState
    reach: Descendants
    _models: dict[tuple[object, ...], SearchModel] = field(default_factory=dict, repr=False, compare=False)

    def later(self, state: SearchState) -> "SearchView":
        """Return the same search in this state: models that it had before are not computed again."""
        return SearchView(state, self.reach, self._models)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        commit_range = self.state.commit_range
        candidates = {commit: place + 1 for place, commit in enumerate(commit_range.commits)}
        return {commit_range.good: 0, **dict.fromkeys(commit_range.merge_bases, 0), **candidates}

    @property
    def suspect(self) -> int:
        """The candidate that is being confirmed."""
        return self.positions[self.state.suspect or ""] - 1

    def bare_outcome(self, kind: OutcomeKind) -> Outcome:
        """Return an answer with only what every answer has."""
        return Outcome(kind=kind, executions=self.executions, rounds=len(self.state.results), skipped=self.skipped)

    @cached_property
    def _beside(self) -> tuple[str, ...]:
        commit_range = self.state.commit_range
        return (*commit_range.merge_bases, *dict.fromkeys(commit_range.outside.values()))

    @cached_property
    def with_outside(self) -> Mapping[str, int]:
        """The positions, also those of parents outside the range."""
        outside = self.state.commit_range.outside.values()
        return {**self.positions, **{name: -1 - self._beside.index(name) for name in outside}}

    def short(self, commit: int) -> str:
        """Return the commit as a sentence names it."""
        return short_hash(self.name(commit))

    def name(self, commit: int) -> str:
        commit_range = self.state.commit_range
        if commit < 0:
            return self._beside[-1 - commit]
        return commit_range.commits[commit - 1] if commit else commit_range.good

    @cached_property
    def skipped(self) -> Mapping[str, str]:
        """Commits that cannot be measured, and the reason. Occasional crashes are no reason."""
        failures = [pair for result in self.state.results for pair in result.failures.items()]
        successes = Counter(commit for result in self.state.results for commit in result.values)
        crashes: dict[str, int] = {}
        skipped: dict[str, str] = {}
        for commit, failure in failures:
            crashes[commit] = crashes.get(commit, 0) + 1
            often = crashes[commit] >= max(FAILURES_TO_STOP, successes[commit])
            place = self.positions.get(commit)
            hardly = place is not None and not successes[commit] and self.works[place] < HARDLY_WORKS
            if failure.kind is not FailureKind.CRASHED or often or hardly:
                skipped[commit] = failure.message or str(failure.kind)
        return skipped

    @property
    def ends_fail(self) -> bool:
        commit_range = self.state.commit_range
        return any(one in self.skipped for one in (commit_range.good, commit_range.bad, *commit_range.merge_bases))

    @cached_property
    def works(self) -> Floats:
        """The chance that each commit can be measured [N + 1]: failures have neighbours.

        It is 1 between two commits that ran and 1 / (k + 2) between k in a row that failed. Between one that ran and
        one that failed it falls with the distance.
        """
        results = (*self.state.stored, *self.state.results)
        ran, failed = (np.zeros(self.reach.size + 1, dtype=np.bool_) for _ in range(2))
        for result in results:
            for marked, names in ((ran, result.values), (failed, result.failures)):
                marked[[self.positions[name] for name in names if name in self.positions]] = True
        failed &= ~ran
        places = np.flatnonzero(ran | failed)
        if not failed.any() or len(places) < 2:
            return np.ones(len(ran))
        row = np.cumsum(ran[places])
        chance = np.where(ran[places], 1.0, 1 / (np.bincount(row)[row] - (row > 0) + 2))
        return np.asarray(np.interp(np.arange(len(ran)), places, chance))

    @cached_property
    def usable(self) -> Booleans:
        """Whether each commit can be measured, as far as others show [N + 1]."""
        usable = self.works >= HARDLY_WORKS
        usable[[self.positions[commit] for commit in self.skipped if commit in self.positions]] = False
        return usable

    @cached_property
    def sign(self) -> int:
        """Sign that converts the model's step to a change of the metric: the change searched is a rise in the model."""
        return orientation(self.state)

    @cached_property
    def seeks_improvement(self) -> bool:
        return self.sign != self.state.settings.direction.worse_sign

    @property
    def samples(self) -> Samples:
        return self.model.samples

    @cached_property
    def before_phase(self) -> "SearchView":
        """The same without the measurements of the present phase; if there are no others, with its first round."""
        return self.before(max(self.state.since, 1))

    def before(self, result: int) -> "SearchView":
        """Return the same without this result and later ones."""
        return self.later(replace(self.state, results=self.state.results[:result]))

    @cached_property
    def unseen(self) -> tuple[int, ...]:
        """Measurable commits of a small range without a sample (1..N)."""
        if self.reach.size > SMALL_RANGE:
            return ()
        counts = self.samples.counts(self.reach.size + 1)
        return tuple(int(commit) for commit in np.flatnonzero(self.usable & (counts == 0)))

    @property
    def begins_whole(self) -> bool:
        """Whether the first rounds measure all commits: a small range needs all of them. Counts need no repetition.

        An expected change is checked at the ends first: most such alarms come from the machine. The ends also come
        first if the budget is too small.
        """
        settings, size = self.state.settings, self.reach.size
        is_affordable = settings.budget_executions >= WHOLE_ROUNDS * (size + 1)
        return 1 < size <= SMALL_RANGE and is_affordable and not settings.counts and settings.expected_change is None

    @cached_property
    def prior(self) -> Floats:
        """P(c) before any sample [N]: the caller's, or uniform; lower for unchanged commits and failed suspects."""
        state = self.state
        commits = state.commit_range.commits
        prior = np.array([state.prior.get(commit, 0.0) for commit in commits]) if state.prior else np.ones(len(commits))
        prior[list(state.commit_range.unchanged)] = 0.0
        for commit in state.withdrawn:
            prior[self.positions[commit] - 1] *= np.exp(-ODDS_20)
        return np.asarray(prior / prior.sum() if prior.sum() > 0 else np.full(len(commits), 1 / len(commits)))

    @cached_property
    def named(self) -> tuple[int, ...]:
        """Named candidates (0..N-1), in topological order."""
        return tuple(sorted(self.positions[step.commit] - 1 for step in self.state.named))

    @cached_property
    def _further_prior(self) -> Floats:
        """The prior of one more step [N]; 0 for named steps and commits inseparable from them.

        The named steps' parents and children have all of it a second time: work on one thing takes several commits.
        """
        prior, parents, named = self.prior.copy(), self.state.commit_range.parents, set(self.named)
        for candidate in self.named:
            prior[self.group_of(candidate)] = 0.0
        near = {child for child, own in enumerate(parents) if named & {*own}}.union(*(parents[at] for at in named))
        beside = np.where(np.isin(np.arange(len(prior)), [*near]), prior, 0.0)
        return np.asarray(prior / max(prior.sum(), 1e-300) + beside / max(beside.sum(), 1e-300))

    @property
    def exhausted(self) -> bool:
        """Whether the named steps leave no commit that could be a further one."""
        return not self._further_prior.any()

    @cached_property
    def model(self) -> SearchModel:
        state = self.state
        # Results are only ever added; jobs and phases are not part of the model.
        key = (len(state.results), state.settings, state.named, state.withdrawn)
        self._models[key] = model = self._models.pop(key, None) or SearchModel(
            reach=self.reach,
            samples=samples_of(state, self.positions),
            one_machine=state.settings.one_machine,
            prior=self.prior if self.exhausted else self._further_prior,
            named=self.named,
        )
        while len(self._models) > WORK_LIMITS.search_models:
            del self._models[next(iter(self._models))]
        return model

    @property
    def is_plain(self) -> bool:
        """Whether this is the first step on a stable machine: its posterior weighs the pair's rounds like others."""
        return self.model.is_stable and not self.model.is_quiet and not self.state.named

    @property
    def meets_parent(self) -> float:
        """Posterior at which a suspect is measured against its parent; a quiet machine soon is certain."""
        stop = self.state.settings.stop
        return stop if self.model.is_quiet or self.state.named else min(LIKELY, stop)

    @cached_property
    def skips_ends(self) -> bool:
        """Whether the next round of the search needs no ends: the machine is stable, and was checked recently."""
        names = {self.state.commit_range.good, self.state.commit_range.bad}
        recent = [job.commits for job in self.state.jobs[-ROUNDS_WITHOUT_ENDS:]]
        return self.model.is_stable and any(names <= set(commits) for commits in recent)

    @cached_property
    def pending(self) -> tuple[Job, ...]:
        closed = {result.job_id for result in self.state.results} | set(self.state.abandoned)
        return tuple(job for job in self.state.jobs if job.id not in closed)

    @cached_property
    def executions(self) -> int:
        """Runs of the benchmark so far, including failed ones; stored ones cost nothing."""
        return executions(self.state.results)

    @property
    def fresh_executions(self) -> int:
        return executions(self.state.results[self.state.since :])

    @cached_property
    def fresh_rounds(self) -> int:
        """Rounds of the present phase with numbers."""
        return sum(bool(result.values) for result in self.state.results[self.state.since :])

    @property
    def left(self) -> int:
        """Executions that the budget still allows, after pending ones."""
        committed = sum(len(job.commits) for job in self.pending)
        return self.state.settings.budget_executions - self.executions - committed

    @cached_property
    def groups(self) -> npt.NDArray[np.uint64]:
        """A fingerprint per hypothesis [N]; equal if no measurable commit separates them."""
        bits = np.random.default_rng(1).integers(1, 2**63, size=self.reach.size + 1, dtype=np.uint64)
        return self.reach.descendant_sums(np.where(self.usable, bits, 0).astype(np.uint64))

    def group_of(self, candidate: int) -> Integers:
        """Return the candidates inseparable from this one, including itself; without those of zero prior."""
        if self.usable.all():
            return np.array([candidate])
        same = np.flatnonzero((self.groups == self.groups[candidate]) & ((self.prior > 0) | (self.groups.size == 1)))
        return np.union1d(same, [candidate])

    @cached_property
    def leading(self) -> tuple[int, float]:
        """The most probable candidate with the mass of its group: commits that no measurement separates."""
        best = int(np.argmax(self.model.posterior))
        return best, self.posterior(best)

    def posterior(self, candidate: int) -> float:
        """P(a step is this candidate, or one that no measurement separates from it)."""
        return float(self.model.posterior[self.group_of(candidate)].sum())

    def edges(self, candidate: int) -> tuple[tuple[int, ...], int]:
        """Commits that a confirmation compares: the nearest measurable before and at or after a candidate (0..N).

        A parent outside the range is below 0. There is none before if such a parent cannot be measured.
        """
        reached = np.flatnonzero(self.reach.row(candidate) & self.usable)
        after = int(reached[0]) if reached.size else self.reach.size
        return tuple(sorted(self._usable_before(candidate))[-2:]), after

    def _usable_before(self, candidate: int) -> set[int]:
        commit_range = self.state.commit_range
        usable: set[int] = set()
        seen: set[int] = set()
        waiting = [candidate]
        while waiting:
            at = waiting.pop()
            own, outside = commit_range.parents[at], commit_range.outside.get(commit_range.commits[at])
            if outside is not None and outside not in self.skipped:
                usable.add(self.with_outside[outside])
            elif not own and outside is None:
                usable.add(0)
            for parent in own:
                if self.usable[parent + 1]:
                    usable.add(parent + 1)
                elif parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return usable


def executions(results: tuple[Result, ...]) -> int:
    return sum(len(result.values) + len(result.failures) for result in results)


def phase_start(state: SearchState) -> Phase:
    """Return the first phase: merge bases, if any, must be measured before the range."""
    return Phase.MERGE_BASE if state.commit_range.merge_bases else Phase.REPRODUCE
