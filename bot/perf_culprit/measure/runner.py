"""Run the user's commands on one worktree: their environment, and the reasons of failures."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from perf_culprit.errors import FREE_SPACE, BotError, DataError, InfrastructureError
from perf_culprit.measure.processes import ENDED_BY_ITSELF, UNTESTABLE, Log, is_confinable, namespace, run_command
from perf_culprit.measure.processor_time import Meter
from perf_culprit.measure.quantities_of_commands import (
    BY_FUNCTION,
    FIXED,
    METHODS,
    benchmark_of,
    counted_command,
    sum_of_processes,
)
from perf_culprit.measure.weighed_files import WeighingError, weigh
from perf_culprit.model.bisection import FailureKind
from perf_culprit.model.count import FAILED, FAILURES, PASSED, SIZE, Count
from perf_culprit.model.run import Benchmark, Execution


class ExecutionError(DataError):
    """A build or a run failed or measured nothing. `measure` treats it as an error, a search as a result."""

    fault: str = ""  # in words, without the output
    left: Path | None = None  # what a command wrote that ended by itself

    def __init__(self, kind: FailureKind, message: str, *, place: str, next_step: str) -> None:
        super().__init__(message, place=place, next_step=next_step)
        self.kind = kind


class NoSamplesError(ExecutionError):
    """The command ran, but its output has no samples. It may be a program, and not a benchmark."""


COMMIT_VARIABLE: Final = "PERF_CULPRIT_COMMIT"
OUTPUT_VARIABLE: Final = "PERF_CULPRIT_OUTPUT"
FILLER_VARIABLE: Final = "PERF_CULPRIT_FILLER"  # lengthens the environment
BENCHMARKS_VARIABLE: Final = "PERF_CULPRIT_BENCHMARKS"  # the requested ones, one per line
VARIANT_VARIABLE: Final = "PERF_CULPRIT_VARIANT"

TOKEN_NAMES: Final = ("GITHUB_TOKEN", "GH_TOKEN")
# A commit's code may be untrusted. It gets no credentials, no inputs of the action, and none of the files with which a
# step sets PATH and environment of the next step.
WITHHELD_NAMES: Final = frozenset(
    {
        *TOKEN_NAMES,
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
        # Many images set it. Then each execution compiles what its commit changed, and its numbers hold that as well.
        "PYTHONDONTWRITEBYTECODE",
    }
)
# GIT_*: a git hook's variables would redirect the command's own git calls to another repository. Git's configuration in
# the environment can hold a token.
WITHHELD_PREFIXES: Final = ("ACTIONS_", "INPUT_", "STATE_", "GIT_", "PERF_CULPRIT_")
# On GitHub's runners a job may hold secrets under any name, so only variables for building and running are passed on.
# The workflow names others that a command needs.
PASSED_NAMES: Final = frozenset(
    {
        *("AGENT_TOOLSDIRECTORY", "ANDROID_HOME", "ANDROID_SDK_ROOT", "AR", "AS", "CARGO_HOME"),
        *("CARGO_TARGET_DIR", "CC", "CFLAGS", "CI", "CLASSPATH", "CONDA", "CONDA_PREFIX", "CPATH", "CPPFLAGS", "CXX"),
        *("CXXFLAGS", "ComSpec", "GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GOARCH", "GOCACHE", "GOFLAGS"),
        *("GOMODCACHE", "GOOS", "GOPATH", "GOROOT", "GOTOOLCHAIN", "GRADLE_HOME", "GRADLE_OPTS"),
        *("GRADLE_USER_HOME", "HOME", "HOSTNAME", "ImageOS", "ImageVersion", "LANG", "LANGUAGE", "LD", "LDFLAGS"),
        *("LD_LIBRARY_PATH", "LIBRARY_PATH", "LOGNAME", "MAKEFLAGS", "MANPATH", "MAVEN_HOME", "MAVEN_OPTS"),
        *("NO_COLOR", "NUMBER_OF_PROCESSORS", "PATH", "PATHEXT", "PKG_CONFIG_PATH", "PWD", "RUNNER_ARCH"),
        *("RUNNER_OS", "RUNNER_TEMP", "RUNNER_TOOL_CACHE", "RUSTFLAGS", "RUSTUP_HOME", "SHELL"),
        *("SOURCE_DATE_EPOCH", "SSL_CERT_DIR", "SSL_CERT_FILE", "SYSTEMROOT", "TEMP", "TERM", "TMP", "TMPDIR"),
        *("TZ", "USER", "VCPKG_ROOT", "VIRTUAL_ENV", "WINDIR", "pythonLocation"),
    }
)
PASSED_PREFIXES: Final = (
    *("ANDROID_NDK", "BLIS_", "CMAKE_", "DOTNET_", "GOROOT_", "JAVA_", "LC_", "MKL_", "NVM_", "OMP_", "OPENBLAS_"),
    *("PYTHON", "Python", "XDG_"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Commands:
    """Shell commands (`sh -e`), run in a commit's worktree. A command that exceeds its time limit is ended.

    `environment` names variables of ours that are never withheld. With a `count` (a quantity), that is the result of a
    run, not the command's output. `also` are additional quantities. `variants`: by commit, the text in
    $PERF_CULPRIT_VARIANT of its commands.
    """

    run: str
    build: str | None = None
    environment: tuple[str, ...] = ()
    run_timeout_seconds: float = 600.0
    build_timeout_seconds: float = 3600.0
    count: str | None = None
    also: tuple[str, ...] = ()
    variants: Mapping[str, str] = field(default_factory=dict)

    @property
    def beside(self) -> tuple[str, ...]:
        """The quantities in `also` that an execution gives as a by-product; a counted execution gives none."""
        is_timed = self.count is None
        free = (Count.PEAK_MEMORY, Count.CPU_TIME)
        return tuple(quantity for quantity in self.also if is_timed and (quantity in free or quantity.startswith(SIZE)))

    @property
    def apart(self) -> tuple[str, ...]:
        """The quantities in `also` that need their own executions or builds."""
        return tuple(quantity for quantity in self.also if quantity not in self.beside)


def on_runner(environ: Mapping[str, str]) -> bool:
    """Return whether this is a job of GitHub's runner: commands may be untrusted, and its environment holds secrets."""
    return environ.get("GITHUB_ACTIONS") == "true"


