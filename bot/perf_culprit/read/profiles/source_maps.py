"""Source maps of version 3 [ECMA-426], which locate a function of bundled JavaScript in its sources."""

import base64
import binascii
import os
import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Final, TypeAlias
from urllib.parse import unquote, unquote_to_bytes

import msgspec

from perf_culprit.model.file_limits import FILE_LIMITS

SUFFIXES: Final = (".js", ".cjs", ".mjs")
# A function's name is at most this number of mapped places before its parameters, where V8 places its beginning.
NAME_BEFORE: Final = 3
_URL: Final = "sourceMappingURL="
_BEFORE_URL: Final = ("//#", "//# ", "//@", "//@ ")
# A number has at most 32 bits.
LAST_SHIFT: Final = 30
_BUNDLER: Final = re.compile(r"[a-z-]+://(?:[^/]*/)?")
_DIGITS: Final = {
    digit: value for value, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}

# Column, source, line from 0, and name, which is -1 if missing.
_Segment: TypeAlias = tuple[int, int, int, int]


class _Map(msgspec.Struct, rename="camel"):
    mappings: str
    sources: list[str | None]
    names: list[str] = []
    source_root: str | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """A generated file with its map."""

    lines: list[str]
    segments: list[list[_Segment]]
    files: list[str | None]
    names: list[str]

    def source(self, function: str, line: int, column: int) -> tuple[str, str, int] | None:
        """Return name, file and line (from 1) of the function at a place of the bundle (from 0); None if unmapped."""
        is_whole_bundle = not function and line == column == 0
        segments = self.segments[line] if 0 <= line < len(self.segments) and not is_whole_bundle else []
        end = bisect_right(segments, column, key=lambda one: one[0])
        if not end or (file := self.files[segments[end - 1][1]]) is None:
            return None
        nearest = segments[max(0, end - NAME_BEFORE) : end][::-1]
        named = (one for one in nearest if one[3] >= 0 and self._text(line, one[0], len(function)) == function)
        name = next((self.names[one[3]] for one in named), function)
        return name, file, segments[end - 1][2] + 1

    def _text(self, line: int, column: int, length: int) -> str:
        return self.lines[line][column : column + length] if line < len(self.lines) else ""


def bundle_of(url: str) -> Bundle | None:
    """Load the bundle at a `file:` URL or path on this machine; None if it or its map cannot be read."""
    path = Path(unquote(url.removeprefix("file://")))
    text = _text_of(path) if path.is_absolute() and path.name.endswith(SUFFIXES) else None
    if text is None or (linked := _linked(text)) is None:
        return None
    try:
        folder, data = _map_of(path.parent, linked)
        if data is None:
            return None
        one = msgspec.json.decode(data, type=_Map)
        segments = _decoded(one)
    except (ValueError, KeyError, IndexError, binascii.Error, msgspec.MsgspecError):
        return None
    files = [None if name is None else _path(folder, one.source_root or "", name) for name in one.sources]
    return Bundle(text.split("\n"), segments, files, one.names)


def _linked(text: str) -> str | None:
    """Return the address of the map, which is the end of the bundle."""
    before, _, rest = text.rpartition(_URL)
    words = rest.split(maxsplit=1)
    return words[0] if before.endswith(_BEFORE_URL) and len(words) == 1 else None


def _map_of(folder: Path, url: str) -> tuple[Path, str | bytes | None]:
    if url.startswith("data:"):
        kind, _, data = url.partition(",")
        return folder, base64.b64decode(data) if kind.endswith(";base64") else unquote_to_bytes(data)
    path = folder / unquote(url.removeprefix("file://"))
    return path.parent, _text_of(path)


def _text_of(path: Path) -> str | None:
    try:
        # Some files of /proc are regular and have no end.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 - has no flags
            is_regular = S_ISREG(os.fstat(file.fileno()).st_mode)
            data = (file.read(FILE_LIMITS.source_map_bytes + 1) or b"") if is_regular else b""
        return data.decode(errors="replace") if 0 < len(data) <= FILE_LIMITS.source_map_bytes else None
    except (OSError, ValueError):
        return None


def _path(folder: Path, root: str, name: str) -> str:
    """Return the path of a source; `webpack://shop/./src/cart.js` is src/cart.js of the repository."""
    whole = f"{root.rstrip('/')}/{name}" if root else name
    inside, count = _BUNDLER.subn("", whole, count=1)
    return os.path.normpath(inside if count else folder / inside)


def _decoded(one: _Map) -> list[list[_Segment]]:
    """Decode the segments of each line. Numbers are differences in base64 VLQ: continuation bits and a sign bit."""
    source = line = name = 0
    lines = []
    for text in one.mappings.split(";"):
        column, segments = 0, []
        for part in filter(None, text.split(",")):
            numbers = _numbers(part)
            column += numbers[0]
            if len(numbers) < 4:
                continue
            source, line = source + numbers[1], line + numbers[2]
            name += numbers[4] if len(numbers) > 4 else 0
            if not 0 <= source < len(one.sources) or (len(numbers) > 4 and not 0 <= name < len(one.names)):
                raise IndexError(part)
            segments.append((column, source, line, name if len(numbers) > 4 else -1))
        lines.append(sorted(segments))
    return lines


def _numbers(part: str) -> list[int]:
    numbers, value, shift = [], 0, 0
    for digit in part:
        bits = _DIGITS[digit]
        value |= (bits & 31) << shift
        shift += 5
        if shift > LAST_SHIFT + 5:
            raise ValueError(part[:20])
        if not bits & 32:
            numbers.append(-(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    return numbers
