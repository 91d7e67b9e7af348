"""What follows an event of a bisection: decide, store, send the next dispatch, record, report."""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from bot.bisect import Search
from bot.dispatch.auto import following
from bot.dispatch.controller import MOST_FRUITLESS, Controller
from bot.dispatch.recovery import is_still_there
from bot.dispatch.step import step_of
from bot.dispatch.stop import ended, stopped
from bot.dispatch.stored import record_search
from bot.errors import BotError, InfrastructureError
from bot.history.bisections import BisectionConflictError
from bot.history.protocol import LoadedBisection
from bot.model.bisection import Job
from bot.model.dispatch import Bisection, BisectionStep, BisectJob, Dispatch
from bot.model.reason import Reason, because
from bot.model.search_reason import SearchReason


def settle(
    controller: Controller,
    bisection: Bisection,
    *,
    loaded: LoadedBisection | None,
    remarks: Sequence[Reason] = (),
    waiting: Reason | None = None,
) -> BisectionStep:
    """The bisection's next step. `waiting`: why nothing can be decided yet; `remarks` are for the answer."""
    if waiting is None:
        bisection = following(bisection)
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
    bisection = _recorded(controller, bisection, version)
    step = step_of(bisection, waiting=waiting, remarks=tuple(remarks))
    controller.report(step)
    return step


def _stopped(controller: Controller, bisection: Bisection) -> Bisection:
    """The answer so far, where going on is in vain, not wanted, or no time is left."""
    objection = controller.objection(bisection)
    if objection is not None:
        return stopped(bisection, objection)
    if is_still_there(bisection):
        return ended(bisection, note=because(SearchReason.STILL_THERE))
    if bisection.deadline is not None and controller.now() > bisection.deadline:
        return ended(bisection, note=because(SearchReason.TIME_SPENT))
    if bisection.fruitless >= MOST_FRUITLESS:
        return ended(bisection, note=because(SearchReason.DISPATCHES_FRUITLESS, count=bisection.fruitless))
    return bisection


def _proposed(controller: Controller, bisection: Bisection) -> Bisection:
    """With the next dispatch, or with the outcome where nothing is left to measure."""
    search = Search(bisection.search)
    rounds = search.propose(bisection.jobs_per_dispatch * bisection.rounds_per_job)
    bisection = replace(bisection, search=search.state)
    if not rounds:
        follows = following(bisection)
        return bisection if follows is bisection else _proposed(controller, follows)
    number = len(bisection.dispatches) + 1
    dispatch = Dispatch(
        # The random part tells it from a dispatch that was stored in its place on a branch that is no more.
        id=f"{number}-{secrets.token_hex(4)}",
        jobs=_with_diagnosis(bisection, _jobs(rounds, machines=bisection.jobs_per_dispatch)),
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


def _with_diagnosis(bisection: Bisection, jobs: tuple[BisectJob, ...]) -> tuple[BisectJob, ...]:
    """One machine that confirms a suspect also profiles it: then the answer says where the change is."""
    suspect = bisection.search.suspect
    diagnosed = {diagnosis.commit for diagnosis in bisection.diagnoses}
    if suspect is None or suspect in diagnosed or not bisection.commands.profile_seconds:
        return jobs
    return (replace(jobs[0], diagnose=suspect), *jobs[1:])


def _sent(controller: Controller, bisection: Bisection, dispatch: Dispatch, version: str | None) -> Bisection:
    try:
        run_id = controller.dispatcher.send(bisection, dispatch)
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
    with suppress(InfrastructureError):
        controller.bisections.store(bisection, expected=version)


def _recorded(controller: Controller, bisection: Bisection, version: str | None) -> Bisection:
    """Once it has ended, what it measured goes into the history; storing a run again changes nothing there."""
    if not (bisection.is_done and bisection.trusted and not bisection.recorded) or controller.history is None:
        return bisection
    record_search(controller.history, bisection)
    recorded = replace(bisection, recorded=True)
    _store_quietly(controller, recorded, version)
    return recorded
