"""One event of a bisection: take what came back, then settle what follows.

Whatever is killed in between, the next call resumes from what is stored: a result counts once however often it comes,
and a dispatch is sent by the one controller that stored it, or by another after that one is surely gone.
"""

from dataclasses import dataclass, replace
from typing import Final

from bot.bisect import Search
from bot.dispatch.controller import SENDER_IS_LATE, Collected, Controller
from bot.dispatch.settle import settle
from bot.errors import DataError, InfrastructureError
from bot.history.bisections import BisectionConflictError
from bot.history.protocol import LoadedBisection
from bot.model.dispatch import Bisection, BisectionStep, BisectJobResult, Dispatch, parse_run_title, run_title
from bot.model.reason import Reason, because
from bot.model.search_reason import SearchReason

MOST_CONFLICTS: Final = 30
KEPT_ENVIRONMENTS: Final = 20
UPLOAD: Final = "nothing of it counts; upload what bisect-job wrote"
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
    """Resume the bisection of a completed run of the bisect workflow, or with the one of this id.

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
    cache: dict[int, Collected] = {}
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
            return because(SearchReason.RUN_UNDER_WAY, run=run_id)
        self._take(dispatch, run_id)
        return None

    def _take_over(self, dispatch: Dispatch) -> Reason | None:
        """A dispatch that was never sent: its sender may be about to, or dead."""
        now = self._controller.now()
        if dispatch.sender and now - dispatch.stored_at < SENDER_IS_LATE:
            return because(SearchReason.BEING_SENT, dispatch=dispatch.id)
        self._remarks.append(because(SearchReason.SENT_LATE, dispatch=dispatch.id))
        self._bisection = self._bisection.with_dispatch(replace(dispatch, sender=self._controller.name, stored_at=now))
        return None

    def _take(self, dispatch: Dispatch, run_id: int) -> None:
        """What the run left counts; what it did not measure will not come."""
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
    """With the result's rounds recorded, each at most once.

    The first result tells unit and direction of a metric that the history did not know; later ones must agree.
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
        # A round in which nothing was reached is lost, not measured.
        if entry.values or entry.failures:
            search.record(entry.job_id, entry.values, entry.failures)
    gained = len(search.state.results) > len(bisection.search.results)
    environments = bisection.environments
    is_new = result.environment and result.environment not in environments and len(environments) < KEPT_ENVIRONMENTS
    return replace(
        bisection,
        search=search.state,
        metric=metric,
        runner_seconds=bisection.runner_seconds + (result.elapsed_seconds or 0.0 if gained else 0.0),
        environments=(*environments, result.environment) if is_new else environments,
        followed={**bisection.followed, **result.followed},
        diagnoses=(*bisection.diagnoses, *([] if result.diagnosis is None else [result.diagnosis])),
    )
