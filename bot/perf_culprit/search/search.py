"""The search from its callers' view: propose rounds, record their results, return the outcome."""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import median
from typing import Final, Protocol

import numpy as np
from msgspec.structs import replace

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.bisection import (
    CommitRange,
    Engine,
    Failure,
    FailureKind,
    Job,
    Outcome,
    OutcomeKind,
    Phase,
    Progress,
    Purpose,
    Result,
    SearchSettings,
    SearchState,
)
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search import bayes, failure_rates, weighted
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.odds import ODDS_20
from perf_culprit.search.search_view import Round, SearchView, phase_start

SEARCH_PLACE: Final = "the bisection"
OPEN_KINDS: Final = frozenset({OutcomeKind.BUDGET_SPENT, OutcomeKind.INCONCLUSIVE})


class EngineModule(Protocol):
    """The decisions of an engine; everything is a function of the standing alone."""

    def next_rounds(self, standing: SearchView, k: int) -> Sequence[Round]: ...
    def advance(self, standing: SearchView) -> SearchState: ...
    def partial_outcome(self, standing: SearchView) -> Outcome: ...
    def suspects(self, standing: SearchView) -> tuple[str, ...]: ...
    def progress(self, standing: SearchView) -> Progress: ...


ENGINES: Final[dict[Engine, EngineModule]] = {Engine.BAYES: bayes, Engine.WEIGHTED: weighted}


class Search:
    """A search in progress. Its `state` is all that it knows: `Search(state)` resumes where another stopped."""

    def __init__(self, state: SearchState) -> None:
        self._engine = failure_rates if state.settings.of_failures else ENGINES[state.settings.engine]
        self._standing = SearchView(state, Descendants(state.commit_range))

    @property
    def state(self) -> SearchState:
        return self._standing.state

    @classmethod
    def start(
        cls,
        commit_range: CommitRange,
        *,
        settings: SearchSettings,
        prior: Mapping[str, float] | None = None,
        stored: Sequence[Mapping[str, Sequence[float]]] = (),
    ) -> "Search":
        """Start a new search with a `prior` by commit (default uniform).

        `stored` are samples of earlier runs by commit, one mapping per run, each a block of its own.
        """
        _check(settings)
        state = SearchState(
            commit_range=commit_range, settings=settings, prior=dict(prior or {}), stored=tuple(_stored_results(stored))
        )
        search = cls(replace(state, phase=phase_start(state)))
        search._decide(search.state)
        return search

    def _decide(self, state: SearchState) -> None:
        standing = self._standing.later(state)
        advanced = self._engine.advance(standing)
        self._standing = standing if advanced is state else standing.later(advanced)

    def propose(self, k: int = 1) -> tuple[Job, ...]:
        """Return up to `k` more jobs to run in parallel; none at the end or if only pending ones can help."""
        state = self.state
        jobs: list[Job] = []
        budget = self._standing.left
        for purpose, commits in self._engine.next_rounds(self._standing, k):
            if len(commits) > budget:
                break
            budget -= len(commits)
            jobs.append(self._job(len(state.jobs) + len(jobs), purpose, commits))
        if jobs:
            self._standing = self._standing.later(replace(state, jobs=(*state.jobs, *jobs)))
        elif not self._standing.pending and state.outcome is None:
            # No more measurements are allowed, so the present answer is final.
            outcome = self._engine.partial_outcome(self._standing)
            self._standing = self._standing.later(replace(state, outcome=outcome))
        return tuple(jobs)

    def _job(self, number: int, purpose: Purpose, commits: Sequence[int]) -> Job:
        names = [self._standing.name(commit) for commit in commits]
        order: Sequence[int] = range(len(names))
        if purpose is not Purpose.REPRODUCE or len(names) > len(("good", "bad")):  # the ends alone alternate instead
            order = np.random.default_rng([self.state.settings.seed, number]).permutation(len(names)).tolist()
        return Job(id=f"round-{number + 1:04d}", commits=tuple(names[place] for place in order), purpose=purpose)

    @property
    def pending(self) -> tuple[Job, ...]:
        """Jobs that were proposed and neither recorded nor abandoned."""
        return self._standing.pending

    def abandon(self, job_id: str) -> None:
        """Give a job up (lost machine, timeout): its commits may be proposed again."""
        self._known(job_id)
        if any(job.id == job_id for job in self.pending):
            self._decide(replace(self.state, abandoned=(*self.state.abandoned, job_id)))

    def _known(self, job_id: str) -> Job:
        for job in self.state.jobs:
            if job.id == job_id:
                return job
        raise DataError(
            f"no job {job_id!r} was proposed", place=SEARCH_PLACE, next_step="record jobs of this search only"
        )

    def record(
        self, job_id: str, samples: Mapping[str, Sequence[float]], failures: Mapping[str, Failure] | None = None
    ) -> bool:
        """Record a job's samples by commit, and the failures of commits without samples.

        Several numbers of a commit belong to one execution and count by their median. Returns False, and ignores the
        data, if the job was recorded before. An abandoned job may still be recorded.
        """
        job = self._known(job_id)
        if any(result.job_id == job_id for result in self.state.results):
            return False
        strangers = (set(samples) | set(failures or {})) - set(job.commits)
        if strangers:
            raise DataError(
                f"job {job_id} did not ask for {min(strangers)}",
                place=SEARCH_PLACE,
                next_step="record what the job measured",
            )
        result = _result(job_id, samples, failures or {})
        if not result.values and not result.failures:
            self.abandon(job_id)
            return True
        self._decide(replace(self.state, results=(*self.state.results, result)))
        return True

    def outcome(self) -> Outcome | None:
        """Return the answer, or None while rounds are still wanted."""
        return self.state.outcome

    def partial_outcome(self) -> Outcome:
        """Return the best answer so far, for a search that is stopped from outside."""
        return self.state.outcome or self._engine.partial_outcome(self._standing)

    @property
    def shows_worsening(self) -> bool:
        """Whether the bad end is certainly worse than the good one, whichever commit caused it."""
        return not self._standing.seeks_improvement and self._standing.model.log_reproduced > ODDS_20

    @property
    def suspects(self) -> tuple[str, ...]:
        """The commits that the rounds in progress may name."""
        return self._engine.suspects(self._standing)

    def progress(self) -> Progress:
        return self._engine.progress(self._standing)


