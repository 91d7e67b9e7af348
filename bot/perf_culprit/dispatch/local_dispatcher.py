"""This machine as a dispatcher: jobs one after the other, or in parallel for counts."""

import dataclasses
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from perf_culprit.dispatch.controller import Collected, Dispatcher
from perf_culprit.dispatch.workflow_dispatcher import RESULT_NAME
from perf_culprit.errors import BotError
from perf_culprit.files import read_limited, replace_file, temporary_folder
from perf_culprit.measure.runner import Commands
from perf_culprit.measure.workplace import Workplace
from perf_culprit.measure.worktree_executor import WorktreeExecutor
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import Job, Result
from perf_culprit.model.bisection_files import BisectSession, decode_job_result, encode_request, encode_session
from perf_culprit.model.count import is_exact_quantity
from perf_culprit.model.dispatch import Bisection, BisectJobResult, BisectRequest, Dispatch, RunFacts
from perf_culprit.model.reason import Reason, SearchReason, because
from perf_culprit.python_child import python
from perf_culprit.store.protocol import LoadedBisection


class AtOnce:
    """A dispatcher whose runs are always completed: a run is measured when its results are requested."""

    def __init__(self) -> None:
        self._runs = 0

    def send(self, bisection: Bisection, dispatch: Dispatch) -> int:  # noqa: ARG002 (the protocol's)
        self._runs += 1
        return self._runs

    def find(self, title: str) -> None:
        """None: this process never began a dispatch that was not sent."""

    def look(self, run_id: int) -> RunFacts:
        return RunFacts(title=f"round {run_id}", is_completed=True)


class Here(AtOnce):
    """Measures one round after the other, in the worktrees of one workplace."""

    def __init__(self, workplace: Workplace) -> None:
        super().__init__()
        self._workplace = workplace

    def results(self, bisection: Bisection, dispatch: Dispatch, *, run_id: int) -> Collected:  # noqa: ARG002
        executor = WorktreeExecutor(self._of(bisection.commands.count), key=bisection.key)
        results = []
        for job in dispatch.jobs:
            begun = time.monotonic()
            rounds = tuple(_measure(executor, entry) for entry in job.rounds)
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

    def _of(self, count: str | None) -> Workplace:
        """The workplace for this quantity: `auto` counts first, and measures times later."""
        if count != self._workplace.commands.count:
            self._workplace = self._workplace.executing(dataclasses.replace(self._workplace.commands, count=count))
        return self._workplace


def _measure(executor: WorktreeExecutor, entry: Job) -> Result:
    result = executor.execute(entry)
    return Result(job_id=entry.id, values=result.samples, failures=result.failures)


class StateFile:
    """Keeps one bisection in memory, and the data needed to resume its search in a file.

    `auto` writes its search by times into another file, `times`: each file can be resumed by the name of its metric.
    """

    def __init__(self, path: Path, *, times: Path | None = None) -> None:
        self._path, self._times = path, times
        self._kept: Bisection | None = None

    def load(self, bisection_id: str) -> LoadedBisection | None:
        return None if self._kept is None else LoadedBisection(bisection=self._kept, version=bisection_id)

    def store(self, bisection: Bisection, *, expected: str | None) -> str:  # noqa: ARG002 (nobody else stores it)
        is_confirming = bisection.times is not None and bisection.times.counted is not None
        if not is_confirming and (self._kept is None or self._kept.search != bisection.search):
            path = self._path if self._times is None or is_exact_quantity(bisection.commands.count) else self._times
            replace_file(path, encode_session(_session(bisection)))
        self._kept = bisection
        return bisection.id


def _session(bisection: Bisection) -> BisectSession:
    """Leave out proposed rounds that were not measured: they will be proposed again."""
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
        executed=bisection.executed,
        id=bisection.id,
        started_at=bisection.started_at,
    )


REQUEST_NAME: Final = "request.json"
OUTPUT_NAME: Final = "output.txt"


@contextmanager
def open_dispatcher(
    repository: Path, workplace: Workplace, bisection: Bisection, *, commands: Commands, cache: Path | None
) -> Iterator[Dispatcher]:
    """Measure one job at a time in this workplace, or several as processes with a temporary folder."""
    if bisection.jobs_per_dispatch == 1:
        yield Here(workplace)
        return
    with temporary_folder() as folder:
        yield SideBySide(repository, commands=commands, cache=cache, folder=folder)


class SideBySide(AtOnce):
    """Measures jobs in parallel. They share builds, in the user's cache or in the search's own `folder`."""

    def __init__(self, repository: Path, *, commands: Commands, cache: Path | None, folder: Path) -> None:
        super().__init__()
        self._commands = commands
        self._folder = folder
        options = ["--repo", str(repository.resolve()), "--cache", str((cache or folder / "builds").resolve())]
        self._options = [*options, *(["--environment", *commands.environment] if commands.environment else [])]

    def results(self, bisection: Bisection, dispatch: Dispatch, *, run_id: int) -> Collected:
        folder = self._folder / str(run_id)
        self._ask(bisection, dispatch, folder / REQUEST_NAME)
        with ExitStack() as running:
            processes = [running.enter_context(self._running(job.id, folder)) for job in dispatch.jobs]
            for process in processes:
                process.wait()
        results: list[BisectJobResult] = []
        refused: list[Reason] = []
        for job in dispatch.jobs:
            try:
                file = folder / job.id / RESULT_NAME
                data = read_limited(file, ARTIFACT_LIMITS.job_bytes, next_step="repeat the search")
                results.append(decode_job_result(data, place=str(file)))
            except BotError:
                output = (folder / job.id / OUTPUT_NAME).read_text(errors="replace")
                why = output.strip()[-ARTIFACT_LIMITS.failure_characters :]
                refused.append(because(SearchReason.NOTHING_MEASURED, job=job.id, why=why))
        return Collected(results=tuple(results), refused=tuple(refused))

    def _ask(self, bisection: Bisection, dispatch: Dispatch, file: Path) -> None:
        commands = replace(
            bisection.commands,
            run_timeout_seconds=self._commands.run_timeout_seconds,
            build_timeout_seconds=self._commands.build_timeout_seconds,
        )
        request = BisectRequest(
            bisection=bisection.id, dispatch=dispatch.id, key=bisection.key, commands=commands, jobs=dispatch.jobs
        )
        replace_file(file, encode_request(request))

    @contextmanager
    def _running(self, job: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Start a process that measures the job. An interrupt ends it together with its commands and worktrees."""
        output = folder / job
        output.mkdir()
        options = ["--request", str(folder / REQUEST_NAME), "--job", job, "--output", str(output), *self._options]
        command = python("-m", "perf_culprit", "bisect-job", *options)
        with (
            (output / OUTPUT_NAME).open("wb") as file,
            subprocess.Popen(
                command, env=dict(os.environ), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
            ) as process,
        ):
            try:
                yield process
            finally:
                process.terminate()
