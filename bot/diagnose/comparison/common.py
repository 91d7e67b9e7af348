"""What all methods have in common: the machine's state in each repetition, and, of shares, what another method took."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from bot.diagnose.comparison.align import AlignedTree
from bot.diagnose.comparison.methods import Method
from bot.diagnose.comparison.observed import SHARE
from bot.stats.ragged import Floats

# Fewer methods than this hardly show what is common *(choice)*: the change itself may be most of them.
FEWEST_METHODS: Final = 8
# Of the whole, and in sampled profiles also samples of both sides together: smaller ones are noise.
SMALLEST_SHARE: Final = 0.001
SMALLEST_COUNT: Final = 10.0
# A method is called as often as before where its calls differ by no more than caches and hashes make them *(choice)*.
SAME_CALLS: Final = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Common:
    """Factors per repetition (n,) around those of both revisions together; `factor`: the target's over the baseline's.

    Medians over methods, as DESeq normalises counts of genes [Anders & Huber 2010, section 2.2]: right as long as
    fewer than half of the methods changed. Where calls are counted, of the time per call, and of methods called as
    often as before: what is called more often is the program, not the machine. A machine also slows what takes most
    of the time: of times the factor is no further from 1 than the median over the time that both revisions take.
    All 1 where there are too few methods. `variance`: of the factor's logarithm.
    """

    baseline: Floats
    target: Floats
    factor: float
    variance: float = 0.0
    methods: int = 0


def common(tree: AlignedTree, methods: Sequence[Method]) -> Common:
    result = Common(baseline=np.ones(tree.baseline.repetitions), target=np.ones(tree.target.repetitions), factor=1.0)
    sides = (tree.baseline, tree.target)
    totals = [side.total for side in sides]
    if min(totals) <= 0:
        return result
    shared = [
        method
        for method in methods
        if all(
            spread.mean >= SMALLEST_SHARE * total and spread.mean * (side.whole or np.inf) >= SMALLEST_COUNT / 2
            for spread, side, total in zip((method.own.baseline, method.own.target), sides, totals, strict=True)
        )
    ]
    as_often = [one for one in shared if one.calls and abs(one.calls[1] / one.calls[0] - 1) <= SAME_CALLS]
    shared = as_often if len(as_often) >= FEWEST_METHODS else shared
    if len(shared) < FEWEST_METHODS:
        return result
    calls = np.array([method.calls or (1.0, 1.0) for method in shared])
    means = np.array([(one.own.baseline.mean, one.own.target.mean) for one in shared])
    logs = np.log(means[:, 1] / means[:, 0]) - np.log(calls[:, 1] / calls[:, 0])
    variance, middle = _median_variance(logs), float(np.median(logs))
    rows = [
        (*row.baseline.values, *row.target.values)
        for row in (one.own for one in shared)
        if row.baseline.values is not None and row.target.values is not None
    ]
    if len(rows) == len(shared):
        values = np.array(rows)
        count = tree.baseline.repetitions
        values[:, :count] /= calls[:, :1]
        values[:, count:] /= calls[:, 1:]
        # The middle of the two sides, so that neither of them is what is compared with.
        values /= np.sqrt(values[:, :count].mean(axis=1) * values[:, count:].mean(axis=1))[:, None]
        factors = np.median(values, axis=0)
        if not factors.all():
            # Most of these methods have no sample in some repetition: too rare to show anybody's state.
            return result
        result = replace(result, baseline=factors[:count], target=factors[count:])
        middle = float(np.log(result.target.mean() / result.baseline.mean()))
    if not is_relative(tree):
        low, high = sorted((middle, _middle_of_time(logs, means.min(axis=1))))
        middle = min(max(0.0, low), high)
    return replace(result, factor=float(np.exp(middle)), variance=variance, methods=len(shared))


def _middle_of_time(logs: Floats, times: Floats) -> float:
    """The median of (m,) weighted by (m,)."""
    order = np.argsort(logs)
    reached = np.cumsum(times[order])
    return float(logs[order][np.searchsorted(reached, reached[-1] / 2)])


def is_relative(tree: AlignedTree) -> bool:
    """Whether amounts are shares, of which only the relation to each other is known."""
    return tree.target.unit == SHARE


def _median_variance(logs: Floats) -> float:
    """Of the median of normal values with a robust spread: pi / 2 times that of the mean."""
    spread = 1.4826 * float(np.median(np.abs(logs - np.median(logs))))
    return float(np.pi / 2 * spread**2 / len(logs))
