"""Call trees and profiles of one revision, and the functions that a change touched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec
from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.json_files import WRITE_AGAIN, decode, encode, explicit_default
from perf_culprit.model.reason import Reason

# Some decades of milliseconds and more instructions than they hold: no measurement is larger, and sums stay finite.
_Amount = Annotated[float, msgspec.Meta(ge=0, le=1e24)]
_Name = Annotated[str, msgspec.Meta(max_length=10_000)]


class ProfileNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One path of methods from the root.

    `parent` is the index of the calling node, always smaller than the node's own; null at a root. `elapsed` includes
    callees and `self` does not. Both have one number per repetition, in the same order at every node: the time of all
    calls along this path. `calls` is the number of calls per repetition; null if the source only samples stacks. `file`
    and `line` are the place of the method's definition, as the source wrote it.
    """

    method: _Name
    parent: Annotated[int, msgspec.Meta(ge=0)] | None = None
    elapsed_ms: tuple[_Amount, ...] = msgspec.field(name="elapsed")
    self_ms: tuple[_Amount, ...] = msgspec.field(name="self")
    calls: _Amount | None = None
    file: _Name | None = None
    line: Annotated[int, msgspec.Meta(ge=0, le=2**31)] | None = None


class Profile(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag="perf-culprit-trace",
):
    """A profile of one `service`: a process, thread group, benchmark or service.

    `repetitions` is the length of every node's times; with one, only totals can be compared. `unit` is the unit of the
    times: "ms", or a unit that is not a time ("samples", "instructions"). `are_calls`: the repetitions are calls of one
    running program, in order of time. `samples` is the number of stack samples behind each repetition's times; it is
    empty if stacks were not sampled or their times are unknown.
    """

    version: Literal[1] = explicit_default(1)
    service: _Name
    unit: Annotated[str, msgspec.Meta(max_length=100)] = "ms"
    repetitions: Annotated[int, msgspec.Meta(ge=1, le=FILE_LIMITS.tree_repetitions)]
    nodes: Annotated[tuple[ProfileNode, ...], msgspec.Meta(max_length=FILE_LIMITS.tree_nodes)]
    are_calls: bool = False
    samples: tuple[_Amount, ...] = ()


def decode_profile(data: bytes, *, place: str) -> Profile:
    """Return the profile in `data` (one line of a file); raise a DataError with its place if it is invalid."""
    profile = decode(Profile, data, place=place)
    if len(profile.samples) not in (0, profile.repetitions):
        raise DataError(
            f"has {len(profile.samples)} values for {profile.repetitions} repetitions",
            place=f"{place}: samples",
            next_step=WRITE_AGAIN,
        )
    for i, node in enumerate(profile.nodes):
        if node.parent is not None and node.parent >= i:
            raise DataError(
                f"its parent {node.parent} does not come before it",
                place=f"{place}: nodes.{i}.parent",
                next_step=WRITE_AGAIN,
            )
        for name, times in (("elapsed", node.elapsed_ms), ("self", node.self_ms)):
            if len(times) != profile.repetitions:
                raise DataError(
                    f"has {len(times)} values for {profile.repetitions} repetitions",
                    place=f"{place}: nodes.{i}.{name}",
                    next_step=WRITE_AGAIN,
                )
    return profile


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
    """The profiles in files: one per service, sorted by name, with a repetition per file; and the faults of records.

    `notes`: remarks on the numbers, such as call graphs that were split into paths.
    """

    profiles: tuple[Profile, ...]
    records: int
    unused: tuple[tuple[RecordFault, int], ...] = ()
    examples: tuple[UnusedRecord, ...] = ()
    notes: tuple[Reason, ...] = ()
    truncated_files: tuple[str, ...] = ()


class CallNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All executions of one method along one path from the root, over all calls of the service.

    `parent` is the index of the calling node, always smaller than the node's own; null at the root. `self_ms` is
    `elapsed_ms` without the time of callees. It is never below 0, although parallel callees can take longer in total.
    """

    method: str
    parent: int | None
    calls: int
    elapsed_ms: float
    self_ms: float
    longest_ms: float


# Share of a service's time: a diagnosis keeps the parts of its call tree above it.
KEPT_SHARE: Final = 0.001


class CallTree(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All calls of one service, merged into one tree that has every branch of any call.

    `variants` is the number of different trees (structure and methods) before merging; an estimate above some
    thousands.
    """

    service: str
    calls: int
    variants: int
    nodes: tuple[CallNode, ...]

    @property
    def total_ms(self) -> float:
        """The time of all its calls: the sum over the root nodes."""
        return sum(node.elapsed_ms for node in self.nodes if node.parent is None)

    @property
    def shown(self) -> "CallTree":
        """The tree with callers before callees, longest first, without paths below 0.1% of the service's time."""
        least_ms = KEPT_SHARE * self.total_ms
        below: dict[int | None, list[int]] = {}
        for i, node in enumerate(self.nodes):
            if node.elapsed_ms > least_ms:
                below.setdefault(node.parent, []).append(i)
        nodes: list[CallNode] = []
        waiting: list[tuple[int, int | None]] = [(i, None) for i in self._shortest_first(below.get(None, ()))]
        while waiting:
            i, parent = waiting.pop()
            waiting += [(callee, len(nodes)) for callee in self._shortest_first(below.get(i, ()))]
            nodes.append(structs.replace(self.nodes[i], parent=parent))
        return structs.replace(self, nodes=tuple(nodes))

    def _shortest_first(self, places: Sequence[int]) -> list[int]:
        return sorted(places, key=lambda i: (self.nodes[i].elapsed_ms, -i))


