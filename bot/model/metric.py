"""What is measured: a name, a unit and which way is good."""

from dataclasses import dataclass
from enum import StrEnum


class Direction(StrEnum):
    """Which way is good; a property of the metric, read from the tool's output and never guessed."""

    LOWER_IS_BETTER = "lower_is_better"
    HIGHER_IS_BETTER = "higher_is_better"
    UNKNOWN = "unknown"  # most counters: any departure from the normal range counts against the target

    @property
    def worse_sign(self) -> int:
        """The sign of a relative change that is bad: +1 where lower is better, -1 where higher is, 0 where unknown."""
        return {Direction.LOWER_IS_BETTER: 1, Direction.HIGHER_IS_BETTER: -1, Direction.UNKNOWN: 0}[self]


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """A measured quantity, such as `time` in `ns`. `unit` is the tool's own spelling; "" where it has none."""

    name: str
    unit: str
    direction: Direction


@dataclass(frozen=True, slots=True, order=True)
class MetricKey:
    """What makes two measurements comparable: the benchmark and the metric's name."""

    benchmark: str
    metric: str

    @property
    def full_name(self) -> str:
        """As a report shows it where a benchmark has several metrics. A counter's benchmark is its table."""
        return f"{self.benchmark} {self.metric}"
