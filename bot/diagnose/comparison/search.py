"""Down from the roots through slower methods, level by level [H13, section 4.2]."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from bot.diagnose.comparison.align import AlignedNode, AlignedTree
from bot.diagnose.comparison.cause import called_more_often, cause_of
from bot.diagnose.comparison.observed import SHARE, ObservedNode, Spread
from bot.diagnose.comparison.settings import ComparisonSettings
from bot.diagnose.comparison.significance import Test, elapsed, own, test_paths
from bot.model.tree_comparison import ChangeCause, NodeState, SuspectReason
from bot.stats.multiplicity import benjamini_hochberg

# Of a node's slowdown. Where what it newly calls explains less, the methods that it still calls are looked at too.
EXPLAINED: Final = 0.5
# Of a node's slowdown: what brings less is not what made it slower.
NOTABLE: Final = 0.1
# Of what the caller gained: below this a microsecond more, which caches or a clock may cost, would be a suspect.
TRIFLE: Final = 0.001
_Level: TypeAlias = list[list[int]]


@dataclass(kw_only=True, slots=True)
class Judged:
    """What the search found out about one path. `is_real`: one side alone has the path, and not by chance."""

    state: NodeState = NodeState.NOT_TESTED
    test: Test | None = None
    q_value: float | None = None
    self_q_value: float | None = None
    cause: ChangeCause | None = None
    is_real: bool = False
    changed_calls: bool = False
    reasons: list[SuspectReason] = field(default_factory=list)


def search(trees: Sequence[AlignedTree], settings: ComparisonSettings) -> list[list[Judged]]:
    """Per tree and node. The false discovery rate is held inside a level, over all trees together.

    A slower node whose own calls changed (a method called there in one revision only) is a suspect. It is not descended
    where the added and removed methods explain half of its slowdown or more *(choice; the source never descends)*:
    a trifle that is newly called must not hide a slower method beside it.
    """
    running = _Search(trees=trees, settings=settings, judged=[[Judged() for _ in tree.nodes] for tree in trees])
    running.run()
    return running.judged


@dataclass(frozen=True, kw_only=True, slots=True)
class _Search:
    trees: Sequence[AlignedTree]
    settings: ComparisonSettings
    judged: list[list[Judged]]

    def run(self) -> None:
        for tree, judged in zip(self.trees, self.judged, strict=True):
            for node, one in zip(tree.nodes, judged, strict=True):
                if not node.is_in_both:
                    one.state = NodeState.REMOVED if node.target is None else NodeState.ADDED
        level = [[i for i in tree.roots if tree.nodes[i].is_in_both] for tree in self.trees]
        while any(level):
            self._judge(level)
            opened = [
                [i for i in places if self._is_opened(tree, judged, i)]
                for tree, judged, places in zip(self.trees, self.judged, level, strict=True)
            ]
            self._judge_one_sided(opened)
            level = [
                [child for i in places for child in _descended(tree, judged, i)]
                for tree, judged, places in zip(self.trees, self.judged, opened, strict=True)
            ]
        for tree, judged in zip(self.trees, self.judged, strict=True):
            for node, one in zip(tree.nodes, judged, strict=True):
                one.reasons += self._reasons(tree, judged, node, one)

    def _judge(self, level: _Level) -> None:
        tested = self._tested(level, elapsed)
        for ((number, i), test, q_value), (*_, self_q_value) in zip(tested, self._tested(level, own), strict=True):
            one = self.judged[number][i]
            one.test, one.q_value, one.self_q_value = test, q_value, self_q_value
            one.state = self._state(test, q_value)
            if one.state is NodeState.SLOWER and _is_trifle(self.trees[number], i):
                one.state = NodeState.UNDECIDED
            if one.state is NodeState.SLOWER:
                one.cause = cause_of(self.trees[number].nodes[i])

    def _judge_one_sided(self, opened: _Level) -> None:
        """Paths below `opened` that one revision took: chance in a sampled profile or a rare branch of a log."""
        level = [
            [child for i in places for child in tree.nodes[i].children if not tree.nodes[child].is_in_both]
            for tree, places in zip(self.trees, opened, strict=True)
        ]
        for (number, i), test, q_value in self._tested(level, elapsed):
            tree, one = self.trees[number], self.judged[number][i]
            node = tree.nodes[i]
            side = node.target or node.baseline
            always = side is not None and side.calls is not None and side.calls >= 1
            above = tree.nodes[node.parent]
            notable = _is_whole(tree, above) or abs(node.gain) >= NOTABLE * above.gain
            one.test, one.q_value = test, q_value
            one.is_real = always or (notable if q_value is None else q_value < self.settings.alpha)
            if one.is_real and not _is_whole(tree, above):
                self.judged[number][node.parent].changed_calls = True

    def _tested(
        self, level: _Level, of: Callable[[ObservedNode], Spread]
    ) -> list[tuple[tuple[int, int], Test, float | None]]:
        """Per path its tree's number and its own, the test, and the q-value over all of them."""
        found = [
            ((number, i), test)
            for number, (tree, places) in enumerate(zip(self.trees, level, strict=True))
            for i, test in zip(places, test_paths(tree, places, of=of, level=1 - self.settings.alpha), strict=True)
        ]
        q_values = _q_values([test for _, test in found])
        return [(place, test, q_value) for (place, test), q_value in zip(found, q_values, strict=True)]

    def _state(self, test: Test, q_value: float | None) -> NodeState:
        change = test.relative_change
        if q_value is not None and q_value >= self.settings.alpha:
            return NodeState.UNDECIDED
        if change is None:
            # From nothing to something is as large as a change can be; from nothing to nothing is none.
            return NodeState.SLOWER if q_value is not None else NodeState.UNDECIDED
        if change >= self.settings.minimum_effect:
            return NodeState.SLOWER
        return NodeState.FASTER if change <= -self.settings.minimum_effect else NodeState.UNDECIDED

    def _is_opened(self, tree: AlignedTree, judged: Sequence[Judged], i: int) -> bool:
        return judged[i].state is NodeState.SLOWER or _is_whole(tree, tree.nodes[i])

    def _reasons(
        self, tree: AlignedTree, judged: Sequence[Judged], node: AlignedNode, one: Judged
    ) -> Iterator[SuspectReason]:
        if one.state is NodeState.ADDED and one.is_real:
            above = tree.nodes[node.parent]
            if node.gain >= (self.settings.minimum_effect if _is_whole(tree, above) else NOTABLE * above.gain):
                yield SuspectReason.ADDED
        if one.state is not NodeState.SLOWER:
            return
        slower = [child for child in node.children if judged[child].state is NodeState.SLOWER]
        if not slower:
            yield SuspectReason.PATH_END
        is_sure = one.self_q_value is None or one.self_q_value < self.settings.alpha
        if node.own_gain >= NOTABLE * node.gain and is_sure:
            yield SuspectReason.OWN_TIME
        if one.changed_calls:
            yield SuspectReason.CHANGED_CALLS
        if any(called_more_often(node, tree.nodes[child]) for child in slower):
            yield SuspectReason.CALLS_MORE_OFTEN


def _is_whole(tree: AlignedTree, node: AlignedNode) -> bool:
    """A root of shares: all samples are below it, so its share cannot change and nothing can be said of it."""
    return node.parent < 0 and tree.target.unit == SHARE


def _is_trifle(tree: AlignedTree, i: int) -> bool:
    node = tree.nodes[i]
    if node.parent < 0 or _is_whole(tree, tree.nodes[node.parent]):
        return False
    return node.gain < TRIFLE * tree.nodes[node.parent].gain


def _descended(tree: AlignedTree, judged: Sequence[Judged], i: int) -> list[int]:
    """The methods to look at below a node: none where what it newly calls, or no longer, explains its slowdown."""
    node = tree.nodes[i]
    gained = sum(tree.nodes[child].gain for child in node.children if judged[child].is_real)
    if judged[i].changed_calls and abs(gained) >= EXPLAINED * node.gain:
        return []
    return [child for child in node.children if tree.nodes[child].is_in_both]


def _q_values(tests: Sequence[Test]) -> list[float | None]:
    tested = [test.p_value for test in tests if test.p_value is not None]
    values = iter(benjamini_hochberg(np.array(tested)).tolist() if tested else ())
    return [None if test.p_value is None else next(values) for test in tests]
