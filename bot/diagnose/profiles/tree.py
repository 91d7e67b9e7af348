"""A profile while it is read: a node per path of methods, as flat lists, so that no depth is too deep."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.diagnose.profiles.frame import Frame
from bot.errors import DataError
from bot.model.profile import Profile, ProfileNode

# Real programs have thousands; more are arguments or ids within names.
MAX_NODES: Final = 200_000
MAX_DEPTH: Final = 10_000
TOP: Final = -1
MS: Final = "ms"
# Of what a file without names of its own is about.
SERVICE: Final = "profile"


@dataclass(kw_only=True, slots=True)
class ProfileTree:
    """Node i: its caller's index (smaller than i, or TOP), its method, and one repetition's time, self time and calls.

    A path is identified by its methods alone; of several files and lines the first file and the smallest line are kept.
    """

    parents: list[int] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    elapsed: list[float] = field(default_factory=list)
    self_time: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    index: dict[tuple[int, str], int] = field(default_factory=dict)

    def child(self, parent: int, frame: Frame) -> int:
        """The node below `parent`, or `parent` itself where it is as deep as nodes may be."""
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
        """A sampled stack, root first. False where it is too deep: then the deepest node kept has what lies below."""
        node = TOP
        for frame in frames[:MAX_DEPTH]:
            node = self.child(node, frame)
            self.elapsed[node] += amount
        if frames:
            self.self_time[node] += amount
        return len(frames) <= MAX_DEPTH

    def profile(self, service: str = SERVICE, *, unit: str = MS, counted: bool = True, scale: float = 1.0) -> Profile:
        """Times multiplied by `scale`; self times that rounding or parallel callees made negative are 0.

        `counted`: whether the source counts calls.
        """
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
        )

    def _new(self, parent: int, frame: Frame) -> int:
        depth = 0 if parent == TOP else self.depths[parent] + 1
        if depth >= MAX_DEPTH:
            return parent
        node = len(self.frames)
        if node >= MAX_NODES:
            raise DataError(
                f"more than {MAX_NODES:,} different paths of methods",
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
