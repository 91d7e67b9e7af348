"""Checked access to foreign JSON: every error names the file and the path inside it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from perf_culprit.errors import DataError, TooLargeError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Summary
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.read.json_pieces import JsonPieces
from perf_culprit.read.results.content import WHOLE_JSON_STEP, DuplicateMemberError, load_json

_TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A JSON value with the file and the path that lead to it, such as `benchmarks[3].stats.data`."""

    value: Any
    file: str
    path: str = ""

    @property
    def place(self) -> str:
        return f"{self.file}: {self.path}" if self.path else self.file

    def at(self, name: str) -> "JsonValue":
        """Return the member `name`; raise an error if it is absent or null."""
        if (member := self.find(name)) is None:
            raise self.error(f"has no `{name}`")
        return member

    def find(self, name: str) -> "JsonValue | None":
        """Return the member `name`, or None if it is absent or null."""
        if not isinstance(self.value, dict):
            raise self.error(f"is {self.kind}, not an object")
        value = self.value.get(name)
        return None if value is None else JsonValue(value, self.file, self._below(name))

    def peek(self, name: str) -> Any:
        """Return the bare member `name`, or None if there is none, for facts that no result depends on."""
        return self.value.get(name) if isinstance(self.value, dict) else None

    def members(self) -> Iterator[tuple[str, "JsonValue"]]:
        if not isinstance(self.value, dict):
            raise self.error(f"is {self.kind}, not an object")
        for name, value in self.value.items():
            yield name, JsonValue(value, self.file, self._below(name))

    def elements(self) -> Iterator["JsonValue"]:
        if not isinstance(self.value, list):
            raise self.error(f"is {self.kind}, not a list")
        for i, value in enumerate(self.value):
            yield JsonValue(value, self.file, f"{self.path}[{i}]")

    def members_of(self, name: str) -> Iterator[tuple[str, "JsonValue"]]:
        """Return the members of the member `name`; none if it is absent or null."""
        member = self.find(name)
        return iter(()) if member is None else member.members()

    def elements_of(self, name: str) -> Iterator["JsonValue"]:
        """Return the elements of the member `name`; none if it is absent or null."""
        member = self.find(name)
        return iter(()) if member is None else member.elements()

    def number(self) -> float:
        """Return a finite number as float; raise an error for true, false, text, NaN and Infinity."""
        value = self.value
        if type(value) is not float and type(value) is not int:
            raise self.error(f"is {self.kind}, not a number")
        try:
            number = float(value)
        except OverflowError:
            raise self.error("is too large a number") from None
        if not math.isfinite(number):
            raise self.error("is not a finite number")
        return number

    def numbers(self) -> tuple[float, ...]:
        """Return a list of finite numbers. Its length is limited, so that an error does not take a minute."""
        if not isinstance(self.value, list):
            raise self.error(f"is {self.kind}, not a list")
        if len(self.value) > FILE_LIMITS.json_samples:
            raise TooLargeError(
                f"holds more than {FILE_LIMITS.json_samples:,} samples",
                place=self.place,
                next_step="let the tool keep fewer samples",
            )
        # Most lists hold only floats, which are checked in C, without a place for each.
        if set(map(type, self.value)) <= {float} and all(map(math.isfinite, self.value)):
            return tuple(self.value)
        return tuple(element.number() for element in self.elements())

    def listed(self, name: str) -> str:
        """Return the members of the member `name` as "key=text, key=text"; empty if there are none."""
        member = self.find(name)
        members = member.members() if member is not None and member.value else ()
        return ", ".join(f"{key}={value.text()}" for key, value in members)

    def whole(self) -> int:
        """Return a whole number of at least 0; raise an error for anything else."""
        if type(self.value) is not int or self.value < 0:
            raise self.error("is not a whole number of at least 0")
        return self.value

    def find_number(self, name: str) -> float | None:
        member = self.find(name)
        return None if member is None else member.number()

    def find_whole(self, name: str) -> int | None:
        member = self.find(name)
        return None if member is None else member.whole()

    @property
    def is_finite(self) -> bool:
        """Whether `number` would return a number."""
        try:
            return type(self.value) in (int, float) and math.isfinite(self.value)
        except OverflowError:
            return False

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.error(f"is {self.kind}, not text")
        return self.value

    @property
    def kind(self) -> str:
        return _TYPE_NAMES.get(type(self.value), "null")

    def error(self, message: str) -> DataError:
        return DataError(message, place=self.place, next_step="check the file, or name another tool for it")

    def _below(self, name: str) -> str:
        key = name if len(name) <= TEXT_LIMITS.key_characters else name[: TEXT_LIMITS.key_characters - 1] + "…"
        if not key.isprintable():
            key = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in key)
        return f"{self.path}.{key}" if self.path else key


def are_objects(value: Any, *names: str) -> bool:
    """Return whether `value` is a list of one or more objects that all have members of these names; for `matches`."""
    needed = set(names)
    return isinstance(value, list) and bool(value) and all(isinstance(e, dict) and e.keys() >= needed for e in value)


def mean_summary(
    stats: JsonValue, name: str = "mean", *, deviation: str | None = None, count: int | None = None
) -> Summary:
    """Read the mean `name`, with the `min`, `max` and `median` (or `p50`) next to it."""
    return Summary(
        value=stats.at(name).number(),
        statistic="mean",
        count=count,
        standard_deviation=None if deviation is None else stats.find_number(deviation),
        minimum=stats.find_number("min"),
        maximum=stats.find_number("max"),
        median=stats.find_number("p50" if stats.find("median") is None else "median"),
    )


Take = Callable[[JsonValue], None]


def read_list(chunks: Iterator[bytes], name: str, take: Take, *, place: str) -> JsonValue:
    """Read the JSON object in `chunks` (UTF-8), whose list `name` is long and stays empty.

    `take` receives the elements of that list; only one of them is in memory.
    """
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
    """The object's members in addition to its list, as far as they have been read."""

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
        if self.size_bytes > FILE_LIMITS.json_value_bytes:
            raise TooLargeError(
                f"holds more than {FILE_LIMITS.json_value_bytes:,} bytes besides its results",
                place=self.place,
                next_step="let the tool write less about the machine and the run",
            )
        self.values[key] = _loaded(value, JsonValue(None, self.place, key).place)


def _items(pieces: JsonPieces, end: bytes) -> Iterator[None]:
    """Yield once at the start of each item of a list or an object; the caller must read the item."""
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
