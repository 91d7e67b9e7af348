"""What the hooks themselves cost on this machine, to be taken off the times."""

import types
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Final

from .hooks import Hooks
from .interval import HookCost, Sums
from .method import Kind, Method, Scope
from .tree import OUTSIDE, Tree

BATCHES: Final = 15  # the quickest counts: whatever else the machine does only adds
CALLS: Final = 200


def empty() -> None:
    pass


def many_empty() -> None:
    for _ in range(CALLS):
        empty()


def down(levels: int) -> None:
    if levels:
        down(levels - 1)


def many_c() -> None:
    for _ in range(CALLS):
        callable(None)


class _CalibrationScope(Scope):
    """Follows the functions above, which are no user's."""

    def of(self, code: types.CodeType) -> tuple[Method, Kind]:
        method, _ = super().of(code)
        is_followed = any(code is function.__code__ for function in (empty, down, many_c))
        return method, Kind.FOLLOWED if is_followed else Kind.OWN


def hook_cost(hooks: Hooks) -> HookCost:
    scope = _CalibrationScope("")
    interval, _ = _quickest(hooks, scope, many_empty, _leaf_of(scope.of(empty.__code__)[0]))
    recursion = partial(down, CALLS)
    whole, plain = _quickest(hooks, scope, recursion, _leaf_of(scope.of(down.__code__)[0]))
    c_interval = 0.0
    if hooks.TIMES_C:
        caller = scope.of(many_c.__code__)[0]
        c_interval, _ = _quickest(hooks, scope, many_c, _leaf_of(caller, Method("callable", is_c=True)))
    return HookCost(
        interval_ns=interval / CALLS, inner_ns=max(0.0, whole - plain) / CALLS, c_interval_ns=c_interval / CALLS
    )


def _leaf_of(*path: Method) -> Tree:
    tree, node = Tree(), OUTSIDE
    for method in path:
        node = tree.enter(node, method)
    tree.enter(node, path[-1])
    return tree


def _quickest(hooks: Hooks, scope: Scope, workload: Callable[[], None], tree: Tree) -> tuple[float, float]:
    """Time (ns) in the tree's last node, and of the workload without hooks."""
    selected = [len(tree.nodes) - 1]
    timed, plain = [], []
    for _ in range(BATCHES):
        start = perf_counter_ns()
        workload()
        plain.append(perf_counter_ns() - start)
    timer = hooks.timer(tree, selected, scope)
    with timer.running():
        for _ in range(BATCHES):
            timer.sums = Sums()
            workload()
            timed.append(sum(timer.sums.elapsed_ns.values()))
    return float(min(timed)), float(min(plain))
