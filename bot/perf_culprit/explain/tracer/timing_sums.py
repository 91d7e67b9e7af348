"""The sums that the hooks of a timing pass collect: the running time of the selected nodes."""

import threading
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Final


@dataclass(slots=True)
class Sums:
    """`intervals`: how often the clock was started. `inner`: hooks that ran inside the timed method."""

    elapsed_ns: dict[int, int] = field(default_factory=dict)
    intervals: dict[int, int] = field(default_factory=dict)
    inner: dict[int, int] = field(default_factory=dict)

    def add(self, node: int, elapsed_ns: int, inner: int) -> None:
        self.elapsed_ns[node] = self.elapsed_ns.get(node, 0) + elapsed_ns
        self.intervals[node] = self.intervals.get(node, 0) + 1
        if inner:
            self.inner[node] = self.inner.get(node, 0) + inner


@dataclass(slots=True)
class Slot:
    """The timed method that now runs on a thread. There is at most one, because selected nodes are never nested."""

    frame: FrameType | None = None
    code: CodeType | None = None
    node: int = 0
    inner: int = 0
    start_ns: int = 0


class Slots(threading.local):
    """`mine`: the slot of this thread."""

    def __init__(self) -> None:
        super().__init__()
        self.mine = Slot()


@dataclass(frozen=True, kw_only=True, slots=True)
class HookCost:
    """The time that the clock adds to an interval (also of C functions), and each inner hook, on this machine."""

    interval_ns: float = 0.0
    inner_ns: float = 0.0
    c_interval_ns: float = 0.0


# A correction measured at a busier moment must not remove a method's whole time.
LEAST_SHARE_LEFT: Final = 0.1


def corrected(sums: Sums, is_c: set[int], cost: HookCost) -> dict[int, float]:
    """Elapsed ns by node without the hooks' own time; at least `LEAST_SHARE_LEFT` of the measured time."""
    return {
        node: max(
            LEAST_SHARE_LEFT * elapsed,
            elapsed
            - sums.intervals[node] * (cost.c_interval_ns if node in is_c else cost.interval_ns)
            - sums.inner.get(node, 0) * cost.inner_ns,
        )
        for node, elapsed in sums.elapsed_ns.items()
    }
