"""One input file: bounded reading, decoding, and checked access into its JSON."""

import codecs
import io
import math
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from perf_culprit.errors import DataError, TooLargeError
from perf_culprit.model.run import Summary
from perf_culprit.read.json_pieces import MAX_VALUE_BYTES, JsonPieces
from perf_culprit.read.results.content import (
    WHOLE_JSON_STEP,
    DuplicateMemberError,
    closed_json,
    decode,
    encoding,
    load_json,
    refusal,
    shown,
)

# Checked access into parsed JSON of a stranger: every refusal names the file and the path inside it.

MAX_SHOWN_KEY_CHARACTERS = 60
MAX_SAMPLES = 1_000_000
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
        """The member `name`, which has to be there and not null."""
        if (member := self.find(name)) is None:
            raise self.error(f"has no `{name}`")
        return member

    def find(self, name: str) -> "JsonValue | None":
        """The member `name`, or None where it is absent or null."""
        if not isinstance(self.value, dict):
            raise self.error(f"is {self.kind}, not an object")
        value = self.value.get(name)
        return None if value is None else JsonValue(value, self.file, self._below(name))

    def peek(self, name: str) -> Any:
        """The bare member `name`, or None where there is none: for facts that no result depends on."""
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
        """The members of the member `name`; none where it is absent or null."""
        member = self.find(name)
        return iter(()) if member is None else member.members()

    def elements_of(self, name: str) -> Iterator["JsonValue"]:
        """The elements of the member `name`; none where it is absent or null."""
        member = self.find(name)
        return iter(()) if member is None else member.elements()

    def number(self) -> float:
        """A finite number as float; true, false, text, NaN and Infinity are none."""
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
        """A list of finite numbers, no longer than samples may be: a refusal must not take a minute."""
        if not isinstance(self.value, list):
            raise self.error(f"is {self.kind}, not a list")
        if len(self.value) > MAX_SAMPLES:
            raise TooLargeError(
                f"holds more than {MAX_SAMPLES:,} samples",
                place=self.place,
                next_step="let the tool keep fewer samples",
            )
        # Most lists are all floats: they are checked in C, without a place for each.
        if set(map(type, self.value)) <= {float} and all(map(math.isfinite, self.value)):
            return tuple(self.value)
        return tuple(element.number() for element in self.elements())

    def listed(self, name: str) -> str:
        """The members of the member `name` as "key=text, key=text"; empty where there are none."""
        member = self.find(name)
        members = member.members() if member is not None and member.value else ()
        return ", ".join(f"{key}={value.text()}" for key, value in members)

    def whole(self) -> int:
        """A whole number of at least 0."""
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
        """Whether `number` would give one."""
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
        key = name if len(name) <= MAX_SHOWN_KEY_CHARACTERS else name[: MAX_SHOWN_KEY_CHARACTERS - 1] + "…"
        if not key.isprintable():
            key = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in key)
        return f"{self.path}.{key}" if self.path else key


def are_objects(value: Any, *names: str) -> bool:
    """Whether `value` is a list of objects, one or more, that all have members of these names: for `matches`."""
    needed = set(names)
    return isinstance(value, list) and bool(value) and all(isinstance(e, dict) and e.keys() >= needed for e in value)


def mean_summary(
    stats: JsonValue, name: str = "mean", *, deviation: str | None = None, count: int | None = None
) -> Summary:
    """A mean, named so, with the `min`, `max` and `median` (or `p50`) beside it."""
    return Summary(
        value=stats.at(name).number(),
        statistic="mean",
        count=count,
        standard_deviation=None if deviation is None else stats.find_number(deviation),
        minimum=stats.find_number("min"),
        maximum=stats.find_number("max"),
        median=stats.find_number("p50" if stats.find("median") is None else "median"),
    )


# The list that a large JSON object is mostly made of, element by element: only one of them is in memory.

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


# One input file: bounded reading, decoding, and refusals that say what the bytes look like instead.

T = TypeVar("T")
MAX_FILE_BYTES = 64 << 20
# For formats that are read line by line: hours of a load test, one line per request.
MAX_STREAMED_BYTES = 4 << 30
# For lists of JSON, our own runs, standard input and what is in archives.
MAX_LARGE_BYTES = 1 << 30
CHUNK_BYTES = 1 << 20
MAX_LINE_CHARACTERS = 4 << 20
HEAD_CHARACTERS = 100_000
LARGE_HEAD_BYTES = 1 << 20
STDIN_NAME = "-"


