"""Whether paths of one level got slower: by repetitions, by counted samples, or by totals alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bot.diagnose.comparison.align import AlignedTree, relative
from bot.diagnose.comparison.observed import SHARE, Observed, ObservedNode, Spread
from bot.model.finding import Interval
from bot.model.tree_comparison import Basis
from bot.stats.ragged import Floats, Moments
from bot.stats.relative import MeanEstimate, change_interval, welch_freedom
from bot.stats.two_groups import one_way_anova, welch
from bot.stats.two_rates import equal_rates, equal_shares, rate_ratio_interval, share_ratio_interval


@dataclass(frozen=True, kw_only=True, slots=True)
class Test:
    """`p_value` is None where totals are all there is."""

    relative_change: float | None
    interval: Interval | None
    p_value: float | None


def basis_of(baseline: Observed, target: Observed) -> Basis:
    """Repetitions hold everything that varies between executions, so they come first."""
    if min(baseline.repetitions, target.repetitions) > 1:
        return Basis.SAMPLES
    return Basis.COUNTS if baseline.whole and target.whole else Basis.TOTALS


def elapsed(node: ObservedNode) -> Spread:
    return node.elapsed


def own(node: ObservedNode) -> Spread:
    return node.own


def test_paths(
    tree: AlignedTree, places: Sequence[int], *, of: Callable[[ObservedNode], Spread], level: float
) -> list[Test]:
    """Of paths that both revisions took, in order; `of` chooses the time with callees or without.

    SAMPLES: one-way ANOVA [H13, section 4.2] and Welch's test, the larger p-value of the two *(choice)*: unequal
    variances with unequal numbers of repetitions would make ANOVA alone see slower methods where there are none.
    COUNTS: equal rates where both profiles recorded the same work, else equal shares. TOTALS: no test.
    """
    pairs = [(_side(tree.nodes[i].target, of), _side(tree.nodes[i].baseline, of)) for i in places]
    if not pairs:
        return []
    target = _moments([pair[0] for pair in pairs], tree.target.repetitions)
    baseline = _moments([pair[1] for pair in pairs], tree.baseline.repetitions)
    basis = basis_of(tree.baseline, tree.target)
    p_values = low = high = np.full(len(pairs), np.nan, dtype=np.float64)
    if basis is Basis.SAMPLES:
        p_values = np.maximum(one_way_anova(target, baseline).p_value, welch(target, baseline).p_value)
        low, high = _fieller(target, baseline, level)
    elif basis is Basis.COUNTS:
        p_values, low, high = _counted(tree, target.mean, baseline.mean, level)
    columns = (target.mean, baseline.mean, p_values, low, high)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [
        Test(
            relative_change=relative(after, before),
            interval=Interval(low=lower, high=upper, level=level) if np.isfinite([lower, upper]).all() else None,
            p_value=None if np.isnan(p_value) else p_value,
        )
        for after, before, p_value, lower, upper in rows
    ]


def _side(node: ObservedNode | None, of: Callable[[ObservedNode], Spread]) -> Spread:
    return Spread(0.0, 0.0) if node is None else of(node)


def _moments(spreads: Sequence[Spread], count: int) -> Moments:
    return Moments(
        np.full(len(spreads), float(count)),
        np.array([one.mean for one in spreads]),
        np.array([one.squares for one in spreads]),
    )


def _fieller(target: Moments, baseline: Moments, level: float) -> tuple[Floats, Floats]:
    return change_interval(
        MeanEstimate(target.mean, target.variance / target.count),
        MeanEstimate(baseline.mean, baseline.variance / baseline.count),
        degrees_of_freedom=welch_freedom(target, baseline),
        level=level,
    )


def _counted(tree: AlignedTree, target: Floats, baseline: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """p-values, and bounds of the relative change. Amounts are counts, or shares of the two wholes."""
    wholes = [np.full(len(target), side.whole or 0.0) for side in (tree.target, tree.baseline)]
    if tree.target.unit != SHARE:
        one = np.ones(len(target))
        p_values = equal_rates(target, baseline, target_exposure=one, baseline_exposure=one)
        bounds = rate_ratio_interval(target, baseline, level=level)
    else:
        # Rounding may take a share a little above the whole.
        counts = [np.minimum(shares * whole, whole) for shares, whole in zip((target, baseline), wholes, strict=True)]
        p_values = equal_shares(*counts, target_whole=wholes[0], baseline_whole=wholes[1])
        bounds = share_ratio_interval(*counts, target_whole=wholes[0], baseline_whole=wholes[1], level=level)
    return p_values, bounds[0] - 1, bounds[1] - 1
