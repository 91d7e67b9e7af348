"""Detection and decoding of a file's bytes: text, JSON, or something else by its first bytes."""

import json
import re
import unicodedata
from typing import Any

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.text_limits import TEXT_LIMITS

WHOLE_JSON_STEP = "check that the benchmark step finished and wrote only JSON to this file"
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"|["{}\[\],]', re.DOTALL)
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

# First bytes, their meaning, and the next step. Detection never unpacks or unpickles anything.
_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "a zip archive", "give the archive itself as an input file; archives in archives are not opened"),
    (b"PK\x05\x06", "an empty zip archive", "check the step that packed it"),
    (b"\x1f\x8b", "gzip data", "unpack it first (gunzip)"),
    (b"BZh", "bzip2 data", "unpack it first (bunzip2)"),
    (b"\xfd7zXZ\x00", "xz data", "unpack it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "zstandard data", "unpack it first (unzstd)"),
    *(
        (bytes((0x80, version)), "a Python pickle", "pickles are never opened; write the results as JSON")
        for version in range(2, 6)
    ),
    (b"\x7fELF", "a program", "give the file that the benchmark wrote, not the benchmark"),
    (b"SQLite format 3\x00", "an SQLite database", "export the results as JSON"),
    (b"\x89PNG", "a picture", "give the file with the numbers"),
    (b"%PDF", "a PDF document", "give the file with the numbers"),
)
_MARSHAL_DICT = (0x7B, 0xFB)
_MARSHAL_TUPLE = (0x28, 0xA8, 0x29, 0xA9)


def shown(text: str, limit: int = TEXT_LIMITS.quoted_characters) -> str:
    """Sanitize foreign text for a message: one line without control, format or surrogate characters, cut at `limit`."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    if cut.isprintable():
        return cut
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c).startswith("C") else c for c in cut)


def refusal(data: bytes, place: str) -> DataError | None:
    """Return the reason why these bytes cannot be text, or None."""
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


def encoding(data: bytes) -> str:
    return "utf-16" if data.startswith(_UTF16_BOMS) else "utf-8-sig"


def decode(data: bytes, place: str) -> str | DataError:
    try:
        text = data.decode(encoding(data))
    except UnicodeDecodeError as error:
        # The codec counts from after the byte order mark.
        offset = error.start + (len(_UTF8_BOM) if data.startswith(_UTF8_BOM) else 0)
        return DataError(
            f"is neither UTF-8 nor UTF-16 with a byte order mark (byte {offset})",
            place=place,
            next_step="write the file as UTF-8",
        )
    if "\x00" in text:
        return DataError("is binary (holds zero characters)", place=place, next_step="give the tool's JSON or text")
    return text


def load_json(text: str, place: str) -> Any:
    next_step = WHOLE_JSON_STEP
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
        # The only other cause: Python refuses to convert integers of thousands of digits.
        return DataError("holds an integer with thousands of digits", place=place, next_step=next_step)


def closed_json(text: str) -> str:
    """Make valid JSON from the beginning of a JSON file: cut it at its last comma and close open brackets."""
    open_: list[str] = []
    end, closing = 0, ""
    for match in _TOKENS.finditer(text):
        mark = match.group()
        if mark in "{[":
            open_.append("}" if mark == "{" else "]")
        elif mark in "}]" and open_:
            open_.pop()
        elif mark == ",":
            end, closing = match.start(), "".join(reversed(open_))
        if mark == '"' or len(open_) > FILE_LIMITS.json_depth:
            break
    return text[:end] + closing


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
