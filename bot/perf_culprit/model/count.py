"""Quantities of a whole command, whatever its own output: counted, weighed or timed.

A quantity is a member of `Count`, or `size:` and a pattern of files (`as_quantity`). `--help` lists the quantities, so
this module imports nothing heavy.
"""

from enum import StrEnum
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from perf_culprit.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from perf_culprit.model.run import Metric

COMMAND_BENCHMARK: Final = "command"  # the benchmark of every quantity: the whole command
AUTO: Final = "auto"  # as a metric: by time, then by instructions, confirmed by time
SIZE: Final = "size:"
# Whether a command fails, for a search of the rate of failures: a quantity that no metric names.
FAILURES: Final = "failures"
PASSED: Final = 1.0
FAILED: Final = 2.0


class Count(StrEnum):
    """The values of `--metric`. `INSTRUCTIONS_U` is the processor's own counter; software counts the others."""

    INSTRUCTIONS = "instructions"
    INSTRUCTIONS_U = "instructions:u"
    ALLOCATIONS = "allocations"
    ALLOCATED_BYTES = "allocated-bytes"
    PEAK_HEAP = "peak-heap"
    SYSTEM_CALLS = "system-calls"
    IO_BYTES = "io-bytes"
    PEAK_MEMORY = "peak-memory"
    BUILD_TIME = "build-time"
    CPU_TIME = "cpu-time"


_EXACT: Final = frozenset(Count) - {Count.PEAK_MEMORY, Count.BUILD_TIME, Count.CPU_TIME}


def as_quantity(text: str) -> str:
    """Return `text` if it names a quantity.

    Raises:
        ValueError: it names none, or files outside of the checkout.
    """
    if text in frozenset(Count):
        return text
    if not text.startswith(SIZE):
        hint = did_you_mean(text, Count)
        raise ValueError(f"{text[:40]!r} is none of {', '.join(Count)}, {SIZE}PATTERN{hint and f': {hint}'}")
    pattern = PurePosixPath(text.removeprefix(SIZE))
    if not pattern.parts or pattern.is_absolute() or ".." in pattern.parts:
        raise ValueError(
            f"{text[:80]!r}: files lie in the checkout, such as {SIZE}dist/*.whl, without / in front or .."
        )
    return text


def is_built(quantity: str | None) -> bool:
    """Return whether the quantity belongs to a build or its output: no run is measured."""
    return quantity is not None and (quantity == Count.BUILD_TIME or quantity.startswith(SIZE))


def is_exact_quantity(quantity: str | None) -> bool:
    """Return whether the quantity is so exact that one execution suffices; None is a tool's own metric."""
    return quantity is not None and (quantity in _EXACT or quantity.startswith(SIZE))


def is_count(metric: "Metric") -> bool:
    """Return whether numbers of this metric were counted or weighed, by us or by a tool that uses the same name."""
    return is_exact_quantity(metric.name)


def quantity_of(metric: str | None, *, benchmark: str | None = None, tool: str = "auto") -> str | None:
    """Return the quantity that a metric's name requests; None with a benchmark or a tool, whose own metric it is."""
    if metric is None or benchmark not in (None, COMMAND_BENCHMARK) or tool != "auto":
        return None
    if metric not in frozenset(Count) and not metric.startswith(SIZE):
        return None
    try:
        return as_quantity(metric)
    except ValueError as error:
        raise UsageError(str(error), place="--metric", next_step="see docs/measure.md#more-than-time") from None
