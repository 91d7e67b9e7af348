"""Processes that left a command's group, and what they can read of us. Linux only; elsewhere they stay.

A command's child that moves to a session of its own (`setsid`, a daemon) is in no group of the command any more. A
child subreaper (prctl(2), Linux 3.4) gets such orphans as its own children, whatever they did to their sessions, so
they can be found. What was started by another process on request (a container engine, systemd) is not among them.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from bot.closed import close_process

PR_SET_CHILD_SUBREAPER: Final = 36
# A process that forks faster than it is killed would keep us here for ever.
SWEEP_SECONDS: Final = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    id: int
    parent: int
    session: int


@cache
def guard() -> bool:
    """Orphans of our commands become our children, and our own environment is closed to them; whether that worked.

    /proc/PID/environ of a process that is not dumpable belongs to root: a command's child cannot read there what its
    own environment withholds.
    """
    if sys.platform != "linux":
        return False
    close_process()
    return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def end_escaped() -> tuple[int, int]:
    """Kill every descendant in another session than ours, and theirs; how many there were, and how many are left.

    Our own helpers (git) share our session. Commands get one of their own, which nothing of them can leave for ours.
    """
    if not guard():
        return 0, 0
    ended: set[int] = set()
    deadline = time.monotonic() + SWEEP_SECONDS
    while (left := escaped()) and time.monotonic() < deadline:
        for process in left:
            ended.add(process.id)
            # Ended meanwhile, or another user's.
            with contextlib.suppress(OSError):
                os.kill(process.id, signal.SIGKILL)
        for process in left:
            if process.parent == os.getpid():
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.id, os.WNOHANG)
        time.sleep(0.005)
    return len(ended), len(left)


def escaped() -> tuple[Process, ...]:
    try:
        # Looks, and takes no child's end from whoever waits for it.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return ()  # who has no child has no descendant
    processes = tuple(_processes())
    session = os.getsid(0)
    ours = {os.getpid()}
    grown = True
    while grown:
        children = {process.id for process in processes if process.parent in ours} - ours
        ours |= children
        grown = bool(children)
    return tuple(process for process in processes if process.id in ours and process.session != session)


def _processes() -> Iterator[Process]:
    names = os.listdir("/proc")  # noqa: PTH208 - of hundreds, only the names are wanted
    for number in filter(str.isdigit, names):
        try:
            with Path(f"/proc/{number}/stat").open("rb", buffering=0) as file:
                # The name stands in brackets and may hold anything, brackets too.
                _, parent, _, session = file.read().rpartition(b")")[2].split(maxsplit=4)[:4]
        except OSError:
            continue
        yield Process(id=int(number), parent=int(parent), session=int(session))
