"""The tree of call paths that one full pass finds. A method occurs once on a path: recursion is folded into it.

With a method twice on a path, timing the upper one would have the lower one's instrumentation inside.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .method import Method

MAXIMUM_NODES: Final = 50_000
OUTSIDE: Final = -1  # the parent of roots


@dataclass(slots=True)
class Node:
    """`returns_to`: ancestors that are called again from here. `is_benchmark`: a benchmark tool's timing loop calls it.

    `is_transparent`: a C function that runs Python code. Its callees belong to its caller, and so does its time: frames
    do not tell what a C function called.
    """

    method: Method
    parent: int
    calls: int = 0
    is_transparent: bool = False
    is_benchmark: bool = False
    returns_to: set[int] = field(default_factory=set)


class Tree:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._steps: dict[tuple[int, Method], int] = {}

    def enter(self, parent: int, method: Method) -> int:
        """The node of `method` called from `parent`, made where it is new."""
        existing = self._steps.get((parent, method))
        if existing is not None:
            return existing
        ancestor = parent
        while ancestor != OUTSIDE and self.nodes[ancestor].method != method:
            ancestor = self.nodes[ancestor].parent
        if ancestor != OUTSIDE:
            self.nodes[parent].returns_to.add(ancestor)
            self._steps[parent, method] = ancestor
            return ancestor
        if len(self.nodes) >= MAXIMUM_NODES:
            return parent
        self.nodes.append(Node(method, parent))
        self._steps[parent, method] = len(self.nodes) - 1
        return len(self.nodes) - 1

    def find(self, methods: Iterable[Method]) -> int | None:
        """The node of a path from the outermost to the innermost method; None where the full pass never saw it."""
        node = OUTSIDE
        for method in methods:
            step = self._steps.get((node, method))
            if step is None:
                return None
            node = step
        return node

    def step(self, parent: int, method: Method) -> int | None:
        return self._steps.get((parent, method))

    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.nodes]
        for index, node in enumerate(self.nodes):
            if node.parent != OUTSIDE:
                children[node.parent].append(index)
        return children

    def add(self, other: "Tree") -> list[int]:
        """The calls of another process, or of a further execution; where its nodes are here."""
        places: list[int] = []
        for node in other.nodes:
            place = self.enter(OUTSIDE if node.parent == OUTSIDE else places[node.parent], node.method)
            places.append(place)
            if place != OUTSIDE:
                self.nodes[place].calls += node.calls
                self.nodes[place].is_transparent |= node.is_transparent
                self.nodes[place].is_benchmark |= node.is_benchmark
        for place, node in zip(places, other.nodes, strict=True):
            for ancestor in node.returns_to:
                self._steps[place, self.nodes[places[ancestor]].method] = places[ancestor]
                self.nodes[place].returns_to.add(places[ancestor])
        return places

    def rows(self) -> list[list[Any]]:
        """As JSON holds it."""
        return [
            [*node.method, node.parent, node.calls, node.is_transparent, node.is_benchmark, sorted(node.returns_to)]
            for node in self.nodes
        ]

    def starts(self, at: str | None) -> list[int]:
        """The nodes that a trace begins at: calls of `at`, else what benchmark tools time, else all roots.

        Imports and set-up lie beside or above them.
        """
        starts: list[int] = []
        inside = [False] * len(self.nodes)
        is_benchmark = at is None and any(node.is_benchmark for node in self.nodes)
        for index, node in enumerate(self.nodes):
            if node.is_transparent:
                is_start = False
            elif at is not None:
                is_start = f".{node.method.name}".endswith(f".{at.replace(':', '.')}")
            else:
                is_start = node.is_benchmark if is_benchmark else node.parent == OUTSIDE
            above = node.parent != OUTSIDE and inside[node.parent]
            inside[index] = above or is_start
            if is_start and not above:
                starts.append(index)
        return starts


def tree_from_rows(rows: Sequence[Sequence[Any]]) -> Tree:
    tree = Tree()
    for name, file, line, is_c, parent, calls, is_transparent, is_benchmark, returns_to in rows:
        if not OUTSIDE <= parent < len(tree.nodes):
            raise ValueError(f"parent {parent} does not come before node {len(tree.nodes)}")
        method = Method(name, file, line, is_c)
        tree.nodes.append(Node(method, parent, calls, is_transparent, is_benchmark, set(returns_to)))
        tree._steps[parent, method] = len(tree.nodes) - 1  # noqa: SLF001 - its constructor from outside
    for index, node in enumerate(tree.nodes):
        for ancestor in node.returns_to:
            tree._steps[index, tree.nodes[ancestor].method] = ancestor  # noqa: SLF001 - as above
    return tree
