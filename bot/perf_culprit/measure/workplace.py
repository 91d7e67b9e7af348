"""Build and execute commits: worktrees, cached builds, and a folder that is always removed."""

import fcntl
import hashlib
import os
import platform
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.errors import DataError, InfrastructureError
from perf_culprit.measure.processes import Log, end_orphans
from perf_culprit.measure.quantities_of_commands import benchmark_of, times
from perf_culprit.measure.runner import Commands, ExecutionError, Runner
from perf_culprit.model.bisection import FailureKind
from perf_culprit.model.count import FAILURES, Count
from perf_culprit.model.run import Benchmark, Run

GIT_LINK: Final = ".git"

# What to do about a command whose output holds no results.
TIME_IT: Final = "; if it prints no results, measure its time: --run \"bash -c '(time COMMAND) 2>&1'\""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildCache:
    """A folder of the user's. Entries are complete or absent, and are never deleted."""

    folder: Path

    def has(self, key: str) -> bool:
        return (self.folder / key).is_dir()

    def restore(self, key: str, worktree: Path) -> None:
        """Fill a worktree that has no files yet. File times are kept, so that `make` has nothing to do."""
        shutil.copytree(self.folder / key, worktree, symlinks=True, dirs_exist_ok=True)

    def store(self, key: str, worktree: Path) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(dir=self.folder, prefix=".new-"))
            try:
                shutil.copytree(worktree, made, symlinks=True, dirs_exist_ok=True, ignore=_git_link_of(worktree))
                # Another process may have been faster: its entry is equivalent.
                if not self.has(key):
                    made.rename(self.folder / key)
            finally:
                shutil.rmtree(made, ignore_errors=True)
        except OSError as error:
            raise InfrastructureError(
                f"the build cannot be kept: {error.strerror or error}",
                place=str(self.folder),
                next_step="give a folder with enough room with --cache, or leave it out",
            ) from None


def build_key(tree: str, command: str) -> str:
    """Return the key of a build. The same files, command and kind of machine give the same build."""
    facts = f"{tree}\x00{command}\x00{platform.machine()}\x00{platform.system()}"
    return hashlib.sha256(facts.encode(errors="surrogateescape")).hexdigest()


def _git_link_of(worktree: Path) -> Callable[[str, list[str]], list[str]]:
    """Ignore the worktree's own link to its repository; links of submodules belong to the build."""

    def ignored(folder: str, names: list[str]) -> list[str]:
        return [GIT_LINK] if GIT_LINK in names and os.path.samefile(folder, worktree) else []  # noqa: PTH121 - gets text

    return ignored


# A built worktree of a large project has gigabytes: above this number, the least recently used one is removed.
KEPT_WORKTREES: Final = 16

Build = Callable[[Path, str], None]


class Trees:
    """The worktrees of one session. `build(folder, commit)` is called once for each content; it may raise.

    Without a build `command` the files are as in git, and the `cache` is not used. Variants (`Commands.variants`) have
    worktrees and builds of their own.
    """

    def __init__(
        self,
        repository: Path,
        folder: Path,
        *,
        build: Build,
        command: str | None,
        variants: Mapping[str, str] | None = None,
        cache: BuildCache | None = None,
        kept: int = KEPT_WORKTREES,
    ) -> None:
        self._repository = repository
        self._folder = folder
        self._build = build
        self._command = command
        self._variants = variants or {}
        self._cache = None if command is None else cache
        self._kept = kept
        self._paths: OrderedDict[str, Path] = OrderedDict()
        self._failed: dict[str, ExecutionError] = {}
        self._names: dict[str, str] = {}
        self._made = 0

    def of(self, commit: str) -> Path:
        """Return the built worktree of this commit, or of another one with the same files."""
        tree = self._tree(commit)
        if tree in self._failed:
            raise self._failed[tree]
        if tree in self._paths:
            self._paths.move_to_end(tree)
            return self._paths[tree]
        while len(self._paths) >= self._kept:
            self._remove(next(iter(self._paths)))
        return self._add(tree, commit)

    def build_seconds(self, commit: str) -> float:
        """Return the duration of a build in its own folder, which is removed afterwards."""
        path = self._folder / f"build-{commit[:12]}"
        try:
            git.add_worktree(self._repository, path, commit)
            started = time.monotonic()
            self._build(path, commit)
            return time.monotonic() - started
        finally:
            self._remove_folder(path)

    def close(self) -> None:
        for tree in tuple(self._paths):
            self._remove(tree)

    def _tree(self, commit: str) -> str:
        if commit not in self._names:
            (name,) = git.tree_names(self._repository, [commit])
            if name is None:
                raise InfrastructureError(
                    f"the files of commit {commit} are not here",
                    place=str(self._repository),
                    next_step="fetch the whole history (actions/checkout: `fetch-depth: 0`)",
                )
            self._names[commit] = f"{name} {self._variants[commit]}" if commit in self._variants else name
        return self._names[commit]

    def _add(self, tree: str, commit: str) -> Path:
        self._made += 1
        path = self._folder / f"{self._made:03d}-{commit[:12]}"
        key = build_key(tree, self._command or "")
        # Registered before it exists, so that a partial worktree is removed after an interrupt.
        self._paths[tree] = path
        try:
            if self._cache is not None and self._cache.has(key):
                git.add_worktree(self._repository, path, commit, checkout=False)
                self._cache.restore(key, path)
            else:
                git.add_worktree(self._repository, path, commit)
                if self._command is not None:
                    self._build(path, commit)
                if self._cache is not None:
                    self._cache.store(key, path)
        except ExecutionError as error:
            self._failed[tree] = error
            self._remove(tree)
            raise
        return path

    def _remove(self, tree: str) -> None:
        self._remove_folder(self._paths.pop(tree))

    def _remove_folder(self, path: Path) -> None:
        try:
            git.remove_worktree(self._repository, path)
        except git.GitError:
            # Not a worktree yet, or files that git may not delete (a Go module cache is read-only).
            remove_folder(path)
            git.prune_worktrees(self._repository)
            for own, worktree in git.half_made_worktrees(self._repository).items():
                if worktree == path:
                    remove_folder(own)


