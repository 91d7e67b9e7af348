"""Call trees merged into one, with the sums that the test of two revisions needs."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from perf_culprit.arrays import Floats, Integers
from perf_culprit.model.call_tree import CallNode
from perf_culprit.model.file_limits import FILE_LIMITS


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """The structure of one service call.

    `order`: the executions, parents before children. `parents[i]`: the caller of execution i, or -1. `is_outer[i]`:
    whether no execution above i runs the same method. `tops`: the executions without a caller, in the order of their
    labels. `has_root`: all of them are labelled as roots (without a dot), so no line above them is missing. `digest`:
    equal for equal labels and methods, whatever the order of lines.
    """

    order: tuple[int, ...]
    parents: tuple[int, ...]
    is_outer: tuple[bool, ...]
    tops: tuple[int, ...]
    has_root: bool
    digest: bytes


def shape_of(labels: tuple[bytes, ...], methods: tuple[bytes, ...]) -> Shape:
    """Derive the shape from labels: the parent of `1.1.2.1` is `1.1.2`, or its nearest ancestor that was logged."""
    return (_remembered if len(labels) <= FILE_LIMITS.remembered_lines else _shape_of)(labels, methods)


def _shape_of(labels: tuple[bytes, ...], methods: tuple[bytes, ...]) -> Shape:
    # With a closing dot every label sorts right before its descendants, whatever its components are.
    dotted = [label + b"." for label in labels]
    order = sorted(range(len(labels)), key=dotted.__getitem__)
    parents = [-1] * len(labels)
    is_outer = [True] * len(labels)
    ancestors: list[int] = []
    above: defaultdict[bytes, int] = defaultdict(int)
    tops = []
    for execution in order:
        label = dotted[execution]
        while ancestors and not label.startswith(dotted[ancestors[-1]]):
            above[methods[ancestors.pop()]] -= 1
        if ancestors:
            parents[execution] = ancestors[-1]
        else:
            tops.append(execution)
        is_outer[execution] = not above[methods[execution]]
        above[methods[execution]] += 1
        ancestors.append(execution)
    digest = hashlib.blake2b(b"\n".join([part for i in order for part in (labels[i], methods[i])]), digest_size=8)
    return Shape(
        order=tuple(order),
        parents=tuple(parents),
        is_outer=tuple(is_outer),
        tops=tuple(tops),
        has_root=not any(b"." in labels[top] for top in tops),
        digest=digest.digest(),
    )


_remembered: Final = lru_cache(FILE_LIMITS.remembered_shapes)(_shape_of)


class Sums(NamedTuple):
    """Sums over the calls that ran a path or a method: their number, times with and without callees, and squares."""

    ran: float
    elapsed_ms: float
    elapsed: float
    own_ms: float
    own: float


def _no_sums() -> Floats:
    return np.zeros((0, len(Sums._fields)))


@dataclass(kw_only=True, slots=True)
class Squares:
    """Sums by node, and by method over all its paths, from which a test of two revisions derives how calls vary.

    `rows`: each method's row. Rows beyond the last node are unused. A call adds the total of a path's executions in it.
    """

    nodes: Floats = field(default_factory=_no_sums)
    methods: Floats = field(default_factory=_no_sums)
    rows: dict[bytes, int] = field(default_factory=dict)

    def add(self, shape: Shape, nodes: Sequence[int], methods: Sequence[bytes], times_ms: Floats) -> None:
        """Add calls of one shape. Execution i, of `methods[i]`, belongs to node `nodes[i]`."""
        own_ms = times_ms.copy()
        for execution, parent in enumerate(shape.parents):
            if parent >= 0:
                own_ms[:, parent] -= times_ms[:, execution]
        self.nodes = _plus(self.nodes, *_sum_rows(nodes, times_ms, own_ms))
        # A recursion's elapsed time counts once.
        outer_ms = times_ms * np.array(shape.is_outer)
        self.methods = _plus(self.methods, *_sum_rows(self._rows_of(methods), outer_ms, own_ms))

    def take_in(self, nodes: Sequence[int], other: "Squares") -> None:
        """Add `other`'s sums; its node i is node `nodes[i]` here."""
        self.nodes = _plus(self.nodes, nodes, other.nodes[: len(nodes)])
        self.methods = _plus(self.methods, self._rows_of(other.rows), other.methods[: len(other.rows)])

    def take_together(self, node: int, other: Floats) -> None:
        """Add a pruned path to the node for rare paths, as if fully correlated: the upper bound of their variation.

        All calls count as having run it.
        """
        rare, more = Sums(*self.nodes[node].tolist()), Sums(*other.tolist())
        together = (math.sqrt(rare.elapsed) + math.sqrt(more.elapsed)) ** 2
        elapsed_ms = rare.elapsed_ms + more.elapsed_ms
        self.nodes[node] = Sums(math.inf, elapsed_ms, together, elapsed_ms, together)

    def of_nodes(self, count: int) -> list[Sums]:
        return [Sums(*row) for row in self.nodes[:count].tolist()]

    def of_methods(self) -> dict[bytes, Sums]:
        return {method: Sums(*self.methods[row].tolist()) for method, row in self.rows.items()}

    def _rows_of(self, methods: Iterable[bytes]) -> list[int]:
        return [self.rows.setdefault(method, len(self.rows)) for method in methods]

    def __copy__(self) -> "Squares":
        return Squares(nodes=self.nodes.copy(), methods=self.methods.copy(), rows={**self.rows})


