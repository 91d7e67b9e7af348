"""Limit what a trace keeps. The tracer runs in the measured program, without our other modules."""

from typing import Final, NamedTuple


class TraceLimits(NamedTuple):
    """The limits; counts are named by what is counted."""

    nodes: int = 50_000
    name_characters: int = 1_000
    processes: int = 1_000
    result_bytes: int = 64 << 20  # of a process


TRACE_LIMITS: Final = TraceLimits()