def remove_folder(path: Path) -> None:
    """Delete a folder of ours, even if a build removed the write permission."""
    for folder, names, _ in os.walk(path):
        for name in names:
            inner = Path(folder, name)
            if not inner.is_symlink():
                inner.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


# perf takes files below /tmp/perf-… for tables of compiled code, and shows no symbols of a program there.
MEASURE_FOLDER_PREFIX: Final = "culprit-measure-"
LOCK_NAME: Final = "in-use"

_RunReader = Callable[[Path], Run]


BY_CLOCK: Final = "cpu-time: the tool repeats its work by the clock, so only its own times tell something"


def not_taken(quantity: str, error: ExecutionError) -> str:
    return f"{quantity} could not be measured: {error.message} ({error.next_step})"


class Workplace:
    """Executes commits one after the other. `read` converts a result file or folder to a run.

    `is_by_clock` tells whether its tool repeated the work until a time had passed.
    """

    def __init__(
        self, trees: Trees, runner: Runner, folder: Path, *, read: _RunReader, is_by_clock: Callable[[Path], bool]
    ) -> None:
        self._trees = trees
        self._runner = runner
        self._folder = folder
        self._read = read
        self._is_by_clock = is_by_clock
        self._executions = 0
        self._warm: set[Path] = set()

    @property
    def commands(self) -> Commands:
        return self._runner.commands

    def executing(self, commands: Commands) -> "Workplace":
        """These checkouts with other commands, such as the same with another `count`."""
        runner = self._runner.executing(commands)
        other = Workplace(self._trees, runner, self._next_folder(), read=self._read, is_by_clock=self._is_by_clock)
        other._warm = self._warm
        return other

    def remark(self, text: str) -> None:
        """Write a line into the log of the commands."""
        self._runner.remark(text)

    def prepare(self, commit: str) -> None:
        """Build the commit now, so that builds do not interrupt a round."""
        self._trees.of(commit)

    def tree(self, commit: str) -> Path:
        """Return the folder in which this commit's commands run."""
        return self._trees.of(commit)

    def warm_up(self, commit: str) -> None:
        """Build the commit, and execute it once without a result if this checkout never ran: a first run compiles.

        A checkout that was removed to make room needs this again.
        """
        tree = self._trees.of(commit)
        if tree not in self._warm and self.commands.count != FAILURES:
            self._runner.warm_up(tree, commit, self._next_folder())
            self._warm.add(tree)

    def take(self, commit: str, quantity: str, *, variables: Mapping[str, str] | None = None) -> Benchmark:
        """Measure a quantity with one more execution or build, whatever the commands' own results are."""
        if quantity == Count.BUILD_TIME:
            return benchmark_of(quantity, self._trees.build_seconds(commit))
        tree, folder = self._trees.of(commit), self._next_folder()
        if quantity == Count.CPU_TIME:
            self._runner.run_other(self.commands.run, tree, commit, folder, variables=variables)
            return benchmark_of(quantity, sum(execution.cpu_seconds for execution in self._runner.executions))
        if quantity == FAILURES:
            return self._runner.outcome(tree, commit, folder, variables or {})
        return self._runner.counted(quantity, tree, commit, folder, variables or {})

    def count_functions(self, commit: str) -> tuple[Path, ...]:
        """Callgrind's files with its instructions by function; they exist until the workplace is closed."""
        self.warm_up(commit)
        return self._runner.count_functions(self._trees.of(commit), commit, self._next_folder())

    def run(self, commit: str, *, command: str | None = None, variables: Mapping[str, str] | None = None) -> Path:
        """Run `command` (None: the benchmark's) in this commit's tree; return its output, unread and uncounted."""
        chosen = self.commands.run if command is None else command
        return self._runner.run_other(chosen, self._trees.of(commit), commit, self._next_folder(), variables=variables)

    def left_by(self, error: ExecutionError) -> tuple[Path, Run] | None:
        """Read the results that a failed execution left; None if there are none."""
        if error.left is None:
            return None
        with suppress(DataError):
            return error.left, self._read(error.left)
        return None

    def _next_folder(self) -> Path:
        self._executions += 1
        folder = self._folder / "executions" / f"{self._executions:04d}"
        folder.mkdir(parents=True)
        return folder

    def execute(self, commit: str, *, variables: Mapping[str, str] | None = None) -> tuple[Path, Run]:
        """Execute once; return the place of the result and the run read from it; an ExecutionError if there is none.

        The run also has the by-product quantities, or a note why one is missing. `variables` are added to the command's
        environment.
        """
        tree = self._trees.of(commit)
        folder = self._next_folder()
        if (quantity := self.commands.count) == Count.CPU_TIME:
            return folder, self._timed(tree, commit, folder, variables or {})
        if quantity is not None:
            counted = self.take(commit, quantity, variables=variables)
            self._warm.add(tree)
            return folder, Run(benchmarks=(counted,))
        result = self._runner.run(tree, commit, folder, variables=variables)
        self._warm.add(tree)
        try:
            run = self._read(result)
        except DataError as error:
            fault = f"gave a result that cannot be read: {error.message}"
            raise self._runner.failed("the benchmark", commit, FailureKind.CRASHED, fault, hint=TIME_IT) from None
        run = replace(run, executions=self._runner.executions)
        for quantity in self.commands.beside:
            if quantity == Count.CPU_TIME:
                run = self._with_times(run, result)
                continue
            try:
                benchmark = self._runner.left(quantity, tree, commit, folder)
                run = replace(run, benchmarks=(*run.benchmarks, benchmark))
            except ExecutionError as error:
                run = replace(run, notes=(*run.notes, not_taken(quantity, error)))
        return result, run

    def _timed(self, tree: Path, commit: str, folder: Path, variables: Mapping[str, str]) -> Run:
        """Execute once, for the times of the command. If a tool repeats its work by the clock, its own times count."""
        result = self._runner.run_other(self.commands.run, tree, commit, folder, variables=variables)
        self._warm.add(tree)
        run = self._read(result) if self._is_by_clock(result) else Run()
        return self._with_times(replace(run, executions=self._runner.executions), result)

    def _with_times(self, run: Run, result: Path) -> Run:
        if self._is_by_clock(result):
            return replace(run, notes=(*run.notes, BY_CLOCK))
        return replace(run, benchmarks=(*run.benchmarks, *(one for each in run.executions for one in times(each))))


