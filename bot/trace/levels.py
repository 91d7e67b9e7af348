"""Which methods are timed in which pass, and what the passes together say. No hooks, no clock."""

import statistics
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .method import Method
from .tree import OUTSIDE, Tree

# A node below this share of the whole is timed, and what it calls is not: a trace costs depth times repetitions.
MINIMUM_SHARE: Final = 0.01

Times = Mapping[int, float]  # ns by node, over all its calls in one repetition
TimePass = Callable[[Sequence[int]], Sequence[Times]]
Path = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TimedNode:
    method: Method
    parent: int | None
    calls: int | None
    elapsed_ms: tuple[float, ...]
    self_ms: tuple[float, ...]


def methods_inside(tree: Tree, children: Sequence[Sequence[int]], index: int) -> frozenset[Method]:
    """All methods that run while the node does, itself only where it is called again from below."""
    seen: set[int] = set()
    inside: set[Method] = set()
    waiting = [index]
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        reached = [*children[at], *tree.nodes[at].returns_to]
        inside.update(tree.nodes[callee].method for callee in reached)
        waiting.extend(reached)
    return frozenset(inside)


def instrumented(tree: Tree, index: int) -> Method | None:
    """The method that gets hooks when the node is timed: of a C function it is the caller."""
    node = tree.nodes[index]
    if not node.method.is_c:
        return node.method
    return None if node.parent == OUTSIDE else tree.nodes[node.parent].method


def split_passes(tree: Tree, level: Sequence[int]) -> list[list[int]]:
    """The level's nodes in as few passes as come easily, none of which has a hook inside a timed method.

    On one level a method can also be called by another: `helper` from `main` and from `main`'s `parse`. Then `helper`
    and `parse` are timed in two passes. What calls itself cannot avoid its own hook.
    """
    children = tree.children()
    passes: list[tuple[list[int], set[Method], set[Method]]] = []
    for index in level:
        hook = instrumented(tree, index)
        hooks = set() if hook is None else {hook}
        inside = methods_inside(tree, children, index)
        fitting = (one for one in passes if not (hooks & one[2] or one[1] & inside))
        chosen = next(fitting, None)
        if chosen is None:
            chosen = ([], set(), set())
            passes.append(chosen)
        members, their_hooks, theirs_inside = chosen
        members.append(index)
        their_hooks |= hooks
        theirs_inside |= inside
    return [members for members, _, _ in passes]


def measure_levels(
    tree: Tree,
    time_pass: TimePass,
    *,
    at: str | None = None,
    minimum_share: float = MINIMUM_SHARE,
    follow: Container[Path] = (),
    allowed: Callable[[int], bool] = lambda _: True,
) -> tuple[TimedNode, ...]:
    """Time level after level, from `tree.starts(at)` on. `follow`: paths that are descended however small their share.

    `allowed` is asked before each level with its number of passes; where it refuses, the levels so far are the answer,
    and what lies below stays with its caller. A node's own time is its elapsed time less that of its timed callees in
    the same repetition, never below 0.
    """
    children = tree.children()
    names = method_names(tree)
    rows: dict[int, tuple[float, ...]] = {}
    level = tree.starts(at)
    paths = _paths(tree, names, frozenset(level))
    total = 0.0
    while level:
        passes = split_passes(tree, level)
        if not allowed(len(passes)):
            break
        for selected in passes:
            repetitions = time_pass(selected)
            rows.update({index: tuple(times.get(index, 0.0) / 1e6 for times in repetitions) for index in selected})
        # What no repetition saw cannot be timed here, or did not happen again: its time stays with its caller.
        level = [index for index in level if any(rows[index])]
        medians = {index: statistics.median(rows[index]) for index in level}
        total = total or sum(medians.values())
        level = [
            callee
            for index in level
            if medians[index] >= minimum_share * total or paths[index] in follow
            for callee in children[index]
            if not tree.nodes[callee].is_transparent
        ]
    return _timed(tree, children, rows, names)


def _paths(tree: Tree, names: Mapping[Method, str], starts: Container[int]) -> list[Path]:
    paths: list[Path] = []
    for i, node in enumerate(tree.nodes):
        paths.append((*(() if node.parent == OUTSIDE or i in starts else paths[node.parent]), names[node.method]))
    return paths


def _timed(
    tree: Tree, children: Sequence[Sequence[int]], rows: Mapping[int, tuple[float, ...]], names: Mapping[Method, str]
) -> tuple[TimedNode, ...]:
    # A parent is met before its callees, so its index is smaller.
    order = sorted(index for index, times in rows.items() if any(times))
    places = {index: place for place, index in enumerate(order)}
    nodes = []
    for index in order:
        node = tree.nodes[index]
        callees = [rows[callee] for callee in children[index] if callee in rows]
        own = tuple(max(0.0, elapsed - sum(callee[i] for callee in callees)) for i, elapsed in enumerate(rows[index]))
        nodes.append(
            TimedNode(
                method=node.method._replace(name=names[node.method]),
                parent=places.get(node.parent),
                calls=node.calls,
                elapsed_ms=rows[index],
                self_ms=own,
            )
        )
    return tuple(nodes)


def method_names(tree: Tree) -> dict[Method, str]:
    """One name per method. Namesakes (two lambdas of one function) are numbered in the order of their lines."""
    namesakes: dict[str, set[Method]] = {}
    for node in tree.nodes:
        namesakes.setdefault(node.method.name, set()).add(node.method)
    return {
        method: f"{name}#{number}" if number > 1 else name
        for name, same in namesakes.items()
        for number, method in enumerate(sorted(same, key=lambda m: (m.file or "", m.line or 0)), start=1)
    }