@dataclass(frozen=True)
class Source:
    """A file's bytes and its display path. `name` and `data` are foreign; show the name only as `place`.

    `is_on_disk`: the name is a path that the user gave or that was found there.
    """

    name: str
    data: bytes
    is_on_disk: bool = False

    @cached_property
    def place(self) -> str:
        return "standard input" if self.name == STDIN_NAME else shown(self.name)

    @property
    def parts(self) -> Sequence[str]:
        """The components of the name, for formats whose files mean something by where they lie."""
        return self.name.replace("\\", "/").split("/")

    @property
    def stem(self) -> str | None:
        """The file's name without its end, for tools that name nothing; None of standard input."""
        last = self.parts[-1]
        return None if self.name == STDIN_NAME else last.rpartition(".")[0] or last

    def beside(self, path: str) -> "Source | None":
        """The file at `path` from this one's folder, where there is one on disk: never raises."""
        if not self.is_on_disk:
            return None
        try:
            return read_file(Path(self.name).parent / path)
        except DataError:
            return None

    def content(self, *, max_bytes: int | None = None) -> bytes:  # noqa: ARG002 - of files that are not in memory
        """All bytes; a DataError where they are too many to be in memory."""
        return self.data

    def text(self) -> str:
        """The decoded text; a DataError where the bytes are not text."""
        return _value(self._text_or_error)

    def json(self) -> Any:
        """The parsed JSON; a DataError with line and column. NaN and Infinity come through as floats."""
        return _value(self._json_or_error)

    def root(self) -> JsonValue:
        """The parsed JSON with its place, for checked access."""
        return JsonValue(self.json(), self.place)

    def each_of(self, name: str, take: Take) -> JsonValue:
        """The parsed JSON, of whose list `name` each element was given to `take`: of a large file the rest only."""
        root = self.root()
        for element in root.at(name).elements():
            take(element)
        return root

    def text_or_empty(self) -> str:
        """For `matches`: never raises."""
        return "" if isinstance(self._text_or_error, DataError) else self._text_or_error

    def json_or_none(self) -> Any:
        """For `matches`: never raises."""
        return None if isinstance(self._json_or_error, DataError) else self._json_or_error

    def member(self, name: str) -> Any:
        """For `matches`: the member `name` of the JSON object that the file is, None where there is none."""
        root = self.json_or_none()
        return root.get(name) if isinstance(root, dict) else None

    def error(self, message: str, next_step: str, *, line: int | None = None) -> DataError:
        """Why the file, or one line of it, is refused."""
        return DataError(message, place=self.place if line is None else f"{self.place}:{line}", next_step=next_step)

    def head(self) -> str:
        """The beginning of the text, for the `matches` of formats that stream: never raises."""
        return self.text_or_empty()[:HEAD_CHARACTERS]

    def lines(self) -> Iterator[str]:
        """The decoded lines with their ends, one at a time in bounded memory; a DataError where one is not text."""
        if refused := refusal(self.data, self.place):
            raise refused
        try:
            with self._stream() as stream, io.TextIOWrapper(stream, encoding=encoding(self.data), newline="") as text:
                while line := text.readline(MAX_LINE_CHARACTERS):
                    if len(line) == MAX_LINE_CHARACTERS or "\x00" in line:
                        raise _no_line(self.place)
                    yield line
        except UnicodeDecodeError:
            raise _no_line(self.place) from None
        except OSError as error:
            raise _unreadable(self.name, error) from None

    def _stream(self) -> BinaryIO:
        return io.BytesIO(self.data)

    # Both outcomes are kept, so that asking twenty parsers costs one parse.
    @cached_property
    def _text_or_error(self) -> str | DataError:
        return refusal(self.data, self.place) or decode(self.data, self.place)

    @cached_property
    def _json_or_error(self) -> Any:
        text = self._text_or_error
        return text if isinstance(text, DataError) else load_json(text, self.place)