@contextmanager
def open_workplace(
    repository: Path,
    *,
    commands: Commands,
    read: _RunReader,
    log: Log,
    cache: Path | None = None,
    is_by_clock: Callable[[Path], bool] = lambda _: False,
) -> Iterator[Workplace]:
    """Open a workplace. On exit its folder and worktrees are always removed; so are those of killed workplaces."""
    remove_abandoned(repository)
    folder = Path(tempfile.mkdtemp(prefix=MEASURE_FOLDER_PREFIX)).resolve()
    try:
        with (folder / LOCK_NAME).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            runner = Runner(commands, log=log, environ=dict(os.environ))
            trees = Trees(
                repository,
                folder,
                build=runner.build,
                command=commands.build,
                variants=commands.variants,
                cache=None if cache is None else BuildCache(folder=cache.resolve()),
            )
            try:
                yield Workplace(trees, runner, folder, read=read, is_by_clock=is_by_clock)
            finally:
                trees.close()
    finally:
        remove_folder(folder)


def remove_abandoned(repository: Path) -> None:
    """Clean up after workplaces whose process was killed (`kill -9`): nobody holds their lock.

    A benchmark that still runs there would disturb the measurement.
    """
    for own, path in git.half_made_worktrees(repository).items():
        if path.parent.name.startswith(MEASURE_FOLDER_PREFIX) and _is_removed(path.parent):
            remove_folder(own)
    folders = {
        path.parent for path in git.worktrees(repository)[1:] if path.parent.name.startswith(MEASURE_FOLDER_PREFIX)
    }
    for folder in filter(_is_removed, sorted(folders)):
        # One by one: `git worktree prune` also removes what another process begins to add, and nothing that is locked.
        for path in git.worktrees(repository):
            if path.parent == folder:
                with suppress(git.GitError):  # another process has removed it
                    git.remove_worktree(repository, path)


def _is_removed(folder: Path) -> bool:
    """Remove a dead process's folder. It stays if it is in use, another user's, or not ours at all."""
    try:
        if folder.exists():
            with (folder / LOCK_NAME).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                end_orphans(folder)
                remove_folder(folder)
    except OSError:
        return False
    return True
