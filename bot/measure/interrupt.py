"""Ctrl-C and a cancelled job: stop once, in order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within: the first signal that asks to stop raises KeyboardInterrupt, and later ones are ignored.

    So SIGTERM too ends the children and removes the worktrees, and an impatient second Ctrl-C cannot leave half of
    them. To be used in the main thread, once, around everything that needs cleaning up.
    """
    stopping = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        if not stopping:
            stopping = True
            raise KeyboardInterrupt

    # What was ignored before stays so: that is what nohup asks for.
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
