"""One event of a bisection: take the results, decide, store, dispatch and report.

If a job is killed in between, the next call resumes from the stored state. A result counts once, even if it arrives
several times. A dispatch is sent by the controller that stored it, or by another one after that one has surely died.
"""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from msgspec.structs import replace

from perf_culprit.dispatch.bisection_view import step_of
from perf_culprit.dispatch.counts_then_times import by_counts, following
from perf_culprit.dispatch.recovery import is_still_there
from perf_culprit.dispatch.stored_samples import record_search
from perf_culprit.errors import BotError, DataError, InfrastructureError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import Job, SearchState
from perf_culprit.model.dispatch import (
    Bisection,
    BisectionStep,
    BisectJob,
    BisectJobResult,
    Dispatch,
    RunFacts,
    parse_run_title,
    run_title,
)
from perf_culprit.model.reason import Objection, Reason, SearchReason, because
from perf_culprit.search.search import Search
from perf_culprit.store.branch_files import BisectionConflictError
from perf_culprit.store.protocol import BisectionStore, LoadedBisection, Store

# If a stored dispatch has no run after this time, its controller died before sending it.
SENDER_IS_LATE: Final = timedelta(minutes=5)
UPLOAD: Final = "nothing of it counts; upload what bisect-job wrote"
REWRITTEN: Final = "the history branch was rewritten or put back; start again with a new command, or restore the branch"


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """The results of a dispatch, and why some were refused. A job without a result is just lost."""

    results: tuple[BisectJobResult, ...] = ()
    refused: tuple[Reason, ...] = ()


class Dispatcher(Protocol):
    """Measures dispatches: on other machines (`workflow_dispatcher.Workflow`), or here (`local_dispatcher.Here`)."""

    def send(self, bisection: Bisection, dispatch: Dispatch) -> int | None:
        """Start measuring, and return the id of the run that does it. None if it is not known yet."""

    def find(self, title: str) -> int | None:
        """Return the id of the run with this title. None if it is not visible (yet)."""

    def look(self, run_id: int) -> RunFacts | None: ...

    def results(self, bisection: Bisection, dispatch: Dispatch, *, run_id: int) -> Collected: ...


def nobody(_: BisectionStep) -> None:
    return None


def no_objection(_: Bisection) -> Objection | None:
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Controller:
    """`report` gets every step, after it was stored. `history` gets the measurements of a trusted bisection.

    `objection` tells why nothing more may be measured (a changed pull request). It runs before every dispatch. `begun`
    is a search by times that resumes if the search by counts does not answer.
    """

    bisections: BisectionStore
    dispatcher: Dispatcher
    report: Callable[[BisectionStep], None] = nobody
    history: Store | None = None
    objection: Callable[[Bisection], Objection | None] = no_objection
    begun: SearchState | None = None
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    name: str = field(default_factory=lambda: secrets.token_hex(8))


def end_search(bisection: Bisection, *, note: Reason) -> Bisection:
    """End the bisection with the best answer so far, without waiting for anything under way."""
    bisection = by_counts(bisection)
    outcome = Search(bisection.search).partial_outcome()
    outcome = replace(outcome, notes=(*outcome.notes, note))
    closed = tuple(replace(entry, closed=True) for entry in bisection.dispatches)
    return replace(bisection, search=replace(bisection.search, outcome=outcome), dispatches=closed, times=None)


def stop_search(bisection: Bisection, objection: Objection) -> Bisection:
    """End the bisection because of an objection, which its answer then states."""
    done = end_search(bisection, note=bisection.objected(objection))
    return replace(done, stopped=objection)


def stop_bisection(controller: Controller, name: str, *, objection: Objection) -> BisectionStep | None:
    """End an unfinished bisection and report it. None if it does not exist or has already ended."""
    for _ in range(ARTIFACT_LIMITS.conflicts):
        loaded = controller.bisections.load(name)
        if loaded is None or loaded.bisection.is_done:
            return None
        bisection = stop_search(loaded.bisection, objection)
        try:
            controller.bisections.store(bisection, expected=loaded.version)
        except BisectionConflictError:
            continue
        step = step_of(bisection)
        controller.report(step)
        return step
    raise InfrastructureError(f"others keep storing bisection {name}", next_step="run the job again")


