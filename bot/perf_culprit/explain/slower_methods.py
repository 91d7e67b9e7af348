"""Test every method of two trees, by path and over all its paths, independent of results at higher levels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.explain.aligned_trees import AlignedNode, AlignedTree
from perf_culprit.explain.diagnosis_constants import NOTABLE, TRIFLE
from perf_culprit.explain.significance import Tests, families_of, scales, test_rows
from perf_culprit.explain.tree_methods import (
    Common,
    TestedRow,
    TreeMethod,
    called_more_often,
    cause_of,
    common,
    is_relative,
    merged,
    methods_of,
)
from perf_culprit.model.finding import Interval
from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.report import ChangeCause, NodeState, SuspectReason
from perf_culprit.read.logs.reading_settings import ComparisonSettings
from perf_culprit.stats.multiplicity import benjamini_hochberg, number


@dataclass(kw_only=True, slots=True)
class Judged:
    """The result for one path. `is_real`: one side alone has the path, and not by chance."""

    state: NodeState = NodeState.NOT_TESTED
    interval: Interval | None = None
    p_value: float | None = None
    q_value: float | None = None
    self_q_value: float | None = None
    cause: ChangeCause | None = None
    is_real: bool = False
    changed_calls: bool = False
    reasons: list[SuspectReason] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedMethod:
    """A method over all its paths: its q-values without and with callees, and whether each time is slower."""

    method: TreeMethod
    self_q_value: float | None
    q_value: float | None
    own_is_slower: bool
    is_slower: bool


@dataclass(frozen=True, kw_only=True)
class Searched:
    """`gains` and `own_gains`: per node the additional time beyond the common factor of all methods."""

    tree: AlignedTree
    common: Common
    judged: tuple[Judged, ...]
    methods: tuple[JudgedMethod, ...]
    gains: Floats
    own_gains: Floats
    own_tests: Tests

    @cached_property
    def slowdown(self) -> float:
        """The service's gain, or at least its slower methods' gain if others compensated it."""
        losses = [
            float(gains[list(places)].sum())
            for one in self.methods
            for gains, places, is_slower in (
                (self.own_gains, one.method.places, one.own_is_slower),
                (self.gains, one.method.outermost, one.is_slower),
            )
            if is_slower
        ]
        slowdown = max(float(self.gains[self.tree.roots].sum()), *losses, 0.0)
        if slowdown or not is_relative(self.tree):
            return slowdown
        # Shares always sum to one: if none grew significantly, the largest growth is the slowdown.
        return max((float(self.gains[list(one.method.outermost)].sum()) for one in self.methods), default=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Family:
    """Tests of one kind of amount, and their q-values, NaN if not tested."""

    tests: Tests
    q_values: Floats


class _Families(NamedTuple):
    """`own` and `total` of the methods over all their paths, and of the single paths."""

    own: _Family
    total: _Family
    path_own: _Family
    path_total: _Family


def test_trees(trees: Sequence[AlignedTree], settings: ComparisonSettings) -> list[Searched]:
    """Test own time and time with callees, of methods and of their single paths: four families of tests.

    The false discovery rate is controlled over all trees together [Benjamini & Hochberg 1995], and over the families by
    Bonferroni. Tests of callers and callees depend positively. Every node is tested, whatever its ancestors' results.
    """
    methods = [methods_of(tree) for tree in trees]
    shared = common(trees, methods)
    kinds = [
        [[one.own for one in each] for each in methods],
        [[one.total for one in each] for each in methods],
        [[merged([node], "own", tree) for node in tree.nodes] for tree in trees],
        [[merged([node], "elapsed", tree) for node in tree.nodes] for tree in trees],
    ]
    families = zip(*(_family(trees, shared, rows, settings) for rows in kinds), strict=True)
    return [
        _search(tree, some, each, _Families(*family), settings)
        for tree, some, each, family in zip(trees, shared, methods, families, strict=True)
    ]


def _family(
    trees: Sequence[AlignedTree],
    shared: Sequence[Common],
    rows: Sequence[Sequence[TestedRow]],
    settings: ComparisonSettings,
) -> list[_Family]:
    tests = [
        test_rows(tree, some, one, level=1 - settings.alpha)
        for tree, some, one in zip(trees, rows, shared, strict=True)
    ]
    p_values = np.concatenate([one.p_value for one in tests])
    q_values = np.full(len(p_values), np.nan)
    tested = ~np.isnan(p_values)
    if tested.any():
        q_values[tested] = np.minimum(families_of(trees) * benjamini_hochberg(p_values[tested]), 1.0)
    ends = np.cumsum([len(one.p_value) for one in tests])
    parts = np.split(q_values, ends[:-1])
    return [_Family(tests=one, q_values=part) for one, part in zip(tests, parts, strict=True)]


def _search(
    tree: AlignedTree, shared: Common, methods: Sequence[TreeMethod], families: _Families, settings: ComparisonSettings
) -> Searched:
    whole = max(tree.target.total * scales(tree, shared)[0], tree.baseline.total)
    own_slower, slower, path_own_slower, path_slower = (_is_slower(one, whole, settings) for one in families)
    judgements = tuple(
        _judge(node, i, families, is_slower=bool(path_slower[i]), whole=whole, settings=settings)
        for i, node in enumerate(tree.nodes)
    )
    for method, own_grew, grew in zip(methods, own_slower, slower, strict=True):
        # A call graph split into paths gives an old method new ones by chance; real new calls would make it slower.
        is_moved = method.is_in_baseline and method.is_in_target and not (own_grew or grew)
        for i in method.places:
            if method.is_loading or (is_moved and judgements[i].state is NodeState.ADDED):
                judgements[i].is_real = False
    gains, own_gains = families.path_total.tests.gain, families.path_own.tests.gain
    for i, one in enumerate(judgements):
        parent = tree.nodes[i].parent
        if one.is_real and parent >= 0 and abs(gains[i]) >= max(NOTABLE * abs(gains[parent]), TRIFLE * whole):
            judgements[parent].changed_calls = judgements[parent].changed_calls or tree.nodes[parent].is_in_both
    result = Searched(
        tree=tree,
        common=shared,
        judged=judgements,
        methods=tuple(
            JudgedMethod(
                method=one,
                self_q_value=number(families.own.q_values[i]),
                q_value=number(families.total.q_values[i]),
                own_is_slower=bool(own_slower[i] and not one.is_loading),
                is_slower=bool(slower[i] and not one.is_loading),
            )
            for i, one in enumerate(methods)
        ),
        gains=gains,
        own_gains=own_gains,
        own_tests=families.own.tests,
    )
    for i, one in enumerate(judgements):
        one.reasons += _reasons(result, i, own_is_slower=bool(path_own_slower[i]))
    return result


def _is_slower(family: _Family, whole: float, settings: ComparisonSettings) -> Booleans:
    """Whether each row is slower: by its q-value if there is one; by totals alone, if it gained enough."""
    tests = family.tests
    certain = np.isnan(family.q_values) & np.isnan(tests.p_value) & np.isnan(tests.error)
    sure = np.where(certain, True, family.q_values < settings.alpha)
    # A change from zero counts as infinite.
    change = np.where(np.isnan(tests.change), np.inf, tests.change)
    return np.asarray(sure & reaches(change, settings.minimum_effect, upwards=True) & (tests.gain >= TRIFLE * whole))


def _judge(
    node: AlignedNode, i: int, families: _Families, *, is_slower: bool, whole: float, settings: ComparisonSettings
) -> Judged:
    tests, q_value = families.path_total.tests, number(families.path_total.q_values[i])
    one = Judged(
        interval=_interval(tests, i, 1 - settings.alpha),
        p_value=number(tests.p_value[i]),
        q_value=q_value,
        self_q_value=number(families.path_own.q_values[i]),
    )
    is_sure = is_slower if q_value is None else q_value < settings.alpha
    if not node.is_in_both:
        one.state = NodeState.REMOVED if node.target is None else NodeState.ADDED
        always = node.side.calls is not None and node.side.calls >= 1
        large = abs(tests.gain[i]) >= TRIFLE * whole
        one.is_real = bool(large and (always or is_sure or (q_value is None and np.isnan(tests.error[i]))))
    elif is_slower:
        one.state = NodeState.SLOWER
        one.cause = cause_of(node)
    elif q_value is None:
        one.state = NodeState.NOT_TESTED if not np.isnan(tests.error[i]) else NodeState.UNDECIDED
    elif (
        is_sure
        and reaches(-tests.change[i], settings.minimum_effect, upwards=True)
        and tests.gain[i] <= -TRIFLE * whole
    ):
        one.state = NodeState.FASTER
    else:
        one.state = NodeState.UNDECIDED
    return one


def _reasons(one: Searched, i: int, *, own_is_slower: bool) -> Iterator[SuspectReason]:
    node, judgement = one.tree.nodes[i], one.judged[i]
    gain = float(one.gains[i])
    if judgement.state is NodeState.ADDED and judgement.is_real:
        # If the caller did not gain, the new callee replaces earlier code.
        above = float(one.gains[node.parent]) if node.parent >= 0 else gain
        # In shares, the root always has everything, whatever it gained.
        is_whole = node.parent >= 0 and one.tree.nodes[node.parent].parent < 0 and is_relative(one.tree)
        if gain >= NOTABLE * above and (is_whole or above >= NOTABLE * gain):
            yield SuspectReason.ADDED
    if judgement.state is not NodeState.SLOWER:
        return
    slow = (NodeState.SLOWER, NodeState.ADDED)
    slower = [
        child for child in node.children if one.judged[child].state in slow and one.gains[child] >= NOTABLE * gain
    ]
    if not slower:
        yield SuspectReason.PATH_END
    if own_is_slower and one.own_gains[i] >= NOTABLE * gain:
        yield SuspectReason.OWN_TIME
    if judgement.changed_calls:
        yield SuspectReason.CHANGED_CALLS
    if any(called_more_often(node, one.tree.nodes[child]) for child in slower):
        yield SuspectReason.CALLS_MORE_OFTEN


def _interval(tests: Tests, i: int, level: float) -> Interval | None:
    low, high = number(tests.low[i]), number(tests.high[i])
    return None if low is None or high is None else Interval(low=low, high=high, level=level)
