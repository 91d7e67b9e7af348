"""Kieker's monitoring logs with their kieker.map: operation executions, or events before and after operations."""

import heapq
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import ProfileNote, because
from perf_culprit.model.unit_sizes import MILLISECONDS
from perf_culprit.read.logs.log_chunks import STDIN_NAME
from perf_culprit.read.profiles.profile_file import Intake, ProfileFile, ProfileReader, opened
from perf_culprit.read.profiles.profile_tree import TOP, Frame, ProfileTree, frame

Reject = Callable[[RecordFault, str], None]


class Execution(NamedTuple):
    """`order`: the number within the trace. `depth`: the number of executions above it."""

    order: int
    depth: int
    frame: Frame
    elapsed: float


@dataclass(kw_only=True, slots=True)
class EntryTrees:
    """A tree per entry operation, with which traces begin."""

    trees: dict[str, ProfileTree] = field(default_factory=dict)
    executions: int = 0

    def of(self, entry: Frame) -> ProfileTree:
        tree = self.trees.get(entry.method)
        if tree is None:
            if len(self.trees) >= FILE_LIMITS.services:
                raise DataError(
                    f"holds traces that begin with more than {FILE_LIMITS.services:,} different operations",
                    next_step="instrument the entry operations too, or give a part of the log",
                )
            tree = self.trees[entry.method] = ProfileTree()
        return tree

    def methods(self) -> set[str]:
        return {frame.method for tree in self.trees.values() for frame in tree.frames}


@dataclass(kw_only=True, slots=True)
class ExecutionTraces:
    """Executions by trace, held until the trace is whole: its root is logged last."""

    reject: Reject
    entries: EntryTrees = field(default_factory=EntryTrees)
    held: dict[str, dict[int, Execution]] = field(default_factory=dict)
    held_count: int = 0

    def add(self, trace: str, execution: Execution) -> None:
        executions = self.held.setdefault(trace, {})
        if execution.order in executions:
            self.reject(RecordFault.REPEATED, execution.frame.method)
            return
        executions[execution.order] = execution
        self.held_count += 1
        if execution.order == 0 and len(executions) == max(executions) + 1:
            self._finish(trace)
        elif self.held_count > FILE_LIMITS.held_events:
            self.finish()

    def finish(self) -> None:
        for trace in list(self.held):
            self._finish(trace)

    def _finish(self, trace: str) -> None:
        executions = self.held.pop(trace)
        self.held_count -= len(executions)
        tree = None
        path: list[tuple[int, int]] = []
        for _, execution in sorted(executions.items()):
            while path and path[-1][0] >= execution.depth:
                path.pop()
            if execution.depth != (path[-1][0] + 1 if path else 0):
                self.reject(RecordFault.LOST_PARENT, execution.frame.method)
            if tree is None or not path:
                tree = self.entries.of(execution.frame)
            parent = path[-1][1] if path else TOP
            node = tree.child(parent, execution.frame)
            path.append((execution.depth, node))
            if node == parent:
                self.reject(RecordFault.TOO_DEEP, execution.frame.method)
                continue
            self.entries.executions += 1
            tree.add(node, elapsed=execution.elapsed, self_time=execution.elapsed, calls=1)
            if parent != TOP:
                tree.add(parent, elapsed=0.0, self_time=-execution.elapsed, calls=0)


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """The begin or end of an operation, ordered by its number within the trace."""

    order: int
    begins: bool = field(compare=False)
    frame: Frame = field(compare=False)
    time: float = field(compare=False)


@dataclass(kw_only=True, slots=True)
class _OpenTrace:
    """`path`: the node, frame and begin of each open call."""

    tree: ProfileTree = field(default_factory=ProfileTree)
    following: int = 0
    held: list[Event] = field(default_factory=list)
    path: list[tuple[int, Frame, float]] = field(default_factory=list)
    last: float = 0.0


