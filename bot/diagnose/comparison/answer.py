"""One of three answers per service: slower, not slower (and what would have been seen), or undecided (and why)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from bot.diagnose.comparison.align import AlignedTree
from bot.diagnose.comparison.common import is_relative
from bot.diagnose.comparison.methods import total_row
from bot.diagnose.comparison.observed import Spread, spread
from bot.diagnose.comparison.search import TRIFLE, Searched
from bot.diagnose.comparison.significance import basis_of, visible_gain
from bot.diagnose.settings import ComparisonSettings
from bot.model.reason import Doubt, Reason, because
from bot.model.tree_comparison import Answer, Basis, SuspectReason
from bot.stats.ragged import Moments
from bot.stats.two_groups import welch

# Less than this share of the time in methods of both revisions is no comparison *(choice)*.
ALIGNED: Final = 0.8
# A benchmark's regression is called from 5% on (`minimum_effect` of the configuration): "nothing got slower" must not
# deny one of that size.
VISIBLE: Final = 0.05
# The whole takes so much longer that what gained most is listed, though no method is slower for sure *(choice)*.
MUCH: Final = 0.25
# The whole need not be slower for sure to forbid "nothing got slower".
DOUBTFUL: Final = 0.05
# Common to all methods; less is how medians of good runs differ.
COMMON: Final = 1.05
# More than ten times the whole is not told apart: two wild repetitions could hide a factor of 1e300 *(choice)*.
ANYTHING: Final = 10.0
FEWEST: Final = 5
MOST: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    answer: Answer
    visible: float | None
    aligned: float
    doubts: tuple[Reason, ...]

    @property
    def is_slower_whole(self) -> bool:
        """The whole takes so much longer that it is hardly chance, though no method does for sure."""
        return any(
            doubt.code in (Doubt.WHOLE_SLOWER, Doubt.MORE_SAMPLES) and float(str(doubt.arguments["change"])) >= MUCH
            for doubt in self.doubts
        )


def judge(one: Searched, settings: ComparisonSettings) -> Judgement:
    visible = _visible(one, settings)
    aligned = _aligned(one)
    doubts = tuple(_doubts(one, visible, aligned, settings))
    is_certain = basis_of(one.tree.baseline, one.tree.target) is not Basis.TOTALS
    is_new = any(SuspectReason.ADDED in judged.reasons for judged in one.judged)
    if is_certain and (is_new or any(method.own_is_slower or method.is_slower for method in one.methods)):
        answer = Answer.SLOWER
    else:
        answer = Answer.UNDECIDED if doubts else Answer.NOT_SLOWER
    return Judgement(answer=answer, visible=visible, aligned=aligned, doubts=() if answer is Answer.SLOWER else doubts)


def _doubts(one: Searched, visible: float | None, aligned: float, settings: ComparisonSettings) -> Iterator[Reason]:
    tree = one.tree
    if basis_of(tree.baseline, tree.target) is Basis.TOTALS:
        yield because(Doubt.UNKNOWN_WEIGHTS if is_relative(tree) else Doubt.ONE_REPETITION, wanted=FEWEST)
        return
    if aligned < ALIGNED:
        yield because(Doubt.NOT_ALIGNED, aligned=aligned)
    if (change := _whole_change(one, settings)) is not None:
        yield because(Doubt.MORE_SAMPLES if is_relative(tree) else Doubt.WHOLE_SLOWER, change=change)
    if one.common.methods and one.common.factor >= COMMON and not is_relative(tree):
        yield because(Doubt.ALL_SLOWER, factor=one.common.factor)
    if visible is None:
        if tree.baseline.whole and tree.target.whole:
            yield because(Doubt.FEW_SAMPLES, baseline=round(tree.baseline.whole), target=round(tree.target.whole))
        else:
            yield because(Doubt.ONE_REPETITION, wanted=FEWEST)
    elif visible > VISIBLE:
        repetitions = min(tree.baseline.repetitions, tree.target.repetitions)
        wanted = max(FEWEST, math.ceil(repetitions * (visible / VISIBLE) ** 2))
        yield because(Doubt.NOISY_METHODS, visible=visible, wanted=min(wanted, MOST))


def _visible(one: Searched, settings: ComparisonSettings) -> float | None:
    """The largest gain that any tested method could have hidden, as a share of the baseline's whole."""
    gains = visible_gain(one.own_tests, alpha=settings.alpha)
    if not one.tree.baseline.total > 0 or np.isnan(gains).all():
        return None
    return min(max(TRIFLE, float(np.nanmax(gains)) / one.tree.baseline.total), ANYTHING)


def _aligned(one: Searched) -> float:
    """Of each side's own time, what is in methods of both; the smaller of the two."""
    both = [judged.method.own for judged in one.methods if judged.method.is_in_both]
    sides = (
        (sum(row.baseline.mean for row in both), one.tree.baseline.total),
        (sum(row.target.mean for row in both), one.tree.target.total),
    )
    return min(1.0, *(shared / total if total > 0 else 1.0 for shared, total in sides))


def _whole_change(one: Searched, settings: ComparisonSettings) -> float | None:
    """How much longer the whole takes than what all methods have in common, where that may be more than chance.

    Of shares the samples behind them: where both sides did the same work, they are its time.
    """
    tree = one.tree
    sides = tree.target.wholes, tree.baseline.wholes
    if not is_relative(tree):
        factor = max(1.0, one.common.factor)
        change = tree.target.total / (tree.baseline.total * factor) - 1 if tree.baseline.total > 0 else 0.0
        row = total_row(tree)
        target, baseline = row.target, row.baseline
    elif all(map(sum, sides)):
        target, baseline = map(spread, sides)
        change = target.mean / baseline.mean - 1
    else:
        return None
    smallest = VISIBLE if is_relative(tree) else settings.minimum_effect
    return change if change >= smallest and _p_value(tree, target, baseline) < DOUBTFUL else None


def _p_value(tree: AlignedTree, target: Spread, baseline: Spread) -> float:
    if min(tree.target.repetitions, tree.baseline.repetitions) < 2:
        return 0.0
    moments = (
        Moments(np.array([float(side.repetitions)]), np.array([amount.mean]), np.array([amount.squares]))
        for side, amount in ((tree.target, target), (tree.baseline, baseline))
    )
    return float(welch(*moments).p_value[0])
