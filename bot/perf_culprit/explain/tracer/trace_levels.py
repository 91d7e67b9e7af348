"""Plan the timing passes: their methods, the cost of hooks, and the number of executions."""

import math
import statistics
import time
import types
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter_ns
from typing import Final

from .call_paths import OUTSIDE, Kind, TracedMethod, TracedScope, Tree
from .hooks import Hooks
from .timing_sums import HookCost, Sums

BATCHES: Final = 15  # the fastest counts: other load on the machine only adds time
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


class _CalibrationScope(TracedScope):
    """Follows the functions above, which are not the user's."""

    def of(self, code: types.CodeType) -> tuple[TracedMethod, Kind]:
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
        c_interval, _ = _quickest(hooks, scope, many_c, _leaf_of(caller, TracedMethod("callable", is_c=True)))
    return HookCost(
        interval_ns=interval / CALLS, inner_ns=max(0.0, whole - plain) / CALLS, c_interval_ns=c_interval / CALLS
    )


def _leaf_of(*path: TracedMethod) -> Tree:
    tree, node = Tree(), OUTSIDE
    for method in path:
        node = tree.enter(node, method)
    tree.enter(node, path[-1])
    return tree


def _quickest(hooks: Hooks, scope: TracedScope, workload: Callable[[], None], tree: Tree) -> tuple[float, float]:
    """Fastest time (ns) in the tree's last node, and of the workload without hooks."""
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


# Fewer repetitions show no noise, and a short budget hardly reaches more levels than EXPECTED_PASSES *(choice)*.
FEWEST_REPETITIONS: Final = 3
# Sampling adds chance: with fewer executions hardly any result is certain.
FEWEST_SAMPLED: Final = 5
EXPECTED_PASSES: Final = 4
# A real program's culprit is this deep *(choice)*; if there is no time for this many levels, stacks are sampled.
WANTED_LEVELS: Final = 20
# Times of executions vary between days *(choice)*.
BUDGET_MARGIN: Final = 1.25


@dataclass(kw_only=True, slots=True)
class Budget:
    """A limit on executions. `seconds`: None for no limit. `say` gets a line for people before each level."""

    seconds: float | None = None
    say: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    repetitions: int = 1
    executions: int = 0
    spent_s: float = 0.0
    # Executions that resemble later ones: the first one, with hooks everywhere, does not.
    usual: int = 0
    usual_s: float = 0.0
    level: int = 0
    is_spent: bool = False

    def plan(self, repetitions: int) -> int:
        """Plan the repetitions after a usual execution: the requested number, or fewer if the budget is short."""
        self.repetitions = repetitions
        if self.seconds is not None:
            fitting = int(self.seconds / (EXPECTED_PASSES * max(self.one_s, 1e-9)))
            self.repetitions = min(repetitions, max(fitting, min(FEWEST_REPETITIONS, repetitions)))
        return self.repetitions

    @property
    def is_short(self) -> bool:
        """Whether, after a usual execution, the budget is too short to reach the depth of a real program's culprit."""
        return self.seconds is not None and WANTED_LEVELS * FEWEST_REPETITIONS * self.one_s > self.seconds

    def plan_samples(self, repetitions: int) -> int:
        """Plan one execution per repetition."""
        fitting = repetitions if self.seconds is None else int(self.seconds / max(self.one_s, 1e-9))
        self.repetitions = max(min(repetitions, fitting), min(FEWEST_SAMPLED, repetitions))
        self.say(f"stacks are sampled: {self.repetitions} executions, about {self.repetitions * self.one_s:.0f} s")
        return self.repetitions

    def advise(self) -> None:
        """Recommend a budget that suffices for levels next time, even if executions then take a little longer."""
        if self.seconds is None:
            return
        wanted_s = WANTED_LEVELS * FEWEST_REPETITIONS * self.one_s if self.is_short else 2 * self.seconds
        wanted_s = 10 * math.ceil(BUDGET_MARGIN * wanted_s / 10)
        self.say(f"to trace level by level instead: --trace-budget {wanted_s} (in bisect --profile-seconds {wanted_s})")

    def allows(self, passes: int) -> bool:
        self.level += 1
        executions = passes * self.repetitions
        expected_s = executions * self.one_s
        within = "" if self.seconds is None else f" ({self.spent_s:.0f} of {self.seconds:.0f} s spent)"
        planned = f"level {self.level}: {executions} executions, about {expected_s:.0f} s{within}"
        # The first level is always timed, because a trace without it is useless.
        if self.seconds is not None and self.level > 1 and self.spent_s + expected_s > self.seconds:
            self.is_spent = True
            self.say(f"{planned}: left out")
            return False
        self.say(planned)
        return True

    @property
    def one_s(self) -> float:
        return self.usual_s / self.usual if self.usual else 0.0

    def execute(self, execution: Callable[[], None], *, is_usual: bool = True) -> None:
        start = self.clock()
        execution()
        took_s = self.clock() - start
        self.spent_s += took_s
        self.executions += 1
        if is_usual:
            self.usual += 1
            self.usual_s += took_s


