"""One input file: bounded reading, decoding, and refusals that say what the bytes look like instead."""

import io
import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from bot.collect.json_value import JsonValue
from bot.errors import DataError

T = TypeVar("T")
MAX_FILE_BYTES = 64 << 20
# For formats that are read line by line: hours of a load test, one line per request.
MAX_STREAMED_BYTES = 4 << 30
MAX_LINE_CHARACTERS = 4 << 20
HEAD_CHARACTERS = 100_000
LARGE_HEAD_BYTES = 1 << 20
MAX_SHOWN_CHARACTERS = 120
STDIN_NAME = "-"

_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

# First bytes, what they mean, what to do. Nothing here is ever unpacked or unpickled to find out.
_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "a zip archive", "give the archive itself as an input file; archives in archives are not opened"),
    (b"PK\x05\x06", "an empty zip archive", "check the step that packed it"),
    (b"\x1f\x8b", "gzip data", "unpack it first (gunzip)"),
    (b"BZh", "bzip2 data", "unpack it first (bunzip2)"),
    (b"\xfd7zXZ\x00", "xz data", "unpack it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "zstandard data", "unpack it first (unzstd)"),
    (b"\x80\x02", "a Python pickle", "pickles are never opened; write the results as JSON"),
    (b"\x80\x03", "a Python pickle", "pickles are never opened; write the results as JSON"),
    (b"\x80\x04", "a Python pickle", "pickles are never opened; write the results as JSON"),
    (b"\x80\x05", "a Python pickle", "pickles are never opened; write the results as JSON"),
    (b"\x7fELF", "a program", "give the file that the benchmark wrote, not the benchmark"),
    (b"SQLite format 3\x00", "an SQLite database", "export the results as JSON"),
    (b"\x89PNG", "a picture", "give the file with the numbers"),
    (b"%PDF", "a PDF document", "give the file with the numbers"),
)
_MARSHAL_DICT = (0x7B, 0xFB)
_MARSHAL_TUPLE = (0x28, 0xA8, 0x29, 0xA9)


