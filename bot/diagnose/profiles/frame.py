"""How foreign names become methods: bounded, writable, and the same in every repetition."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MAX_NAME_CHARACTERS: Final = 1_000
# Files of these names are told apart by their folders.
_NAMELESS_FILES: Final = frozenset({"__init__.py", "__main__.py", "index.js", "index.ts", "mod.rs", "main.py"})
_NUMBERS: Final = re.compile(r"0x[0-9a-fA-F]++|[0-9]++")
MAX_LINE_NUMBER: Final = 2**31


@dataclass(frozen=True, slots=True)
class Frame:
    """`method` tells methods apart: it holds the file's name where a bare name would not."""

    method: str
    file: str | None = None
    line: int | None = None


def frame(name: str, file: str | None = None, line: int | None = None) -> Frame:
    """With a file, the method is `file:name`, the file without its folders: those differ from machine to machine."""
    name = bounded(name) or "(no name)"
    if not file:
        return Frame(name)
    file = bounded(file)
    if line is not None and not 0 <= line <= MAX_LINE_NUMBER:
        line = None
    return Frame(f"{_short(file)}:{name}"[:MAX_NAME_CHARACTERS], file, line)


@lru_cache(maxsize=1 << 15)
def frame_of(text: str) -> Frame:
    """From a name that may end with its place, as py-spy and VizTracer write it: `find (shop/dao.py:12)`."""
    name, separator, place = text.rpartition(" (")
    file, _, line = place.removesuffix(")").rpartition(":")
    if separator and file and place.endswith(")") and line.isascii() and line.isdigit() and len(line) < 10:
        return frame(name, file, int(line))
    return frame(text)


@lru_cache(maxsize=1 << 12)
def group_name(text: str) -> str:
    """The name of a process or thread without its numbers, which differ from run to run: one name per group."""
    return _NUMBERS.sub("*", bounded(text))


def bounded(text: str) -> str:
    """At most MAX_NAME_CHARACTERS on one line, which any file can hold."""
    cut = text if len(text) <= MAX_NAME_CHARACTERS else text[: MAX_NAME_CHARACTERS - 1] + "…"
    return cut.encode("utf-8", "replace").decode("utf-8").strip()


def _short(file: str) -> str:
    parts = [part for part in file.replace("\\", "/").split("/") if part]
    kept = 2 if parts and parts[-1] in _NAMELESS_FILES else 1
    return "/".join(parts[-kept:])
