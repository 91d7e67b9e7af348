"""Units of time and size in the tools' spellings, and the factor between two of them."""

import math
from functools import cache

# Seconds and bytes per unit; a tool that changes its scale between two runs must not look like a change.
SECONDS = {
    "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0,
    "second": 1.0, "seconds": 1.0, "min": 60.0, "h": 3600.0,
    "nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "minutes": 60.0,
}  # fmt: skip
BYTES = {
    "b": 1.0, "byte": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
    "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40,
}  # fmt: skip

# Counted, not timed: the same code gives the same number, so one measurement without spread can decide.
BYTES_PER_OPERATION = frozenset({"b/op", "bytes/op"})
DETERMINISTIC_UNITS = BYTES_PER_OPERATION | {"allocs/op", "allocs", "allocations", "instructions", "instrs"}


def conversion_factor(source: str, target: str) -> float | None:
    """Factor that converts a number in `source` to `target`; None if they measure different things."""
    if source == target:
        return 1.0
    source_kind, source_scale = _parsed(source)
    target_kind, target_scale = _parsed(target)
    return source_scale / target_scale if source_kind == target_kind else None


def milliseconds_per(unit: str) -> float | None:
    """Milliseconds in one `unit` of time, per operation or not; None for any other unit."""
    kind, scale = _parsed(unit)
    return scale * 1e3 if kind[0] == "time" and "time" not in kind[1:] else None


def is_rate(unit: str) -> bool:
    """Whether the unit is something per time, such as ops/s."""
    kind, _ = _parsed(unit)
    return "time" in kind[1:] and kind[0] != "time"


def is_bytes_per_operation(unit: str) -> bool:
    return unit.strip().lower() in BYTES_PER_OPERATION


def is_deterministic(unit: str) -> bool:
    return unit.strip().lower() in DETERMINISTIC_UNITS


@cache
def depends_on_machine(unit: str) -> bool:
    """Whether another machine may give another number for the same code: times and rates, not counts and sizes."""
    kind, _ = _parsed(unit)
    return not is_deterministic(unit) and (kind[0] != "size" or "time" in kind[1:])


@cache
def _parsed(unit: str) -> tuple[tuple[str, ...], float]:
    """The unit's kind, such as ("time", "op") for ns/op, and its scale in seconds or bytes."""
    kinds, scale = [], 1.0
    for position, part in enumerate(unit.strip().split("/")):
        name = part.strip()
        for kind, table in (("time", SECONDS), ("size", BYTES)):
            factor = table.get(name) or table.get(name.lower())
            if factor is not None:
                scale = scale * factor if position == 0 else scale / factor
                kinds.append(kind)
                break
        else:
            kinds.append(name)
    return tuple(kinds), scale


def least_change(unit: str) -> float:
    """The largest possible relative fall: -1 for times, rates, counts and sizes, which are never negative."""
    is_positive = milliseconds_per(unit) is not None or is_rate(unit) or is_deterministic(unit)
    return -1.0 if is_positive else -math.inf
