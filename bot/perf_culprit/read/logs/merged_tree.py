"""Call trees merged into one, with what two revisions' test needs of them."""

import hashlib
import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from perf_culprit.model.call_tree import CallNode

# The structure of one service call: which execution called which, from their labels.

# The same calls come again and again, in every block of a log.
MOST_REMEMBERED: Final = 2_000
MOST_REMEMBERED_LINES: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """`order`: the executions so that parents come before children; `parents[i]`: the caller of execution i, or -1.

    `tops`: the executions that nothing calls, in the order of their labels. `has_root`: they are all labelled as
    roots (without a dot), so that no line above them is missing. `digest`: the same for the same labels and methods
    in any order of lines.
    """

    order: tuple[int, ...]
    parents: tuple[int, ...]
    tops: tuple[int, ...]
    has_root: bool
    digest: bytes


def shape_of(labels: tuple[bytes, ...], methods: tuple[bytes, ...]) -> Shape:
    """The parent of `1.1.2.1` is `1.1.2`; where that line is missing, the nearest ancestor that was logged."""
    return (_remembered if len(labels) <= MOST_REMEMBERED_LINES else _shape_of)(labels, methods)


def _shape_of(labels: tuple[bytes, ...], methods: tuple[bytes, ...]) -> Shape:
    # With the closing dot every label sorts right before its descendants, whatever its components are.
    dotted = [label + b"." for label in labels]
    order = sorted(range(len(labels)), key=dotted.__getitem__)
    parents = [-1] * len(labels)
    ancestors: list[int] = []
    tops = []
    for execution in order:
        label = dotted[execution]
        while ancestors and not label.startswith(dotted[ancestors[-1]]):
            ancestors.pop()
        if ancestors:
            parents[execution] = ancestors[-1]
        else:
            tops.append(execution)
        ancestors.append(execution)
    digest = hashlib.blake2b(b"\n".join([part for i in order for part in (labels[i], methods[i])]), digest_size=8)
    return Shape(
        order=tuple(order),
        parents=tuple(parents),
        tops=tuple(tops),
        has_root=not any(b"." in labels[top] for top in tops),
        digest=digest.digest(),
    )


_remembered: Final = lru_cache(MOST_REMEMBERED)(_shape_of)


# What a merged tree keeps in addition to its sums so that two revisions can be tested: how the calls of a service vary.


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

    def add(self, nodes: Sequence[int], parents: Sequence[int], times_ms: NDArray[np.float64]) -> None:
        """Calls of one shape: execution i is of node `nodes[i]` and was called by execution `parents[i]`, or -1."""
        own_ms = times_ms.copy()
        for execution, parent in enumerate(parents):
            if parent >= 0:
                own_ms[:, parent] -= times_ms[:, execution]
        different, which = np.unique(nodes, return_inverse=True)
        elapsed, own = np.zeros((2, len(different), len(times_ms)))
        np.add.at(elapsed, which, times_ms.T)
        np.add.at(own, which, own_ms.T)
        sums = ((elapsed**2).sum(axis=1), own.sum(axis=1), (own**2).sum(axis=1))
        for node, *more in zip(different.tolist(), *(one.tolist() for one in sums), strict=True):
            self.elapsed[node] += more[0]
            self.own_ms[node] += more[1]
            self.own[node] += more[2]

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


# Call trees merged into one: a node per path of methods, as flat lists, so that no depth is too deep.

# Real programs have thousands; more are arguments or ids within method names, or very many request types. Beyond this
# the paths with least time go, half of them, so that it is seldom done.
MAX_NODES: Final = 100_000
_TOP: Final = -1
# Methods of rare paths; of more, those with least time become one.
MAX_RARE: Final = 100_000
# What a node is called that stands for the rare paths below its caller.
RARE: Final = b"(rare paths)"