def _plus(table: Floats, rows: Sequence[int] | Integers, sums: Floats) -> Floats:
    """Add to rows of the table, each at most once; a row beyond its end makes it twice as long."""
    missing = max(rows, default=-1) + 1 - len(table)
    if missing > 0:
        table = np.concatenate([table, np.zeros((max(missing, len(table)), table.shape[1]))])
    table[np.asarray(rows, np.intp)] += sums
    return table


def _sum_rows(rows: Sequence[int], times_ms: Floats, own_ms: Floats) -> tuple[Integers, Floats]:
    """Return the distinct rows, and the sums of the (calls, lines) times of the lines with one row."""
    which = np.array(rows, np.intp)
    order = np.argsort(which, kind="stable")
    which = which[order]
    firsts = np.flatnonzero(np.diff(which, prepend=-1))
    elapsed, own = (np.add.reduceat(one[:, order], firsts, axis=1) for one in (times_ms, own_ms))
    ran = np.full(len(firsts), float(len(times_ms)))
    sums = [one.sum(axis=0) for one in (elapsed, elapsed**2, own, own**2)]
    return which[firsts], np.column_stack([ran, *sums])


_TOP: Final = -1
# The name of a node that stands for the rare paths below its caller.
RARE: Final = b"(rare paths)"


