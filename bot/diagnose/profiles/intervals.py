"""Executions of one thread as intervals of time, nested into call paths."""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.diagnose.profiles.frame import Frame
from bot.diagnose.profiles.tree import TOP, ProfileTree
from bot.model.profile import RecordFault

# Begin and end are rounded apart: what overlaps by less lies side by side. Relative to the times' own size, as
# microseconds since 1970 leave a double no more than this.
_ROUNDING_SHARE: Final = 4e-16


@dataclass(kw_only=True, slots=True)
class Intervals:
    """One execution per place in the arrays. `names`: indexes of frames."""

    starts: "array[float]" = field(default_factory=lambda: array("d"))
    ends: "array[float]" = field(default_factory=lambda: array("d"))
    names: "array[int]" = field(default_factory=lambda: array("L"))

    def add(self, start: float, end: float, name: int) -> None:
        self.starts.append(start)
        self.ends.append(end)
        self.names.append(name)


@dataclass(kw_only=True, slots=True)
class OpenCalls:
    """Begins and ends of one thread, in the order of their times, matched by name from the innermost out.

    An end that passes over inner calls closes these too; `reject` hears of it.
    """

    frames: Sequence[Frame]
    reject: Callable[[RecordFault, str], None]
    intervals: Intervals = field(default_factory=Intervals)
    names: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    open_by_name: Counter[int] = field(default_factory=Counter)

    def begin(self, name: int, time: float) -> None:
        self.names.append(name)
        self.times.append(time)
        self.open_by_name[name] += 1

    def end(self, name: int | None, time: float) -> None:
        """Without a name the innermost ends."""
        if not (self.names if name is None else self.open_by_name[name]):
            self.reject(RecordFault.UNOPENED, "(no name)" if name is None else self.frames[name].method)
            return
        while name is not None and self.names[-1] != name:
            self._unclosed(time)
        self._close(time)

    def finish(self, time: float) -> None:
        while self.names:
            self._unclosed(time)

    def _unclosed(self, time: float) -> None:
        self.reject(RecordFault.UNCLOSED, self.frames[self.names[-1]].method)
        self._close(time)

    def _close(self, time: float) -> None:
        name = self.names.pop()
        self.open_by_name[name] -= 1
        self.intervals.add(self.times.pop(), time, name)


def nest(
    intervals: Intervals,
    *,
    frames: Sequence[Frame],
    tree: ProfileTree,
    rounding: float,
    reject: Callable[[RecordFault, str], None],
) -> None:
    """Adds the intervals to the tree: each is called by the shortest one around it.

    Of two with the same times the later in the arrays is the caller: what ends last, or is written last, is around the
    other. `rounding`: overlaps up to it are none (in the unit of the times). Longer ones are cut at the caller's end
    and reported to `reject`.
    """
    import numpy as np

    starts, ends = np.frombuffer(intervals.starts), np.frombuffer(intervals.ends)
    order = np.lexsort((-np.arange(len(starts)), -ends, starts)).tolist() if len(starts) else []
    names = intervals.names
    nodes: list[int] = []
    node_ends: list[float] = []
    elapsed, self_time, calls, child = tree.elapsed, tree.self_time, tree.calls, tree.child
    for i in order:
        start, end = intervals.starts[i], intervals.ends[i]
        slack = rounding + _ROUNDING_SHARE * abs(start)
        while nodes and node_ends[-1] <= start + slack:
            nodes.pop()
            node_ends.pop()
        parent = TOP
        if nodes:
            parent = nodes[-1]
            if end > node_ends[-1]:
                if end > node_ends[-1] + slack:
                    reject(RecordFault.OVERLAP, frames[names[i]].method)
                end = node_ends[-1]
        node = child(parent, frames[names[i]])
        nodes.append(node)
        node_ends.append(end)
        if node == parent:
            reject(RecordFault.TOO_DEEP, frames[names[i]].method)
            continue
        elapsed[node] += end - start
        self_time[node] += end - start
        calls[node] += 1
        if parent != TOP:
            self_time[parent] -= end - start
