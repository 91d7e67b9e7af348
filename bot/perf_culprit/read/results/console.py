"""Console outputs: lines, numbers and names, and files that hold results of several formats."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from perf_culprit.errors import DataError
from perf_culprit.read.results.source import LargeFile, Source

# What the console outputs of benchmark tools have in common: lines, numbers, times and names.

# Each part is bounded, so that no line can make a pattern work long.
NUMBER = r"[0-9][0-9,]{0,40}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,4})?"
TIME_UNIT = "(?:ps|ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ms|s|m)"
NANOSECONDS = {
    "ps": 1e-3,
    "ns": 1.0,
    "us": 1e3,
    "\N{MICRO SIGN}s": 1e3,
    "\N{GREEK SMALL LETTER MU}s": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "m": 60e9,
}
_NUMBER = re.compile(NUMBER)
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")


def lines(source: Source) -> Iterator[tuple[int, str]]:
    """Each line with its number from 1: without colours, and as a terminal shows it after carriage returns."""
    for number, line in enumerate(source.text().split("\n"), start=1):
        text = _COLOUR.sub("", line) if "\x1b" in line else line
        yield number, text.rstrip("\r").rpartition("\r")[2] if "\r" in text else text


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def number_of(text: str) -> float:
    """The value of what `NUMBER` matched: commas group thousands."""
    return float(text.replace(",", ""))


def nanoseconds(number: str, unit: str) -> float:
    return number_of(number) * NANOSECONDS[unit]


def qualified(names: Iterable[tuple[str, str]], *, separator: str) -> dict[tuple[str, str], str]:
    """For each (scope, name) what to call it: the bare name, and the scope before it where several scopes have it."""
    pairs = set(names)
    scopes = Counter(name for _, name in pairs)
    return {(scope, name): f"{scope}{separator}{name}" if scopes[name] > 1 and scope else name for scope, name in pairs}


# A file that holds results of several formats: JSON documents between the lines of a log, tables one after another.

# A line that may begin a document: not `[INFO]`, and not a lone brace of a program's own output.
BEGINNING = re.compile(r"^[ \t]{0,20}(?=\{\s{0,40}\"|\[\s{0,40}[\[{])", re.MULTILINE)
# Blank lines, and what may be the header of a table.
BREAKS = re.compile(
    r"\n[ \t\r]{0,20}\n\s{0,1000}|\n(?=(?:time(?:stamp|Stamp)?|date(?:time)?|commit|command|name|metric_name)[,;\t])"
)
MAX_DOCUMENTS = 2_000
# Every attempt that fails reads the text up to its error, to count lines: a second of that is enough.
MAX_CHARACTERS_READ = 500_000_000
MAX_PARAGRAPHS = 500


def documents(source: Source, is_known: Callable[[Source], bool]) -> tuple[list[Source], Source]:
    """The known JSON documents that begin a line of a text, and the text without them.

    Lines keep their numbers, except those of a table after the first document: its header has to begin the text.
    A DataError where one after them is cut off: what it held would be lost.
    """
    if isinstance(source, LargeFile) or source.json_or_none() is not None:
        return [], source
    text = source.text_or_empty()
    pieces: list[Source] = []
    rest: list[str] = []
    last = line = 0
    for start, end in islice(_documents(text), MAX_DOCUMENTS):
        place = f"{source.place}:{text.count(chr(10), 0, start) + 1}"
        if end is None and pieces:
            raise DataError(
                "holds a JSON document that is cut off", place=place, next_step="check that the benchmark step finished"
            )
        if end is None:
            continue
        piece = _named(source, text[start:end])
        try:
            piece.json()
        except DataError as error:  # a name that stands there twice
            raise DataError(error.message, place=place, next_step=error.next_step) from None
        if is_known(piece):
            lines = line + text.count("\n", last, start)
            pieces.append(_named(source, "\n" * lines + text[start:end]))
            rest += [text[last:start], "\n" * text.count("\n", start, end)]
            last, line = end, lines + text.count("\n", start, end)
    return pieces, _named(source, "".join([*rest, text[last:]]).lstrip("\n")) if pieces else source


def paragraphs(source: Source) -> Iterator[Source]:
    """What stands between blank lines or begins with a header, where there is more than one part."""
    texts = [] if isinstance(source, LargeFile) else BREAKS.split(source.text_or_empty(), MAX_PARAGRAPHS)
    if len(texts) > 1 and source.json_or_none() is None:
        yield from (_named(source, text) for text in texts if "\n" in text)


def _named(source: Source, text: str) -> Source:
    return replace(source, data=text.encode("utf-8", errors="replace"))


def _documents(text: str) -> Iterator[tuple[int, int | None]]:
    """Where each begins and ends; None for one that the text's end cuts off."""
    decoder = json.JSONDecoder()
    position = read = 0
    while read <= MAX_CHARACTERS_READ:
        if (beginning := BEGINNING.search(text, position)) is None:
            return
        start = beginning.end()
        position = start + 1
        try:
            _, position = decoder.raw_decode(text, start)
            yield start, position
        except json.JSONDecodeError as error:
            read += error.pos
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
                yield start, None
        except (ValueError, RecursionError):
            read += len(text)