@dataclass(kw_only=True, slots=True)
class MergedTree:
    """A node per path of methods, in flat lists, so that its depth is not limited.

    Node i has its caller's index (smaller than i, or -1), method, executions, and their summed and longest time.
    `squares` is None unless two revisions are compared. `rare`: each method's calls, own and longest time on pruned
    paths. `pruned`: the number of these paths.
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

    def add(self, shape: Shape, methods: Sequence[bytes], times_ms: Floats) -> None:
        """Add calls of one shape; `times_ms[c, i]` is execution i in call c."""
        index = self.index
        nodes = [_TOP] * len(methods)
        for execution in shape.order:
            parent = shape.parents[execution]
            above = nodes[parent] if parent >= 0 else _TOP
            node = index.get((above, methods[execution]))
            nodes[execution] = self._new(above, methods[execution]) if node is None else node
        if self.squares is not None:
            self.squares.add(shape, nodes, methods, times_ms)
        calls, elapsed, longest = self.calls, self.elapsed_ms, self.longest_ms
        sums = zip(nodes, times_ms.sum(axis=0).tolist(), times_ms.max(axis=0).tolist(), strict=True)
        for node, total_ms, longest_ms in sums:
            calls[node] += len(times_ms)
            elapsed[node] += total_ms
            longest[node] = max(longest[node], longest_ms)

    def merged(self, others: Sequence["MergedTree"]) -> "MergedTree":
        # The lists and dictionaries are copied too.
        tree = replace(self, **{one.name: copy(getattr(self, one.name)) for one in fields(self)})
        for other in others:
            tree.take_in(other)
            if len(tree.methods) > FILE_LIMITS.log_nodes:
                tree = tree.without_rare(FILE_LIMITS.log_nodes // 2)
        return tree

    def without_rare(self, keep: int) -> "MergedTree":
        """Keep the `keep` paths with the most time, callers before callees; one node per caller has the others' time.

        `rare` gets the pruned methods' own numbers. Rarity is judged by the part so far, so another merge order may
        keep other paths.
        """
        weights = [*self.elapsed_ms]
        own_ms = [*self.elapsed_ms]
        for i in range(len(weights) - 1, -1, -1):
            parent = self.parents[i]
            if parent >= 0:
                weights[parent] = max(weights[parent], weights[i])
                own_ms[parent] -= self.elapsed_ms[i]
        frequent = set(sorted(range(len(weights)), key=lambda i: (-weights[i], i))[:keep])
        tree = MergedTree(
            squares=None if self.squares is None else Squares(nodes=np.zeros_like(self.squares.nodes)),
            rare={**self.rare},
            pruned=self.pruned + len(weights) - len(frequent),
        )
        places: list[int | None] = []
        for i, (parent, method) in enumerate(zip(self.parents, self.methods, strict=True)):
            above = places[parent] if parent >= 0 else _TOP
            if i not in frequent and method != RARE:
                calls, own, longest = tree.rare.get(method, (0, 0.0, 0.0))
                tree.rare[method] = (calls + self.calls[i], own + max(0.0, own_ms[i]), max(longest, self.longest_ms[i]))
            if above is None:
                places.append(None)
                continue
            name = method if i in frequent else RARE
            existing = tree.index.get((above, name))
            node = tree._new(above, name) if existing is None else existing
            places.append(node if i in frequent else None)
            tree.calls[node] += self.calls[i]
            tree.elapsed_ms[node] += self.elapsed_ms[i]
            tree.longest_ms[node] = max(tree.longest_ms[node], self.longest_ms[i])
            if tree.squares is not None and self.squares is not None:
                if i in frequent:
                    tree.squares.nodes[node] += self.squares.nodes[i]
                else:
                    tree.squares.take_together(node, self.squares.nodes[i])
        if tree.squares is not None and self.squares is not None:
            remaining = {*tree.methods} - {RARE}
            rows = {name: row for name, row in self.squares.rows.items() if name in remaining}
            tree.squares.methods = self.squares.methods[np.array([*rows.values()], np.intp)]
            tree.squares.rows = {name: row for row, name in enumerate(rows)}
        if len(tree.rare) > FILE_LIMITS.rare_methods:
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
        return node

    def nodes(self) -> tuple[CallNode, ...]:
        """Return the nodes with self times: elapsed less children, summed over all calls first to even out rounding."""
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
        """Return the methods of rare paths as nodes below a node without time, whose index is `first`."""
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
    """Keep the FILE_LIMITS.rare_methods // 2 methods with the most time and sum up the others as one."""
    ordered = sorted(rare.items(), key=lambda one: -one[1][1])
    methods = dict(ordered[: FILE_LIMITS.rare_methods // 2])
    others = [numbers for _, numbers in ordered[FILE_LIMITS.rare_methods // 2 :]]
    calls, own, longest = zip(*others, strict=True)
    methods[RARE] = (sum(calls), sum(own), max(longest))
    return methods
