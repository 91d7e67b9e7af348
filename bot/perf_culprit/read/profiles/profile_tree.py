"""Construction of a profile: a node per path of methods, from names, intervals or call graphs."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, ProfileNode, RecordFault
from perf_culprit.model.file_limits import FILE_LIMITS

# Files of these names are distinguished by their folders.
_NAMELESS_FILES: Final = frozenset({"__init__.py", "__main__.py", "index.js", "index.ts", "mod.rs", "main.py"})
# py-spy writes one thread as `Thread 481 "MainThread"` in one run and as `Thread 684 ""` in the next.
_NUMBERS: Final = re.compile(r"0x[0-9a-fA-F]++|[0-9]++|\s*+\"[^\"]*+\"")


@dataclass(frozen=True, slots=True)
class Frame:
    """A function. Its bounded `method` identifies it in every repetition, and includes the file's name if known."""

    method: str
    file: str | None = None
    line: int | None = None


def frame(name: str, file: str | None = None, line: int | None = None) -> Frame:
    """Make a frame. With a file, its method is `file:name`, without folders, because they differ between machines."""
    name = bounded(name) or "(no name)"
    if not file:
        return Frame(name)
    file = bounded(file)
    if line is not None and not 0 <= line <= FILE_LIMITS.line_number:
        line = None
    return Frame(f"{_short(file)}:{name}"[: FILE_LIMITS.method_characters], file, line)


@lru_cache(maxsize=1 << 15)
def frame_of(text: str) -> Frame:
    """Parse a name that may end with its place, as py-spy and VizTracer write it: `find (shop/dao.py:12)`."""
    name, separator, place = text.rpartition(" (")
    file, _, line = place.removesuffix(")").rpartition(":")
    if separator and file and place.endswith(")") and line.isascii() and line.isdigit() and len(line) < 10:
        return frame(name, file, int(line))
    return frame(text)


@lru_cache(maxsize=1 << 12)
def group_name(text: str) -> str:
    """Remove the parts of a process's or thread's name that differ between runs: numbers and names in quotes."""
    return _NUMBERS.sub(lambda one: "" if one[0].endswith('"') else "*", bounded(text))


def bounded(text: str) -> str:
    """Shorten text to FILE_LIMITS.method_characters and make it valid UTF-8 without surrounding spaces."""
    cut = text if len(text) <= FILE_LIMITS.method_characters else text[: FILE_LIMITS.method_characters - 1] + "…"
    return cut.encode("utf-8", "replace").decode("utf-8").strip()


def _short(file: str) -> str:
    parts = [part for part in file.replace("\\", "/").split("/") if part]
    count = 2 if parts and parts[-1] in _NAMELESS_FILES else 1
    return "/".join(parts[-count:])


# The units of a profile whose stacks are counted, and of one whose stacks have other weights.
SAMPLES: Final = "samples"
WEIGHT: Final = "weight"
# This number of stacks rarely has a common divisor by chance: below 1 in 250 even for 2.
FEWEST_STACKS: Final = 8
# Fewer stacks need a large divisor, which 3 different numbers have by chance in 1 of 10^9 cases. A single number, or
# the same twice, is a multiple of itself: below a second's samples at 100 kHz it may be a count *(choice)*.
LARGE_PERIOD: Final = 1_000
PERIOD_OF_ONE: Final = 100_000
FEWEST_DIFFERENT: Final = 3
# Seconds are decimals: a multiple of the rarest stack's time is that number of samples.
_NEAR: Final = 1e-3
# Counts of samples include rare stacks: if the rarest of FEWEST_STACKS weighs more, it is not a count *(choice)*.
RAREST: Final = 100.0


@dataclass(kw_only=True, slots=True)
class Weights:
    """The weights of one file's stacks, in any order: counts of samples, multiples of a period, or something else.

    Zeros are ignored.
    """

    stacks: int = 0
    total: float = 0.0
    divisor: int = 0
    smallest: float = math.inf
    is_whole: bool = True
    _different: set[float] = field(default_factory=set, init=False)

    def add(self, weight: float) -> None:
        if weight <= 0:
            return
        self.stacks += 1
        self.total += weight
        if len(self._different) < FILE_LIMITS.compared_profiles:
            self._different.add(weight)
        self.smallest = min(self.smallest, weight)
        self.is_whole = self.is_whole and weight % 1 == 0
        if self.is_whole:
            self.divisor = math.gcd(self.divisor, int(weight))

    @property
    def period(self) -> float | None:
        """The divisor that turns weights into counts of samples: 1 for counts; None if there is none."""
        if self.is_whole:
            large = LARGE_PERIOD if len(self._different) >= FEWEST_DIFFERENT else PERIOD_OF_ONE
            if self.divisor >= large or (self.divisor > 1 and self.stacks >= FEWEST_STACKS):
                return float(self.divisor)
            return None if self.stacks >= FEWEST_STACKS and self.smallest >= RAREST else 1.0
        return None

    @property
    def samples(self) -> float:
        """The number of samples behind weights that are times. If no weight divides the others, each is one sample."""
        ratios = [one / self.smallest for one in self._different]
        is_counted = len(ratios) < FILE_LIMITS.compared_profiles and all(
            abs(one - round(one)) <= _NEAR * one for one in ratios
        )
        return self.total / self.smallest if ratios and is_counted else float(self.stacks)


