"""A limit on how long matching may take: a pattern can be made to run for ever on one line."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bot.errors import ConfigError


def can_be_limited() -> bool:
    """Whether this thread gets alarms: only a process's main thread does."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def time_limit(seconds: float, *, pattern: str) -> Iterator[None]:
    """A ConfigError after `seconds` of the body. CPython's matcher looks at alarms while it searches.

    Without effect in threads, which get no alarms: who brings an executor of threads trusts the pattern.
    """
    if not can_be_limited():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise ConfigError(
            f"took more than {seconds:g} s for one block of lines",
            place=pattern,
            next_step="take nested or neighbouring repeats out of the pattern, such as (a+)+ or .*.*; "
            r"possessive repeats (\S++) give up at once",
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