@dataclass(kw_only=True, slots=True)
class MergedTree:
    """Node i: its caller's index (smaller than i, or -1), method, and executions with their summed and longest time.

    `squares` are kept only for a comparison of two revisions, or None. `rare`: what methods took on paths that are
    no more, as calls, own and longest time; `pruned` counts those paths.
    """

    parents: list[int] = field(default_factory=list)
    methods: list[bytes] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    elapsed_ms: list[float] = field(default_factory=list)
    longest_ms: list[float] = field(default_factory=list)
    index: dict[tuple[int, bytes], int] = field(default_factory=dict)
    squares: Squares | None = None
    rare: dict[bytes, tuple[int, float, float]] = field(default_factory=dict)
    pruned: int = 0

    def add(self, shape: Shape, methods: Sequence[bytes], times_ms: NDArray[np.float64]) -> None:
        """Add calls of one shape; `times_ms[c, i]` is execution i in call c."""
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
        sums = zip(nodes, times_ms.sum(axis=0).tolist(), times_ms.max(axis=0).tolist(), strict=True)
        for node, total_ms, longest_ms in sums:
            calls[node] += len(times_ms)
            elapsed[node] += total_ms
            longest[node] = max(longest[node], longest_ms)

    def merged(self, others: Sequence["MergedTree"]) -> "MergedTree":
        # Its lists and dictionaries are copied, too.
        tree = replace(self, **{one.name: copy(getattr(self, one.name)) for one in fields(self)})
        for other in others:
            tree.take_in(other)
            if len(tree.methods) > MAX_NODES:
                tree = tree.without_rare(MAX_NODES // 2)
        return tree

    def without_rare(self, keep: int) -> "MergedTree":
        """The `keep` paths with most time, callers before callees; a node per caller has the time of the others.

        Their methods' own numbers are in `rare`. Which paths are rare is known of the part so far only: what is
        merged in another order may keep others.
        """
        weights = [*self.elapsed_ms]
        own_ms = [*self.elapsed_ms]
        for i in range(len(weights) - 1, -1, -1):
            parent = self.parents[i]
            if parent >= 0:
                weights[parent] = max(weights[parent], weights[i])
                own_ms[parent] -= self.elapsed_ms[i]
        kept = set(sorted(range(len(weights)), key=lambda i: (-weights[i], i))[:keep])
        tree = MergedTree(
            squares=None if self.squares is None else Squares(),
            rare={**self.rare},
            pruned=self.pruned + len(weights) - len(kept),
        )
        places: list[int | None] = []
        for i, (parent, method) in enumerate(zip(self.parents, self.methods, strict=True)):
            above = places[parent] if parent >= 0 else _TOP
            if i not in kept and method != RARE:
                calls, own, longest = tree.rare.get(method, (0, 0.0, 0.0))
                tree.rare[method] = (calls + self.calls[i], own + max(0.0, own_ms[i]), max(longest, self.longest_ms[i]))
            if above is None:
                places.append(None)
                continue
            name = method if i in kept else RARE
            existing = tree.index.get((above, name))
            node = tree._new(above, name) if existing is None else existing
            places.append(node if i in kept else None)
            tree.calls[node] += self.calls[i]
            tree.elapsed_ms[node] += self.elapsed_ms[i]
            tree.longest_ms[node] = max(tree.longest_ms[node], self.longest_ms[i])
            if tree.squares is not None and self.squares is not None:
                if i in kept:
                    tree.squares.take(node, self.squares, i)
                else:
                    tree.squares.take_together(node, self.elapsed_ms[i], self.squares.elapsed[i])
        if len(tree.rare) > MAX_RARE:
            tree.rare = _most(tree.rare)
        return tree

    def take_in(self, other: "MergedTree") -> None:
        index, calls, elapsed, longest = self.index, self.calls, self.elapsed_ms, self.longest_ms
        nodes: list[int] = []
        for i, (parent, method) in enumerate(zip(other.parents, other.methods, strict=True)):
            above = nodes[parent] if parent >= 0 else _TOP
            existing = index.get((above, method))
            node = self._new(above, method) if existing is None else existing
            nodes.append(node)
            calls[node] += other.calls[i]
            elapsed[node] += other.elapsed_ms[i]
            longest[node] = max(longest[node], other.longest_ms[i])
        if self.squares is not None and other.squares is not None:
            self.squares.take_in(nodes, other.squares)
        for method, (count, own, long) in other.rare.items():
            known_rare = self.rare.get(method, (0, 0.0, 0.0))
            self.rare[method] = (known_rare[0] + count, known_rare[1] + own, max(known_rare[2], long))
        self.pruned += other.pruned

    def _new(self, parent: int, method: bytes) -> int:
        node = len(self.methods)
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

    def rare_methods(self, first: int) -> tuple[CallNode, ...]:
        """The methods of rare paths as nodes of their own, below one without time that is the node `first`."""
        if not self.rare:
            return ()
        top = CallNode(method=RARE.decode(), parent=None, calls=0, elapsed_ms=0.0, self_ms=0.0, longest_ms=0.0)
        return (
            top,
            *(
                CallNode(
                    method=method.decode("utf-8", "replace"),
                    parent=first,
                    calls=calls,
                    elapsed_ms=own,
                    self_ms=own,
                    longest_ms=longest,
                )
                for method, (calls, own, longest) in self.rare.items()
            ),
        )


def _most(rare: dict[bytes, tuple[int, float, float]]) -> dict[bytes, tuple[int, float, float]]:
    """Half as many methods, those with most time, and the others as one."""
    ordered = sorted(rare.items(), key=lambda one: -one[1][1])
    kept = dict(ordered[: MAX_RARE // 2])
    others = [numbers for _, numbers in ordered[MAX_RARE // 2 :]]
    calls, own, longest = zip(*others, strict=True)
    kept[RARE] = (sum(calls), sum(own), max(longest))
    return kept
