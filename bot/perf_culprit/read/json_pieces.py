"""The values of a JSON file that is read in pieces. Brackets and strings alone show where each begins and ends."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from perf_culprit.errors import DataError, TooLargeError
from perf_culprit.model.file_limits import FILE_LIMITS

SPACE: Final = re.compile(rb"[ \t\r\n]*+")
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STRUCTURE: Final = re.compile(rb'["{}\[\]]')
_SCALAR: Final = re.compile(rb"[^\s,\[\]{}]++")


@dataclass(kw_only=True)
class JsonPieces:
    """The bytes of `chunks` from `at` on, as far as they are read. `next_step`: the advice if they are not JSON."""

    chunks: Iterator[bytes]
    next_step: str
    place: str | None = None
    buffer: bytes = b""
    at: int = 0

    def value(self) -> bytes | None:
        """Return the value that begins here; None if the file ends before the value does."""
        while (end := value_end(self.buffer, self.at)) is None:
            if len(self.buffer) - self.at > FILE_LIMITS.json_value_bytes:
                raise TooLargeError(
                    f"holds a JSON value of more than {FILE_LIMITS.json_value_bytes:,} bytes",
                    place=self.place,
                    next_step="write shorter records, or one document per line",
                )
            # Doubling keeps the work linear.
            if not self.more(2 * (len(self.buffer) - self.at) + 1):
                self.at = len(self.buffer)
                return None
        value = self.buffer[self.at : end]
        self.at = end
        if not value:
            raise self.no_json()
        return value

    def peek(self, passed: re.Pattern[bytes] = SPACE) -> bytes | None:
        """Skip what `passed` matches and return the next byte without consuming it; None at the end."""
        while True:
            self.at = end_of(passed, self.buffer, self.at)
            if self.at < len(self.buffer):
                return self.buffer[self.at : self.at + 1]
            if not self.more(1):
                return None

    def takes(self, byte: bytes) -> bool:
        """Return whether `byte` comes next; if so, consume it."""
        is_next = self.peek() == byte
        self.at += is_next
        return is_next

    def more(self, size: int) -> bool:
        """Read on until `size` bytes are buffered or the file ends. False if no further bytes were read."""
        pieces = [self.buffer[self.at :]]
        have = len(pieces[0])
        before = have
        while have < size and (chunk := next(self.chunks, None)) is not None:
            pieces.append(chunk)
            have += len(chunk)
        self.buffer = b"".join(pieces)
        self.at = 0
        return have > before

    def no_json(self) -> DataError:
        text: Any = self.buffer[self.at : self.at + 40].decode("utf-8", "replace")
        return DataError(f"is not valid JSON at {text!r}", place=self.place, next_step=self.next_step)


def end_of(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    match = pattern.match(data, at)
    return match.end() if match else at


def value_end(data: bytes, start: int) -> int | None:
    """Find the end of the JSON value at `start` by brackets and strings alone; None if the value is incomplete."""
    first = data[start : start + 1]
    if first not in (b'"', b"{", b"["):
        scalar = _SCALAR.match(data, start)
        end = scalar.end() if scalar else start + 1
        return end if end < len(data) else None
    depth = 0
    at = start
    while True:
        match = _STRUCTURE.search(data, at)
        if match is None:
            return None
        at = match.end()
        character = match.group()
        if character == b'"':
            string = _STRING.match(data, match.start())
            if string is None:
                return None
            at = string.end()
        else:
            depth += 1 if character in b"{[" else -1
        if depth <= 0:
            return at
