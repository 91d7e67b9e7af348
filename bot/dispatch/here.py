"""The dispatcher of this machine, and the file that its bisection is kept in."""

import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from bot.bisect import Search
from bot.codec.bisect_session import BisectSession, encode_session
from bot.dispatch.controller import Collected
from bot.dispatch.machine import Say
from bot.files import replace_file
from bot.history.protocol import LoadedBisection
from bot.measure import Workplace, WorktreeExecutor
from bot.model.bisection import Job, Progress, Result
from bot.model.dispatch import Bisection, BisectJobResult, Dispatch, RunFacts
from bot.report.bisection_words import sized
from bot.report.words import counted


class AtOnce:
    """A run of such a dispatcher is over when it is looked at: it is measured when its results are wanted."""

    def __init__(self) -> None:
        self._runs = 0

    def send(self, bisection: Bisection, dispatch: Dispatch) -> int:  # noqa: ARG002 (the protocol's)
        self._runs += 1
        return self._runs

    def find(self, title: str) -> None:
        """None: a dispatch of this process that was not sent was never begun."""

    def look(self, run_id: int) -> RunFacts:
        return RunFacts(title=f"round {run_id}", is_completed=True)


class Here(AtOnce):
    """One round after the other, in the worktrees of one workplace."""

    def __init__(self, workplace: Workplace, bisection: Bisection, *, warm: Collection[str], say: Say) -> None:
        super().__init__()
        self._executor = WorktreeExecutor(workplace, key=bisection.key, warm=warm)
        self._say = say

    def results(self, bisection: Bisection, dispatch: Dispatch, *, run_id: int) -> Collected:  # noqa: ARG002
        progress = Search(bisection.search).progress()
        results = []
        for job in dispatch.jobs:
            begun = time.monotonic()
            rounds = tuple(self._measured(entry, progress) for entry in job.rounds)
            results.append(
                BisectJobResult(
                    bisection=bisection.id,
                    dispatch=dispatch.id,
                    job=job.id,
                    rounds=rounds,
                    elapsed_seconds=time.monotonic() - begun,
                )
            )
        return Collected(results=tuple(results))

    def _measured(self, entry: Job, progress: Progress) -> Result:
        self._say(progress_line(progress, entry))
        measured = self._executor.execute(entry)
        return Result(job_id=entry.id, values=measured.samples, failures=measured.failures)


class StateFile:
    """Keeps one bisection in memory, and what is needed to resume its search in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: Bisection | None = None

    def load(self, bisection_id: str) -> LoadedBisection | None:
        return None if self._kept is None else LoadedBisection(bisection=self._kept, version=bisection_id)

    def store(self, bisection: Bisection, *, expected: str | None) -> str:  # noqa: ARG002 (nobody else stores it)
        if self._kept is None or self._kept.search != bisection.search:
            replace_file(self._path, encode_session(_session(bisection)))
        self._kept = bisection
        return bisection.id


def _session(bisection: Bisection) -> BisectSession:
    """What was proposed and not measured is left out: it will be proposed again."""
    state = bisection.search
    over = {*(result.job_id for result in state.results), *state.abandoned}
    if bisection.metric is None:
        raise ValueError("both ends were executed before the search began")
    return BisectSession(
        run=bisection.commands.run,
        build=bisection.commands.build,
        key=bisection.key,
        metric=bisection.metric,
        search=replace(state, jobs=tuple(job for job in state.jobs if job.id in over)),
        runner_seconds=bisection.runner_seconds,
    )


def progress_line(progress: Progress, job: Job) -> str:
    expected = progress.expected_executions
    left = max(1, round(2**progress.entropy_bits))  # as many as equally suspicious ones would be
    parts = [
        f"{job.purpose.replace('_', ' ')}: about {counted(left, 'commit')} left",
        f"{progress.entropy_bits:.1f} bits",
        f"{counted(progress.executions, 'execution')}" + ("" if expected is None else f", about {expected} to go"),
    ]
    if progress.relative_change is not None:
        parts.append(f"bad against good {sized(progress.relative_change, progress.confidence_interval)}")
    if progress.suspects:
        chances = (f"{suspect.commit[:12]} ({100 * suspect.posterior:.0f}%)" for suspect in progress.suspects)
        parts.append(f"suspects {', '.join(chances)}")
    return "; ".join(parts)
