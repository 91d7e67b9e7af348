"""One input file: bounded reading, decoding, and errors that describe the bytes."""

import codecs
import io
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from perf_culprit.errors import DataError, TooLargeError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.results.content import closed_json, decode, encoding, load_json, refusal, shown
from perf_culprit.read.results.json_value import JsonValue, Take, read_list

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


T = TypeVar("T")
CHUNK_BYTES = 1 << 20
HEAD_CHARACTERS = 100_000
LARGE_HEAD_BYTES = 1 << 20
STDIN_NAME = "-"
XML_HEAD_CHARACTERS = 4096
# What scripts call the list of results.
RESULT_LISTS = ("results", "benchmarks", "tasks")


@dataclass(frozen=True)
class Source:
    """A file's bytes and its display path. `name` and `data` are foreign; display the name only as `place`.

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
        """The components of the name, for formats in which the path has a meaning."""
        return self.name.replace("\\", "/").split("/")

    @property
    def stem(self) -> str | None:
        """The file's name without its extension, for tools that name nothing; None for standard input."""
        last = self.parts[-1]
        return None if self.name == STDIN_NAME else last.rpartition(".")[0] or last

    def beside(self, path: str) -> "Source | None":
        """Return the file at `path` relative to this one's folder; None if there is none on disk. Never raises."""
        if not self.is_on_disk:
            return None
        try:
            return read_file(Path(self.name).parent / path)
        except DataError:
            return None

    def content(self, *, max_bytes: int | None = None) -> bytes:  # noqa: ARG002 - of files that are not in memory
        """Return all bytes; raise DataError if they are too large for memory."""
        return self.data

    def text(self) -> str:
        """Return the decoded text; raise DataError if the bytes are not text."""
        return _value(self._text_or_error)

    def json(self) -> Any:
        """Return the parsed JSON; raise DataError with line and column. NaN and Infinity become floats."""
        return _value(self._json_or_error)

    def root(self) -> JsonValue:
        """Return the parsed JSON with its place, for checked access."""
        return JsonValue(self.json(), self.place)

    def each_of(self, name: str, take: Take) -> JsonValue:
        """Pass each element of the list `name` to `take`. Return the parsed JSON, without them for a large file."""
        root = self.root()
        for element in root.at(name).elements():
            take(element)
        return root

    def text_or_empty(self) -> str:
        """Return the text, or "" if there is an error; for `matches`, so it never raises."""
        return "" if isinstance(self._text_or_error, DataError) else self._text_or_error

    def json_or_none(self) -> Any:
        """Return the parsed JSON, or None if there is an error; for `matches`, so it never raises."""
        return None if isinstance(self._json_or_error, DataError) else self._json_or_error

    def member(self, name: str) -> Any:
        """Return the member `name` of the file's JSON object, None if there is none; for `matches`."""
        root = self.json_or_none()
        return root.get(name) if isinstance(root, dict) else None

    def results(self) -> JsonValue | None:
        """Return the JSON list of results, alone or in a script's object around it; None if there is none."""
        if isinstance(self.json_or_none(), list):
            return self.root()
        names = [name for name in RESULT_LISTS if isinstance(self.member(name), list)]
        return self.root().at(names[0]) if names else None

    def json_lines(self) -> Iterator[JsonValue]:
        """Yield the JSON value of each line that has one; raise DataError with the line's number."""
        for number, line in enumerate(self.text().split("\n"), start=1):
            if line.strip():
                place = f"{self.place}:{number}"
                if isinstance(entry := load_json(line, place), DataError):
                    raise DataError(entry.message, place=place, next_step=entry.next_step)
                yield JsonValue(entry, place)

    def error(self, message: str, next_step: str, *, line: int | None = None) -> DataError:
        """Return the error for the file or one line of it."""
        return DataError(message, place=self.place if line is None else f"{self.place}:{line}", next_step=next_step)

    def head(self) -> str:
        """Return the beginning of the text, for `matches` of streamed formats. Never raises."""
        return self.text_or_empty()[:HEAD_CHARACTERS]

    def lines(self) -> Iterator[str]:
        """Yield the decoded lines with their ends in bounded memory; raise DataError if one is not text."""
        if refused := refusal(self.data, self.place):
            raise refused
        try:
            with self._stream() as stream, io.TextIOWrapper(stream, encoding=encoding(self.data), newline="") as text:
                while line := text.readline(FILE_LIMITS.line_characters):
                    if len(line) == FILE_LIMITS.line_characters or "\x00" in line:
                        raise _no_line(self.place)
                    yield line
        except UnicodeDecodeError:
            raise _no_line(self.place) from None
        except OSError as error:
            raise _unreadable(self.name, error) from None

    def _stream(self) -> BinaryIO:
        return io.BytesIO(self.data)

    # Both outcomes are cached, so that matching all readers costs one parse.
    @cached_property
    def _text_or_error(self) -> str | DataError:
        return refusal(self.data, self.place) or decode(self.data, self.place)

    @cached_property
    def _json_or_error(self) -> Any:
        text = self._text_or_error
        return text if isinstance(text, DataError) else load_json(text, self.place)