@dataclass(kw_only=True, slots=True)
class EventTraces:
    """The begins and ends of operations by trace, in the order of their numbers."""

    reject: Reject
    entries: EntryTrees = field(default_factory=EntryTrees)
    open: dict[str, _OpenTrace] = field(default_factory=dict)

    def add(self, trace: str, event: Event) -> None:
        ongoing = self.open.get(trace)
        if ongoing is None:
            if len(self.open) >= FILE_LIMITS.held_events:
                raise DataError(
                    f"holds more than {FILE_LIMITS.held_events:,} open traces", next_step="give a part of the log"
                )
            ongoing = self.open[trace] = _OpenTrace()
        if event.order < ongoing.following:
            self.reject(RecordFault.REPEATED, event.frame.method)
            return
        heapq.heappush(ongoing.held, event)
        while ongoing.held and (
            ongoing.held[0].order <= ongoing.following or len(ongoing.held) > FILE_LIMITS.held_events_of_trace
        ):
            self._take(ongoing, heapq.heappop(ongoing.held))

    def skip(self, trace: str, order: int, name: str) -> None:
        """Skip an event without a measurement that has a number in the trace."""
        self.add(trace, Event(order=order, begins=False, frame=Frame(""), time=0.0))
        self.reject(RecordFault.NO_EXECUTION, name)

    def finish(self) -> None:
        for ongoing in self.open.values():
            while ongoing.held:
                self._take(ongoing, heapq.heappop(ongoing.held))
            while ongoing.path:
                self.reject(RecordFault.UNCLOSED, ongoing.path[-1][1].method)
                self._close(ongoing, ongoing.last)
        self.open.clear()

    def _take(self, ongoing: _OpenTrace, event: Event) -> None:
        ongoing.following = event.order + 1
        if not event.frame.method:
            return
        if event.time < ongoing.last:
            self.reject(RecordFault.ORDER, event.frame.method)
        ongoing.last = max(ongoing.last, event.time)
        if event.begins:
            self._begin(ongoing, event)
            return
        if not any(frame.method == event.frame.method for _, frame, _ in reversed(ongoing.path)):
            self.reject(RecordFault.UNOPENED, event.frame.method)
            return
        while ongoing.path[-1][1].method != event.frame.method:
            self.reject(RecordFault.UNCLOSED, ongoing.path[-1][1].method)
            self._close(ongoing, ongoing.last)
        self._close(ongoing, ongoing.last)

    def _begin(self, ongoing: _OpenTrace, event: Event) -> None:
        if not ongoing.path:
            ongoing.tree = self.entries.of(event.frame)
        parent = ongoing.path[-1][0] if ongoing.path else TOP
        node = ongoing.tree.child(parent, event.frame)
        if node == parent:
            self.reject(RecordFault.TOO_DEEP, event.frame.method)
        ongoing.path.append((node, event.frame, ongoing.last))

    def _close(self, ongoing: _OpenTrace, time: float) -> None:
        node, _, start = ongoing.path.pop()
        parent = ongoing.path[-1][0] if ongoing.path else TOP
        if node == parent:
            return
        elapsed = time - start
        self.entries.executions += 1
        ongoing.tree.add(node, elapsed=elapsed, self_time=elapsed, calls=1)
        if parent != TOP:
            ongoing.tree.add(parent, elapsed=0.0, self_time=-elapsed, calls=0)


MAP_NAME: Final = "kieker.map"
DEFAULT_UNIT: Final = "NANOSECONDS"
_RECORD: Final = re.compile(r"\$[0-9]++;-?+[0-9]++;")
_METADATA: Final = "KiekerMetadataRecord"
_EXECUTION: Final = "OperationExecutionRecord"


@dataclass(kw_only=True, slots=True)
class _Log:
    kinds: dict[str, str]
    executions: ExecutionTraces
    events: EventTraces
    unit: str = DEFAULT_UNIT
    frames: dict[str, Frame] = field(default_factory=dict)


def _read_kieker(file: ProfileFile) -> tuple[Profile, ...]:
    """Read a profile per entry operation of traces, because users wait for these."""
    if file.name == STDIN_NAME:
        raise UsageError(
            "needs its kieker.map next to it", place=file.place, next_step="give the file or its folder by name"
        )
    log = _new_log(Path(file.name).parent, file.place, file.intake)
    _take(log, file)
    return _profiles(log, file.intake)


def read_folder(folder: Path, intake: Intake) -> tuple[Profile, ...]:
    """Read all .dat files of the folder, compressed or not, as one log."""
    names = sorted(str(path) for path in folder.iterdir() if ".dat" in path.suffixes and path.is_file())
    if not names:
        raise DataError(
            "holds no .dat file of Kieker", place=str(folder), next_step="give files, or the folder of one Kieker log"
        )
    log = _new_log(folder, str(folder), intake)
    for name in names:
        with opened(name, intake=intake) as file:
            _take(log, file)
    return _profiles(log, intake)


