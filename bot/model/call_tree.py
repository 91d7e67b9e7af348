"""Call trees of one revision, the methods that cost most in them, and the services that feel it."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, kw_only=True, slots=True)
class CallNode:
    """All executions of one method along one path from the root, over all calls of the service.

    `parent` is the index of the calling node, always smaller than the node's own; None at the root. `self_ms` is
    `elapsed_ms` without the time of callees, never below 0 (callees that ran side by side can take longer together).
    """

    method: str
    parent: int | None
    calls: int
    elapsed_ms: float
    self_ms: float
    longest_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTree:
    """All calls of one service merged into one tree with every branch that any of them took.

    `variants`: how many different trees (structure and methods) were merged; an estimate above some thousands.
    """

    service: str
    calls: int
    variants: int
    nodes: tuple[CallNode, ...]

    @property
    def total_ms(self) -> float:
        """The time of all its calls: of the nodes that nothing calls."""
        return sum(node.elapsed_ms for node in self.nodes if node.parent is None)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImpactedService:
    """What a method means to a service that executes it, as shares of the service's time.

    `children_share`: the time in what the method calls, directly or not, without its own.
    """

    service: str
    self_share: float
    children_share: float
    self_ms_per_call: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodSuspect:
    """`services`: those that execute it, the largest self share first: what to test again when it changes.

    `tiny`: its absolute time is too small to matter in any service, whatever its shares.
    """

    method: str
    score: float
    self_ms: float
    calls: int
    longest_ms: float
    tiny: bool
    services: tuple[ImpactedService, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowCall:
    call: str
    elapsed_ms: float
    time_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Calls of a service logged in `width_s` seconds from `start_s` (seconds since 1970)."""

    start_s: float
    width_s: float
    calls: int
    mean_ms: float
    longest_ms: float

    @property
    def calls_per_s(self) -> float:
        return self.calls / self.width_s


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceStatistics:
    """Response times of the calls whose root was logged. `standard_deviation_ms` is the population's."""

    service: str
    calls: int
    min_ms: float
    max_ms: float
    mean_ms: float
    standard_deviation_ms: float
    slowest: tuple[SlowCall, ...]
    windows: tuple[Window, ...]


class LineFault(StrEnum):
    """Why a line of a log was not used."""

    NO_MATCH = "no_match"
    TOO_LONG = "too_long"
    ELAPSED = "elapsed"
    LABEL = "label"
    REPEATED = "repeated"


@dataclass(frozen=True, kw_only=True, slots=True)
class UnusedLine:
    """`line`: counted from 1 over all files in their order; None where only the line's parts were still known."""

    fault: LineFault
    line: int | None
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LogReading:
    """What became of a log's lines. `headless_calls`: without a logged root. `cut_calls`: too long to hold whole.

    `rare_paths`: paths that were given up for their number, their methods still counted.
    """

    lines: int
    executions: int
    unused: tuple[tuple[LineFault, int], ...]
    examples: tuple[UnusedLine, ...]
    headless_calls: int
    cut_calls: int
    truncated_files: tuple[str, ...]
    rare_paths: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """`suspects`: every method, the most suspicious first. `minimum_self_ms`: less per call of a service is tiny.

    `unit`: of all times; "ms", or what profiles count instead (samples, instructions), under the same names.
    """

    suspects: tuple[MethodSuspect, ...]
    services: tuple[ServiceStatistics, ...]
    trees: tuple[CallTree, ...]
    reading: LogReading
    fluctuation_weight: float
    minimum_self_ms: float
    unit: str = "ms"


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodCosts:
    """What a diagnosis of one revision brings into a report: what costs most there, not what got slower.

    `suspects`: the first of `methods`; `services`: how many were observed. `unit` as in a diagnosis.
    """

    suspects: tuple[MethodSuspect, ...]
    methods: int
    services: int
    unit: str = "ms"
