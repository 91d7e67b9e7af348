"""The elements of large JSON arrays, decoded in batches while the file is read: memory does not grow with it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec

from bot.diagnose.profiles.file import ProfileFile
from bot.diagnose.profiles.whole_json import UNDECODABLE
from bot.errors import DataError
from bot.model.profile import RecordFault

T = TypeVar("T")
BATCH_BYTES: Final = 4 << 20
MAX_ELEMENT_BYTES: Final = 64 << 20
# Ends of objects, from the last one back, that are tried as the end of a batch before brackets are counted.
_TRIED_ENDS: Final = 6
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STRUCTURE: Final = re.compile(rb'["{}\[\]]')
_SCALAR: Final = re.compile(rb"[^\s,\[\]{}]++")
_BLANK: Final = re.compile(rb"[\s,\xef\xbb\xbf]*+")
_SPACE: Final = re.compile(rb"[\s:]*+")


@dataclass(kw_only=True)
class JsonElements(Generic[T]):
    """Elements of type `kind` of the arrays that are members `names` of a top object, or of a top array.

    Several documents may follow each other (JSON lines). An element that is not of that type is counted and noted as a
    `what` with its `number`, from 1; so is a file that ends within an array or object.
    """

    file: ProfileFile
    names: frozenset[bytes]
    kind: type[T]
    what: str
    number: int = 0
    _buffer: bytes = b""
    _at: int = 0
    _source: Iterator[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._source = self.file.chunks()
        self._one: msgspec.json.Decoder[T] = msgspec.json.Decoder(self.kind)
        self._many: msgspec.json.Decoder[list[T]] = msgspec.json.Decoder(list[self.kind])  # type: ignore[name-defined]
        self._raw: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])

    def __iter__(self) -> Iterator[list[T]]:
        """Batches of elements. Raises: DataError where the file is no JSON at all between the arrays."""
        while (opening := self._peek(_BLANK)) is not None:
            if opening == b"[":
                self._at += 1
                yield from self._array()
            elif opening == b"{":
                self._at += 1
                yield from self._members()
            else:
                raise self._no_json()

    def _members(self) -> Iterator[list[T]]:
        while (opening := self._peek(_BLANK)) != b"}":
            if opening is None:
                self._cut()
                return
            if opening != b'"':
                raise self._no_json()
            if (name := self._value()) is None:
                return
            if self._peek(_SPACE) == b"[" and name.strip(b'"') in self.names:
                self._at += 1
                yield from self._array()
            elif self._value() is None:
                return
        self._at += 1

    def _array(self) -> Iterator[list[T]]:
        while (opening := self._peek(_BLANK)) != b"]":
            if opening is None:
                self._cut()
                return
            if len(self._buffer) - self._at < BATCH_BYTES:
                self._more(BATCH_BYTES)
            batch = self._batch()
            if batch is None:
                value = self._value()
                if value is None:
                    return
                batch = self._checked([value])
            if batch:
                yield batch
        self._at += 1

    def _batch(self) -> list[T] | None:
        """As many elements as the buffer surely holds whole, or None."""
        end = len(self._buffer)
        for _ in range(_TRIED_ENDS):
            end = self._buffer.rfind(b"}", self._at, end)
            if end < 0:
                break
            piece = b"[%b]" % self._buffer[self._at : end + 1]
            # Brackets balance at the right end only, so what decodes is whole elements.
            try:
                batch = self._many.decode(piece)
            except msgspec.ValidationError:
                # An element of another type; one behind it may be no JSON at all.
                try:
                    values = [bytes(raw) for raw in self._raw.decode(piece)]
                except UNDECODABLE:
                    continue
                self._at = end + 1
                return self._checked(values)
            except UNDECODABLE:
                continue
            self._at = end + 1
            self.number += len(batch)
            return batch
        return self._counted()

    def _counted(self) -> list[T] | None:
        """The same by counting brackets, for batches that hold broken elements or end with the array."""
        values = []
        while self._at < len(self._buffer):
            start = _end_of(_BLANK, self._buffer, self._at)
            if self._buffer[start : start + 1] in (b"]", b""):
                break
            end = _value_end(self._buffer, start)
            if end is None:
                break
            values.append(self._buffer[start:end])
            self._at = end
        return self._checked(values) if values else None

    def _checked(self, values: list[bytes]) -> list[T]:
        elements = []
        for value in values:
            self.number += 1
            try:
                elements.append(self._one.decode(value))
            except UNDECODABLE:
                self.file.intake.records += 1
                self.file.reject(RecordFault.MALFORMED, value, at=f": {self.what} {self.number}")
        return elements

    def _value(self) -> bytes | None:
        """The value that begins here; None where the file ends before it does."""
        while (end := _value_end(self._buffer, self._at)) is None:
            if len(self._buffer) - self._at > MAX_ELEMENT_BYTES:
                raise DataError(
                    f"holds a JSON value of more than {MAX_ELEMENT_BYTES:,} bytes",
                    next_step="write shorter records, or one document per line",
                )
            # Doubling keeps the work linear.
            if not self._more(2 * (len(self._buffer) - self._at) + 1):
                self._at = len(self._buffer)
                self._cut()
                return None
        value = self._buffer[self._at : end]
        self._at = end
        if not value:
            raise self._no_json()
        return value

    def _peek(self, passed: re.Pattern[bytes]) -> bytes | None:
        """The next byte after spaces, or None at the end."""
        while True:
            self._at = _end_of(passed, self._buffer, self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
            if not self._more(1):
                return None

    def _more(self, size: int) -> bool:
        """Reads on until `size` bytes are there, or the file ends. False where nothing came."""
        pieces = [self._buffer[self._at :]]
        have = len(pieces[0])
        before = have
        while have < size and (chunk := next(self._source, None)) is not None:
            pieces.append(chunk)
            have += len(chunk)
        self._buffer = b"".join(pieces)
        self._at = 0
        return have > before

    def _cut(self) -> None:
        self.file.intake.truncated(self.file.name)

    def _no_json(self) -> DataError:
        text: Any = self._buffer[self._at : self._at + 40].decode("utf-8", "replace")
        return DataError(
            f"is not valid JSON at {text!r}",
            next_step="check that the profiler finished, and wrote only JSON to this file",
        )


def _end_of(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    match = pattern.match(data, at)
    return match.end() if match else at


def _value_end(data: bytes, start: int) -> int | None:
    """Where the JSON value at `start` ends, by brackets and strings alone; None where it is not whole."""
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
