"""Units of time and size as tools spell them, with their sizes. No other table of them exists.

Spellings of uncertain size are missing. `KB` is 1,000 bytes in one tool and 1,024 in another, `Mb` may be bits, and `m`
metres. A reader that knows its tool adds what the tool means, as in `MILLISECONDS | {"m": 60_000.0}`.
"""

from typing import Final

# Whole numbers, so that each table below has the nearest floats.
_PICOSECONDS: Final = {
    "ps": 1,
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 10**3),
    **dict.fromkeys(("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s", "usec"), 10**6),
    **dict.fromkeys(("microsecond", "microseconds"), 10**6),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 10**9),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 10**12),
    **dict.fromkeys(("min", "minute", "minutes"), 60 * 10**12),
    **dict.fromkeys(("h", "hour", "hours"), 3600 * 10**12),
}
SECONDS: Final = {unit: size / 10**12 for unit, size in _PICOSECONDS.items()}
MILLISECONDS: Final = {unit: size / 10**9 for unit, size in _PICOSECONDS.items()}
NANOSECONDS: Final = {unit: size / 10**3 for unit, size in _PICOSECONDS.items()}
BYTES: Final = {
    **dict.fromkeys(("B", "byte", "bytes", "Byte", "Bytes"), 1.0),
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}
_SIZES: Final = frozenset(map(str.lower, BYTES))
_PER_CALL: Final = ("/op", "/iter")


def seconds_in(unit: str) -> float | None:
    """Seconds in a unit of time, in any case (`Seconds`); None for any other unit."""
    return SECONDS.get(unit) or SECONDS.get(unit.lower())


def is_size(unit: str) -> bool:
    """Return whether this is a unit of size; also `KB`, which is in no table."""
    return unit.lower() in _SIZES


def without_suffix(unit: str) -> tuple[str, str]:
    """Return the unit and its suffix per call: ("ns", "/op") for "ns/op"."""
    for suffix in _PER_CALL:
        if unit.endswith(suffix):
            return unit.removesuffix(suffix), suffix
    return unit, ""
