"""What a profile or trace of one revision says: a tree of call paths with the times measured on each."""

from dataclasses import dataclass
from enum import StrEnum

from bot.model.reason import Reason


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
    `are_calls`: the repetitions are calls of one running program, in the order of their time.
    """

    service: str
    nodes: tuple[ProfileNode, ...]
    repetitions: int
    unit: str = "ms"
    are_calls: bool = False


class RecordFault(StrEnum):
    """Why a record of a profile or trace was not used, or what was done with it."""

    MALFORMED = "malformed"
    TOO_LONG = "too_long"
    NUMBER = "number"
    UNOPENED = "unopened"
    UNCLOSED = "unclosed"
    OVERLAP = "overlap"
    ORDER = "order"
    LOST_PARENT = "lost_parent"
    CYCLE = "cycle"
    REPEATED = "repeated"
    TOO_DEEP = "too_deep"
    ASYNCHRONOUS = "asynchronous"
    NO_EXECUTION = "no_execution"


@dataclass(frozen=True, kw_only=True, slots=True)
class UnusedRecord:
    """`place`: the file with the line or the record's number, counted from 1."""

    fault: RecordFault
    place: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileReading:
    """What files gave: one profile per service, by name, with a repetition per file, and what became of their records.

    `notes`: what a reader has to know of the numbers, such as call graphs that were split into paths.
    """

    profiles: tuple[Profile, ...]
    records: int
    unused: tuple[tuple[RecordFault, int], ...] = ()
    examples: tuple[UnusedRecord, ...] = ()
    notes: tuple[Reason, ...] = ()
    truncated_files: tuple[str, ...] = ()
