"""The dispatcher of this machine for counts: the jobs of a dispatch side by side, a process with worktrees each."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bot.bisect import Search
from bot.children import python
from bot.codec.bisect_job import MOST_RESULT_BYTES, decode_job_result
from bot.codec.bisect_request import encode_request
from bot.dispatch.controller import Collected, Dispatcher
from bot.dispatch.here import AtOnce, Here, progress_line
from bot.dispatch.machine import Say
from bot.dispatch.workflow import RESULT_NAME
from bot.errors import BotError
from bot.files import read_limited, replace_file
from bot.measure import Commands, Workplace
from bot.model.dispatch import Bisection, BisectJobResult, BisectRequest, Dispatch
from bot.model.reason import Reason, because
from bot.model.search_reason import SearchReason
from bot.report.reasons import sentence

PREFIX: Final = "perf-culprit-jobs-"
REQUEST_NAME: Final = "request.json"
OUTPUT_NAME: Final = "output.txt"
SHOWN_CHARACTERS: Final = 300


@contextmanager
def open_dispatcher(
    repository: Path, workplace: Workplace, bisection: Bisection, *, commands: Commands, cache: Path | None, say: Say
) -> Iterator[Dispatcher]:
    """One job at a time in this workplace, both ends warm; several as processes, with a folder that is gone after."""
    if bisection.jobs_per_dispatch == 1:
        commit_range = bisection.search.commit_range
        yield Here(workplace, bisection, warm={commit_range.good, commit_range.bad}, say=say)
        return
    with TemporaryDirectory(prefix=PREFIX) as folder:
        yield SideBySide(repository, commands=commands, cache=cache, folder=Path(folder), say=say)


class SideBySide(AtOnce):
    """What a job builds is kept for the others: in the user's cache, or in `folder`, which is the search's own."""

    def __init__(self, repository: Path, *, commands: Commands, cache: Path | None, folder: Path, say: Say) -> None:
        super().__init__()
        self._say = say
        self._commands = commands
        self._folder = folder
        options = ["--repo", str(repository.resolve()), "--cache", str((cache or folder / "builds").resolve())]
        self._options = [*options, *(["--environment", *commands.environment] if commands.environment else [])]

    def results(self, bisection: Bisection, dispatch: Dispatch, *, run_id: int) -> Collected:
        folder = self._folder / str(run_id)
        self._ask(bisection, dispatch, folder / REQUEST_NAME)
        line = progress_line(Search(bisection.search).progress(), dispatch.jobs[0].rounds[0])
        self._say(f"{len(dispatch.jobs)} jobs; {line}")
        with ExitStack() as running:
            processes = [running.enter_context(self._running(job.id, folder)) for job in dispatch.jobs]
            for process in processes:
                process.wait()
        results: list[BisectJobResult] = []
        refused: list[Reason] = []
        for job in dispatch.jobs:
            try:
                file = folder / job.id / RESULT_NAME
                data = read_limited(file, MOST_RESULT_BYTES, next_step="repeat the search")
                results.append(decode_job_result(data, place=str(file)))
            except BotError:
                output = (folder / job.id / OUTPUT_NAME).read_text(errors="replace")
                why = output.strip()[-SHOWN_CHARACTERS:]
                refused.append(because(SearchReason.NOTHING_MEASURED, job=job.id, why=why))
                self._say(sentence(refused[-1]))
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
        """A process that measures the job. Where this one is interrupted it ends its commands and worktrees as well."""
        output = folder / job
        output.mkdir()
        options = ["--request", str(folder / REQUEST_NAME), "--job", job, "--output", str(output), *self._options]
        command = python("-m", "bot", "bisect-job", *options)
        with (
            (output / OUTPUT_NAME).open("wb") as file,
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT) as process,
        ):
            try:
                yield process
            finally:
                process.terminate()
