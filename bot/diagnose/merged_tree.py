"""Call trees merged into one: a node per path of methods, as flat lists, so that no depth is too deep."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.diagnose.shape import Shape
from bot.diagnose.squares import Squares
from bot.errors import DataError
from bot.model.call_tree import CallNode

# Real programs have thousands; more are arguments or ids that the pattern takes for method names.
MAX_NODES: Final = 100_000
_TOP: Final = -1


def check_nodes(count: int) -> None:
    if count > MAX_NODES:
        raise DataError(
            f"more than {MAX_NODES:,} different paths of methods",
            next_step="check that the pattern's group `method` leaves out arguments, ids and times",
        )


@dataclass(kw_only=True, slots=True)
class MergedTree:
    """Node i: its caller's index (smaller than i, or -1), method, and executions with their summed and longest time.

    `squares` are kept only for a comparison of two revisions, or None.
    """

    parents: list[int] = field(default_factory=list)
    methods: list[bytes] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    elapsed_ms: list[float] = field(default_factory=list)
    longest_ms: list[float] = field(default_factory=list)
    index: dict[tuple[int, bytes], int] = field(default_factory=dict)
    squares: Squares | None = None

    def add(self, shape: Shape, methods: Sequence[bytes], times_ms: Sequence[Sequence[float]]) -> None:
        """Add calls of one shape; `times_ms[c][i]` is execution i in call c."""
        index = self.index
        nodes = [_TOP] * len(methods)
        for execution in shape.order:
            parent = shape.parents[execution]
            above = nodes[parent] if parent >= 0 else _TOP
            node = index.get((above, methods[execution]))
            nodes[execution] = self._new(above, methods[execution]) if node is None else node
        if self.squares is not None:
            self.squares.add(nodes, shape.parents, times_ms)
        calls, elapsed, longest = self.calls, self.elapsed_ms, self.longest_ms
        if len(times_ms) == 1:
            for node, time_ms in zip(nodes, times_ms[0], strict=True):
                calls[node] += 1
                elapsed[node] += time_ms
                longest[node] = max(longest[node], time_ms)
            return
        for node, column in zip(nodes, zip(*times_ms, strict=True), strict=True):
            calls[node] += len(column)
            elapsed[node] += sum(column)
            longest[node] = max(longest[node], *column)

    def merged(self, others: Sequence["MergedTree"]) -> "MergedTree":
        tree = MergedTree(
            parents=[*self.parents],
            methods=[*self.methods],
            calls=[*self.calls],
            elapsed_ms=[*self.elapsed_ms],
            longest_ms=[*self.longest_ms],
            index={**self.index},
            squares=None if self.squares is None else self.squares.copy(),
        )
        for other in others:
            tree._take_in(other)
        return tree

    def _take_in(self, other: "MergedTree") -> None:
        index, calls, elapsed, longest = self.index, self.calls, self.elapsed_ms, self.longest_ms
        nodes: list[int] = []
        for i, (parent, method) in enumerate(zip(other.parents, other.methods, strict=True)):
            above = nodes[parent] if parent >= 0 else _TOP
            known = index.get((above, method))
            node = self._new(above, method) if known is None else known
            nodes.append(node)
            calls[node] += other.calls[i]
            elapsed[node] += other.elapsed_ms[i]
            longest[node] = max(longest[node], other.longest_ms[i])
        if self.squares is not None and other.squares is not None:
            self.squares.take_in(nodes, other.squares)

    def _new(self, parent: int, method: bytes) -> int:
        node = len(self.methods)
        check_nodes(node)
        self.index[parent, method] = node
        self.parents.append(parent)
        self.methods.append(method)
        self.calls.append(0)
        self.elapsed_ms.append(0.0)
        self.longest_ms.append(0.0)
        if self.squares is not None:
            self.squares.grow(node + 1)
        return node

    def nodes(self) -> tuple[CallNode, ...]:
        """With self times: elapsed less children, summed over all calls first, so that rounding evens out."""
        self_ms = [*self.elapsed_ms]
        for parent, elapsed_ms in zip(self.parents, self.elapsed_ms, strict=True):
            if parent >= 0:
                self_ms[parent] -= elapsed_ms
        return tuple(
            CallNode(
                method=self.methods[i].decode("utf-8", "replace"),
                parent=parent if parent >= 0 else None,
                calls=self.calls[i],
                elapsed_ms=self.elapsed_ms[i],
                self_ms=max(0.0, self_ms[i]),
                longest_ms=self.longest_ms[i],
            )
            for i, parent in enumerate(self.parents)
        )
