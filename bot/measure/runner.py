"""The user's commands on one worktree: what they get, and why they failed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.measure.command import run_command
from bot.measure.commands import COMMIT_VARIABLE, OUTPUT_VARIABLE, Commands, child_environment, withheld
from bot.measure.failure import ExecutionError
from bot.measure.log import Log
from bot.model.bisection import FailureKind

# Plain numbers have no name of their own: their benchmark is called as this file.
RESULT_NAME: Final = "result"


class Runner:
    """Builds and executes; everything that the commands say goes into the log."""

    def __init__(self, commands: Commands, *, log: Log, environ: Mapping[str, str]) -> None:
        self.commands = commands
        self._log = log
        self._environ = environ
        if names := withheld(environ, named=commands.environment):
            log.remark(f"not in the commands' environment (--environment passes it on): {', '.join(names)}")

    def build(self, tree: Path, commit: str) -> None:
        if self.commands.build is None:
            return
        self._log.begin(f"{short(commit)}: build")
        ended = run_command(
            self.commands.build,
            directory=tree,
            environment=self._environment(**{COMMIT_VARIABLE: commit}),
            log=self._log,
            timeout_seconds=self.commands.build_timeout_seconds,
        )
        if ended.fault is not None:
            raise self.failed("the build", commit, FailureKind.BUILD, ended.fault)

    def run(self, tree: Path, commit: str, folder: Path, *, variables: Mapping[str, str] | None = None) -> Path:
        """The result that the benchmark command wrote into the empty `folder`: a file or, where it made one, a folder.

        Where it wrote none, its standard output is the result.
        """
        written, printed = folder / RESULT_NAME, folder / "standard-output" / RESULT_NAME
        printed.parent.mkdir()
        self._log.begin(f"{short(commit)}: run")
        with printed.open("wb") as standard_output:
            ended = run_command(
                self.commands.run,
                directory=tree,
                environment=self._environment(
                    **{**(variables or {}), COMMIT_VARIABLE: commit, OUTPUT_VARIABLE: str(written)}
                ),
                log=self._log,
                timeout_seconds=self.commands.run_timeout_seconds,
                standard_output=standard_output,
            )
        if ended.fault is not None:
            raise self.failed("the benchmark", commit, FailureKind.CRASHED, ended.fault)
        result = written if _has_content(written) else printed
        if not _has_content(result):
            fault = f"printed no samples, and wrote none to ${OUTPUT_VARIABLE}"
            raise self.failed("the benchmark", commit, FailureKind.CRASHED, fault)
        return result

    def _environment(self, **own: str) -> dict[str, str]:
        return child_environment(self._environ, named=self.commands.environment, **own)

    def failed(self, what: str, commit: str, kind: FailureKind, fault: str) -> ExecutionError:
        tail = self._log.tail
        return ExecutionError(
            kind,
            f"{what} {fault}" + (f"; it said last: {tail}" if tail else ""),
            place=f"commit {short(commit)}",
            next_step=f"run the command in a checkout of this commit; its whole output is in {self._log.path}",
        )


def short(commit: str) -> str:
    return commit[:12]


def _has_content(path: Path) -> bool:
    # A link could name any file of this machine as the result.
    if path.is_symlink():
        return False
    return any(path.iterdir()) if path.is_dir() else path.is_file() and path.stat().st_size > 0