TOP: Final = -1
MS: Final = "ms"
# The service of a file that names none.
SERVICE: Final = "profile"


@dataclass(kw_only=True, slots=True)
class ProfileTree:
    """A profile under construction: a node per path of methods, in flat lists, so that its depth is not limited.

    Node i has its caller's index (smaller than i, or TOP), method, and a repetition's time, self time and calls.
    Methods alone identify a path; it keeps the first of several files, and the smallest line.
    """

    parents: list[int] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    elapsed: list[float] = field(default_factory=list)
    self_time: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    index: dict[tuple[int, str], int] = field(default_factory=dict)
    weights: Weights = field(default_factory=Weights)

    def child(self, parent: int, frame: Frame) -> int:
        """Return the node for `frame` below `parent`, or `parent` itself if it is at the maximum depth."""
        node = self.index.get((parent, frame.method))
        if node is None:
            return self._new(parent, frame)
        first = self.frames[node]
        if frame.line is not None and first.line is not None and frame.line < first.line and frame.file == first.file:
            self.frames[node] = frame
        return node

    def add(self, node: int, *, elapsed: float, self_time: float, calls: float) -> None:
        self.elapsed[node] += elapsed
        self.self_time[node] += self_time
        self.calls[node] += calls

    def add_stack(self, frames: Sequence[Frame], amount: float) -> bool:
        """Add a sampled stack, root first. False if it is too deep: the deepest node kept then has the amount."""
        self.weights.add(amount)
        node = TOP
        for frame in frames[: FILE_LIMITS.profile_depth]:
            node = self.child(node, frame)
            self.elapsed[node] += amount
        if frames:
            self.self_time[node] += amount
        return len(frames) <= FILE_LIMITS.profile_depth

    def profile(
        self,
        service: str = SERVICE,
        *,
        unit: str = MS,
        counted: bool = True,
        scale: float = 1.0,
        samples: float | None = None,
    ) -> Profile:
        """Build the profile with times multiplied by `scale`; self times below 0 (rounding, parallel callees) are 0.

        `counted`: whether the source counts calls. `samples`: the number behind the times, if the added stacks do not
        show it.
        """
        samples = self.weights.samples if samples is None else samples
        return Profile(
            service=service,
            nodes=tuple(
                ProfileNode(
                    method=frame.method,
                    parent=None if parent == TOP else parent,
                    elapsed_ms=(self.elapsed[i] * scale,),
                    self_ms=(max(0.0, self.self_time[i] * scale),),
                    calls=self.calls[i] if counted else None,
                    file=frame.file,
                    line=frame.line,
                )
                for i, (parent, frame) in enumerate(zip(self.parents, self.frames, strict=True))
            ),
            repetitions=1,
            unit=unit,
            samples=(samples,) if samples and unit == MS else (),
        )

    def _new(self, parent: int, frame: Frame) -> int:
        depth = 0 if parent == TOP else self.depths[parent] + 1
        if depth >= FILE_LIMITS.profile_depth:
            return parent
        node = len(self.frames)
        if node >= FILE_LIMITS.profile_nodes:
            raise DataError(
                f"more than {FILE_LIMITS.profile_nodes:,} different paths of methods",
                next_step="check that the names leave out arguments, ids and times; profile a smaller part",
            )
        self.index[parent, frame.method] = node
        self.parents.append(parent)
        self.frames.append(frame)
        self.depths.append(depth)
        self.elapsed.append(0.0)
        self.self_time.append(0.0)
        self.calls.append(0.0)
        return node


# Begin and end are rounded separately, so smaller overlaps do not count. The limit is relative to the times' size: it
# is the precision of a double for microseconds since 1970.
_ROUNDING_SHARE: Final = 4e-16


@dataclass(kw_only=True, slots=True)
class Intervals:
    """One thread's executions, one per place in the arrays. `names`: indices of frames."""

    starts: "array[float]" = field(default_factory=lambda: array("d"))
    ends: "array[float]" = field(default_factory=lambda: array("d"))
    names: "array[int]" = field(default_factory=lambda: array("L"))

    def add(self, start: float, end: float, name: int) -> None:
        self.starts.append(start)
        self.ends.append(end)
        self.names.append(name)


@dataclass(kw_only=True, slots=True)
class OpenCalls:
    """One thread's begins and ends in the order of their times, matched by name from the innermost call outwards.

    An end that skips inner calls closes these too and reports them to `reject`.
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
        """End the innermost call with this name, or the innermost of all without a name."""
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
    """Add the intervals to the tree: each is called by the shortest one around it.

    If two have the same times, the later one in the arrays is the caller, because it ended or was written last.
    `rounding`: shorter overlaps are ignored (in the unit of the times). Longer ones are cut at the caller's end and
    reported to `reject`.
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
