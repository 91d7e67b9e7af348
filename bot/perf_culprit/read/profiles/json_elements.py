"""Decoding of JSON profiles: whole documents, or elements in batches, so that memory does not grow with the file."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec
import numpy as np

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import RecordFault
from perf_culprit.read.json_pieces import JsonPieces, end_of, value_end
from perf_culprit.read.profiles.profile_file import ProfileFile

T = TypeVar("T")
UNDECODABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode(file: ProfileFile, kind: type[T], *, what: str, next_step: str = "write it again") -> T:
    """Decode the whole file; raise DataError if it is not a complete `what`."""
    try:
        return msgspec.json.decode(file.content(), type=kind)
    except UNDECODABLE:
        raise DataError(f"is not a complete {what}", place=file.place, next_step=next_step) from None


def each(raws: Iterable[msgspec.Raw], kind: type[T], *, file: ProfileFile, what: str) -> Iterator[tuple[str, T]]:
    """Yield the elements with their places in the file; an element that is not a `what` is counted and left out."""
    decoder = msgspec.json.Decoder(kind)
    for number, raw in enumerate(raws, 1):
        at = f": {what} {number}"
        if (value := decoded(raw, decoder, file=file, at=at)) is not None:
            yield at, value


def decoded(raw: msgspec.Raw, decoder: msgspec.json.Decoder[T], *, file: ProfileFile, at: str) -> T | None:
    """Decode and count one element; None if it is invalid, which is recorded."""
    file.intake.records += 1
    try:
        return decoder.decode(raw)
    except UNDECODABLE:
        file.reject(RecordFault.MALFORMED, bytes(raw), at=at)
        return None


def decoded_each(
    elements: Iterable[T | msgspec.Raw], decoder: msgspec.json.Decoder[T], *, file: ProfileFile
) -> Iterator[T]:
    """Yield the spans; those of broken batches come as raw JSON and are decoded here."""
    for one in elements:
        if not isinstance(one, msgspec.Raw):
            file.intake.records += 1
            yield one
        elif (span := decoded(one, decoder, file=file, at=f": span {file.intake.records + 1}")) is not None:
            yield span


BATCH_BYTES: Final = 4 << 20
# The first window in which brackets are searched; it is doubled until it holds a whole element.
_LEAST_BYTES: Final = 1 << 15
_QUOTE, _ESCAPE = b'"\\'
_BLANK: Final = re.compile(rb"[\s,\xef\xbb\xbf]*+")
_SPACE: Final = re.compile(rb"[\s:]*+")


@dataclass(kw_only=True)
class JsonElements(Generic[T]):
    """The elements of arrays that are members `names` of a top-level object, or of a top-level array.

    They are of type `kind`, but in faultless batches of type `whole`, if it is given.

    Several documents may follow each other (JSON lines). An element of another type is counted and recorded as a
    `what` with its `number`, from 1. A file that ends within an array or object is recorded too.
    """

    file: ProfileFile
    names: frozenset[bytes]
    kind: type[T]
    what: str
    whole: Any = None
    number: int = 0
    _pieces: JsonPieces = field(init=False)

    def __post_init__(self) -> None:
        self._pieces = JsonPieces(
            chunks=self.file.chunks(), next_step="check that the profiler finished, and wrote only JSON to this file"
        )
        self._window = _LEAST_BYTES
        self._whole: msgspec.json.Decoder[list[T]] = msgspec.json.Decoder(list[self.whole or self.kind])  # type: ignore[misc]
        self._one: msgspec.json.Decoder[T] = msgspec.json.Decoder(self.kind)
        self._many: msgspec.json.Decoder[list[T]] = msgspec.json.Decoder(list[self.kind])  # type: ignore[name-defined]
        self._raw: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])

    def __iter__(self) -> Iterator[list[T]]:
        """Yield batches of elements. Raises: DataError if the file is not JSON between the arrays."""
        while (opening := self._pieces.peek(_BLANK)) is not None:
            if opening == b"[":
                self._pieces.at += 1
                yield from self._array()
            elif opening == b"{":
                self._pieces.at += 1
                yield from self._members()
            else:
                raise self._pieces.no_json()

    def _members(self) -> Iterator[list[T]]:
        while (opening := self._pieces.peek(_BLANK)) != b"}":
            if opening is None:
                self._cut()
                return
            if opening != b'"':
                raise self._pieces.no_json()
            if (name := self._value()) is None:
                return
            if self._pieces.peek(_SPACE) == b"[" and name.strip(b'"') in self.names:
                self._pieces.at += 1
                yield from self._array()
            elif self._value() is None:
                return
        self._pieces.at += 1

    def _array(self) -> Iterator[list[T]]:
        while (opening := self._pieces.peek(_BLANK)) != b"]":
            if opening is None:
                self._cut()
                return
            if len(self._pieces.buffer) - self._pieces.at < BATCH_BYTES:
                self._pieces.more(BATCH_BYTES)
            batch = self._batch()
            if batch is None:
                value = self._value()
                if value is None:
                    return
                batch = self._checked([value])
            if batch:
                yield batch
        self._pieces.at += 1

    def _batch(self) -> list[T] | None:
        """Decode the elements that the buffer holds whole; None if there are none."""
        end = self._whole_elements()
        if end is None:
            return None
        piece = b"[%b]" % self._pieces.buffer[self._pieces.at : end]
        for decoder in (self._whole, self._many):
            try:
                batch = decoder.decode(piece)
            except UNDECODABLE:
                continue
            self._pieces.at = end
            self.number += len(batch)
            return batch
        return self._counted(end)

    def _whole_elements(self) -> int | None:
        buffer, at = self._pieces.buffer, self._pieces.at
        while True:
            end, is_last = last_end(buffer, at, self._window)
            if end is None and not is_last and self._window < len(buffer) - at:
                self._window *= 2
                continue
            self._window = _LEAST_BYTES if is_last else min(2 * self._window, BATCH_BYTES)
            return end

    def _counted(self, most: int) -> list[T]:
        """Decode a batch with broken elements one by one."""
        values = []
        while self._pieces.at < most:
            start = end_of(_BLANK, self._pieces.buffer, self._pieces.at)
            self._pieces.at = value_end(self._pieces.buffer, start) or most
            values.append(self._pieces.buffer[start : self._pieces.at])
        return self._checked(values)

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
        """Return the value that begins here; None if the file ends before it does, which is recorded."""
        value = self._pieces.value()
        if value is None:
            self._cut()
        return value

    def _cut(self) -> None:
        self.file.intake.truncated(self.file.name)


_MARKS: Final = np.zeros(256, bool)
_MARKS[[*b'{}[]"\\']] = True
_STEPS: Final = np.zeros(256, np.int8)
_STEPS[[*b"{["]] = 1
_STEPS[[*b"}]"]] = -1


def last_end(data: bytes, at: int, size: int) -> tuple[int | None, bool]:
    """Find the end of the last whole object or array in the `size` bytes of an array from `at` on; None if none.

    Also return whether the array itself ends in them.
    """
    window = np.frombuffer(data, np.uint8, min(size, len(data) - at), at)
    places = np.flatnonzero(_MARKS[window])
    marks = window[places]
    quotes = marks == _QUOTE
    escapes = places[marks == _ESCAPE]
    if escapes.size:
        # In a row of backslashes, every second one is itself escaped.
        begins = np.diff(escapes, prepend=-2) != 1
        row = np.arange(len(escapes))
        odd = (row - np.maximum.accumulate(np.where(begins, row, 0))) % 2 == 0
        quotes &= ~np.isin(places, escapes[odd] + 1)
    steps = np.where(np.cumsum(quotes) % 2, 0, _STEPS[marks])
    depth = np.cumsum(steps)
    beyond = np.flatnonzero(depth < 0)
    ends = np.flatnonzero((depth == 0) & (steps < 0))
    ends = ends[ends < beyond[0]] if beyond.size else ends
    return (at + int(places[ends[-1]]) + 1 if ends.size else None), bool(beyond.size)
