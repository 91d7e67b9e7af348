"""A process whose environment, memory and open files no other process of its user can read. Linux only."""

import ctypes
import sys
from typing import Final

PR_SET_DUMPABLE: Final = 4


def close_process() -> None:
    """/proc/PID of a process that is not dumpable belongs to root (proc(5)). Undone by the next execve."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
