"""The metric of a quantity that is measured for a whole command."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from perf_culprit.model.count import COMMAND_BENCHMARK, FAILURES, Count
from perf_culprit.model.run import TIME, Direction, Metric, MetricKey

UNITS: Final[Mapping[str, str]] = MappingProxyType(
    {
        Count.INSTRUCTIONS: "instructions",
        Count.INSTRUCTIONS_U: "instructions",
        Count.ALLOCATIONS: "allocations",
        Count.SYSTEM_CALLS: "calls",
        Count.BUILD_TIME: "s",
        FAILURES: "",
        Count.CPU_TIME: "s",
    }
)


def metric_of(quantity: str) -> Metric:
    return Metric(name=quantity, unit=UNITS.get(quantity, "B"), direction=Direction.LOWER_IS_BETTER)


def key_of(quantity: str) -> MetricKey:
    return MetricKey(COMMAND_BENCHMARK, quantity)


def timed_quantity(key: MetricKey) -> str | None:
    """Return the quantity that measures this time; None if the command prints it. One execution gives both times."""
    return Count.CPU_TIME if key in {key_of(Count.CPU_TIME), key_of(TIME)} else None
