"""Why a command left no trace: it is executed once more, and the processes that it starts are looked at (Linux)."""

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from .fault import TraceError

PROCESSES: Final = Path("/proc")
# Python takes longer than this to start.
LOOK_EVERY_S: Final = 0.004
PYTHON: Final = re.compile(r"python[0-9.]*(t|d)?|pypy[0-9.]*")
# Of the interpreter's options these take the next word, or end them.
_WITH_VALUE: Final = re.compile(r"-[bBdEhiIOPqRsSuvVx?]*[WX]")
_LAST: Final = re.compile(r"-[bBdEhiIOPqRsSuvVx?]*[cm].*|-|--")


class Lost(Enum):
    """The reason, with what is said of it and the next step. The first one that is true of a process counts."""

    ISOLATED = (
        "it runs `python -I`, which ignores PYTHONPATH, by which the tracer gets in",
        "leave out -I (or use -s -P, which keep PYTHONPATH)",
    )
    NO_ENVIRONMENT = ("it runs `python -E`, which ignores PYTHONPATH, by which the tracer gets in", "leave out -E")
    NO_SITE = ("it runs `python -S`, which starts without the tracer's sitecustomize", "leave out -S")
    CLEARED = (
        "it runs Python without the environment that it was given (env -i, tox, nox)",
        "pass PYTHONPATH and PERF_CULPRIT_TRACE on, or run Python directly",
    )
    PYTHON_PATH = (
        "it sets a PYTHONPATH of its own, without the tracer's folder",
        "keep what is there: PYTHONPATH=lib:$PYTHONPATH",
    )
    ENDED = (
        "its Python ended without running what it has registered for its end (os._exit, os.exec, a signal)",
        "let it end by itself",
    )
    NO_PYTHON = (
        "it runs no Python",
        "give a command that writes a profile: bisect --profile, or diagnose --profile (docs/profiles.md)",
    )
    UNKNOWN = (
        "none of its processes could be looked at",
        "run Python 3.11 or newer, without -I, -E or -S and with PYTHONPATH=lib:$PYTHONPATH, and let it end by itself",
    )


@dataclass(frozen=True, slots=True)
class Process:
    """As it was started: what `/proc` says of it."""

    command: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def is_python(self) -> bool:
        return bool(self.command) and bool(PYTHON.fullmatch(os.path.basename(self.command[0])))  # noqa: PTH119 - as in method.py


def why_lost(execute: Callable[[], None], *, hook: str, folder_variable: str) -> TraceError:
    """`hook`: the folder that has to be in PYTHONPATH; `folder_variable` tells the tracer where to write."""
    processes = _watched(execute)
    reason = _reason(processes, hook, folder_variable)
    message, next_step = reason.value
    return TraceError(f"no Python process of the command left a trace: {message}", next_step=next_step)


def _reason(processes: Iterable[Process], hook: str, folder_variable: str) -> Lost:
    seen = list(processes)
    if not seen:
        return Lost.UNKNOWN
    reasons = {_of(process, hook, folder_variable) for process in seen if process.is_python}
    return next((reason for reason in Lost if reason in reasons), Lost.NO_PYTHON)


def _of(process: Process, hook: str, folder_variable: str) -> Lost:
    letters = _options(process.command[1:])
    for letter, reason in (("I", Lost.ISOLATED), ("E", Lost.NO_ENVIRONMENT), ("S", Lost.NO_SITE)):
        if letter in letters:
            return reason
    if folder_variable not in process.environment:
        return Lost.CLEARED
    folders = process.environment.get("PYTHONPATH", "").split(os.pathsep)
    return Lost.ENDED if hook in folders else Lost.PYTHON_PATH


def _options(arguments: Iterable[str]) -> str:
    """The letters of the interpreter's own options."""
    letters, words = "", iter(arguments)
    for word in words:
        if not word.startswith("-") or word == "-":
            break
        letters += word.partition("=")[0].removeprefix("-") if not word.startswith("--") else ""
        if _LAST.fullmatch(word):
            # What follows -c or -m in the same word is no option.
            return re.split("[cm]", letters, maxsplit=1)[0]
        if _WITH_VALUE.fullmatch(word):
            next(words, None)
    return letters


def _watched(execute: Callable[[], None]) -> list[Process]:
    """What this process starts, directly or not, to execute the command; what it started before does not count."""
    seen: dict[tuple[int, tuple[str, ...]], Process] = {}
    own = _read(os.getpid())
    others = _descendants(os.getpid())
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(LOOK_EVERY_S):
            for pid in _descendants(os.getpid(), without=others):
                process = _read(pid)
                # Between fork and exec a process is still called as this one is.
                if process is not None and own is not None and process.command != own.command:
                    seen[pid, process.command] = process

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        execute()
    finally:
        is_over.set()
        thread.join()
    return list(seen.values())


def _descendants(root: int, without: Iterable[int] = ()) -> set[int]:
    """`without` these and what they start."""
    parents: dict[int, int] = {}
    for folder in PROCESSES.glob("[0-9]*"):
        try:
            # The name, in parentheses, may hold anything.
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    descendants, news = set[int](), {root}
    while news:
        news = {pid for pid, parent in parents.items() if parent in news}.difference(descendants, without)
        descendants |= news
    return descendants


def _read(pid: int) -> Process | None:
    try:
        command, environment = (
            (PROCESSES / str(pid) / name).read_bytes().decode(errors="replace").split("\0")
            for name in ("cmdline", "environ")
        )
    except OSError:
        return None
    pairs = (entry.partition("=") for entry in environment)
    return Process(tuple(command[:-1]), {name: value for name, _, value in pairs})
