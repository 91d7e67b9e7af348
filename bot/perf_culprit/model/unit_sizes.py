"""Spellings of units in the output of tools, and their sizes."""

from typing import Final

# "KB" is missing on purpose: it may be 1,000 or 1,024 bytes.
SECONDS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1e-9),
    "min": 60.0,
}
BYTES: Final = {
    **dict.fromkeys(("B", "byte", "bytes"), 1.0),
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}
_PER_CALL: Final = ("/op", "/iter")


def without_suffix(unit: str) -> tuple[str, str]:
    """The unit and its suffix per call: ("ns", "/op") for "ns/op"."""
    for suffix in _PER_CALL:
        if unit.endswith(suffix):
            return unit.removesuffix(suffix), suffix
    return unit, ""


def converted(value: float, unit: str, to: str) -> float | None:
    """`value` of `unit` in the unit `to`; None if they measure different things. An empty unit matches any other."""
    if unit in ("", to):
        return value
    plain, wanted = without_suffix(unit)[0], without_suffix(to)[0]
    for sizes in (SECONDS, BYTES):
        if plain in sizes and wanted in sizes:
            return value * sizes[plain] / sizes[wanted]
    return None
