"""Processes as a test sees them: is one still alive, how many are started, and when their time is over."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.measure import processes


class LateClock:
    """The clock of measured commands: a time limit passes as soon as the command has made `file`, and not before."""

    def __init__(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._file = file
        self._ahead = 0.0
        monkeypatch.setattr(processes, "time", self)

    def monotonic(self) -> float:
        if self._file.exists():
            self._file.unlink()
            self._ahead += 3600
        return time.monotonic() + self._ahead

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def becomes(condition: Callable[[], object], *, within_seconds: float = 60.0) -> bool:
    """Whether the condition holds soon: another process takes a moment, especially on a busy machine."""
    deadline = time.monotonic() + within_seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return bool(condition())


def ends(pid: int) -> bool:
    return becomes(lambda: not is_alive(pid))


@contextmanager
def counted_processes() -> Iterator[list[Any]]:
    """Collect the argument lists of the processes that are started within the context."""
    started: list[Any] = []
    begin = subprocess.Popen.__init__

    def counting(self: Any, args: Any, *positional: Any, **named: Any) -> None:
        started.append(args)
        begin(self, args, *positional, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", counting)
        yield started
