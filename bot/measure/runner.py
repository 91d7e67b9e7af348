"""The user's commands on one worktree: what they get, and why they failed."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.measure.command import run_command
from bot.measure.commands import (
    COMMIT_VARIABLE,
    OUTPUT_VARIABLE,
    TOKEN_NAMES,
    Commands,
    child_environment,
    on_runner,
    withheld,
)
from bot.measure.confined import is_confinable, namespace
from bot.measure.counts import BY_FUNCTION, FIXED, METHODS, counted, counted_command, taken
from bot.measure.failure import ExecutionError
from bot.measure.log import Log
from bot.measure.weight import WeighingError, weigh
from bot.model.bisection import FailureKind
from bot.model.count import SIZE, Count
from bot.model.run import Benchmark

# Plain numbers have no name of their own: their benchmark is called as this file.
RESULT_NAME: Final = "result"
LOGS: Final = "counts"
# Such as of a program that is no benchmark.
HINT: Final = "; `--metric instructions` measures a command that prints none"


class Runner:
    """Builds and executes; everything that the commands say goes into the log."""

    def __init__(self, commands: Commands, *, log: Log, environ: Mapping[str, str]) -> None:
        self.commands = commands
        self._log = log
        self._environ = environ
        if names := withheld(environ, named=commands.environment):
            log.remark(f"not in the commands' environment (--environment passes it on): {', '.join(names)}")
        # A person's own commands may want their session, their sudo and what they left running.
        self._confined = on_runner(environ)
        if self._confined:
            log.remark(_seen(commands, environ))

    def build(self, tree: Path, commit: str) -> None:
        if self.commands.build is None:
            return
        self._log.begin(f"{short(commit)}: build")
        fault = run_command(
            self.commands.build,
            directory=tree,
            environment=self._environment(**{COMMIT_VARIABLE: commit}),
            log=self._log,
            timeout_seconds=self.commands.build_timeout_seconds,
            confined=self._confined,
        )
        if fault is not None:
            raise self.failed("the build", commit, FailureKind.BUILD, fault)

    def run(self, tree: Path, commit: str, folder: Path, *, variables: Mapping[str, str] | None = None) -> Path:
        """The result that the benchmark command wrote into the empty `folder`: a file or, where it made one, a folder.

        Where it wrote none, its standard output is the result.
        """
        if Count.PEAK_MEMORY in self.commands.beside:
            result = self._run_under(METHODS[Count.PEAK_MEMORY].command, tree, commit, folder, variables or {})
        else:
            result = self._run(self.commands.run, tree, commit, folder, variables or {})
        if not _has_content(result):
            fault = f"printed no samples, and wrote none to ${OUTPUT_VARIABLE}"
            raise self.failed("the benchmark", commit, FailureKind.CRASHED, fault, hint=HINT)
        return result

    def counted(self, quantity: str, tree: Path, commit: str, folder: Path, variables: Mapping[str, str]) -> Benchmark:
        """Of one execution, which is made for it."""
        if quantity.startswith(SIZE):
            self._run(self.commands.run, tree, commit, folder, variables)
        else:
            method = METHODS[quantity]
            self._run_under(method.command, tree, commit, folder, {**variables, **method.environment, **FIXED})
        return self.left(quantity, tree, commit, folder)

    def left(self, quantity: str, tree: Path, commit: str, folder: Path) -> Benchmark:
        """What an execution in `folder` left of it."""
        if quantity.startswith(SIZE):
            try:
                return taken(quantity, weigh(tree, quantity.removeprefix(SIZE)))
            except WeighingError as error:
                step = f"name files that the build or the run writes, from the top of the checkout: {SIZE}dist/*.whl"
                place = f"commit {short(commit)}"
                raise ExecutionError(FailureKind.MISSING, str(error), place=place, next_step=step) from None
        benchmark = counted(quantity, folder / LOGS)
        if benchmark is None:
            raise self.failed("the benchmark", commit, FailureKind.CRASHED, "left no count")
        return benchmark

    def count_functions(self, tree: Path, commit: str, folder: Path) -> tuple[Path, ...]:
        """Callgrind's file of each process of the benchmark command."""
        self._run_under(BY_FUNCTION, tree, commit, folder, FIXED)
        return tuple(sorted((folder / LOGS).glob("*.callgrind")))

    def _run_under(
        self, counter: tuple[str, ...], tree: Path, commit: str, folder: Path, variables: Mapping[str, str]
    ) -> Path:
        """The result; the counter's logs are beside it. Addresses are fixed where the variables fix the rest."""
        logs = folder / LOGS
        logs.mkdir()
        command = counted_command(self.commands.run, counter, logs, fixed=FIXED.items() <= variables.items())
        return self._run(command, tree, commit, folder, variables)

    def run_other(
        self, command: str, tree: Path, commit: str, folder: Path, *, variables: Mapping[str, str] | None = None
    ) -> Path:
        """What another command, such as a profiler's, wrote or printed; nothing of it is counted."""
        return self._run(command, tree, commit, folder, variables or {})

    def warm_up(self, tree: Path, commit: str, folder: Path) -> None:
        """Run once for what only a first run does (compiled files, caches of the disk); whatever it gives is lost."""
        with contextlib.suppress(ExecutionError):
            self._run(self.commands.run, tree, commit, folder, {})

    def _run(self, command: str, tree: Path, commit: str, folder: Path, variables: Mapping[str, str]) -> Path:
        """Where the command wrote its result: the named file, or else its standard output."""
        written, printed = folder / RESULT_NAME, folder / "standard-output" / RESULT_NAME
        printed.parent.mkdir()
        self._log.begin(f"{short(commit)}: run")
        with printed.open("wb") as standard_output:
            fault = run_command(
                command,
                directory=tree,
                environment=self._environment(**{**variables, COMMIT_VARIABLE: commit, OUTPUT_VARIABLE: str(written)}),
                log=self._log,
                timeout_seconds=self.commands.run_timeout_seconds,
                standard_output=standard_output,
                confined=self._confined,
            )
        if fault is not None:
            raise self.failed("the benchmark", commit, FailureKind.CRASHED, fault)
        return written if _has_content(written) else printed

    def _environment(self, **own: str) -> dict[str, str]:
        return child_environment(self._environ, named=self.commands.environment, **own)

    def failed(self, what: str, commit: str, kind: FailureKind, fault: str, *, hint: str = "") -> ExecutionError:
        tail = self._log.tail
        return ExecutionError(
            kind,
            f"{what} {fault}" + (f"; its output ends with: {tail}" if tail else ""),
            place=f"commit {short(commit)}",
            next_step=f"run the command in a checkout of this commit; its whole output is in {self._log.path}{hint}",
        )


def _seen(commands: Commands, environ: Mapping[str, str]) -> str:
    """Which processes of this machine the commands see."""
    if namespace() and all(is_confinable(command) for command in (commands.build or "", commands.run)):
        return "the commands see no process but their own (a PID namespace)"
    tokens = ", ".join(name for name in TOKEN_NAMES if environ.get(name))
    danger = f", and may read {tokens} in the step's shell: give it to another step" if tokens else ""
    return f"the commands see this machine's processes: no PID namespace{danger}"


def short(commit: str) -> str:
    return commit[:12]


def _has_content(path: Path) -> bool:
    # A link could name any file of this machine as the result.
    if path.is_symlink():
        return False
    return any(path.iterdir()) if path.is_dir() else path.is_file() and path.stat().st_size > 0
