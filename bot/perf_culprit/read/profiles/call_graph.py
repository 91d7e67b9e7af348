"""Unfolding of call graphs (callers and callees, without paths) into trees of paths, with notes on the accuracy."""

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import ProfileNote, Reason, because
from perf_culprit.read.profiles.profile_tree import TOP, Frame, ProfileTree

OTHER_PATHS: Final = Frame("(other paths)")
# Costs are sums of doubles, so they have rounding errors.
_ROUNDING_SHARE: Final = 1e-9


@dataclass(kw_only=True, slots=True)
class Edge:
    calls: float = 0.0
    inclusive: float = 0.0


@dataclass(kw_only=True, slots=True)
class CallGraph:
    """Function i has a frame, its own cost, and its callees with the cost of the calls to them."""

    frames: list[Frame] = field(default_factory=list)
    self_cost: list[float] = field(default_factory=list)
    callees: list[dict[int, Edge]] = field(default_factory=list)

    def new(self, frame: Frame) -> int:
        self.frames.append(frame)
        self.self_cost.append(0.0)
        self.callees.append({})
        return len(self.frames) - 1

    def call(self, caller: int, callee: int, *, calls: float, inclusive: float) -> None:
        edge = self.callees[caller].setdefault(callee, Edge())
        edge.calls += calls
        edge.inclusive += inclusive


def unfold(graph: CallGraph, *, note: Callable[[Reason], None]) -> ProfileTree:
    """Unfold the graph into a tree whose self costs add up to the graph's, function by function.

    Recursive calls are removed (depth first from functions without a caller). A caller's share of a callee is its
    share of the inclusive cost of all calls to it. This assumes that a callee's cost does not depend on its caller's
    caller. It is exact if every function has one caller and a model otherwise, which `note` reports. Inclusive costs
    are summed from self costs.
    """
    edges, order = _without_recursion(graph)
    shares = _shares(graph, edges)
    inclusive = [*graph.self_cost]
    for function in reversed(order):
        for callee, _ in edges[function]:
            inclusive[function] += shares[function, callee] * inclusive[callee]
    called = {callee for callees in edges for callee, _ in callees}
    roots = [function for function in order if function not in called]
    tree = ProfileTree()
    followed = [0.0] * len(graph.frames)
    queue: list[tuple[float, int, int, int, float]] = []

    def add(parent: int, function: int, share: float, calls: float) -> None:
        node = tree.child(parent, graph.frames[function])
        elapsed = share * inclusive[function]
        tree.add(node, elapsed=elapsed, self_time=share * graph.self_cost[function], calls=calls)
        followed[function] += share
        heapq.heappush(queue, (-elapsed, len(tree.frames), node, function, share))

    for root in roots:
        add(TOP, root, 1.0, 1.0)
    while queue and len(tree.frames) < FILE_LIMITS.graph_paths:
        _, _, node, function, share = heapq.heappop(queue)
        for callee, edge in edges[function]:
            add(node, callee, share * shares[function, callee], share * edge.calls)
    note(because(ProfileNote.CALL_GRAPH))
    _add_others(graph, tree, followed, note=note)
    return tree


def _add_others(graph: CallGraph, tree: ProfileTree, followed: list[float], *, note: Callable[[Reason], None]) -> None:
    """Add the unfollowed costs below the first root, so that every function keeps its whole self cost."""
    total = sum(graph.self_cost)
    rest = {
        function: (1 - share) * graph.self_cost[function]
        for function, share in enumerate(followed)
        if (1 - share) * graph.self_cost[function] > _ROUNDING_SHARE * total
    }
    if not rest:
        return
    others = tree.child(0, OTHER_PATHS)
    tree.add(others, elapsed=sum(rest.values()), self_time=0.0, calls=0.0)
    for function, cost in rest.items():
        node = tree.child(others, graph.frames[function])
        tree.add(node, elapsed=cost, self_time=cost, calls=0.0)
    note(because(ProfileNote.PATHS_NOT_FOLLOWED, share=sum(rest.values()) / total))


def _without_recursion(graph: CallGraph) -> tuple[list[list[tuple[int, Edge]]], list[int]]:
    """Return each function's callees without calls that close a cycle, and all functions, callers first."""
    count = len(graph.frames)
    called = {callee for caller, callees in enumerate(graph.callees) for callee in callees if callee != caller}
    weights = [
        cost + sum(edge.inclusive for edge in callees.values())
        for cost, callees in zip(graph.self_cost, graph.callees, strict=True)
    ]
    starts = sorted(range(count), key=lambda function: (function in called, -weights[function]))
    edges: list[list[tuple[int, Edge]]] = [[] for _ in range(count)]
    state = [0] * count  # 0 unseen, 1 on the way down, 2 done
    finished: list[int] = []
    for start in starts:
        if state[start]:
            continue
        state[start] = 1
        stack = [(start, _heaviest_first(graph.callees[start]))]
        while stack:
            function, remaining = stack[-1]
            for callee, edge in remaining:
                if state[callee] == 1:
                    continue
                edges[function].append((callee, edge))
                if state[callee] == 0:
                    state[callee] = 1
                    stack.append((callee, _heaviest_first(graph.callees[callee])))
                    break
            else:
                state[function] = 2
                finished.append(function)
                stack.pop()
    return edges, finished[::-1]


def _heaviest_first(callees: Mapping[int, Edge]) -> Iterator[tuple[int, Edge]]:
    """Sort callees by cost, so that the cheapest call of a cycle is left out and cannot become the entry to it."""
    return iter(sorted(callees.items(), key=lambda call: -call[1].inclusive))


def _shares(graph: CallGraph, edges: list[list[tuple[int, Edge]]]) -> dict[tuple[int, int], float]:
    """Return each call's share of the callee's cost, or of the number of calls if the calls cost nothing."""
    inclusive = [0.0] * len(graph.frames)
    calls = [0.0] * len(graph.frames)
    callers = [0] * len(graph.frames)
    for callees in edges:
        for callee, edge in callees:
            inclusive[callee] += edge.inclusive
            calls[callee] += edge.calls
            callers[callee] += 1
    return {
        (caller, callee): edge.inclusive / inclusive[callee]
        if inclusive[callee]
        else edge.calls / calls[callee]
        if calls[callee]
        else 1 / callers[callee]
        for caller, callees in enumerate(edges)
        for callee, edge in callees
    }