def settle(
    controller: Controller,
    bisection: Bisection,
    *,
    loaded: LoadedBisection | None,
    remarks: Sequence[Reason] = (),
    waiting: Reason | None = None,
) -> BisectionStep:
    """Take the bisection's next step. `waiting`: why nothing can be decided yet. `remarks` are for the answer."""
    if waiting is None:
        bisection = following(bisection, controller.begun)
    if not bisection.is_done and waiting is None:
        bisection = _stop(controller, bisection)
    if not bisection.is_done and bisection.open_dispatch is None:
        bisection = _propose(controller, bisection)
    version = None if loaded is None else loaded.version
    if loaded is None or bisection != loaded.bisection:
        version = controller.bisections.store(bisection, expected=version)
    dispatched = bisection.open_dispatch
    if waiting is None and not bisection.is_done and dispatched is not None and dispatched.run_id is None:
        bisection = _send(controller, bisection, dispatched, version)
    bisection = _record(controller, bisection, version)
    step = step_of(bisection, waiting=waiting, remarks=tuple(remarks))
    controller.report(step)
    return step


def _stop(controller: Controller, bisection: Bisection) -> Bisection:
    """End the search if continuing is useless or unwanted, or if no time is left."""
    objection = controller.objection(bisection)
    if objection is not None:
        return stop_search(bisection, objection)
    if is_still_there(bisection):
        return end_search(bisection, note=because(SearchReason.STILL_THERE))
    if bisection.deadline is not None and controller.now() > bisection.deadline:
        return end_search(bisection, note=because(SearchReason.TIME_SPENT))
    if bisection.open_dispatch is None and bisection.alarm is not None and bisection.alarm.proves is not None:
        # A second measurement that proves a regression has all rounds in one dispatch. More rounds after a look at
        # these would raise its rate of false alarms.
        return end_search(bisection, note=because(SearchReason.TIME_SPENT))
    if bisection.fruitless >= ARTIFACT_LIMITS.fruitless_dispatches:
        return end_search(bisection, note=because(SearchReason.DISPATCHES_FRUITLESS, count=bisection.fruitless))
    return bisection


def _propose(controller: Controller, bisection: Bisection) -> Bisection:
    """Add the next dispatch, or the outcome if nothing is left to measure."""
    search = Search(bisection.search)
    rounds = search.propose(bisection.jobs_per_dispatch * bisection.rounds_per_job)
    bisection = replace(bisection, search=search.state)
    if not rounds:
        follows = following(bisection, controller.begun)
        return bisection if follows is bisection else _propose(controller, follows)
    number = len(bisection.dispatches) + 1
    dispatch = Dispatch(
        # The random part distinguishes it from an earlier dispatch of this number on a branch that was rewritten.
        id=f"{number}-{secrets.token_hex(4)}",
        jobs=_with_diagnosis(bisection, _jobs(rounds, machines=bisection.jobs_per_dispatch)),
        sender=controller.name,
        stored_at=controller.now(),
    )
    return replace(bisection, dispatches=(*bisection.dispatches, dispatch))


