"""The job's log: folds, messages on the run's page, and untrusted text that stays text."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from bot.publish.log import LogLevel, group, message_command, neutral
from bot.report.inert import plain_lines


class Log:
    """Writes to the runner's log.

    Every line passes `plain_lines` (no escape or bidi characters) and `neutral` (nothing foreign becomes a command).
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def say(self, text: str) -> None:
        self._stream.write(f"{neutral(plain_lines(text))}\n")
        self._stream.flush()

    @contextmanager
    def fold(self, title: str) -> Iterator[None]:
        with group(self._stream, title):
            yield

    def tell(self, level: LogLevel, text: str) -> None:
        """A message that the run's page shows, too."""
        self._stream.write(message_command(level, plain_lines(text), title="perf-culprit") + "\n")
        self._stream.flush()
