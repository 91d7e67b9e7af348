"""What a merged tree keeps beside its sums so that two revisions can be tested: how the calls of a service vary."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat


@dataclass(frozen=True, slots=True)
class NodeSquares:
    """Sums over the calls of a service: of a path's squared time, and of its time without callees, also squared."""

    elapsed: float
    own_ms: float
    own: float


@dataclass(kw_only=True, slots=True)
class Squares:
    """One number per node. All executions of a path in one call are one amount; a call without it adds nothing."""

    elapsed: list[float] = field(default_factory=list)
    own_ms: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)

    def grow(self, nodes: int) -> None:
        for numbers in (self.elapsed, self.own_ms, self.own):
            numbers.extend(repeat(0.0, nodes - len(numbers)))

    def add(self, nodes: Sequence[int], parents: Sequence[int], times_ms: Sequence[Sequence[float]]) -> None:
        """Calls of one shape: execution i is of node `nodes[i]` and was called by execution `parents[i]`, or -1."""
        for times in times_ms:
            elapsed = dict.fromkeys(nodes, 0.0)
            own = dict.fromkeys(nodes, 0.0)
            for node, parent, time_ms in zip(nodes, parents, times, strict=True):
                elapsed[node] += time_ms
                own[node] += time_ms
                if parent >= 0:
                    own[nodes[parent]] -= time_ms
            for node, time_ms in elapsed.items():
                self.elapsed[node] += time_ms * time_ms
            for node, time_ms in own.items():
                self.own_ms[node] += time_ms
                self.own[node] += time_ms * time_ms

    def take_in(self, nodes: Sequence[int], other: "Squares") -> None:
        """`other`'s node i is node `nodes[i]` here."""
        for mine, theirs in ((self.elapsed, other.elapsed), (self.own_ms, other.own_ms), (self.own, other.own)):
            for node, number in zip(nodes, theirs, strict=True):
                mine[node] += number

    def take(self, node: int, other: "Squares", place: int) -> None:
        for mine, theirs in ((self.elapsed, other.elapsed), (self.own_ms, other.own_ms), (self.own, other.own)):
            mine[node] += theirs[place]

    def take_together(self, node: int, elapsed_ms: float, squares: float) -> None:
        """A path that is no more, into the node of its likes, as if all moved together: the most that they can vary."""
        together = (math.sqrt(self.elapsed[node]) + math.sqrt(squares)) ** 2
        self.elapsed[node] = self.own[node] = together
        self.own_ms[node] += elapsed_ms

    def __copy__(self) -> "Squares":
        return Squares(elapsed=[*self.elapsed], own_ms=[*self.own_ms], own=[*self.own])

    def of_nodes(self) -> Iterator[NodeSquares]:
        return map(NodeSquares, self.elapsed, self.own_ms, self.own)
