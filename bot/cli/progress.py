"""What a command is doing, on standard error, once it takes long; with --verbose each step and its time."""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from bot.cli.output import Status
from bot.progress import listen

SILENT_SECONDS: Final = 2.0
# Elsewhere than on a terminal every line stays: a sign of life is enough.
LOG_SECONDS: Final = 30.0


@contextmanager
def shown(arguments: argparse.Namespace) -> Iterator[None]:
    """While the stages work; end it before the result is printed."""
    if arguments.quiet:
        yield
        return
    steps = _Steps(is_verbose=arguments.verbose)
    forget = listen(steps.hear)
    thread = Thread(target=steps.show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        forget()
        steps.ended.set()
        thread.join()
        steps.hear("")


class _Steps:
    def __init__(self, *, is_verbose: bool) -> None:
        self.ended = Event()
        self._is_verbose = is_verbose
        self._status = Status(sys.stderr)
        self._began = self._step_began = time.monotonic()
        self._words = ""

    def hear(self, words: str) -> None:
        now = time.monotonic()
        if self._is_verbose and self._words:
            print(f"{now - self._step_began:6.1f} s  {self._words}", file=sys.stderr)
        self._words, self._step_began = words, now

    def show(self) -> None:
        pause = SILENT_SECONDS if self._status.is_terminal else LOG_SECONDS
        while not self.ended.wait(pause):
            if self._words and not self._is_verbose:
                self._status(f"{time.monotonic() - self._began:.0f} s: {self._words}")
            pause = 0.5 if self._status.is_terminal else LOG_SECONDS
        self._status.clear()
