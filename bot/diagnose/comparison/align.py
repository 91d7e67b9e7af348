"""Two trees of one service as one: a node per path of methods that either revision took."""

import math
from dataclasses import dataclass, field

from bot.diagnose.comparison.counterparts import counterparts
from bot.diagnose.comparison.observed import Observed, ObservedNode
from bot.model.tree_comparison import NodeAmount

_TOP = -1


@dataclass(kw_only=True, slots=True)
class AlignedNode:
    """`parent` and `children` are indices; a side that never took the path is None."""

    method: str
    parent: int
    baseline: ObservedNode | None = None
    target: ObservedNode | None = None
    children: list[int] = field(default_factory=list)

    @property
    def is_in_both(self) -> bool:
        return self.baseline is not None and self.target is not None

    @property
    def side(self) -> ObservedNode:
        """The target's where it has the path."""
        side = self.target or self.baseline
        if side is None:
            raise ValueError("a path that neither revision took")
        return side

    @property
    def gain(self) -> float:
        """What the path takes more than before, callees included."""
        return _elapsed(self.target) - _elapsed(self.baseline)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlignedTree:
    """Parents come before children."""

    baseline: Observed
    target: Observed
    nodes: tuple[AlignedNode, ...]

    @property
    def roots(self) -> list[int]:
        return [i for i, node in enumerate(self.nodes) if node.parent == _TOP]

    def path(self, index: int) -> tuple[str, ...]:
        names: list[str] = []
        while index != _TOP:
            names.append(self.nodes[index].method)
            index = self.nodes[index].parent
        return tuple(reversed(names))


def aligned(baseline: Observed, target: Observed) -> AlignedTree:
    """A method has the target's name. Lonely roots are one, whatever their names: a script, a process, a wrapper."""
    pairs = counterparts(baseline, target)
    names = {before: after for after, before in pairs.items()}
    tops = [[node.method for node in side.nodes if node.parent is None] for side in (baseline, target)]
    lonely = len(tops[0]) == len(tops[1]) == 1
    nodes: list[AlignedNode] = []
    index: dict[tuple[int, str], int] = {}
    for is_target, side in ((True, target), (False, baseline)):
        places: list[int] = []
        for node in side.nodes:
            parent = _TOP if node.parent is None else places[node.parent]
            method = node.method if is_target else names.get(node.method, node.method)
            if lonely and parent == _TOP:
                method = tops[1][0]
            place = index.get((parent, method))
            if place is None:
                place = index[parent, method] = len(nodes)
                nodes.append(AlignedNode(method=method, parent=parent))
                if parent != _TOP:
                    nodes[parent].children.append(place)
            places.append(place)
            if is_target:
                nodes[place].target = node
            else:
                nodes[place].baseline = node
    return AlignedTree(baseline=baseline, target=target, nodes=tuple(nodes))


def change(before: NodeAmount | None, after: NodeAmount | None) -> float | None:
    """The relative change with callees; None from nothing, or from so little that no number holds it."""
    if before is None or after is None:
        return None
    relative = after.elapsed / before.elapsed - 1 if before.elapsed > 0 else math.inf
    return relative if math.isfinite(relative) else None


def _elapsed(node: ObservedNode | None) -> float:
    return node.elapsed.mean if node is not None else 0.0
