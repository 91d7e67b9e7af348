"""What the commands wrote, in one file that can be watched while they run."""

import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bot.errors import UsageError

MAXIMUM_SECTION_BYTES: Final = 4 << 20  # a benchmark that prints for ever must not fill the disk
TAIL_BYTES: Final = 4096
SHOWN_LINES: Final = 4
SHOWN_CHARACTERS: Final = 400


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
    """The last lines of foreign output as one line: nothing in it can move a terminal's cursor or command a runner."""
    lines = [line.strip() for line in data.decode(errors="replace").splitlines()]
    joined = " | ".join([line for line in lines if line][-SHOWN_LINES:])
    printable = "".join(character if character.isprintable() else " " for character in joined)
    return printable.replace("##[", "## [").replace("::", ": :")[-SHOWN_CHARACTERS:]
