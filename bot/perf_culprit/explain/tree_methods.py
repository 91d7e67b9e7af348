"""Methods over all their paths, and the factor that all methods have in common."""

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.explain.aligned_trees import SHARE_UNIT, AlignedNode, AlignedTree, Spread, added_up
from perf_culprit.explain.diagnosis_constants import (
    DISPERSION,
    ENOUGH_METHODS,
    FEWEST_TO_TRIM,
    MUCH,
    NOTABLE,
    SAME_CALLS,
    SMALLEST_SHARE,
)
from perf_culprit.explain.ranking import inside_itself
from perf_culprit.model.report import ChangeCause
from perf_culprit.stats.conventions import UPPER_QUARTILE

# The start of an absolute path into Python's standard library, and the paths of those of Go, Rust and Node.
_STANDARD: Final = re.compile(r".*/lib(?:64)?/python3\.[0-9]+/|.*/Lib/")
_OTHERS: Final = re.compile(r".*/go[0-9.]*/src/[^./]+/.*|/rustc/[0-9a-f]+/.*|node:.*")
# C libraries and the kernel, as perf names the object that contains a function.
_OF_C: Final = re.compile(
    r".*/(?:libc|libm|libpthread|ld-linux[^/]*|libgcc_s|libstdc\+\+)(?:-[0-9.]+)?\.so[.0-9]*|\[[a-z.]+\]"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TestedRow:
    """The tested amounts: one amount of the target against that of the baseline."""

    baseline: Spread
    target: Spread


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeMethod:
    """`places`: its nodes; `outermost`: those that are not inside another call of it.

    `own`: without callees; `total`: with callees, of the outermost calls (a recursion counts once). `calls`: of
    baseline and target, per repetition; None if they are not counted, or a side has none.
    """

    name: str
    places: tuple[int, ...]
    outermost: tuple[int, ...]
    own: TestedRow
    total: TestedRow
    is_in_baseline: bool
    is_in_target: bool
    is_loading: bool
    calls: tuple[float, float] | None

    @property
    def is_in_both(self) -> bool:
        return self.is_in_baseline and self.is_in_target


def methods_of(tree: AlignedTree) -> tuple[TreeMethod, ...]:
    places: dict[str, list[int]] = {}
    outermost: dict[str, list[int]] = {}
    parents = [node.parent if node.parent >= 0 else None for node in tree.nodes]
    inside = inside_itself([node.method for node in tree.nodes], parents)
    for i, (node, is_inner) in enumerate(zip(tree.nodes, inside, strict=True)):
        places.setdefault(node.method, []).append(i)
        if not is_inner:
            outermost.setdefault(node.method, []).append(i)
    return tuple(
        TreeMethod(
            name=name,
            places=tuple(indices),
            outermost=tuple(outermost[name]),
            own=merged(together or [tree.nodes[i] for i in indices], "own", tree),
            total=merged(together or [tree.nodes[i] for i in outermost[name]], "elapsed", tree),
            is_loading=all(_is_loading(tree, i) for i in indices),
            calls=_calls([tree.nodes[i] for i in indices]),
            is_in_baseline=any(tree.nodes[i].baseline is not None for i in indices),
            is_in_target=any(tree.nodes[i].target is not None for i in indices),
        )
        for name, indices in places.items()
        for together in ([tree.methods[name]] if name in tree.methods else [],)
    )


def _calls(nodes: Sequence[AlignedNode]) -> tuple[float, float] | None:
    before, after = (
        [side.calls for side in sides if side is not None]
        for sides in zip(*((n.baseline, n.target) for n in nodes), strict=True)
    )
    if None in before or None in after:
        return None
    totals = sum(filter(None, before)), sum(filter(None, after))
    return totals if all(totals) else None


def is_in_c(name: str) -> bool:
    """Return whether it is a C function of the interpreter, as cProfile names it: no commit changes it."""
    return name.startswith(("<built-in ", "<method ", "<slot wrapper "))


def _is_loading(tree: AlignedTree, i: int) -> bool:
    """Whether it is Python's import system, whose time depends on file caches. Modules' own code below it is not."""
    while i >= 0 and is_in_c(tree.nodes[i].method):
        i = tree.nodes[i].parent
    return i >= 0 and tree.nodes[i].method.startswith("<frozen importlib")


def total_row(tree: AlignedTree) -> TestedRow:
    return merged([tree.nodes[i] for i in tree.roots], "elapsed", tree)


def merged(nodes: Sequence[AlignedNode], amount: Literal["own", "elapsed"], tree: AlignedTree) -> TestedRow:
    """Return the sum of all nodes; a side without any of them has zero time."""
    sides = ([node.baseline for node in nodes], tree.baseline), ([node.target for node in nodes], tree.target)
    before, after = (
        added_up([getattr(node, amount) for node in side if node is not None], repetitions=whole.repetitions)
        for side, whole in sides
    )
    return TestedRow(baseline=before, target=after)


def is_standard(file: str | None) -> bool:
    """Return whether it is in the language's library, which no commit changes: `copy.py`, `/usr/lib/libc.so.6`."""
    if not file:
        return False
    if file.startswith("<frozen ") or _OTHERS.fullmatch(file) or _OF_C.fullmatch(file):
        return True
    place = _STANDARD.search(file)
    top = (file[place.end() :] if place else file).partition("/")[0]
    return "site-packages" not in file and top.removesuffix(".py") in sys.stdlib_module_names


# Names and files of libraries, runtimes and kernels: of Java, Rust, C++ and V8, and of Go, Rust's crates and npm.
_LIBRARY: Final = re.compile(
    r"(?:javax?|jdk|sun|com\.sun|kotlin|scala)\.|<?(?:core|alloc|std|hashbrown)::|\((?:garbage collector|program)\)"
)
_LIBRARY_FILE: Final = re.compile(
    r"\[.*|node:.*|.*/node_modules/.*|/rustc/.*|.*/\.cargo/registry/.*|.*/pkg/mod/.*|.*/go/(?:[^/]+/[^/]+/)?src/[^./]+/.*"
)


def is_foreign(node: AlignedNode) -> bool:
    """Return whether no commit of the program can have changed it: it is in C, a library, the runtime or the kernel."""
    file = node.side.file
    if is_in_c(node.method) or is_standard(file) or _LIBRARY.match(node.method):
        return True
    return file is not None and _LIBRARY_FILE.fullmatch(file) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Common:
    """`factor`: target over baseline, a median over the methods of all services that were timed together.

    Medians over methods, as DESeq normalises gene counts [Anders & Huber 2010, section 2.2]. They are right as long as
    fewer than half of the methods changed. If calls are counted, they use the time per call of methods called equally
    often. Additional calls are caused by the program, not by the machine. A machine also slows the methods that take
    most of the time. So for times, the factor is no further from 1 than the median over the time of both revisions.
    `spread`: the variance between methods around it from side to side, beyond their own noise, with its `freedom`.
    `variance`: of the factor's logarithm. The factor is 1 if there are too few methods.
    `baseline`, `target`: factors per repetition (n,) around those of both revisions together.
    """

    baseline: Floats
    target: Floats
    factor: float = 1.0
    variance: float = 0.0
    spread: float = 0.0
    freedom: int = 0

    @property
    def methods(self) -> int:
        return self.freedom + 1 if self.freedom else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shared:
    """Methods that both revisions of one tree run: log ratios of their own times, their variances, and times."""

    names: tuple[str, ...]
    logs: Floats
    variances: Floats
    times: Floats
    baseline: Floats
    target: Floats


def common(trees: Sequence[AlignedTree], methods: Sequence[Sequence[TreeMethod]]) -> list[Common]:
    """Return the common factor of each tree. Shares have one per service; all times share one machine."""
    shared = [_shared(tree, each) for tree, each in zip(trees, methods, strict=True)]
    timed = [one for tree, one in zip(trees, shared, strict=True) if not is_relative(tree)]
    machine = _in_common(timed, is_relative=False)
    return [
        replace(
            _in_common([one], is_relative=True) if is_relative(tree) else machine,
            baseline=one.baseline,
            target=one.target,
        )
        for tree, one in zip(trees, shared, strict=True)
    ]


def _in_common(shared: Sequence[_Shared], *, is_relative: bool) -> Common:
    none = Common(baseline=np.ones(1), target=np.ones(1))
    # A method that several services run counts once, weighted by time.
    names, places = np.unique([name for one in shared for name in one.names], return_inverse=True)
    if len(names) < ENOUGH_METHODS:
        return none
    logs, variances, times = (
        np.concatenate([getattr(one, name) for one in shared]) for name in ("logs", "variances", "times")
    )
    whole = np.bincount(places, times).astype(np.float64)
    parts = times / whole[places]
    logs, variances = (np.bincount(places, one).astype(np.float64) for one in (parts * logs, parts**2 * variances))
    times = whole
    middle = float(np.median(logs))
    if not is_relative:
        low, high = sorted((middle, _middle_of_time(logs, times)))
        middle = min(max(0.0, low), high)
    return replace(
        none,
        factor=float(np.exp(middle)),
        variance=_median_variance(logs),
        spread=_spread(logs - middle, variances),
        freedom=len(logs) - 1,
    )


# The median of a squared standard normal value.
_MEDIAN_SQUARE: Final = UPPER_QUARTILE**2


def _spread(deviations: Floats, variances: Floats) -> float:
    """The variance beyond `variances` (m,) that makes the median deviation (m,) as large as chance would.

    The moment estimator of a random effect [Paule & Mandel 1982], with the median instead of the mean: methods that
    changed are outliers.
    """
    squares = deviations**2
    low, high = 0.0, float(squares.max()) / _MEDIAN_SQUARE
    if np.median(squares / np.maximum(variances, 1e-12)) <= _MEDIAN_SQUARE:
        return 0.0
    for _ in range(60):
        between = (low + high) / 2
        is_enough = np.median(squares / (variances + between)) <= _MEDIAN_SQUARE
        low, high = (low, between) if is_enough else (between, high)
    return high


def _shared(tree: AlignedTree, methods: Sequence[TreeMethod]) -> _Shared:
    sides = (tree.baseline, tree.target)
    ones = [np.ones(side.repetitions) for side in sides]
    totals = [side.total for side in sides]
    # Samples of all repetitions per unit of a repetition's mean.
    per_unit = [side.whole / side.total if side.whole else math.inf for side in sides]
    shared = [
        method
        for method in methods
        if not method.is_loading
        and all(
            total > 0
            and spread.mean >= SMALLEST_SHARE * total
            and spread.mean * samples >= DISPERSION * FEWEST_TO_TRIM / 2
            for spread, total, samples in zip((method.own.baseline, method.own.target), totals, per_unit, strict=True)
        )
    ]
    as_often = [one for one in shared if one.calls and abs(one.calls[1] / one.calls[0] - 1) <= SAME_CALLS]
    shared = as_often if len(as_often) >= ENOUGH_METHODS else shared
    calls = np.array([method.calls or (1.0, 1.0) for method in shared]).reshape(-1, 2)
    means = np.array([(one.own.baseline.mean, one.own.target.mean) for one in shared]).reshape(-1, 2)
    baseline, target = ones if len(shared) < ENOUGH_METHODS else _of_repetitions(shared, calls) or ones
    variances = np.array([_log_variance(tree, one.own, per_unit) for one in shared])
    is_known = variances <= (math.inf if tree.baseline.whole else MUCH**2)
    return _Shared(
        names=tuple(one.name for one, is_one in zip(shared, is_known, strict=True) if is_one),
        logs=(np.log(means[:, 1] / means[:, 0]) - np.log(calls[:, 1] / calls[:, 0]))[is_known],
        variances=variances[is_known],
        times=means.min(axis=1)[is_known],
        baseline=baseline,
        target=target,
    )


def _log_variance(tree: AlignedTree, row: TestedRow, per_unit: Sequence[float]) -> float:
    """The variance of the log ratio of both sides' means; for sampled stacks at least the counting error."""
    variance = 0.0
    sides = zip((tree.baseline, tree.target), (row.baseline, row.target), per_unit, strict=True)
    for side, spread, samples in sides:
        if spread.count > 1:
            counted = 1 / (spread.mean * samples)
            variance += max(counted, spread.squares / (spread.count - 1) / spread.count / spread.mean**2)
        elif side.whole:
            variance += DISPERSION / (spread.mean * samples)
    return variance


def _of_repetitions(shared: Sequence[TreeMethod], calls: Floats) -> tuple[Floats, Floats] | None:
    rows = [
        (*row.baseline.values, *row.target.values)
        for row in (one.own for one in shared)
        if row.baseline.values is not None and row.target.values is not None
    ]
    if len(rows) < len(shared):
        return None
    count = len(shared[0].own.baseline.values or ())
    values = np.array(rows)
    values[:, :count] /= calls[:, :1]
    values[:, count:] /= calls[:, 1:]
    # Relative to the middle of both sides, so that neither is the reference.
    values /= np.sqrt(values[:, :count].mean(axis=1) * values[:, count:].mean(axis=1))[:, None]
    factors = np.median(values, axis=0)
    # If most methods lack samples in a repetition, they are too rare to show its state.
    return (factors[:count], factors[count:]) if factors.all() else None


def _middle_of_time(logs: Floats, times: Floats) -> float:
    """The median of (m,) weighted by (m,)."""
    order = np.argsort(logs)
    reached = np.cumsum(times[order])
    return float(logs[order][np.searchsorted(reached, reached[-1] / 2)])


def is_relative(tree: AlignedTree) -> bool:
    """Return whether amounts are shares, so that only their ratios are known."""
    return tree.target.unit == SHARE_UNIT


def _median_variance(logs: Floats) -> float:
    """The variance of the median of normal values with a robust spread: pi / 2 times that of the mean."""
    spread = float(np.median(np.abs(logs - np.median(logs)))) / UPPER_QUARTILE
    return float(np.pi / 2 * spread**2 / len(logs))


def cause_of(node: AlignedNode) -> ChangeCause | None:
    """Split the slowdown into causes: elapsed time is calls x time per call, so the ratios' logarithms add up.

    None if calls are not counted.
    """
    before, after = node.baseline, node.target
    if before is None or after is None or not before.calls or not after.calls:
        return None
    if before.elapsed.mean <= 0 or after.elapsed.mean <= before.elapsed.mean:
        return None
    by_calls = math.log(after.calls / before.calls) / math.log(after.elapsed.mean / before.elapsed.mean)
    if by_calls >= 1 - NOTABLE:
        return ChangeCause.MORE_CALLS
    return ChangeCause.TIME_PER_CALL if by_calls <= NOTABLE else ChangeCause.BOTH


def called_more_often(caller: AlignedNode, callee: AlignedNode) -> bool:
    """Return whether one call of the caller makes more calls of the callee: then the cause is in the caller's code."""
    sides = (caller.baseline, caller.target, callee.baseline, callee.target)
    calls = [side.calls for side in sides if side is not None and side.calls]
    if len(calls) < len(sides) or callee.gain <= 0:
        return False
    before, after, callee_before, callee_after = calls
    slowdown = caller.gain
    more = callee_after / after - callee_before / before
    if more <= 0 or callee.baseline is None or slowdown <= 0:
        return False
    # The cost of the additional calls at the former time per call, relative to the caller's slowdown.
    return more * after * callee.baseline.elapsed.mean / callee_before >= NOTABLE * slowdown
