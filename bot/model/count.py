"""What can be counted of a whole command instead of timed: deterministic, or nearly so."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from bot.model.metric import Direction, Metric, MetricKey

BENCHMARK: Final = "command"  # what a count is of: the whole command
AUTO: Final = "auto"  # as a metric: searched by instructions, confirmed by time
MINIMUM_EFFECT: Final = 0.005  # below it a different path of a worktree, a longer file, is a change too


class Count(StrEnum):
    """As `--metric` names them. `INSTRUCTIONS_U` is the processor's own counter, the others are counted in software."""

    INSTRUCTIONS = "instructions"
    INSTRUCTIONS_U = "instructions:u"
    ALLOCATIONS = "allocations"
    ALLOCATED_BYTES = "allocated-bytes"
    PEAK_HEAP = "peak-heap"
    SYSTEM_CALLS = "system-calls"
    IO_BYTES = "io-bytes"

    @property
    def metric(self) -> Metric:
        return Metric(name=self.value, unit=UNITS[self], direction=Direction.LOWER_IS_BETTER)

    @property
    def key(self) -> MetricKey:
        return MetricKey(BENCHMARK, self.value)


NAMES: Final = frozenset(count.value for count in Count)
UNITS: Final[Mapping[Count, str]] = MappingProxyType(
    {
        Count.INSTRUCTIONS: "instructions",
        Count.INSTRUCTIONS_U: "instructions",
        Count.ALLOCATIONS: "allocations",
        Count.ALLOCATED_BYTES: "B/op",
        Count.PEAK_HEAP: "B",
        Count.SYSTEM_CALLS: "calls",
        Count.IO_BYTES: "B",
    }
)


def is_count(metric: Metric) -> bool:
    """Whether numbers of this metric were counted, by us or by a tool that calls them so."""
    return metric.name in NAMES


def count_of(metric: str | None, *, benchmark: str | None = None, tool: str = "auto") -> Count | None:
    """The count that a metric's name asks for. With a benchmark or a tool the metric is one of the tool's own."""
    if metric not in NAMES or benchmark not in (None, BENCHMARK) or tool != "auto":
        return None
    return Count(metric)