@dataclass(frozen=True)
class LargeFile(Source):
    """A file too large for memory. `data` is its beginning, by which its format is recognised.

    Only formats that read `lines` or `each_of` can use the rest, which `opened` returns from the start.
    """

    opened: Callable[[], BinaryIO] = field(kw_only=True, compare=False)

    def content(self, *, max_bytes: int | None = None) -> bytes:
        if max_bytes is None:
            raise _too_large(self.place, FILE_LIMITS.file_bytes)
        try:
            with self._stream() as stream:
                return read_stream(self.name, stream, max_bytes=max_bytes).data
        except OSError as error:
            raise _unreadable(self.name, error) from None

    def each_of(self, name: str, take: Take) -> JsonValue:
        if refused := refusal(self.data, self.place):
            raise refused
        root = read_list(self._chunks(), name, take, place=self.place)
        root.at(name).numbers()  # an error unless it is a list, which is empty
        return root

    def text_or_empty(self) -> str:
        text = self.data.decode(encoding(self.data), errors="ignore")
        return "" if refusal(self.data, self.place) else text[:HEAD_CHARACTERS]

    def json_or_none(self) -> Any:
        return self._beginning

    def _stream(self) -> BinaryIO:
        return self.opened()

    def _chunks(self) -> Iterator[bytes]:
        """Yield the whole text as UTF-8."""
        decoder = codecs.getincrementaldecoder(encoding(self.data))()
        size = 0
        try:
            with self._stream() as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    if (size := size + len(chunk)) > FILE_LIMITS.large_file_bytes:
                        raise _too_large(self.place, FILE_LIMITS.large_file_bytes)
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
            del last[-1]  # it may be incomplete
        return None if isinstance(value, DataError) else value

    @cached_property
    def _text_or_error(self) -> str | DataError:
        return refusal(self.data, self.place) or _too_large(self.place, FILE_LIMITS.file_bytes)


def json_object(is_format: Callable[[dict[str, Any]], bool]) -> Callable[[Source], bool]:
    """Return a `matches` function that accepts a JSON object for which `is_format` is true."""

    def matches(source: Source) -> bool:
        root = source.json_or_none()
        return isinstance(root, dict) and is_format(root)

    return matches


def has_root(source: Source, roots: tuple[str, ...]) -> bool:
    """Return whether one of `roots`, such as "<Catch2TestRun", is near the beginning. Cheap; never raises."""
    head = source.text_or_empty()[:XML_HEAD_CHARACTERS]
    return head.lstrip().startswith("<") and any(root in head for root in roots)


def parse_xml(source: Source, *, next_step: str) -> "Element":
    """Parse XML without document types and entities."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    text = source.text()
    if text.count("<") + text.count("&") > FILE_LIMITS.xml_marks:
        raise source.error(f"holds more than {FILE_LIMITS.xml_marks:,} tags", "write the benchmarks alone to a file")
    try:
        # No tool writes a document type; forbidding it excludes entities to expand.
        root: Element = fromstring(text, forbid_dtd=True)
    except ParseError as error:
        line, column = error.position
        raise DataError(
            "is not well-formed XML (cut off?)", place=f"{source.place}:{line}:{column + 1}", next_step=next_step
        ) from None
    except DefusedXmlException:
        raise source.error("declares a document type or entities, which the tool never does", next_step) from None
    return root


def attribute_number(element: "Element", attribute: str, *, place: str, next_step: str) -> float | None:
    """Return the attribute's value; None if it is missing."""
    if (text := element.get(attribute)) is None:
        return None
    try:
        return float(text[: FILE_LIMITS.number_characters])
    except ValueError:
        raise DataError(f"`{attribute}` of `{element.tag}` is not a number", place=place, next_step=next_step) from None


def open_file(path: str) -> Source:
    """Read the file at `path` into memory, or open it as a LargeFile if it is too large."""
    try:
        file = Path(path)
        if file.is_file() and FILE_LIMITS.file_bytes < file.stat().st_size <= FILE_LIMITS.streamed_file_bytes:
            with file.open("rb") as stream:
                head = stream.read(LARGE_HEAD_BYTES)
            return LargeFile(path, head, is_on_disk=True, opened=lambda: file.open("rb"))
    except (OSError, ValueError):
        pass  # read_file reports the fault
    return replace(read_file(path, max_bytes=FILE_LIMITS.file_bytes), is_on_disk=True)


def open_stream(name: str, stream: BinaryIO) -> Source:
    """Read `stream` into memory, or into an unnamed temporary file if it is too large."""
    data = stream.read(FILE_LIMITS.file_bytes + 1)
    if len(data) <= FILE_LIMITS.file_bytes:
        return Source(name, data)
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the source
    size = copy.write(data)
    while chunk := stream.read(CHUNK_BYTES):
        size += copy.write(chunk)
        if size > FILE_LIMITS.large_file_bytes:
            copy.close()
            raise _too_large(Source(name, b"").place, FILE_LIMITS.large_file_bytes)
    source = LargeFile(name, data[:LARGE_HEAD_BYTES], opened=partial(_from_start, copy))
    weakref.finalize(source, copy.close)
    return source


def _from_start(copy: BinaryIO) -> BinaryIO:
    copy.seek(0)
    return os.fdopen(os.dup(copy.fileno()), "rb")


def read_file(path: str | Path, *, max_bytes: int = FILE_LIMITS.file_bytes) -> Source:
    """Read the file at `path` after a check of its size."""
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
        raise DataError("is not a path", place=shown(name), next_step="give the path of a result file") from None


def read_stream(name: str, stream: BinaryIO, *, max_bytes: int = FILE_LIMITS.file_bytes) -> Source:
    """Read `stream` up to the limit, because a pipe's size is unknown."""
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
        f"is not text in lines of at most {FILE_LIMITS.line_characters:,} characters",
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
        # Raise a new instance each time: a raised exception keeps its traceback and thus all frames alive.
        raise type(outcome)(outcome.message, place=outcome.place, next_step=outcome.next_step)
    return outcome
