"""The processor time of a command, and its wait for a processor, as the kernel tells them."""

import os
import resource
import sys
import time
from contextlib import suppress
from typing import Final

from perf_culprit.model.run import Execution

# What happened between two looks is known by its sums alone: so looks are frequent at first.
FIRST_LOOK_SECONDS: Final = 0.01
LAST_LOOK_SECONDS: Final = 0.1
LOOKS_SHARE: Final = 0.02
# Looking takes at most this share of a processor, however many threads the command has.
LOOKING_SHARE: Final = 0.005
RUNNABLE: Final = b"R"
# Threads wait for a processor side by side if several could run in most of the time: then no sum of theirs is the wait
# of the command. Go's threads can for moments, when one hands its work to another.
_SIDE_BY_SIDE_SHARE: Final = 0.5


class Meter:
    """The times of one command. `execution` is complete after `end`.

    The kernel adds a process's times to its parent's when the parent has waited for it, but not its wait for a
    processor. So we look at all threads several times (/proc/PID/task/TID, Linux only), and once more after the end.
    The sum of their waits counts those of two threads at one time twice. So we also add up the time in which no thread
    ran although one could, by its state at the look before. The smaller one is the command's wait.
    """

    def __init__(self) -> None:
        self._process = 0
        self._began = self._looked = self._next = 0.0
        self._children = 0.0
        self._threads: dict[str, tuple[int, int]] = {}
        self._runnable = 1
        self._idle = self._could_run = self._overlap = self._side_by_side = 0.0
        self.execution: Execution | None = None

    def start(self, process: int) -> None:
        self._process, self._children = process, _seconds_of_children()
        self._began = self._looked = time.monotonic()

    def has_ended(self) -> bool:
        """Return whether the command's own process has ended; look at its threads if it is time to. Linux only."""
        waiting = os.WEXITED | os.WNOHANG | os.WNOWAIT
        ended = os.waitid(os.P_PID, self._process, waiting) is not None
        begun = time.monotonic()
        if ended or begun >= self._next:
            spent = time.process_time()
            self._look(begun)
            spent = time.process_time() - spent
            usual = min(max(FIRST_LOOK_SECONDS, LOOKS_SHARE * (begun - self._began)), LAST_LOOK_SECONDS)
            self._next = begun + max(usual, spent / LOOKING_SHARE)
        return ended

    @property
    def pause(self) -> float:
        """The seconds until the next look."""
        return max(self._next - time.monotonic(), 0.0)

    def end(self) -> None:
        """Call this as soon as the command's process was collected."""
        seconds = time.monotonic() - self._began
        cpu_seconds = max(_seconds_of_children() - self._children, 0.0)
        delay = None
        if (ran := self._sum(0)) and self._side_by_side <= _SIDE_BY_SIDE_SHARE * seconds:
            # What ran after the last look at it did not wait then, but waited as long for its processor as before.
            idle = max(seconds - cpu_seconds + self._overlap, 0.0)
            could_run = self._could_run * idle / self._idle if self._idle else 0.0
            delay = min(self._sum(1) * max(cpu_seconds / ran, 1.0), could_run, seconds)
        self.execution = Execution(seconds=seconds, cpu_seconds=cpu_seconds, delay_seconds=delay)

    def _look(self, now: float) -> None:
        before, could_run = self._sum(0), self._runnable
        self._runnable = 0
        self._visit(self._process)
        passed, self._looked = now - self._looked, now
        idle = passed - (self._sum(0) - before)
        self._overlap += max(-idle, 0.0)
        self._idle += max(idle, 0.0)
        self._could_run += max(idle, 0.0) if could_run else 0.0
        self._side_by_side += passed if could_run > 1 else 0.0

    def _sum(self, column: int) -> float:
        """The seconds of all threads on a processor (0), or in wait for one (1)."""
        return sum(times[column] for times in self._threads.values()) / 1e9

    def _visit(self, process: int) -> None:
        """Read the threads of a process and of its descendants."""
        folder = f"/proc/{process}/task"
        with suppress(OSError):  # it has ended
            for thread in os.listdir(folder):  # noqa: PTH208 - this runs while the command is measured
                place = f"{folder}/{thread}"
                ran, waited, _ = _read_bytes(f"{place}/schedstat").split()
                self._threads[place] = int(ran), int(waited)
                # The name is in brackets and may contain any characters, including brackets.
                self._runnable += _read_bytes(f"{place}/stat").rpartition(b") ")[2].startswith(RUNNABLE)
                for child in _read_bytes(f"{place}/children").split():
                    self._visit(int(child))


def _read_bytes(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


def has_meter() -> bool:
    """Return whether this system lets a parent look at a process that has ended."""
    return sys.platform == "linux"


def _seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
