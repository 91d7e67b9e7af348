"""What the commands wrote, in one file that can be watched while they run."""

import re
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bot.errors import UsageError

MAXIMUM_SECTION_BYTES: Final = 4 << 20  # a benchmark that prints for ever must not fill the disk
TAIL_BYTES: Final = 4096
SHOWN_LINES: Final = 4
SHOWN_CHARACTERS: Final = 400
# Python's last line of a traceback, as it is and as pytest shows it: "E   ModuleNotFoundError: No module named 'x'".
_ERROR: Final = re.compile(r"(?:E\s+)?[\w.]*(?:Error|Exception)\b.*")
_COMPILER_ERROR: Final = re.compile(r".*:\d+.*\berror: ")
_POINTER: Final = re.compile(r"[|^~\s]+")  # below a quoted line of code


class Log:
    """One section per command. `tail` is the section's end as one line, for messages. `keep` adds to an older log."""

    def __init__(self, path: Path, *, keep: bool = False) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab" if keep else "wb", buffering=0)
        except OSError as error:
            raise UsageError(
                f"cannot be written: {error.strerror}", place=str(path), next_step="give a path that can be written"
            ) from None
        self._left = 0
        self._end = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def begin(self, title: str) -> None:
        self._left = MAXIMUM_SECTION_BYTES
        self._end = b""
        self.remark(f"{title}, {time.strftime('%H:%M:%S')}")

    def remark(self, text: str) -> None:
        self._file.write(f"=== {text}\n".encode())

    def write(self, data: bytes) -> None:
        self._end = (self._end + data)[-TAIL_BYTES:]
        kept = data[: self._left]
        if kept:
            self._file.write(kept)
        if kept and len(data) >= self._left:
            self.remark(f"output cut after {MAXIMUM_SECTION_BYTES >> 20} MiB")
        self._left -= len(kept)

    @property
    def tail(self) -> str:
        return shown_output(self._end)


def shown_output(data: bytes) -> str:
    """Foreign output as one line: the error (Python's last, a compiler's first), then its last lines.

    Nothing in it can move a terminal's cursor or command a runner, which reads `::command::` where a line begins and
    `##[command]` anywhere. Names such as `test_a.py::test_b` stay as they are.
    """
    lines = [line for line in map(str.strip, data.decode(errors="replace").splitlines()) if line]
    lines = [line for line in lines if not _POINTER.fullmatch(line)]
    errors = [line for line in lines if _ERROR.match(line)][-1:] or list(filter(_COMPILER_ERROR.match, lines))[:1]
    shown = [line for line in lines[-SHOWN_LINES:] if line not in errors]
    joined = " | ".join([*(error[: SHOWN_CHARACTERS // 2] for error in errors), *shown])
    printable = "".join(character if character.isprintable() else " " for character in joined)
    inert = printable.replace("##[", "## [")
    start = inert[: SHOWN_CHARACTERS // 2] if len(inert) > SHOWN_CHARACTERS else ""
    rest = inert[-(SHOWN_CHARACTERS - len(start)) :]
    return (f"{start} … {rest}" if start and errors else rest).lstrip(": ")
