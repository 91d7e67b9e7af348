"""The end of a bisection from outside: what is known by then is its answer."""

from dataclasses import replace
from typing import Final

from bot.bisect import Search
from bot.dispatch.controller import Controller
from bot.dispatch.step import step_of
from bot.errors import InfrastructureError
from bot.history.bisections import BisectionConflictError
from bot.model.dispatch import Bisection, BisectionStep
from bot.model.reason import Reason
from bot.model.search_reason import Objection

MOST_CONFLICTS: Final = 10


def ended(bisection: Bisection, *, note: Reason) -> Bisection:
    """With the best answer so far; nothing that is under way is waited for."""
    outcome = Search(bisection.search).partial_outcome()
    outcome = replace(outcome, notes=(*outcome.notes, note))
    closed = tuple(replace(entry, closed=True) for entry in bisection.dispatches)
    return replace(bisection, search=replace(bisection.search, outcome=outcome), dispatches=closed, times=None)


def stopped(bisection: Bisection, objection: Objection) -> Bisection:
    done = ended(bisection, note=bisection.objected(objection))
    return replace(done, stopped=objection)


def stop_bisection(controller: Controller, name: str, *, objection: Objection) -> BisectionStep | None:
    """End an unfinished bisection; None where there is none, or nothing left to end. The reporter hears of it."""
    for _ in range(MOST_CONFLICTS):
        loaded = controller.bisections.load(name)
        if loaded is None or loaded.bisection.is_done:
            return None
        bisection = stopped(loaded.bisection, objection)
        try:
            controller.bisections.store(bisection, expected=loaded.version)
        except BisectionConflictError:
            continue
        step = step_of(bisection)
        controller.report(step)
        return step
    raise InfrastructureError(f"others keep storing bisection {name}", next_step="run the job again")
