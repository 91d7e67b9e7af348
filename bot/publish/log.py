"""The job's log, where the runner executes what looks like a command: untrusted text is printed so that it is none.

The runner takes `::command::` at a line's start and `##[command]` anywhere in a line, on stdout and on stderr.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TextIO

ZERO_WIDTH_SPACE = "\u200b"


class LogLevel(StrEnum):
    NOTICE = "notice"
    WARNING = "warning"
    ERROR = "error"


def neutral(text: str) -> str:
    """`text` with every command broken by an invisible space."""
    # Each pair of neighbours, also in `:::`.
    broken = re.sub(r":(?=:)", f":{ZERO_WIDTH_SPACE}", text).replace("##[", f"#{ZERO_WIDTH_SPACE}#[")
    # The runner ends a line at a lone carriage return too; terminals would overwrite the line.
    return broken.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def group(stream: TextIO, title: str) -> Iterator[None]:
    """A fold in the log."""
    stream.write(f"::group::{command_text(title)}\n")
    stream.flush()
    try:
        yield
    finally:
        stream.write("::endgroup::\n")
        stream.flush()


def message_command(level: LogLevel, message: str, *, title: str) -> str:
    """The command that shows `message` on the run's page. It stays one command whatever the text holds."""
    return f"::{level} title={property_text(title)}::{command_text(message)}"


def command_text(text: str) -> str:
    # `##[` is a command wherever it stands, also inside another one.
    escaped = text.replace("##[", f"#{ZERO_WIDTH_SPACE}#[")
    return escaped.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def property_text(text: str) -> str:
    return command_text(text).replace(":", "%3A").replace(",", "%2C")