def shown(text: str, limit: int = MAX_SHOWN_CHARACTERS) -> str:
    """Foreign text for a message: one line, no control, format or surrogate characters, cut at `limit`."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c).startswith("C") else c for c in cut)


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

    def text_or_empty(self) -> str:
        """For `matches`: never raises."""
        return "" if isinstance(self._text_or_error, DataError) else self._text_or_error

    def json_or_none(self) -> Any:
        """For `matches`: never raises."""
        return None if isinstance(self._json_or_error, DataError) else self._json_or_error

    def head(self) -> str:
        """The beginning of the text, for the `matches` of formats that stream: never raises."""
        return self.text_or_empty()[:HEAD_CHARACTERS]

    def lines(self) -> Iterator[str]:
        """The decoded lines with their ends, one at a time in bounded memory; a DataError where one is not text."""
        refusal = _refusal(self.data, self.place)
        if refusal:
            raise refusal
        encoding = _encoding(self.data)
        try:
            with self._stream() as stream, io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
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
        refusal = _refusal(self.data, self.place)
        return refusal or _decode(self.data, self.place)

    @cached_property
    def _json_or_error(self) -> Any:
        text = self._text_or_error
        return text if isinstance(text, DataError) else _load_json(text, self.place)


@dataclass(frozen=True)
class LargeFile(Source):
    """A file too large for memory: `data` is its beginning. Only formats that read `lines` can have the rest."""

    def content(self, *, max_bytes: int | None = None) -> bytes:
        return read_file(self.name, max_bytes=max_bytes or MAX_FILE_BYTES).data

    def head(self) -> str:
        text = self.data.decode(_encoding(self.data), errors="ignore")
        return "" if _refusal(self.data, self.place) else text[:HEAD_CHARACTERS]

    def _stream(self) -> BinaryIO:
        return Path(self.name).open("rb")

    @cached_property
    def _text_or_error(self) -> str | DataError:
        return _refusal(self.data, self.place) or _too_large(self.place, MAX_FILE_BYTES)


def open_file(path: str) -> Source:
    """The file at `path` in memory, or a LargeFile of it where it is too large for that."""
    try:
        file = Path(path)
        if file.is_file() and MAX_FILE_BYTES < file.stat().st_size <= MAX_STREAMED_BYTES:
            with file.open("rb") as stream:
                return LargeFile(path, stream.read(LARGE_HEAD_BYTES), is_on_disk=True)
    except (OSError, ValueError):
        pass  # read_file says what is wrong with it
    return replace(read_file(path, max_bytes=MAX_FILE_BYTES), is_on_disk=True)


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


def _too_large(place: str, max_bytes: int) -> DataError:
    return DataError(
        f"is larger than {max_bytes:,} bytes",
        place=place,
        next_step="split the suite into several files, or let the tool write fewer samples",
    )


def _value(outcome: T | DataError) -> T:
    if isinstance(outcome, DataError):
        # A fresh one each time: a raised exception keeps its traceback and so all frames alive.
        raise DataError(outcome.message, place=outcome.place, next_step=outcome.next_step)
    return outcome


def _refusal(data: bytes, place: str) -> DataError | None:
    """Why these bytes cannot be text, or None."""
    if not data.strip():
        return DataError("is empty", place=place, next_step="check that the benchmark step ran and wrote its results")
    for signature, meaning, next_step in _SIGNATURES:
        if data.startswith(signature):
            return DataError(f"is {meaning}, not benchmark results", place=place, next_step=next_step)
    if data[2:4] == b"\r\n" and data[1:2] in (b"\x0c", b"\x0d", b"\x0e"):
        return DataError(
            "is compiled Python, not benchmark results", place=place, next_step="give the file with results"
        )
    if len(data) > 1 and data[0] in _MARSHAL_DICT and data[1] in _MARSHAL_TUPLE:
        return DataError(
            "is marshalled Python data (a cProfile file?), not benchmark results",
            place=place,
            next_step="marshalled data is never opened; write the results as JSON",
        )
    if not data.startswith(_UTF16_BOMS) and b"\x00" in data:
        empty = not data.strip(b"\x00")
        return DataError(
            "holds only zero bytes" if empty else f"is binary (a zero byte at byte {data.index(0)})",
            place=place,
            next_step="the write was cut off: run the benchmark again" if empty else "give the tool's JSON or text",
        )
    return None


def _encoding(data: bytes) -> str:
    return "utf-16" if data.startswith(_UTF16_BOMS) else "utf-8-sig"


def _decode(data: bytes, place: str) -> str | DataError:
    try:
        text = data.decode(_encoding(data))
    except UnicodeDecodeError as error:
        # The codec counts after the mark that it skips.
        offset = error.start + (len(_UTF8_BOM) if data.startswith(_UTF8_BOM) else 0)
        return DataError(
            f"is neither UTF-8 nor UTF-16 with a byte order mark (byte {offset})",
            place=place,
            next_step="write the file as UTF-8",
        )
    if "\x00" in text:
        return DataError("is binary (holds zero characters)", place=place, next_step="give the tool's JSON or text")
    return text


def _load_json(text: str, place: str) -> Any:
    next_step = "check that the benchmark step finished and wrote only JSON to this file"
    try:
        return json.loads(text, object_pairs_hook=unique_members)
    except json.JSONDecodeError as error:
        located = f"{place}:{error.lineno}:{error.colno}"
        return DataError(f"is not valid JSON: {error.msg}", place=located, next_step=next_step)
    except RecursionError:
        return DataError("is nested too deeply", place=place, next_step=next_step)
    except DuplicateMemberError as error:
        return error.at(place)
    except ValueError:
        # The only other one: Python refuses to convert integers of thousands of digits.
        return DataError("holds an integer with thousands of digits", place=place, next_step=next_step)


class DuplicateMemberError(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def at(self, place: str) -> DataError:
        return DataError(
            f"holds the name `{shown(self.name)}` twice in one JSON object",
            place=place,
            next_step="give each benchmark a name of its own",
        )


def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise DuplicateMemberError(name)
            seen.add(name)
    return members
