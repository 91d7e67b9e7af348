"""The list that a large JSON object is mostly made of, element by element: only one of them is in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bot.codec.json_pieces import MAX_VALUE_BYTES, JsonPieces
from bot.collect.content import WHOLE_JSON_STEP, DuplicateMemberError, load_json
from bot.collect.json_value import JsonValue
from bot.errors import DataError, TooLargeError

Take = Callable[[JsonValue], None]


def read_list(chunks: Iterator[bytes], name: str, take: Take, *, place: str) -> JsonValue:
    """The JSON object in `chunks` (UTF-8), whose list `name` is empty: `take` got its elements."""
    pieces = JsonPieces(chunks=chunks, place=place, next_step=WHOLE_JSON_STEP)
    members = _Members(pieces, place)
    _expect(pieces, b"{")
    for _ in _items(pieces, b"}"):
        key = members.key()
        if key == name and pieces.takes(b"["):
            members.values[key] = []
            for i, _ in enumerate(_items(pieces, b"]")):
                element = JsonValue(None, place, f"{name}[{i}]")
                take(JsonValue(_loaded(_raw(pieces), element.place), place, element.path))
        else:
            members.keep(key)
    if pieces.peek() is not None:
        raise pieces.no_json()
    return JsonValue(members.values, place)


@dataclass
class _Members:
    """What the object holds besides its list, as far as it has been read."""

    pieces: JsonPieces
    place: str
    values: dict[str, Any] = field(default_factory=dict)
    size_bytes: int = 0

    def key(self) -> str:
        if self.pieces.peek() != b'"':
            raise self.pieces.no_json()
        key = str(_loaded(_raw(self.pieces), self.place))
        if key in self.values:
            raise DuplicateMemberError(key).at(self.place)
        _expect(self.pieces, b":")
        return key

    def keep(self, key: str) -> None:
        value = _raw(self.pieces)
        self.size_bytes += len(key) + len(value)
        if self.size_bytes > MAX_VALUE_BYTES:
            raise TooLargeError(
                f"holds more than {MAX_VALUE_BYTES:,} bytes besides its results",
                place=self.place,
                next_step="let the tool write less about the machine and the run",
            )
        self.values[key] = _loaded(value, JsonValue(None, self.place, key).place)


def _items(pieces: JsonPieces, end: bytes) -> Iterator[None]:
    """Once at each item of a list or an object, which whoever asks reads."""
    if pieces.takes(end):
        return
    while True:
        yield
        if pieces.takes(end):
            return
        _expect(pieces, b",")


def _expect(pieces: JsonPieces, byte: bytes) -> None:
    if not pieces.takes(byte):
        raise _cut_off(pieces) if pieces.peek() is None else pieces.no_json()


def _raw(pieces: JsonPieces) -> bytes:
    pieces.peek()
    value = pieces.value()
    if value is None:
        raise _cut_off(pieces)
    return value


def _cut_off(pieces: JsonPieces) -> DataError:
    return DataError("is not valid JSON: it is cut off", place=pieces.place, next_step=pieces.next_step)


def _loaded(raw: bytes, place: str) -> Any:
    value = load_json(raw.decode(), place)
    if isinstance(value, DataError):
        raise value
    return value
