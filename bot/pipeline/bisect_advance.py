"""One event of a dispatched bisection: take what came back, decide, store, send the next dispatch, tell.

Whatever is killed in between, the next call goes on from what is stored: a result counts once however often it comes,
and a dispatch is sent by the one controller that stored it, or by another after that one is surely gone.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bot.codec.bisect_request import MOST_REQUEST_BYTES, encode_request
from bot.errors import BotError, DataError, InfrastructureError
from bot.model.bisection import Job
from bot.model.dispatch import (
    Bisection,
    BisectionStep,
    BisectJob,
    BisectJobResult,
    BisectRequest,
    Dispatch,
    parse_run_title,
    run_title,
)
from bot.pipeline.bisect_controller import MOST_FRUITLESS, SENDER_IS_LATE, Controller
from bot.pipeline.bisect_results import collected, take_result
from bot.pipeline.bisect_step import step_of
from bot.pipeline.bisect_stop import ended, stopped

if TYPE_CHECKING:
    from bot.history.bisections import LoadedBisection

MOST_CONFLICTS: Final = 30
REWRITTEN: Final = "the history branch was rewritten or put back; start again with a new command, or restore the branch"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Claim:
    """A finished run that says, by its title, which dispatch it is."""

    bisection: str
    dispatch: str
    run_id: int


def advance_bisection(
    controller: Controller, *, run_id: int | None = None, bisection: str | None = None, from_inside: bool = False
) -> BisectionStep:
    """Go on with the bisection of a completed run of the bisect workflow, or with the one of this id.

    `from_inside`: the caller is that run's own last job, so its bisect jobs are over though the run is not.
    Any number of calls, at any time, from any number of machines, do no harm.
    """
    claim = None if run_id is None else _claim(controller, run_id, from_inside=from_inside)
    name = claim.bisection if claim is not None else bisection
    if name is None:
        raise DataError("neither a run nor a bisection is named", next_step="name one of them")
    return advance(controller, name, claim=claim)


def _claim(controller: Controller, run_id: int, *, from_inside: bool) -> _Claim:
    facts = controller.dispatcher.look(run_id)
    words = None if facts is None else parse_run_title(facts.title)
    if facts is None or words is None:
        raise DataError(
            "is no run of a bisection",
            place=f"workflow run {run_id}",
            next_step="keep `run-name` in the bisect workflow as it was given",
        )
    if not facts.is_completed and not from_inside:
        raise InfrastructureError(
            "is not over yet", place=f"workflow run {run_id}", next_step="run this job again when it is"
        )
    return _Claim(bisection=words[0], dispatch=words[1], run_id=run_id)


def advance(controller: Controller, name: str, *, claim: _Claim | None = None) -> BisectionStep:
    from bot.history.bisections import BisectionConflictError

    cache: dict[int, tuple[tuple[BisectJobResult, ...], tuple[str, ...]]] = {}
    for _ in range(MOST_CONFLICTS):
        loaded = controller.bisections.load(name)
        if loaded is None:
            raise DataError(f"bisection {name} is not on the history branch", next_step=REWRITTEN)
        event = _Event(controller, loaded, cache)
        try:
            return event.handle(claim)
        except BisectionConflictError:
            continue
    raise InfrastructureError(
        f"others stored bisection {name} {MOST_CONFLICTS} times in a row", next_step="run the job again"
    )


class _Event:
    """One try to handle an event on top of what was loaded."""

    def __init__(
        self,
        controller: Controller,
        loaded: "LoadedBisection",
        cache: dict[int, tuple[tuple[BisectJobResult, ...], tuple[str, ...]]],
    ) -> None:
        self._controller = controller
        self._loaded = loaded
        self._cache = cache
        self._bisection = loaded.bisection
        self._remarks: list[str] = []

    def handle(self, claim: _Claim | None) -> BisectionStep:
        if claim is not None and not self._bisection.is_done:
            self._take_claim(claim)
        waiting = self._take_open()
        return settle(
            self._controller,
            self._bisection,
            loaded=self._loaded,
            remarks=self._remarks,
            waiting=waiting,
        )

    def _take_claim(self, claim: _Claim) -> None:
        dispatch = next((entry for entry in self._bisection.dispatches if entry.id == claim.dispatch), None)
        if dispatch is None:
            self._remarks.append(
                f"run {claim.run_id} was refused: the stored bisection knows no dispatch {claim.dispatch}; {REWRITTEN}"
            )
        elif dispatch.run_id not in (None, claim.run_id):
            self._remarks.append(
                f"run {claim.run_id} was refused: dispatch {dispatch.id} was sent as run {dispatch.run_id}"
            )
        else:
            self._take(dispatch, claim.run_id)

    def _take_open(self) -> str | None:
        """Look after the dispatch that is under way; why nothing can be done about it."""
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
            return f"run {run_id} is under way"
        self._take(dispatch, run_id)
        return None

    def _take_over(self, dispatch: Dispatch) -> str | None:
        """A dispatch that was never sent: its sender may be about to, or dead."""
        now = self._controller.now()
        if dispatch.sender and now - dispatch.stored_at < SENDER_IS_LATE:
            return f"dispatch {dispatch.id} is being sent by another job"
        self._remarks.append(f"dispatch {dispatch.id} was stored and never sent: it is sent now")
        self._bisection = self._bisection.with_dispatch(replace(dispatch, sender=self._controller.name, stored_at=now))
        return None

    def _take(self, dispatch: Dispatch, run_id: int) -> None:
        """What the run left counts; what it did not measure will not come."""
        from bot.bisect import Search

        if run_id not in self._cache:
            self._cache[run_id] = collected(self._controller.dispatcher, self._bisection.id, dispatch, run_id=run_id)
        results, refused = self._cache[run_id]
        self._remarks += refused
        before = len(self._bisection.search.results)
        for result in results:
            try:
                self._bisection = take_result(self._bisection, result)
            except DataError as error:
                self._remarks.append(f"the result of job {result.job} was refused: {error.message}")
        gained = len(self._bisection.search.results) - before
        search = Search(self._bisection.search)
        lost = [job.id for job in search.pending if job.id in dispatch.rounds]
        for job_id in lost:
            search.abandon(job_id)
        if lost:
            self._remarks.append(f"{len(lost)} of {len(dispatch.rounds)} rounds were lost and will be measured again")
        fruitless = self._bisection.fruitless if dispatch.closed else self._bisection.fruitless + 1
        self._bisection = replace(
            self._bisection, search=search.state, fruitless=0 if gained else fruitless
        ).with_dispatch(replace(dispatch, run_id=run_id, closed=True))


def settle(
    controller: Controller,
    bisection: Bisection,
    *,
    loaded: "LoadedBisection | None",
    remarks: Sequence[str] = (),
    waiting: str | None = None,
) -> BisectionStep:
    """Decide, store, send what is to be sent, record, tell."""
    if not bisection.is_done and waiting is None:
        bisection = _stopped(controller, bisection)
    if not bisection.is_done and bisection.open_dispatch is None:
        bisection = _proposed(controller, bisection)
    version = None if loaded is None else loaded.version
    if loaded is None or bisection != loaded.bisection:
        version = controller.bisections.store(bisection, expected=version)
    dispatched = bisection.open_dispatch
    if waiting is None and not bisection.is_done and dispatched is not None and dispatched.run_id is None:
        bisection = _sent(controller, bisection, dispatched, version)
    else:
        dispatched = None
    bisection = _recorded(controller, bisection, version)
    step = step_of(bisection, dispatched=dispatched, waiting=waiting, remarks=tuple(remarks))
    controller.report(step)
    return step


def _stopped(controller: Controller, bisection: Bisection) -> Bisection:
    """The answer so far, where going on is in vain, not wanted, or no time is left."""
    objection = controller.objection(bisection)
    if objection is not None:
        return stopped(bisection, objection)
    if bisection.deadline is not None and controller.now() > bisection.deadline:
        return ended(bisection, note="the time was spent before the search had ended")
    if bisection.fruitless >= MOST_FRUITLESS:
        note = f"{bisection.fruitless} dispatches in a row gave no result; see the log of the bisect workflow"
        return ended(bisection, note=note)
    return bisection


def _proposed(controller: Controller, bisection: Bisection) -> Bisection:
    """With the next dispatch, or with the outcome where nothing is left to measure."""
    from bot.bisect import Search

    search = Search(bisection.search)
    rounds = search.propose(bisection.jobs_per_dispatch * bisection.rounds_per_job)
    bisection = replace(bisection, search=search.state)
    if not rounds:
        return bisection
    number = len(bisection.dispatches) + 1
    dispatch = Dispatch(
        # The random part tells it from a dispatch that was stored in its place on a branch that is no more.
        id=f"{number}-{secrets.token_hex(4)}",
        jobs=_jobs(rounds, machines=bisection.jobs_per_dispatch),
        sender=controller.name,
        stored_at=controller.now(),
    )
    return replace(bisection, dispatches=(*bisection.dispatches, dispatch))


def _jobs(rounds: Sequence[Job], *, machines: int) -> tuple[BisectJob, ...]:
    """Neighbouring rounds on one machine, so that its start-up serves several."""
    count = min(machines, len(rounds))
    ends = [len(rounds) * number // count for number in range(count + 1)]
    return tuple(
        BisectJob(id=f"job-{number + 1}", rounds=tuple(rounds[ends[number] : ends[number + 1]]))
        for number in range(count)
    )


def _sent(controller: Controller, bisection: Bisection, dispatch: Dispatch, version: str | None) -> Bisection:
    from bot.history.bisections import BisectionConflictError

    try:
        run_id = controller.dispatcher.send(dispatch_inputs(bisection, dispatch))
    except BotError:
        # Nobody is sending it any more: the next call need not wait. If this is lost too, it waits.
        _store_quietly(controller, bisection.with_dispatch(replace(dispatch, sender="")), version)
        raise
    if run_id is None:
        return bisection
    sent = bisection.with_dispatch(replace(dispatch, run_id=run_id))
    try:
        controller.bisections.store(sent, expected=version)
    except BisectionConflictError:
        # The run was faster than this answer, and another controller knows it by its title.
        return bisection
    return sent


def _store_quietly(controller: Controller, bisection: Bisection, version: str | None) -> None:
    from contextlib import suppress

    with suppress(InfrastructureError):
        controller.bisections.store(bisection, expected=version)


def dispatch_inputs(bisection: Bisection, dispatch: Dispatch) -> dict[str, str]:
    """The inputs of the bisect workflow, all of them strings."""
    request = encode_request(
        BisectRequest(
            bisection=bisection.id,
            dispatch=dispatch.id,
            key=bisection.key,
            commands=bisection.commands,
            jobs=dispatch.jobs,
        )
    )
    if len(request) > MOST_REQUEST_BYTES:
        raise DataError(
            f"a request of {len(request):,} bytes is more than GitHub takes",
            next_step="set a smaller bisect.jobs-per-round or bisect.rounds-per-job",
        )
    return {
        "bisection": bisection.id,
        "dispatch": dispatch.id,
        "jobs": json.dumps([job.id for job in dispatch.jobs]),
        "request": request.decode(),
        "commit": bisection.search.commit_range.bad,
        "runner": bisection.runner,
    }


def _recorded(controller: Controller, bisection: Bisection, version: str | None) -> Bisection:
    """Once it has ended, what it measured goes into the history; storing a run again changes nothing there."""
    if not (bisection.is_done and bisection.trusted and not bisection.recorded) or controller.history is None:
        return bisection
    from bot.pipeline.bisect_history import record_search

    record_search(
        controller.history,
        bisection.search,
        key=bisection.key,
        metric=bisection.metric,
        commands=bisection.commands,
        suite=bisection.suite,
        job=bisection.id,
        time=bisection.started_at,
        environments=bisection.environments,
    )
    recorded = replace(bisection, recorded=True)
    _store_quietly(controller, recorded, version)
    return recorded
