"""What all methods have in common: the machine's state in each repetition, and, of shares, what another method took."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bot.diagnose.comparison.align import AlignedTree
from bot.diagnose.comparison.methods import Method, Row
from bot.diagnose.comparison.observed import SHARE
from bot.stats.ragged import Floats

# Fewer methods than this hardly show what is common *(choice)*: the change itself may be most of them.
FEWEST_METHODS: Final = 8
# Of the whole, and in sampled profiles also samples of both sides together: smaller ones are noise.
SMALLEST_SHARE: Final = 0.001
SMALLEST_COUNT: Final = 10.0
# Times that differ by more in most methods: no machine's state or build is told from more work by them *(choice)*.
MOST_COMMON: Final = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Common:
    """Factors per repetition (n,) around those of both revisions together; `factor`: the target's over the baseline's.

    Medians over methods, as DESeq normalises counts of genes [Anders & Huber 2010, section 2.2]: right as long as
    fewer than half of the methods changed. Where calls are counted, of the time per call: what is called more often is
    the program, not the machine. All 1 where there are too few methods, or where times differ by more than MOST_COMMON.
    `variance`: of the factor's logarithm.
    """

    baseline: Floats
    target: Floats
    factor: float
    variance: float = 0.0
    methods: int = 0


def common(tree: AlignedTree, methods: Sequence[Method]) -> Common:
    none = Common(baseline=np.ones(tree.baseline.repetitions), target=np.ones(tree.target.repetitions), factor=1.0)
    result = _common(tree, methods, none)
    is_state = is_relative(tree) or 1 / MOST_COMMON <= result.factor <= MOST_COMMON
    return result if is_state else none


def _common(tree: AlignedTree, methods: Sequence[Method], none: Common) -> Common:
    sides = (tree.baseline, tree.target)
    totals = [side.total for side in sides]
    if min(totals) <= 0:
        return none
    shared = [
        method
        for method in methods
        if all(
            spread.mean >= SMALLEST_SHARE * total and spread.mean * (side.whole or np.inf) >= SMALLEST_COUNT / 2
            for spread, side, total in zip((method.own.baseline, method.own.target), sides, totals, strict=True)
        )
    ]
    if len(shared) < FEWEST_METHODS:
        return none
    rows = [method.own for method in shared]
    calls = np.array([method.calls or (1.0, 1.0) for method in shared])
    values = _values(rows)
    if values is None:
        logs = np.log([one.target.mean / one.baseline.mean for one in rows]) - np.log(calls[:, 1] / calls[:, 0])
        return Common(
            baseline=none.baseline,
            target=none.target,
            factor=float(np.exp(np.median(logs))),
            variance=_median_variance(logs),
            methods=len(rows),
        )
    count = tree.baseline.repetitions
    values[:, :count] /= calls[:, :1]
    values[:, count:] /= calls[:, 1:]
    # The middle of the two sides, so that neither of them is what is compared with.
    middle = np.sqrt(values[:, :count].mean(axis=1) * values[:, count:].mean(axis=1))
    factors = np.median(values / middle[:, None], axis=0)
    if not factors.all():
        # Most of these methods have no sample in some repetition: too rare to show anybody's state.
        return none
    logs = np.log(values[:, count:].mean(axis=1) / values[:, :count].mean(axis=1))
    return Common(
        baseline=factors[:count],
        target=factors[count:],
        factor=float(factors[count:].mean() / factors[:count].mean()),
        variance=_median_variance(logs),
        methods=len(rows),
    )


def is_relative(tree: AlignedTree) -> bool:
    """Whether amounts are shares, of which only the relation to each other is known."""
    return tree.target.unit == SHARE


def _values(rows: Sequence[Row]) -> Floats | None:
    if any(_of(one) is None for one in rows):
        return None
    return np.array([_of(one) for one in rows], dtype=np.float64)


def _of(row: Row) -> tuple[float, ...] | None:
    before, after = row.baseline.values, row.target.values
    return None if before is None or after is None else (*before, *after)


def _median_variance(logs: Floats) -> float:
    """Of the median of normal values with a robust spread: pi / 2 times that of the mean."""
    spread = 1.4826 * float(np.median(np.abs(logs - np.median(logs))))
    return float(np.pi / 2 * spread**2 / len(logs))
