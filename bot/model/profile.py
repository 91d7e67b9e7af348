"""What a profile or trace of one revision says: a tree of call paths with the times measured on each."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileNode:
    """One path of methods from the root.

    `parent` is the index of the calling node, always smaller than the node's own; None at a root. `elapsed_ms` (with
    callees) and `self_ms` hold one number per repetition of the whole, in the same order at every node: the time that
    all calls along this path took in that repetition. `calls` is their number per repetition, None where the source
    only samples stacks. `file` and `line` say where the method is defined, as the source wrote it.
    """

    method: str
    parent: int | None
    elapsed_ms: tuple[float, ...]
    self_ms: tuple[float, ...]
    calls: float | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """`service`: the process, thread group, benchmark or service that was observed.

    `repetitions` is the length of every node's times; with one, only totals can be compared. `unit` is the unit of the
    times: "ms", or what the source counts instead ("samples", "instructions"), which no time may be made of.
    """

    service: str
    nodes: tuple[ProfileNode, ...]
    repetitions: int
    unit: str = "ms"