def child_environment(environ: Mapping[str, str], *, named: Sequence[str] = (), **own: str) -> dict[str, str]:
    """`environ` without variables that untrusted code must not see, and with `own`; `named` is always passed on.

    On a user's machine a list of names is withheld, on GitHub's runners only a list of names is passed on.
    """
    passed = _is_passed if on_runner(environ) else _is_not_withheld
    return {name: value for name, value in environ.items() if name in named or passed(name)} | own


def withheld(environ: Mapping[str, str], *, named: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names that are hidden from a command."""
    return tuple(sorted(set(environ) - set(child_environment(environ, named=named))))


def _is_not_withheld(name: str) -> bool:
    return name not in WITHHELD_NAMES and not name.startswith(WITHHELD_PREFIXES)


def _is_passed(name: str) -> bool:
    return _is_not_withheld(name) and (name in PASSED_NAMES or name.startswith(PASSED_PREFIXES))


# Plain numbers have no name, so their benchmark has the name of this file.
_RESULT_NAME: Final = "result"
LOGS: Final = "counts"
# A hint for programs that are no benchmarks.
HINT: Final = "; `--metric instructions` measures a command that prints none"


class Runner:
    """Builds and executes; the commands' whole output goes into the log."""

    def __init__(self, commands: Commands, *, log: Log, environ: Mapping[str, str]) -> None:
        self.commands = commands
        self.executions: tuple[Execution, ...] = ()  # the last one, if it was metered
        self._log = log
        self._environ = environ
        if names := withheld(environ, named=commands.environment):
            log.remark(f"not in the commands' environment (--environment passes it on): {', '.join(names)}")
        # A user's own commands may need the session, sudo and background processes.
        self._confined = on_runner(environ)
        if self._confined:
            log.remark(_visible_processes(commands, environ))

    def remark(self, text: str) -> None:
        self._log.remark(text)

    def executing(self, commands: Commands) -> "Runner":
        return Runner(commands, log=self._log, environ=self._environ)

    def build(self, tree: Path, commit: str) -> None:
        if self.commands.build is None:
            return
        self._log.begin(f"{short(commit)}: build")
        fault = run_command(
            self.commands.build,
            directory=tree,
            environment=self._environment(commit),
            log=self._log,
            timeout_seconds=self.commands.build_timeout_seconds,
            confined=self._confined,
        )
        if fault is not None:
            raise self.failed("the build", commit, FailureKind.BUILD, fault, hint=_longer(fault, "--build-timeout"))

    def run(self, tree: Path, commit: str, folder: Path, *, variables: Mapping[str, str] | None = None) -> Path:
        """Run the benchmark; return the file or folder that it wrote into the empty `folder`.

        If it wrote none, its standard output is the result.
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
        """Execute the command once to count the quantity."""
        if quantity.startswith(SIZE):
            self._run(self.commands.run, tree, commit, folder, variables)
        else:
            method = METHODS[quantity]
            self._run_under(method.command, tree, commit, folder, {**variables, **method.environment, **FIXED})
        return self.left(quantity, tree, commit, folder)

    def left(self, quantity: str, tree: Path, commit: str, folder: Path) -> Benchmark:
        """Read a quantity from what an execution in `folder` left."""
        if quantity.startswith(SIZE):
            try:
                return benchmark_of(quantity, weigh(tree, quantity.removeprefix(SIZE)))
            except WeighingError as error:
                step = f"name files that the build or the run writes, from the top of the checkout: {SIZE}dist/*.whl"
                place = f"commit {short(commit)}"
                raise ExecutionError(FailureKind.MISSING, str(error), place=place, next_step=step) from None
        benchmark = sum_of_processes(quantity, folder / LOGS)
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
        """Run under a counter, with its logs next to the result. Fix addresses if the variables fix the rest."""
        logs = folder / LOGS
        logs.mkdir()
        command = counted_command(self.commands.run, counter, logs, fixed=FIXED.items() <= variables.items())
        return self._run(command, tree, commit, folder, variables)

    def run_other(
        self, command: str, tree: Path, commit: str, folder: Path, *, variables: Mapping[str, str] | None = None
    ) -> Path:
        """Run another command, such as a profiler's; return what it wrote or printed, without counting."""
        return self._run(command, tree, commit, folder, variables or {})

    def warm_up(self, tree: Path, commit: str, folder: Path) -> None:
        """Run once for one-time work (compiled files, disk caches); the result is discarded."""
        with contextlib.suppress(ExecutionError):
            self._run(self.commands.run, tree, commit, folder, {})

    def _run(self, command: str, tree: Path, commit: str, folder: Path, variables: Mapping[str, str]) -> Path:
        """Run the command; return its result: the named file, or else its standard output.

        `executions` then has its times.
        """
        result, fault = self._finished(command, tree, commit, folder, variables)
        if fault is not None:
            error = self.failed("the benchmark", commit, FailureKind.CRASHED, fault, hint=_longer(fault, "--timeout"))
            if isinstance(error, ExecutionError) and fault.startswith(ENDED_BY_ITSELF) and _has_content(result):
                error.left = result
                # What it printed as its result explains nothing.
                error.fault = fault if result.parent != folder else error.fault
            raise error
        return result

    def outcome(self, tree: Path, commit: str, folder: Path, variables: Mapping[str, str]) -> Benchmark:
        """Run the command once; its value states whether it failed. Exit code 125 means that it cannot be tested."""
        _, fault = self._finished(self.commands.run, tree, commit, folder, variables)
        if fault is not None and (fault == UNTESTABLE or self._log.tells_of_full_disk):
            raise self.failed("the command", commit, FailureKind.MISSING, fault)
        return benchmark_of(FAILURES, PASSED if fault is None else FAILED)

    def _finished(
        self, command: str, tree: Path, commit: str, folder: Path, variables: Mapping[str, str]
    ) -> tuple[Path, str | None]:
        """Run the command; return its result, and why it failed."""
        written, printed = folder / _RESULT_NAME, folder / "standard-output" / _RESULT_NAME
        printed.parent.mkdir()
        self._log.begin(f"{short(commit)}: run")
        meter = Meter()
        with printed.open("wb") as standard_output:
            fault = run_command(
                command,
                directory=tree,
                environment=self._environment(commit, **{**variables, OUTPUT_VARIABLE: str(written)}),
                log=self._log,
                timeout_seconds=self.commands.run_timeout_seconds,
                standard_output=standard_output,
                confined=self._confined,
                meter=meter,
            )
        self.executions = () if meter.execution is None else (meter.execution,)
        return written if _has_content(written) else printed, fault

    def _environment(self, commit: str, **own: str) -> dict[str, str]:
        variant = self.commands.variants.get(commit)
        own |= {COMMIT_VARIABLE: commit} if variant is None else {COMMIT_VARIABLE: commit, VARIANT_VARIABLE: variant}
        return child_environment(self._environ, named=self.commands.environment, **own)

    def failed(self, what: str, commit: str, kind: FailureKind, fault: str, *, hint: str = "") -> BotError:
        """Return the commit's error, or the machine's for a full disk: that must not count against the commit."""
        tail, place = self._log.tail, f"commit {short(commit)}"
        message = f"{what} {fault}" + (f"; its output ends with: {tail}" if tail else "")
        if self._log.tells_of_full_disk:
            return InfrastructureError(message, place=place, next_step=FREE_SPACE)
        error = (NoSamplesError if hint else ExecutionError)(
            kind,
            message,
            place=place,
            next_step=f"run the command in a checkout of this commit; its whole output is in {self._log.path}{hint}",
        )
        error.fault = f"{fault}: {tail}" if tail else fault
        return error


def _longer(fault: str, option: str) -> str:
    return f"; {option} gives it more time" if fault.startswith("took longer") else ""


def _visible_processes(commands: Commands, environ: Mapping[str, str]) -> str:
    """State which processes of this machine the commands can see."""
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