def _new_log(folder: Path, place: str, intake: Intake) -> _Log:
    reject = partial(intake.reject, place=place)
    return _Log(
        kinds=_kinds(folder, place), executions=ExecutionTraces(reject=reject), events=EventTraces(reject=reject)
    )


def _kinds(folder: Path, place: str) -> dict[str, str]:
    """Map the code at the start of lines to the record's class, without its package."""
    path = folder / MAP_NAME
    try:
        with path.open("rb") as stream:
            text = stream.read(FILE_LIMITS.method_map_bytes).decode("utf-8", "replace")
    except OSError:
        raise DataError(
            "kieker.map is missing; it must be next to the log",
            place=place,
            next_step="give the whole folder that Kieker wrote",
        ) from None
    pairs = (line.strip().partition("=") for line in text.splitlines())
    return {key: name.rpartition(".")[2] for key, equals, name in pairs if equals}


def _take(log: _Log, file: ProfileFile) -> None:
    for number, line in file.lines():
        if not line:
            continue
        file.intake.records += 1
        fields = line.split(";")
        kind = log.kinds.get(fields[0], "")
        try:
            fault = _take_record(log, kind, fields)
        except (IndexError, ValueError):
            fault = RecordFault.MALFORMED
        if fault is not None:
            file.reject(fault, line, at=f":{number}")


def _take_record(log: _Log, kind: str, fields: Sequence[str]) -> RecordFault | None:
    """Take one record. Raises: IndexError, ValueError for fields that are missing or not numbers."""
    fault = None
    if kind == _EXECUTION:
        fault = _take_execution(log, fields)
    elif kind.startswith(("Before", "After")) and kind.endswith("Event"):
        fault = _take_event(log, fields, begins=kind.startswith("Before"))
    elif kind == _METADATA:
        log.unit = fields[8] if fields[8].lower() in MILLISECONDS else DEFAULT_UNIT
    elif kind.endswith("Event") and len(fields) > 4:
        # Calls, splits and joins have a number in their trace, but no duration.
        log.events.skip(fields[3], int(fields[4]), kind)
    elif kind != "TraceMetadata":
        fault = RecordFault.NO_EXECUTION if kind else RecordFault.MALFORMED
    return fault


def _take_execution(log: _Log, fields: Sequence[str]) -> RecordFault | None:
    elapsed = int(fields[6]) - int(fields[5])
    order, depth = int(fields[8]), int(fields[9])
    if not 0 <= elapsed <= FILE_LIMITS.event_time_ns or order < 0 or depth < 0:
        return RecordFault.NUMBER
    log.executions.add(
        fields[4], Execution(order=order, depth=depth, frame=_operation(log, fields[2]), elapsed=float(elapsed))
    )
    return None


def _take_event(log: _Log, fields: Sequence[str], *, begins: bool) -> RecordFault | None:
    time, order = int(fields[2]), int(fields[4])
    if not 0 <= time <= FILE_LIMITS.event_time_ns or order < 0:
        return RecordFault.NUMBER
    log.events.add(fields[3], Event(order=order, begins=begins, frame=_operation(log, fields[5]), time=time))
    return None


def _operation(log: _Log, signature: str) -> Frame:
    """Shorten a signature: `public static int shop.Dao.find(int)` -> `shop.Dao.find(int)`."""
    operation = log.frames.get(signature)
    if operation is None:
        head, parenthesis, arguments = signature.partition("(")
        operation = log.frames[signature] = frame(head.strip().rpartition(" ")[2] + parenthesis + arguments)
    return operation


def _profiles(log: _Log, intake: Intake) -> tuple[Profile, ...]:
    log.executions.finish()
    log.events.finish()
    families = [log.executions.entries, log.events.entries]
    families.sort(key=lambda entries: -entries.executions)
    larger, smaller = families
    if _mostly_within(smaller, larger):
        intake.note(because(ProfileNote.COUNTED_TWICE))
        families = [larger]
    scale = MILLISECONDS[log.unit.lower()]
    return tuple(tree.profile(service, scale=scale) for entries in families for service, tree in entries.trees.items())


def _mostly_within(smaller: EntryTrees, larger: EntryTrees) -> bool:
    methods = smaller.methods()
    return bool(methods) and 2 * len(methods & larger.methods()) >= len(methods)


KIEKER = ProfileReader(
    id="kieker",
    matches=lambda file: _RECORD.match(file.beginning) is not None,
    read=_read_kieker,
)
