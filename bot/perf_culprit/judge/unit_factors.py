"""The factor between two units, and what a unit tells about its metric.

A tool that changes its scale between two runs must not look like a change.
"""

import math
from functools import cache

from perf_culprit.model.unit_sizes import BYTES, is_size, seconds_in, without_suffix

# Counted, not timed: the same code gives the same number, so one measurement without spread can decide.
BYTES_PER_OPERATION = frozenset({"b/op", "bytes/op"})
DETERMINISTIC_UNITS = BYTES_PER_OPERATION | {"allocs/op", "allocs", "allocations", "instructions", "instrs"}


def conversion_factor(source: str, target: str) -> float | None:
    """Factor that converts a number in `source` to `target`; None if they measure different things."""
    if source == target:
        return 1.0
    source_kind, source_scale = _parse(source)
    target_kind, target_scale = _parse(target)
    return source_scale / target_scale if source_kind == target_kind else None


def converted(value: float, unit: str, to: str) -> float | None:
    """`value` of `unit` in the unit `to`, per call or not; None if the kinds differ. An empty unit fits any."""
    if not unit:
        return value
    factor = conversion_factor(without_suffix(unit)[0], without_suffix(to)[0])
    return None if factor is None else value * factor


def milliseconds_per(unit: str) -> float | None:
    """Milliseconds in one `unit` of time, per operation or not; None for any other unit."""
    kind, scale = _parse(unit)
    return scale * 1e3 if kind[0] == "time" and "time" not in kind[1:] else None


def is_per_time(unit: str) -> bool:
    """Return whether the unit is something per time, such as ops/s."""
    kind, _ = _parse(unit)
    return "time" in kind[1:] and kind[0] != "time"


def quantity_of_unit(unit: str) -> str:
    """Return what the unit measures: "time", "size", "rate", or "" for anything else."""
    kind, _ = _parse(unit)
    return "rate" if is_per_time(unit) else kind[0] if kind[0] in {"time", "size"} else ""


def is_bytes_per_operation(unit: str) -> bool:
    return unit.strip().lower() in BYTES_PER_OPERATION


def is_deterministic(unit: str) -> bool:
    return unit.strip().lower() in DETERMINISTIC_UNITS


@cache
def depends_on_machine(unit: str) -> bool:
    """Return whether another machine may give another number for the same code: times and rates, not counts."""
    return not is_deterministic(unit) and (is_per_time(unit) or not is_size(unit.partition("/")[0].strip()))


@cache
def _parse(unit: str) -> tuple[tuple[str, ...], float]:
    """The unit's kind, such as ("time", "op") for ns/op, and its scale in seconds or bytes."""
    kinds, scale = [], 1.0
    for position, part in enumerate(unit.strip().split("/")):
        name = part.strip()
        seconds = seconds_in(name)
        factor = BYTES.get(name) if seconds is None else seconds
        kinds.append(name if factor is None else "size" if seconds is None else "time")
        scale = scale if factor is None else scale * factor if position == 0 else scale / factor
    return tuple(kinds), scale


def least_change(unit: str) -> float:
    """Return the largest possible relative fall: -1 for times, rates, counts and sizes, which are never negative."""
    is_positive = milliseconds_per(unit) is not None or is_per_time(unit) or is_deterministic(unit)
    return -1.0 if is_positive else -math.inf