# The callees of a node below this share of the whole are not timed: a trace costs depth times repetitions.
MINIMUM_SHARE: Final = 0.01

Times = Mapping[int, float]  # ns by node, over all its calls in one repetition
Rows = Mapping[int, tuple[float, ...]]  # ms by node and repetition
TimePass = Callable[[Sequence[int]], Sequence[Times]]
Path = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TimedNode:
    method: TracedMethod
    parent: int | None
    calls: int | None
    elapsed_ms: tuple[float, ...]
    self_ms: tuple[float, ...]


def methods_inside(tree: Tree, children: Sequence[Sequence[int]], index: int) -> frozenset[TracedMethod]:
    """Return all methods that run during the node, including itself only if it is called again from below."""
    seen: set[int] = set()
    inside: set[TracedMethod] = set()
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


def instrumented(tree: Tree, index: int) -> TracedMethod | None:
    """Return the method that gets hooks when the node is timed: for a C function, its caller."""
    node = tree.nodes[index]
    if not node.method.is_c:
        return node.method
    return None if node.parent == OUTSIDE else tree.nodes[node.parent].method


def split_passes(tree: Tree, level: Sequence[int]) -> list[list[int]]:
    """Split the level's nodes into few passes; no pass has a hook inside a timed method.

    On one level a method can also be called by another: `helper` from `main` and from `main`'s `parse`. Then `helper`
    and `parse` are timed in two passes. A recursive method cannot avoid its own hook.
    """
    children = tree.children()
    passes: list[tuple[list[int], set[TracedMethod], set[TracedMethod]]] = []
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
    """Time level after level, starting at `tree.starts(at)`. `follow`: paths to descend however small their share.

    `allowed` is called before each level with its number of passes. If it refuses, the result has the levels so far,
    and the time below stays with the callers. A node's own time is its elapsed time minus that of its timed callees in
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
        # A node without time in any repetition cannot be timed, or did not run again: its time stays with its caller.
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
    return _timed_nodes(tree, children, rows)


def _paths(tree: Tree, names: Mapping[TracedMethod, str], starts: Container[int]) -> list[Path]:
    paths: list[Path] = []
    for i, node in enumerate(tree.nodes):
        paths.append((*(() if node.parent == OUTSIDE or i in starts else paths[node.parent]), names[node.method]))
    return paths


def _timed_nodes(tree: Tree, children: Sequence[Sequence[int]], rows: Rows) -> tuple[TimedNode, ...]:
    own = {}
    for index, times in rows.items():
        callees = [rows[callee] for callee in children[index] if callee in rows]
        own[index] = tuple(max(0.0, elapsed - sum(callee[i] for callee in callees)) for i, elapsed in enumerate(times))
    return timed_nodes(tree, [index for index, times in rows.items() if any(times)], rows, own, are_counted=True)


def timed_nodes(
    tree: Tree, chosen: Iterable[int], elapsed: Rows, own: Rows, *, are_counted: bool
) -> tuple[TimedNode, ...]:
    """Return the chosen nodes in order; those without a chosen parent are roots."""
    names = method_names(tree)
    # A parent is created before its callees, so its index is smaller.
    places = {index: place for place, index in enumerate(sorted(chosen))}
    return tuple(
        TimedNode(
            method=tree.nodes[index].method._replace(name=names[tree.nodes[index].method]),
            parent=places.get(tree.nodes[index].parent),
            calls=tree.nodes[index].calls if are_counted else None,
            elapsed_ms=elapsed[index],
            self_ms=own[index],
        )
        for index in places
    )


def method_names(tree: Tree) -> dict[TracedMethod, str]:
    """Return one name per method. Equal names (two lambdas of a function) are numbered in the order of lines."""
    namesakes: dict[str, set[TracedMethod]] = {}
    for node in tree.nodes:
        namesakes.setdefault(node.method.name, set()).add(node.method)
    return {
        method: f"{name}#{number}" if number > 1 else name
        for name, same in namesakes.items()
        for number, method in enumerate(sorted(same, key=lambda m: (m.file or "", m.line or 0)), start=1)
    }