def _result(job_id: str, samples: Mapping[str, Sequence[float]], failures: Mapping[str, Failure]) -> Result:
    values: dict[str, tuple[float, ...]] = {}
    failed = dict(failures)
    for commit, numbers in samples.items():
        if not numbers or commit in failed:
            continue
        value = float(median(numbers)) if all(isfinite(number) for number in numbers) else 0.0
        if value > 0:
            values[commit] = (value,)
        else:
            failed[commit] = Failure(kind=FailureKind.UNUSABLE, message="its numbers are not positive and finite")
    return Result(job_id=job_id, values=values, failures=failed)


def _stored_results(stored: Sequence[Mapping[str, Sequence[float]]]) -> Sequence[Result]:
    usable = (
        {
            commit: tuple(number for number in numbers if isfinite(number) and number > 0)
            for commit, numbers in run.items()
        }
        for run in stored
    )
    return [
        Result(job_id=f"stored-{place + 1}", values={commit: numbers for commit, numbers in run.items() if numbers})
        for place, run in enumerate(usable)
    ]


def _check(settings: SearchSettings) -> None:
    def refuse(what: str) -> None:
        raise UsageError(what, place=SEARCH_PLACE, next_step="correct the setting")

    if not 0.5 < settings.stop < 1:
        refuse(f"stop {settings.stop} is not between 0.5 and 1")
    if not 1 <= settings.suspects_per_round <= WORK_LIMITS.suspects:
        refuse(f"suspects_per_round {settings.suspects_per_round} is not between 1 and {WORK_LIMITS.suspects}")
    if settings.budget_executions < 4:
        refuse(f"a budget of {settings.budget_executions} executions measures nothing")
    if not 0 < settings.alpha < 1:
        refuse(f"alpha {settings.alpha} is not between 0 and 1")
    if settings.repetitions < 3:
        refuse(f"{settings.repetitions} repetitions tell nothing about the noise")


def with_budget(state: SearchState, executions: int) -> SearchState:
    """Return the search with a larger budget; if it had stopped for the smaller one, it resumes with all its data.

    It restarts at the reproduction, which all the data pass at once if the change was reproduced before.
    """
    if executions <= state.settings.budget_executions:
        return state
    state = replace(state, settings=replace(state.settings, budget_executions=executions))
    if state.outcome is None or state.outcome.kind not in OPEN_KINDS:
        return state
    return replace(state, phase=Phase.REPRODUCE, since=0, suspect=None, outcome=None)