class ImpactedService(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A service that executes a method, with the method's shares of the service's time.

    `children_share` is the time in all direct and indirect callees of the method, without its own time.
    """

    service: str
    self_share: float
    children_share: float
    self_ms_per_call: float


class MethodSuspect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A method, scored by its time in all services. Test its `services` again after a change, largest self share first.

    `calls` counts its executions. `tiny`: its absolute time is too small to matter in any service, whatever its shares.
    """

    method: str
    score: float
    self_ms: float
    calls: int
    longest_ms: float
    tiny: bool
    services: tuple[ImpactedService, ...]
    self_ms_per_execution: float


class SlowCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    call: str
    elapsed_ms: float
    time_s: float | None


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The calls of a service that were logged in the `width_s` seconds from `start_s` (seconds since 1970)."""

    start_s: float
    width_s: float
    calls: int
    calls_per_s: float
    mean_ms: float
    longest_ms: float


class ServiceStatistics(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Response times of the calls with a logged root. `standard_deviation_ms` is the population's.

    `all_calls` includes calls without a logged root. `variants` counts different trees; an estimate above some
    thousands.
    """

    service: str
    calls: int
    min_ms: float
    max_ms: float
    mean_ms: float
    standard_deviation_ms: float
    slowest: tuple[SlowCall, ...]
    windows: tuple[Window, ...]
    all_calls: int
    variants: int


class LineFault(StrEnum):
    """Why a line of a log was not used."""

    NO_MATCH = "no_match"
    TOO_LONG = "too_long"
    ELAPSED = "elapsed"
    LABEL = "label"
    REPEATED = "repeated"


class UnusedLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An unused line of a log, counted from 1 over all files. `line` is null if only parts of it remained."""

    fault: LineFault
    line: int | None
    text: str


class LogReading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The use of a log's lines. `headless_calls` have no logged root; `cut_calls` were too long to keep whole.

    `unused` is the number of unused lines by reason. `rare_paths` is the number of paths that were dropped because
    there were too many. Their methods are still counted.
    """

    lines: int
    executions: int
    unused: Mapping[LineFault, int]
    examples: tuple[UnusedLine, ...] = msgspec.field(name="unused_examples")
    headless_calls: int
    cut_calls: int
    truncated_files: tuple[str, ...]
    rare_paths: int = 0


class Diagnosis(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-diagnosis",
):
    """The cost of methods. `suspects` has all, most suspicious first; below `minimum_self_ms` per call they are tiny.

    All times are in `unit`: "ms", or another count of a profile (samples, instructions), under the same names. `trees`
    has one merged tree per service, without paths of negligible time. `method` has statistics about the executions of
    the requested method, over all services.
    """

    version: Literal[1] = explicit_default(1)
    fluctuation_weight: float
    minimum_self_ms: float
    suspects: tuple[MethodSuspect, ...]
    services: tuple[ServiceStatistics, ...]
    reading: LogReading = msgspec.field(name="log")
    unit: str = "ms"
    trees: tuple[CallTree, ...] = ()
    method: ServiceStatistics | None = None


class MethodCosts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most expensive methods of one revision, in a diagnosis' `unit`. They need not have become slower.

    `suspects` are the first of `methods` methods. `services` is the number of observed services.
    """

    suspects: tuple[MethodSuspect, ...]
    methods: int
    services: int
    unit: str = "ms"

    @property
    def bounded(self) -> "MethodCosts":
        suspects = (
            structs.replace(suspect, services=suspect.services[: FILE_LIMITS.reported_costs])
            for suspect in self.suspects[: FILE_LIMITS.reported_costs]
        )
        return structs.replace(self, suspects=tuple(suspects))


def encode_diagnosis(diagnosis: Diagnosis) -> bytes:
    """Encode every suspect in order with its services, and every service with its statistics; times in milliseconds."""
    return encode(diagnosis, indent=1)


def decode_costs(data: bytes, *, place: str) -> MethodCosts:
    """Return the costs in the output of `diagnose --json` of logs or profiles; raise DataError for others."""
    diagnosis = decode(Diagnosis, data, place=place)
    return MethodCosts(
        suspects=diagnosis.suspects,
        methods=len(diagnosis.suspects),
        services=len(diagnosis.services),
        unit=diagnosis.unit,
    ).bounded


class Scope(StrEnum):
    """The kind of a piece of code: a function, or the code of a class or file outside its functions."""

    FUNCTION = "function"
    CLASS = "class"
    FILE = "file"


class ChangeKind(StrEnum):
    """The kind of a function's change. Only the first three change the executed code."""

    ADDED = "added"
    CHANGED = "changed"
    DELETED = "deleted"
    MOVED = "moved"  # the same code under another path or name
    COSMETIC = "cosmetic"  # only comments, white space or docstrings


CODE_CHANGES = frozenset({ChangeKind.ADDED, ChangeKind.CHANGED, ChangeKind.DELETED})


class TouchedFunction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A changed function. `path` and lines are those of the head; of a deleted function, those of the base.

    `qualified_name` is the dotted name inside the file, such as `Class.method`: classes and enclosing functions come
    first, packages too if the language has them. `""` is the file's own code. Decorators count as lines of the
    function. `moved_from` is the former place as `path:name`. `changed_line` is the first different line, if a function
    of the same file changed.
    """

    path: str
    qualified_name: str
    kind: ChangeKind
    first_line: int
    last_line: int
    scope: Scope = Scope.FUNCTION
    moved_from: str | None = None
    changed_line: int | None = None

    @property
    def changes_code(self) -> bool:
        return self.kind in CODE_CHANGES


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of the head, both ends included; `last` = `first` - 1 if lines were only removed."""

    first: int
    last: int


@dataclass(frozen=True, kw_only=True, slots=True)
class UnresolvedFile:
    """A changed file whose functions are unknown; `lines` are its changed lines.

    `lines` is empty for a binary or deleted file.
    """

    path: str
    lines: tuple[LineRange, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """A function that calls something with the name of a changed function; which one it calls is not resolved."""

    path: str
    qualified_name: str
    first_line: int
    last_line: int
    called_names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Touched:
    """The changes between two commits, by function. `base` is None if `head` is a root commit.

    `callers`: by name, Python only, at `head`. `notes`: what was omitted, and why.
    """

    base: str | None
    head: str
    functions: tuple[TouchedFunction, ...] = ()
    unresolved: tuple[UnresolvedFile, ...] = ()
    callers: tuple[Caller, ...] = ()
    notes: tuple[Reason, ...] = ()


class Certainty(StrEnum):
    """The evidence that a profile's method is a changed function, most certain first."""

    FILE_AND_LINE = "file_and_line"
    QUALIFIED_NAME = "qualified_name"
    BARE_NAME = "bare_name"
    FILE = "file"  # its file changed; the file's functions are unknown


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodMatch:
    """`functions`: several if the name fits several (overloads); none if only the file is known to be touched."""

    certainty: Certainty
    path: str
    functions: tuple[TouchedFunction, ...] = ()
