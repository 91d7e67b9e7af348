"""The output of a command, and its status while it works."""

import os
import re
import shutil
import sys
import time
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from types import MappingProxyType
from typing import Final, Self, TextIO

from perf_culprit.commands.declared import Command
from perf_culprit.files import replace_file
from perf_culprit.progress import listen
from perf_culprit.say.inert import plain_lines, terminal_lines

UNLIMITED = 10_000
# A colour, or a word with the spaces before it. What is quoted is one word.
PIECE: Final = re.compile(r"(\x1b\[\d+m)|(\s*)('[^'\x1b]*'|[^\s\x1b]+)")
# A line of a list or table: the later lines of its text begin below its first word.
_LINE_START: Final = re.compile(r"(?:\x1b\[\d+m)*(\s*(?:[•-] )?)")
_PROGRAM: Final = "perf-culprit"
CONTINUED: Final = " \\"
ENDS_COMMAND: Final = (".", ",", ";", ":", ")")


def write(path: Path | None, data: bytes) -> None:
    if path is None or path == Path("-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    replace_file(path, data)


def text_stream(*written: Path | None) -> TextIO:
    """Return the stream for text: standard output, unless a file is written there."""
    return sys.stderr if Path("-") in written else sys.stdout


def say(text: str, stream: TextIO | None = None) -> None:
    """Print lines unbroken. This function, `show` and `Status` print everything, and make foreign text inert."""
    print(plain_lines(text.removesuffix("\n")), file=stream or sys.stdout, flush=True)


def ask(question: str, default: str) -> str:
    return input(f"{plain_lines(f'{question} [{default}]:')} ").strip() or default


def warn(text: str) -> None:
    say(f"perf-culprit: {text}", sys.stderr)


def show(text: str, stream: TextIO, *, links: Mapping[str, str] = MappingProxyType({})) -> None:
    """Print text within the width of a terminal, or of COLUMNS.

    `links`: pages of words, which can be clicked if there are colours.
    """
    pages = links if stream.isatty() and colour(stream) else {}
    lines = terminal_lines(text.removesuffix("\n"), colour=colour(stream)).split("\n")
    broken = "\n".join(part for line in lines for part in _wrap(line, table_width(stream)))
    # A break may put a word to the start of a line, where a runner would read it as a command.
    for line in terminal_lines(broken, colour=colour(stream)).split("\n"):
        print(_with_links(line, pages), file=stream)


def _wrap(line: str, width: int) -> Iterator[str]:
    """Break a line between words, or a longer word. Backslashes join the lines of a shell command again."""
    begun = _LINE_START.match(line)
    indent = " " * min(len(begun[1]) if begun else 0, width // 2)
    row, used, is_command = "", 0, False
    for coloured, space, word in PIECE.findall(line):
        rest = space + word
        if used + len(rest) > width - len(CONTINUED) * is_command and used and len(indent + word) <= width:
            yield row + CONTINUED * is_command
            row, used, rest = indent, len(indent), word
        while used + len(rest) > width:
            yield row + rest[: width - used]
            row, used, rest = indent, len(indent), rest[width - used :]
        row, used = row + coloured + rest, used + len(rest)
        is_command = (is_command or word == _PROGRAM) and not word.endswith(ENDS_COMMAND)
    yield row


def _with_links(line: str, pages: Mapping[str, str]) -> str:
    """Add links in the form of terminals (OSC 8)."""
    words = "|".join(map(re.escape, pages))
    end = "\x1b]8;;\x1b\\"
    return re.sub(rf"\b({words})\b", lambda one: f"\x1b]8;;{pages[one[0]]}\x1b\\{one[0]}{end}", line) if pages else line


def write_page(path: Path, page: str, *, is_shown: bool) -> None:
    """Write the page of --html or --svg, and open it if --open is given."""
    write(path, page.encode())
    if is_shown and path != Path("-"):
        webbrowser.open(path.absolute().as_uri())


def colour(stream: TextIO) -> bool:
    """Return whether to colour (no-color.org, force-color.org): if not "", NO_COLOR has precedence over FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def width() -> int:
    return shutil.get_terminal_size((120, 40)).columns


def table_width(stream: TextIO) -> int:
    """Return the width of the terminal, or of COLUMNS; piped output has every column."""
    return width() if stream.isatty() or os.environ.get("COLUMNS") else UNLIMITED


class Status:
    """The current step: one line that replaces itself on a terminal, one line per step elsewhere.

    `quiet`: print nothing.
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self.is_terminal = stream.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def __call__(self, line: str) -> None:
        if self._quiet:
            return
        line = plain_lines(line)
        if self.is_terminal:
            self._stream.write(f"\r\x1b[2K{line[: width() - 1]}")
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()

    def clear(self) -> None:
        if self.is_terminal and not self._quiet:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


SILENT_SECONDS: Final = 2.0
# Without a terminal every line stays, so a rare sign of progress is enough.
LOG_SECONDS: Final = 30.0


@contextmanager
def shown(options: Command) -> Iterator[None]:
    """Show the steps of the work inside. Leave it before the result is printed."""
    if options.quiet:
        yield
        return
    steps = _Steps(is_verbose=options.verbose)
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
            say(f"{now - self._step_began:6.1f} s  {self._words}", sys.stderr)
        self._words, self._step_began = words, now

    def show(self) -> None:
        pause = SILENT_SECONDS if self._status.is_terminal else LOG_SECONDS
        while not self.ended.wait(pause):
            if self._words and not self._is_verbose:
                self._status(f"{time.monotonic() - self._began:.0f} s: {self._words}")
            pause = 0.5 if self._status.is_terminal else LOG_SECONDS
        self._status.clear()
