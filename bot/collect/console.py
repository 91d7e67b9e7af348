"""What the console outputs of benchmark tools have in common: lines, numbers, times and names."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from bot.collect.source import Source

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