def _jobs(rounds: Sequence[Job], *, machines: int) -> tuple[BisectJob, ...]:
    """Put neighbouring rounds on one machine, so that several share its start-up."""
    count = min(machines, len(rounds))
    ends = [len(rounds) * number // count for number in range(count + 1)]
    return tuple(
        BisectJob(id=f"job-{number + 1}", rounds=tuple(rounds[ends[number] : ends[number + 1]]))
        for number in range(count)
    )


def _with_diagnosis(bisection: Bisection, jobs: tuple[BisectJob, ...]) -> tuple[BisectJob, ...]:
    """Let a machine that measures a possible answer also profile it, so that the answer tells where the change is."""
    diagnosed = {diagnosis.commit for diagnosis in bisection.diagnoses}
    suspects = (one for one in Search(bisection.search).suspects if one not in diagnosed)
    wanted = suspects if bisection.commands.profile_seconds else iter(())
    return tuple(replace(job, diagnose=next(wanted, None)) for job in jobs)


def _send(controller: Controller, bisection: Bisection, dispatch: Dispatch, version: str | None) -> Bisection:
    try:
        run_id = controller.dispatcher.send(bisection, dispatch)
    except BotError:
        # It is no longer being sent, so the next call need not wait. If this is lost too, it waits.
        _store_quietly(controller, bisection.with_dispatch(replace(dispatch, sender="")), version)
        raise
    if run_id is None:
        return bisection
    sent = bisection.with_dispatch(replace(dispatch, run_id=run_id))
    try:
        controller.bisections.store(sent, expected=version)
    except BisectionConflictError:
        # The run was faster than this reply, and another controller found it by its title.
        return bisection
    return sent


def _store_quietly(controller: Controller, bisection: Bisection, version: str | None) -> None:
    with suppress(InfrastructureError):
        controller.bisections.store(bisection, expected=version)


def _record(controller: Controller, bisection: Bisection, version: str | None) -> Bisection:
    """Record the measurements of an ended bisection in the history. Recording a run again changes nothing there."""
    if not (bisection.is_done and bisection.trusted and not bisection.recorded) or controller.history is None:
        return bisection
    record_search(controller.history, bisection)
    recorded = replace(bisection, recorded=True)
    _store_quietly(controller, recorded, version)
    return recorded


@dataclass(frozen=True, kw_only=True, slots=True)
class _Claim:
    """A finished run whose title names its bisection and dispatch."""

    bisection: str
    dispatch: str
    run_id: int


def advance_bisection(
    controller: Controller, *, run_id: int | None = None, bisection: str | None = None, from_inside: bool = False
) -> BisectionStep:
    """Resume the bisection of a completed run of the bisect workflow, or the one with this id.

    `from_inside`: the caller is that run's own last job, so its bisect jobs are over though the run is not. Any number
    of calls, at any time, from any number of machines, do no harm.
    """
    claim = None if run_id is None else _claim(controller, run_id, from_inside=from_inside)
    name = claim.bisection if claim is not None else bisection
    if name is None:
        raise DataError("neither a run nor a bisection is named", next_step="name one of them")
    return advance_named(controller, name, claim=claim)


def _claim(controller: Controller, run_id: int, *, from_inside: bool) -> _Claim:
    facts = controller.dispatcher.look(run_id)
    words = None if facts is None else parse_run_title(facts.title)
    if facts is None or words is None:
        raise DataError(
            "is not a run of a bisection",
            place=f"workflow run {run_id}",
            next_step="keep `run-name` in the bisect workflow as it was given",
        )
    if not facts.is_completed and not from_inside:
        raise InfrastructureError(
            "is not over yet", place=f"workflow run {run_id}", next_step="run this job again when it is"
        )
    return _Claim(bisection=words[0], dispatch=words[1], run_id=run_id)


def advance_named(controller: Controller, name: str, *, claim: _Claim | None = None) -> BisectionStep:
    cache: dict[int, Collected] = {}
    for _ in range(ARTIFACT_LIMITS.conflicts):
        loaded = controller.bisections.load(name)
        if loaded is None:
            raise DataError(f"bisection {name} is not on the history branch", next_step=REWRITTEN)
        event = _Event(controller, loaded, cache)
        try:
            return event.handle(claim)
        except BisectionConflictError:
            continue
    raise InfrastructureError(
        f"others stored bisection {name} {ARTIFACT_LIMITS.conflicts} times in a row", next_step="run the job again"
    )


class _Event:
    """One attempt to handle an event on the loaded version."""

    def __init__(self, controller: Controller, loaded: LoadedBisection, cache: dict[int, Collected]) -> None:
        self._controller = controller
        self._loaded = loaded
        self._cache = cache
        self._bisection = loaded.bisection
        self._remarks: list[Reason] = []

    def handle(self, claim: _Claim | None) -> BisectionStep:
        if claim is not None and not self._bisection.is_done:
            self._take_claim(claim)
        waiting = self._take_open()
        return settle(self._controller, self._bisection, loaded=self._loaded, remarks=self._remarks, waiting=waiting)

    def _take_claim(self, claim: _Claim) -> None:
        dispatch = next((entry for entry in self._bisection.dispatches if entry.id == claim.dispatch), None)
        if dispatch is None:
            self._remarks.append(because(SearchReason.RUN_UNKNOWN, run=claim.run_id, dispatch=claim.dispatch))
        elif dispatch.run_id not in (None, claim.run_id):
            self._remarks.append(
                because(SearchReason.RUN_OF_OTHER, run=claim.run_id, dispatch=dispatch.id, sent=dispatch.run_id)
            )
        else:
            self._take(dispatch, claim.run_id)

    def _take_open(self) -> Reason | None:
        """Take the results of the dispatch under way. If that is not possible yet, return the reason."""
        dispatch = self._bisection.open_dispatch
        if dispatch is None or self._bisection.is_done:
            return None
        run_id = dispatch.run_id
        if run_id is None:
            run_id = self._controller.dispatcher.find(run_title(self._bisection.id, dispatch.id))
        if run_id is None:
            return self._take_over(dispatch)
        self._bisection = self._bisection.with_dispatch(replace(dispatch, run_id=run_id))
        facts = self._controller.dispatcher.look(run_id)
        if facts is not None and not facts.is_completed:
            return because(SearchReason.RUN_UNDER_WAY, run=run_id)
        self._take(dispatch, run_id)
        return None

    def _take_over(self, dispatch: Dispatch) -> Reason | None:
        """Take over a dispatch that was never sent, unless its sender may still send it."""
        now = self._controller.now()
        # The same name means an earlier attempt of this job, which is over.
        is_of_another = dispatch.sender not in ("", self._controller.name)
        if is_of_another and now - dispatch.stored_at < SENDER_IS_LATE:
            return because(SearchReason.BEING_SENT, dispatch=dispatch.id)
        self._remarks.append(because(SearchReason.SENT_LATE, dispatch=dispatch.id))
        self._bisection = self._bisection.with_dispatch(replace(dispatch, sender=self._controller.name, stored_at=now))
        return None

    def _take(self, dispatch: Dispatch, run_id: int) -> None:
        """Take the run's results. Mark the rounds that it did not measure as lost."""
        if run_id not in self._cache:
            self._cache[run_id] = self._controller.dispatcher.results(self._bisection, dispatch, run_id=run_id)
        collected = self._cache[run_id]
        self._remarks += collected.refused
        before = len(self._bisection.search.results)
        for result in collected.results:
            try:
                self._bisection = take_result(self._bisection, result)
            except DataError as error:
                self._remarks.append(because(SearchReason.RESULT_REFUSED, job=result.job, why=error.message))
        gained = len(self._bisection.search.results) - before
        search = Search(self._bisection.search)
        lost = [job.id for job in search.pending if job.id in dispatch.rounds]
        for job_id in lost:
            search.abandon(job_id)
        if lost:
            self._remarks.append(because(SearchReason.ROUNDS_LOST, lost=len(lost), rounds=len(dispatch.rounds)))
        fruitless = self._bisection.fruitless if dispatch.closed else self._bisection.fruitless + 1
        self._bisection = replace(
            self._bisection, search=search.state, fruitless=0 if gained else fruitless
        ).with_dispatch(replace(dispatch, run_id=run_id, closed=True))


def take_result(bisection: Bisection, result: BisectJobResult) -> Bisection:
    """Record the result's rounds, each at most once.

    The first result defines unit and direction of a metric that the history did not know. Later ones must agree.
    """
    state, metric = bisection.search, bisection.metric
    if result.metric is not None:
        if result.metric.name != bisection.key.metric:
            raise DataError("it is of another metric", next_step=UPLOAD)
        if metric is None:
            metric = result.metric
            state = replace(state, settings=replace(state.settings, direction=metric.direction))
        if (result.metric.unit, result.metric.direction) != (metric.unit, metric.direction):
            raise DataError("its unit or direction differs from that of the others", next_step=UPLOAD)
    search = Search(state)
    for entry in result.rounds:
        # A round without any value or failure is lost, not measured.
        if entry.values or entry.failures:
            search.record(entry.job_id, entry.values, entry.failures)
    gained = len(search.state.results) > len(bisection.search.results)
    environments = bisection.environments
    is_new = (
        result.environment
        and result.environment not in environments
        and len(environments) < ARTIFACT_LIMITS.environments
    )
    return replace(
        bisection,
        search=search.state,
        metric=metric,
        runner_seconds=bisection.runner_seconds + (result.elapsed_seconds or 0.0 if gained else 0.0),
        environments=(*environments, result.environment) if is_new else environments,
        followed={**bisection.followed, **result.followed},
        diagnoses=(*bisection.diagnoses, *([] if result.diagnosis is None else [result.diagnosis])),
    )
