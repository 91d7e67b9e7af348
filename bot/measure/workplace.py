"""Where commits are built and executed: a temporary folder that is gone afterwards, with everything in it."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from bot import git
from bot.errors import DataError
from bot.measure.cache import BuildCache
from bot.measure.command import end_orphans
from bot.measure.commands import Commands
from bot.measure.counts import taken
from bot.measure.failure import ExecutionError
from bot.measure.log import Log
from bot.measure.runner import Runner
from bot.measure.trees import Trees, remove_folder
from bot.model.bisection import FailureKind
from bot.model.count import Count
from bot.model.run import Benchmark, Run

FOLDER_PREFIX: Final = "perf-culprit-measure-"
LOCK_NAME: Final = "in-use"

Reader = Callable[[Path], Run]


def not_taken(quantity: str, error: ExecutionError) -> str:
    return f"{quantity} could not be measured: {error.message} ({error.next_step})"


class Workplace:
    """Executes commits one after the other. `read` turns a result file or folder into a run."""

    def __init__(self, trees: Trees, runner: Runner, folder: Path, *, read: Reader) -> None:
        self._trees = trees
        self._runner = runner
        self._folder = folder
        self._read = read
        self._executions = 0

    @property
    def commands(self) -> Commands:
        return self._runner.commands

    def prepare(self, commit: str) -> None:
        """Build it now, so that builds do not tear a round apart."""
        self._trees.of(commit)

    def tree(self, commit: str) -> Path:
        """The folder in which this commit's commands run."""
        return self._trees.of(commit)

    def warm_up(self, commit: str) -> None:
        """Execute it once without a result."""
        tree = self._trees.of(commit)
        self._runner.warm_up(tree, commit, self._next_folder())

    def take(self, commit: str, quantity: str, *, variables: Mapping[str, str] | None = None) -> Benchmark:
        """A quantity of one more execution or build, whatever the commands' own results are."""
        if quantity == Count.BUILD_TIME:
            return taken(quantity, self._trees.build_seconds(commit))
        tree, folder = self._trees.of(commit), self._next_folder()
        return self._runner.counted(quantity, tree, commit, folder, variables or {})

    def count_functions(self, commit: str) -> tuple[Path, ...]:
        """Its instructions by function: Callgrind's files, which stay until the workplace is left."""
        return self._runner.count_functions(self._trees.of(commit), commit, self._next_folder())

    def run(self, commit: str, *, command: str | None = None, variables: Mapping[str, str] | None = None) -> Path:
        """What `command` (the benchmark's where None) wrote or printed in this commit's tree, unread and uncounted."""
        chosen = self.commands.run if command is None else command
        return self._runner.run_other(chosen, self._trees.of(commit), commit, self._next_folder(), variables=variables)

    def _next_folder(self) -> Path:
        self._executions += 1
        folder = self._folder / "executions" / f"{self._executions:04d}"
        folder.mkdir(parents=True)
        return folder

    def execute(self, commit: str, *, variables: Mapping[str, str] | None = None) -> tuple[Path, Run]:
        """Where one execution's result was written and how it reads; an ExecutionError where there is none.

        What is measured besides stands in the run, or a note of why it could not be. `variables` are added to the
        command's environment.
        """
        tree = self._trees.of(commit)
        folder = self._next_folder()
        if (quantity := self.commands.count) is not None:
            return folder, Run(benchmarks=(self.take(commit, quantity, variables=variables),))
        result = self._runner.run(tree, commit, folder, variables=variables)
        try:
            run = self._read(result)
        except DataError as error:
            fault = f"gave a result that cannot be read: {error.message}"
            raise self._runner.failed("the benchmark", commit, FailureKind.CRASHED, fault) from None
        for quantity in self.commands.beside:
            try:
                benchmark = self._runner.left(quantity, tree, commit, folder)
                run = replace(run, benchmarks=(*run.benchmarks, benchmark))
            except ExecutionError as error:
                run = replace(run, notes=(*run.notes, not_taken(quantity, error)))
        return result, run


@contextmanager
def open_workplace(
    repository: Path,
    *,
    commands: Commands,
    read: Reader,
    log: Log,
    cache: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Workplace]:
    """A workplace. However it is left, its folder and worktrees are gone; so are those of one that was killed."""
    remove_abandoned(repository)
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX)).resolve()
    try:
        with (folder / LOCK_NAME).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            runner = Runner(commands, log=log, environ=dict(os.environ if environ is None else environ))
            trees = Trees(
                repository,
                folder,
                build=runner.build,
                command=commands.build,
                cache=None if cache is None else BuildCache(folder=cache.resolve()),
            )
            try:
                yield Workplace(trees, runner, folder, read=read)
            finally:
                trees.close()
    finally:
        remove_folder(folder)


def remove_abandoned(repository: Path) -> None:
    """Clean up after workplaces whose process was killed (`kill -9`): nobody holds their lock.

    A benchmark that keeps running there would disturb what is measured now.
    """
    folders = {path.parent for path in git.worktrees(repository)[1:] if path.parent.name.startswith(FOLDER_PREFIX)}
    for folder in sorted(folders):
        try:
            with (folder / LOCK_NAME).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                end_orphans(folder)
                remove_folder(folder)
        except OSError:
            # In use, another user's, or not ours at all.
            continue
    if folders:
        git.prune_worktrees(repository)
