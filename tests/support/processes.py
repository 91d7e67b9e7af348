"""Processes as a test sees them: is one still alive, and how many are started."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


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