@dataclass(frozen=True)
class LargeFile(Source):
    """A file too large for memory: `data` is its beginning, by which its format is recognised.

    Only formats that read `lines` or `each_of` can have the rest, which `opened` gives from the start.
    """

    opened: Callable[[], BinaryIO] = field(kw_only=True, compare=False)

    def content(self, *, max_bytes: int | None = None) -> bytes:
        if max_bytes is None:
            raise _too_large(self.place, MAX_FILE_BYTES)
        try:
            with self._stream() as stream:
                return read_stream(self.name, stream, max_bytes=max_bytes).data
        except OSError as error:
            raise _unreadable(self.name, error) from None

    def each_of(self, name: str, take: Take) -> JsonValue:
        if refused := refusal(self.data, self.place):
            raise refused
        root = read_list(self._chunks(), name, take, place=self.place)
        root.at(name).numbers()  # empty, or no list
        return root

    def text_or_empty(self) -> str:
        text = self.data.decode(encoding(self.data), errors="ignore")
        return "" if refusal(self.data, self.place) else text[:HEAD_CHARACTERS]

    def json_or_none(self) -> Any:
        return self._beginning

    def _stream(self) -> BinaryIO:
        return self.opened()

    def _chunks(self) -> Iterator[bytes]:
        """All of the text as UTF-8."""
        decoder = codecs.getincrementaldecoder(encoding(self.data))()
        size = 0
        try:
            with self._stream() as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    if (size := size + len(chunk)) > MAX_LARGE_BYTES:
                        raise _too_large(self.place, MAX_LARGE_BYTES)
                    yield decoder.decode(chunk).encode()
                decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise self.error("is neither UTF-8 nor UTF-16 with a byte order mark", "write the file as UTF-8") from None
        except OSError as error:
            raise _unreadable(self.name, error) from None

    @cached_property
    def _beginning(self) -> Any:
        value = load_json(closed_json(self.text_or_empty()), self.place)
        last = next(reversed(value.values()), None) if isinstance(value, dict) else value
        if isinstance(last, list) and len(last) > 1:
            del last[-1]  # it may be cut
        return None if isinstance(value, DataError) else value

    @cached_property
    def _text_or_error(self) -> str | DataError:
        return refusal(self.data, self.place) or _too_large(self.place, MAX_FILE_BYTES)


def open_file(path: str) -> Source:
    """The file at `path` in memory, or a LargeFile of it where it is too large for that."""
    try:
        file = Path(path)
        if file.is_file() and MAX_FILE_BYTES < file.stat().st_size <= MAX_STREAMED_BYTES:
            with file.open("rb") as stream:
                head = stream.read(LARGE_HEAD_BYTES)
            return LargeFile(path, head, is_on_disk=True, opened=lambda: file.open("rb"))
    except (OSError, ValueError):
        pass  # read_file says what is wrong with it
    return replace(read_file(path, max_bytes=MAX_FILE_BYTES), is_on_disk=True)


def open_stream(name: str, stream: BinaryIO) -> Source:
    """What `stream` holds in memory, or as a file without a name where it is too large for that."""
    data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) <= MAX_FILE_BYTES:
        return Source(name, data)
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the source
    size = copy.write(data)
    while chunk := stream.read(CHUNK_BYTES):
        size += copy.write(chunk)
        if size > MAX_LARGE_BYTES:
            copy.close()
            raise _too_large(Source(name, b"").place, MAX_LARGE_BYTES)
    source = LargeFile(name, data[:LARGE_HEAD_BYTES], opened=partial(_from_start, copy))
    weakref.finalize(source, copy.close)
    return source


def _from_start(copy: BinaryIO) -> BinaryIO:
    copy.seek(0)
    return os.fdopen(os.dup(copy.fileno()), "rb")


def read_file(path: str | Path, *, max_bytes: int = MAX_FILE_BYTES) -> Source:
    """The file at `path`, whose size is asked before anything is read."""
    name = str(path)
    try:
        with Path(path).open("rb") as stream:
            size = Path(path).stat().st_size
            if size > max_bytes:
                raise _too_large(shown(name), max_bytes)
            return read_stream(name, stream, max_bytes=max_bytes)
    except OSError as error:
        raise _unreadable(name, error) from None
    except ValueError:
        raise DataError("is no path", place=shown(name), next_step="give the path of a result file") from None


def read_stream(name: str, stream: BinaryIO, *, max_bytes: int = MAX_FILE_BYTES) -> Source:
    """What `stream` holds, up to the limit: a pipe has no size to ask for."""
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise _too_large(Source(name, b"").place, max_bytes)
    return Source(name, data)


def _unreadable(name: str, error: OSError) -> DataError:
    return DataError(
        f"cannot be read: {error.strerror or type(error).__name__}",
        place=shown(name),
        next_step="check the path and that the benchmark step wrote the file",
    )


def _no_line(place: str) -> DataError:
    return DataError(
        f"is not text in lines of at most {MAX_LINE_CHARACTERS:,} characters",
        place=place,
        next_step="write the file as UTF-8, one record per line",
    )


def _too_large(place: str, max_bytes: int) -> TooLargeError:
    return TooLargeError(
        f"is larger than {max_bytes:,} bytes",
        place=place,
        next_step="split the suite into several files, or let the tool write fewer samples",
    )


def _value(outcome: T | DataError) -> T:
    if isinstance(outcome, DataError):
        # A fresh one each time: a raised exception keeps its traceback and so all frames alive.
        raise type(outcome)(outcome.message, place=outcome.place, next_step=outcome.next_step)
    return outcome
