"""The n-th call fails, as SQLite tests itself: a command in a child of this process, with a fault in one of its calls.

A family of calls lists those of an undisturbed command, and repeats the command with a fault in one of them. `Writes`
are the system calls that change files, of the command and of each git that it starts; strace disturbs them. `GitCalls`
and `Statements` are the calls of git and of the database's driver.
"""

import importlib
import itertools
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Final, NoReturn

import perf_culprit
from perf_culprit.git import command, objects
from perf_culprit.git.objects import remove_kept
from perf_culprit.store import git_branch
from perf_culprit.store.retention import Patience

# Each call up to here fails in turn, and then as many others, drawn by this seed. The variable names fewer.
EACH, DRAWN, SEED = 50, 20, 53
PART: Final = "NTH_CALLS"
LONGEST_S: Final = 120

Action = Callable[[], int]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The end of a command: its exit code, None if it was killed, and all that it printed. `hit`: it met the fault."""

    code: int | None
    output: str
    hit: bool = True


@dataclass(frozen=True, kw_only=True)
class Call:
    """The call `number` of its `name` in `process`: 0 is the command, 1 the first git.

    `before` counts the earlier calls of each process by name.
    """

    name: str
    number: int
    process: int = 0
    what: str = ""
    before: Mapping[int, Mapping[str, int]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name} {self.number} of process {self.process}: {self.what}"


def chosen(count: int) -> list[int]:
    """Return the places of the calls that fail, of `count`: each of the first, and then some others."""
    each = int(os.environ.get(PART, EACH))
    rest = range(min(each, count), count)
    drawn = Random(SEED).sample(rest, min(DRAWN * each // EACH, len(rest)))
    return [*range(min(each, count)), *sorted(drawn)]


def remove_locks(repository: Path) -> None:
    """Remove what a killed git left while it moved a branch, as the message of the next git demands."""
    for lock in (repository / "refs").rglob("*.lock"):
        lock.unlink()


# How often the calls are listed: the order of git's processes is now and then another one.
LISTINGS: Final = 3


def wrong_of(table: Callable[[], Mapping[str, str]]) -> dict[str, str]:
    """Return the wrong cells of `table`, which lists the calls and disturbs each.

    It is made again if too few calls met one of the faults: such a table would say nothing about that fault. Raises
    AssertionError if the calls of no listing are met.
    """
    wrong: dict[str, str] = {}
    rare: dict[str, list[str]] = {}
    for _ in range(LISTINGS):
        cells = table()
        assert cells
        wrong |= {cell: word for cell, word in cells.items() if word.startswith("wrong")}
        rare = _rare(cells)
        if not rare:
            return wrong
    raise AssertionError(f"too few calls met these faults: {rare}")


def _rare(cells: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the faults that more than a third of their calls did not meet, with these calls."""
    by_fault: dict[str, list[tuple[str, str]]] = {}
    for cell, word in cells.items():
        call, _, fault = cell.rpartition(", ")
        by_fault.setdefault(fault, []).append((call[:60], word))
    missed = {fault: [call for call, word in outcomes if word == "not met"] for fault, outcomes in by_fault.items()}
    return {fault: calls for fault, calls in missed.items() if len(calls) > len(by_fault[fault]) // 3}


class Calls(ABC):
    """A family of calls. `folder` is for its own files."""

    faults: ClassVar[tuple[str, ...]]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.met = folder / "met"
        folder.mkdir(parents=True)

    @abstractmethod
    def of(self, action: Action) -> tuple[Ended, list[Call]]:
        """Do `action` undisturbed, and return its calls."""

    @abstractmethod
    def disturbed(self, action: Action, call: Call, fault: str) -> Ended: ...


def ended(
    folder: Path,
    action: Action,
    *,
    prepare: Callable[[], object] = lambda: None,
    attach: Callable[[int], object] = lambda _: None,
) -> Ended:
    """Do `action` in a child as a new process would: it prints into a file, and ends as Python ends a program."""
    _import_all()
    output = folder / "output.txt"
    output.write_bytes(b"")
    ready, go = os.pipe()
    child = os.fork()
    if not child:
        _become(action, prepare, output, ready, go)
    os.close(ready)
    try:
        attach(child)
    finally:
        os.close(go)
    status = os.waitpid(child, 0)[1]
    code = None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return Ended(code=code, output=output.read_text(errors="replace"))


@cache
def _import_all() -> None:
    """Import what commands import, once here and not in each child."""
    command._command_layer()
    for module in pkgutil.walk_packages(perf_culprit.__path__, "perf_culprit."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _become(action: Action, prepare: Callable[[], object], output: Path, ready: int, go: int) -> NoReturn:
    code = 1
    try:
        signal.alarm(LONGEST_S)
        handle = os.open(output, os.O_WRONLY | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(handle, stream)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
        git_branch._tips.clear()  # a new process has seen nothing yet
        objects._idle.clear()
        command._read_settings.cache_clear()
        assert Patience.__init__.__kwdefaults__ is not None
        Patience.__init__.__kwdefaults__ |= {"first_pause_seconds": 0.0, "attempts": 3}
        prepare()
        os.close(go)
        os.read(ready, 1)
        try:
            code = action()
        except BaseException as error:  # noqa: BLE001 - as Python ends a program
            os.write(handle, f"Traceback: {type(error).__name__}: {error}\n".encode())
        remove_kept()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


# System calls that change files.

# What can fail on a full disk.
SYSTEM_CALLS: Final = (
    *("write", "pwrite64", "writev", "fsync", "fdatasync", "ftruncate", "fallocate"),
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat"),
)
_NAMES: Final = ",".join(SYSTEM_CALLS)
_LINE: Final = re.compile(r"^(?:(\d+) +)?([0-9.]+) (\w+)\((.*)$")
_FILE: Final = re.compile(r"^\d+<(/(?!dev/|proc/)[^>]*)>")
# git, and which call of git it is. One of them, and with $NTH_LATER those from $NTH_FROM on, run under strace. Its fast
# filter sends no signals.
GIT: Final = """#!/bin/sh
read -r n < "$NTH_FOLDER/count"
echo $((n + 1)) > "$NTH_FOLDER/count"
options=
case $NTH_PROCESS in all|$n) options=$NTH_OPTIONS ;; *) [ "$n" -lt "$NTH_FROM" ] || options=$NTH_LATER ;; esac
[ -n "$options" ] || exec "$NTH_GIT" "$@"
case $options in *signal=*) filter= ;; *) filter=--seccomp-bpf ;; esac
exec "$NTH_STRACE" -f $filter -qq -y -ttt -o "$NTH_FOLDER/log-$n" $options "$NTH_GIT" "$@"
"""


@cache
def no_strace() -> str | None:
    """Return why strace cannot be used here; None if it can."""
    program = shutil.which("strace")
    if program is None:
        return "strace is not installed (apt-get install strace)"
    options = ("-qq", "-o", os.devnull, "-e", "trace=write", "-e", "inject=write:error=ENOSPC:when=1")
    probe = subprocess.run([program, *options, "echo", "x"], capture_output=True, text=True, check=False)
    return None if "No space left" in probe.stderr else f"strace may not trace here: {probe.stderr[:200]}"


class Writes(Calls):
    """Calls that change files. The disk is full for one of them, or from it on; or the process is killed there."""

    faults = ("full once", "full for good", "killed")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._programs = folder / "bin"
        self._programs.mkdir()
        (self._programs / "git").write_text(GIT)
        (self._programs / "git").chmod(0o755)

    def of(self, action: Action) -> tuple[Ended, list[Call]]:
        traced = self._traced(action, "all", _options([]))
        events = [event for log in self._logs() for event in _events(log)]
        return traced, list(_calls(sorted(events)))

    def disturbed(self, action: Action, call: Call, fault: str) -> Ended:
        own, of_command, later = [f"inject={call.name}:{_effect(fault)}:when={call.number}"], "", ""
        if fault == "full for good":
            own = _from_now_on(call, call.process)
            of_command = _options(_from_now_on(call, 0)) if call.process else ""
            later = _options([f"inject={_NAMES}:{_effect(fault)}:when=1+"])
        options = _options(own)
        begun = max(call.before, default=0)
        result = self._traced(action, str(call.process), options, of_command=of_command, later=later, begun=begun)
        text = "".join(log.read_text(errors="replace") for log in self._logs())
        return Ended(code=result.code, output=result.output, hit="(INJECTED)" in text or "SIGKILL" in text)

    def _logs(self) -> list[Path]:
        return sorted(self.folder.glob("log-*"))

    def _traced(
        self, action: Action, process: str, options: str, *, of_command: str = "", later: str = "", begun: int = 0
    ) -> Ended:
        for log in self._logs():
            log.unlink()
        (self.folder / "count").write_text("1\n")
        own = {
            "PATH": f"{self._programs}:{os.environ['PATH']}",
            "NTH_FOLDER": str(self.folder),
            "NTH_PROCESS": process,
            "NTH_OPTIONS": options,
            "NTH_LATER": later,
            "NTH_FROM": str(begun + 1),
            "NTH_GIT": str(shutil.which("git")),
            "NTH_STRACE": str(shutil.which("strace")),
        }
        tracers: list[subprocess.Popen[bytes]] = []

        def attach(child: int) -> None:
            if not (words := options if process in ("all", "0") else of_command):
                return
            log = ("-qq", "-y", "-ttt", "-o", str(self.folder / "log-0"))
            tracer = subprocess.Popen([own["NTH_STRACE"], *log, *words.split(), "-p", str(child)], stderr=-3)
            tracers.append(tracer)
            while "TracerPid:\t0\n" in Path(f"/proc/{child}/status").read_text():
                assert tracer.poll() is None
                time.sleep(0.001)

        result = ended(self.folder, action, prepare=lambda: os.environ.update(own), attach=attach)
        for tracer in tracers:
            tracer.wait(LONGEST_S)
        return result


def _options(expressions: Iterable[str]) -> str:
    return " ".join(f"-e {one}" for one in (f"trace={_NAMES}", *expressions))


def _effect(fault: str) -> str:
    return "signal=KILL" if fault == "killed" else "error=ENOSPC"


def _from_now_on(call: Call, process: int) -> list[str]:
    """Return the injections of a disk that stays full. strace counts each name on its own."""
    before = call.before.get(process, {})
    return [f"inject={name}:error=ENOSPC:when={before.get(name, 0) + 1}+" for name in SYSTEM_CALLS]


# The time of a call, its process, its thread, its name, its arguments.
_Event = tuple[float, int, str, str, str]


def _events(log: Path) -> Iterator[_Event]:
    process = int(log.name.removeprefix("log-"))
    for line in log.read_text(errors="replace").splitlines():
        if (match := _LINE.match(line)) and match[3] in SYSTEM_CALLS:
            yield float(match[2]), process, match[1] or "", match[3], match[4]


def _calls(events: list[_Event]) -> Iterator[Call]:
    """Yield the calls on files. A full disk has no part in pipes, sockets and devices."""
    threads: dict[tuple[int, str], Counter[str]] = {}
    for _, process, thread, name, arguments in events:
        before = {other: dict(counts) for (other, one), counts in threads.items() if (other, one) != (process, thread)}
        counts = threads.setdefault((process, thread), Counter())
        before[process] = dict(counts)
        counts[name] += 1
        if _FILE.match(arguments) or not arguments[:1].isdigit():
            yield Call(name=name, number=counts[name], process=process, what=arguments[:150], before=before)


# Calls of git.

# A worker: the words of a call, and the call.
Wrapper = Callable[[str, Callable[[], Any]], Any]


class InProcess(Calls):
    """Calls of a function of this process: each fails before or after its work, or the command is killed there."""

    faults = ("fails once", "fails for good", "answer lost", "killed before", "killed after")

    @abstractmethod
    def replace(self, wrapper: Wrapper) -> None:
        """Have each call go through `wrapper`."""

    def of(self, action: Action) -> tuple[Ended, list[Call]]:
        names = self.folder / "names"
        names.write_text("")

        def noted(words: str, work: Callable[[], Any]) -> Any:
            with names.open("a") as file:
                file.write(" ".join(words.split())[:100] + "\n")
            return work()

        result = ended(self.folder, action, prepare=lambda: self.replace(noted))
        words = names.read_text().splitlines()
        return result, [Call(name="call", number=number, what=what) for number, what in enumerate(words, start=1)]

    def disturbed(self, action: Action, call: Call, fault: str) -> Ended:
        self.met.unlink(missing_ok=True)
        numbers = itertools.count(1)

        def failing(_: str, work: Callable[[], Any]) -> Any:
            number = next(numbers)
            if number != call.number and not (number > call.number and fault == "fails for good"):
                return work()
            self.met.touch()
            if fault in ("answer lost", "killed after"):
                work()
            if fault.startswith("killed"):
                os.kill(os.getpid(), signal.SIGKILL)
            raise LostError

        result = ended(self.folder, action, prepare=lambda: self.replace(failing))
        return Ended(code=result.code, output=result.output, hit=self.met.exists())


class LostError(Exception):
    """Stands for the error that git or a driver has."""


class GitCalls(InProcess):
    def replace(self, wrapper: Wrapper) -> None:
        real = command.run_git

        def run_git(*arguments: Any, **options: Any) -> bytes:
            remote = options.get("remote") is not None
            try:
                answer: bytes = wrapper(f"git {arguments[1]}", lambda: real(*arguments, **options))
            except LostError:
                lost = "error: RPC failed; curl 56 Connection reset by peer\nfatal: early EOF"
                raise command.GitError(arguments[1], lost if remote else "fatal: Cannot allocate memory") from None
            return answer

        for module in list(sys.modules.values()):
            if vars(module).get("run_git") is real:
                vars(module)["run_git"] = run_git


class Statements(InProcess):
    def replace(self, wrapper: Wrapper) -> None:
        """Wrap each statement and each commit of both drivers. A lost connection is the driver's own error."""
        import sqlite3

        import psycopg
        from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
        from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

        def wrap(dialect: Any, name: str) -> None:
            real = getattr(dialect, name)

            def wrapped(self: Any, first: Any, *arguments: Any, **options: Any) -> Any:
                words = str(arguments[0]) if arguments else name
                try:
                    return wrapper(words, lambda: real(self, first, *arguments, **options))
                except LostError:
                    if dialect is SQLiteDialect_pysqlite:
                        raise sqlite3.OperationalError("database is locked") from None
                    (getattr(first, "dbapi_connection", None) or first.connection).close()
                    raise psycopg.OperationalError("server closed the connection unexpectedly") from None

            setattr(dialect, name, wrapped)

        for dialect in (PGDialect_psycopg, SQLiteDialect_pysqlite):
            for name in ("do_execute", "do_executemany", "do_execute_no_params", "do_commit"):
                wrap(dialect, name)
