"""Executions and events of Kieker's traces, put together to call trees, one per entry operation."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import RecordFault
from perf_culprit.read.profiles.profile_tree import TOP, Frame, ProfileTree

MAX_SERVICES: Final = 1_000
MAX_HELD: Final = 2_000_000
# Events of one trace that wait for one before them, which a file that begins late does not have.
MAX_HELD_OF_TRACE: Final = 100_000

Reject = Callable[[RecordFault, str], None]


class Execution(NamedTuple):
    """`order`: its number within the trace. `depth`: how many executions are above it."""

    order: int
    depth: int
    frame: Frame
    elapsed: float


@dataclass(kw_only=True, slots=True)
class EntryTrees:
    """A tree per operation that traces begin with."""

    trees: dict[str, ProfileTree] = field(default_factory=dict)
    executions: int = 0

    def of(self, entry: Frame) -> ProfileTree:
        tree = self.trees.get(entry.method)
        if tree is None:
            if len(self.trees) >= MAX_SERVICES:
                raise DataError(
                    f"holds traces that begin with more than {MAX_SERVICES:,} different operations",
                    next_step="instrument the entry operations too, or give a part of the log",
                )
            tree = self.trees[entry.method] = ProfileTree()
        return tree

    def methods(self) -> set[str]:
        return {frame.method for tree in self.trees.values() for frame in tree.frames}


@dataclass(kw_only=True, slots=True)
class ExecutionTraces:
    """Executions by trace, until the trace is whole: its root is logged last."""

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
        elif self.held_count > MAX_HELD:
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
    """Ordered by its number within the trace."""

    order: int
    begins: bool = field(compare=False)
    frame: Frame = field(compare=False)
    time: float = field(compare=False)


@dataclass(kw_only=True, slots=True)
class _OpenTrace:
    """`path`: nodes and begins of the open calls."""

    tree: ProfileTree = field(default_factory=ProfileTree)
    following: int = 0
    held: list[Event] = field(default_factory=list)
    path: list[tuple[int, Frame, float]] = field(default_factory=list)
    last: float = 0.0


@dataclass(kw_only=True, slots=True)
class EventTraces:
    """Begins and ends by trace, in the order of their numbers."""

    reject: Reject
    entries: EntryTrees = field(default_factory=EntryTrees)
    open: dict[str, _OpenTrace] = field(default_factory=dict)

    def add(self, trace: str, event: Event) -> None:
        opened = self.open.get(trace)
        if opened is None:
            if len(self.open) >= MAX_HELD:
                raise DataError(f"holds more than {MAX_HELD:,} open traces", next_step="give a part of the log")
            opened = self.open[trace] = _OpenTrace()
        if event.order < opened.following:
            self.reject(RecordFault.REPEATED, event.frame.method)
            return
        heapq.heappush(opened.held, event)
        while opened.held and (opened.held[0].order <= opened.following or len(opened.held) > MAX_HELD_OF_TRACE):
            self._take(opened, heapq.heappop(opened.held))

    def skip(self, trace: str, order: int, name: str) -> None:
        """An event that measures nothing, but has a number in the trace."""
        self.add(trace, Event(order=order, begins=False, frame=Frame(""), time=0.0))
        self.reject(RecordFault.NO_EXECUTION, name)

    def finish(self) -> None:
        for opened in self.open.values():
            while opened.held:
                self._take(opened, heapq.heappop(opened.held))
            while opened.path:
                self.reject(RecordFault.UNCLOSED, opened.path[-1][1].method)
                self._close(opened, opened.last)
        self.open.clear()

    def _take(self, opened: _OpenTrace, event: Event) -> None:
        opened.following = event.order + 1
        if not event.frame.method:
            return
        if event.time < opened.last:
            self.reject(RecordFault.ORDER, event.frame.method)
        opened.last = max(opened.last, event.time)
        if event.begins:
            self._begin(opened, event)
            return
        if not any(frame.method == event.frame.method for _, frame, _ in reversed(opened.path)):
            self.reject(RecordFault.UNOPENED, event.frame.method)
            return
        while opened.path[-1][1].method != event.frame.method:
            self.reject(RecordFault.UNCLOSED, opened.path[-1][1].method)
            self._close(opened, opened.last)
        self._close(opened, opened.last)

    def _begin(self, opened: _OpenTrace, event: Event) -> None:
        if not opened.path:
            opened.tree = self.entries.of(event.frame)
        parent = opened.path[-1][0] if opened.path else TOP
        node = opened.tree.child(parent, event.frame)
        if node == parent:
            self.reject(RecordFault.TOO_DEEP, event.frame.method)
        opened.path.append((node, event.frame, opened.last))

    def _close(self, opened: _OpenTrace, time: float) -> None:
        node, _, start = opened.path.pop()
        parent = opened.path[-1][0] if opened.path else TOP
        if node == parent:
            return
        elapsed = time - start
        self.entries.executions += 1
        opened.tree.add(node, elapsed=elapsed, self_time=elapsed, calls=1)
        if parent != TOP:
            opened.tree.add(parent, elapsed=0.0, self_time=-elapsed, calls=0)
