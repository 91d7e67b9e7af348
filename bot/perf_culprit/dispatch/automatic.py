"""Automatic searches for regressions of the default branch: one at a time per suite, a few per day.

Every event does the same: resume what is under way, report what has ended and was not reported, and start the next
search. So a lost event costs only time, and a concurrent one changes nothing.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.alarms import AUTOMATIC, Step, new_steps
from perf_culprit.dispatch.alarms_of_one_search import left_of
from perf_culprit.dispatch.controller import Controller, advance_named
from perf_culprit.dispatch.recovery import recoveries
from perf_culprit.dispatch.start import DispatchPlan, start_bisection
from perf_culprit.errors import BotError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection_files import decode_stored
from perf_culprit.model.dispatch import Bisection
from perf_culprit.progress import Say
from perf_culprit.store.ancestry import main_line
from perf_culprit.store.branch_files import BisectionConflictError
from perf_culprit.store.protocol import Store, decodable
from perf_culprit.store.run_names import BISECTION_PATH

DAY: Final = timedelta(days=1)
# The change-point gate also judges means of four runs, sixty of them. Fewer miss steps of two standard deviations.
WINDOWS: Final = 8

ReportEnd = Callable[[Bisection], bool]  # whether an issue follows it


def tend_searches(
    repository: Path,
    *,
    branch: str,
    controller: Controller,
    config: Config,
    remote: git.Remote | None,
    report: ReportEnd,
    say: Say,
) -> None:
    """Resume, report and start searches. `branch` is the default branch's full name in `repository`, a complete clone.

    `report` reports an answer; calling it twice with one answer must do no harm.
    """
    store = controller.history
    if store is None:
        raise ValueError("without a history there are no runs to have got worse")
    searches = automatic_searches(store, config.suite)
    if _resume(searches, controller, say):
        searches = automatic_searches(store, config.suite)
    unreported = [each for each in searches if each.is_done and each.alarm is not None and not each.alarm.reported]
    for bisection in unreported:
        _mark_reported(controller, bisection.id, tracked=report(bisection))
    if unreported:
        searches = automatic_searches(store, config.suite)
    under_way = next((bisection for bisection in searches if not bisection.is_done), None)
    if under_way is not None:
        say(f"search {under_way.id} is under way")
        return
    steps = _due(repository, searches, branch=branch, store=store, config=config)
    started = sum(controller.now() - bisection.started_at < DAY for bisection in searches)
    if steps and started >= config.bisect.searches_per_day:
        say(f"waiting to be searched: {len(steps)}; the day's {started} searches are spent (bisect.searches-per-day)")
        return
    for step in steps:
        try:
            _start(repository, step, branch=branch, controller=controller, config=config, remote=remote)
        except BotError as error:
            say(f"no search from {step.good[:10]} to {step.bad[:10]}: {error.message}")
        else:
            return


def _due(
    repository: Path, searches: Sequence[Bisection], *, branch: str, store: Store, config: Config
) -> tuple[Step, ...]:
    """Find the regressions that are due. Without any, find issues whose regression may be over."""
    suite, window = config.suite, config.history.window
    runs = main_line(store, repository, suite=suite, revision=branch, most=WINDOWS * window).runs
    steps = new_steps(runs, searches, suite=suite, window=window, minimum_effect=config.minimum_effect)
    return steps or recoveries(runs, searches, suite=suite, window=window)


def _resume(searches: Sequence[Bisection], controller: Controller, say: Say) -> bool:
    """Resume the searches under way, in case an event was lost. Return whether there were any."""
    under_way = [bisection for bisection in searches if not bisection.is_done]
    for bisection in under_way:
        try:
            advance_named(controller, bisection.id)
        except BotError as error:
            say(f"search {bisection.id}: {error.message}")
    return bool(under_way)


def automatic_searches(store: Store, suite: str) -> tuple[Bisection, ...]:
    """Return the newest automatic searches, oldest first. Unreadable ones count as not searched."""
    named = sorted(
        path for path in store.paths() if (match := BISECTION_PATH.fullmatch(path)) and match[1].startswith(AUTOMATIC)
    )[-ARTIFACT_LIMITS.bisections :]
    read = decodable(zip(named, store.contents(named), strict=True), decode_stored)
    return tuple(bisection for bisection in read if bisection.suite == suite)


def _mark_reported(controller: Controller, bisection_id: str, *, tracked: bool) -> None:
    loaded = controller.bisections.load(bisection_id)
    if loaded is None or loaded.bisection.alarm is None:
        return
    alarm = replace(loaded.bisection.alarm, left=left_of(loaded.bisection), reported=True, tracked=tracked)
    reported = replace(loaded.bisection, alarm=alarm)
    with suppress(BisectionConflictError):  # the other job reported it too, or the next event will
        controller.bisections.store(reported, expected=loaded.version)


def _start(
    repository: Path, step: Step, *, branch: str, controller: Controller, config: Config, remote: git.Remote | None
) -> None:
    key = step.alarm.metrics[0].key
    plan = DispatchPlan(
        id=step.id,
        good=step.good,
        bad=step.bad,
        benchmark=key.benchmark,
        metric=key.metric,
        default_branch=branch,
        alarm=step.alarm,
    )
    start_bisection(repository, plan, config=config, controller=controller, remote=remote)
