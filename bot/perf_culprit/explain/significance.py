"""Test whether amounts of two revisions differ: by repetitions, by counted samples, or by totals alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.explain.aligned_trees import AlignedTree, Observed, Spread
from perf_culprit.explain.diagnosis_constants import (
    CONFIDENCE,
    DISPERSION,
    ENOUGH_METHODS,
    FEWEST_TO_TRIM,
    RUN_TO_RUN,
    SMALLEST_SHARE,
)
from perf_culprit.explain.tree_methods import Common, TestedRow, is_relative
from perf_culprit.model.report import Basis
from perf_culprit.stats.moderation import Moderated, effective_number, moderate
from perf_culprit.stats.power import NEARLY_NORMAL
from perf_culprit.stats.ragged import Moments
from perf_culprit.stats.two_groups import one_way_anova, satterthwaite, student_t, welch


@dataclass(frozen=True, kw_only=True, slots=True)
class Tests:
    """One value per row, shape (m,); NaN if not tested. `change`: relative, beyond the common factor of all methods.

    `gain`: the same in the tree's unit, `error` its standard error with `freedom`. `low`, `high`: bounds of the change.
    `beyond`: the gain relative to the common factor, even if that is below 1 and the method's own time did not grow.
    """

    change: Floats
    gain: Floats
    beyond: Floats
    p_value: Floats
    low: Floats
    high: Floats
    error: Floats
    freedom: Floats


def basis_of(baseline: Observed, target: Observed) -> Basis:
    """Return the basis of the tests. Repetitions come first, because they contain all variation between executions."""
    if min(baseline.repetitions, target.repetitions) > 1:
        return Basis.SAMPLES
    return Basis.COUNTS if baseline.whole and target.whole else Basis.TOTALS


def test_rows(tree: AlignedTree, rows: Sequence[TestedRow], common: Common, *, level: float) -> Tests:
    """Test all rows, except those below 0.1% of the whole on both sides or with a handful of samples.

    Sampled stacks are counted, in one profile or in many. Otherwise, SAMPLES use a t-test of trimmed means of
    logarithms. Its variance is moderated by the other rows, because few repetitions are little evidence. Without single
    values (logs of many calls), it is the larger p-value of ANOVA [H13, section 4.2] and Welch's test. TOTALS: no test.
    All tests include the variance between methods from side to side, beyond their own noise.
    """
    basis = basis_of(tree.baseline, tree.target)
    if not rows:
        none = np.zeros(0)
        return Tests(change=none, gain=none, beyond=none, p_value=none, low=none, high=none, error=none, freedom=none)
    if basis is Basis.TOTALS:
        return _totals(tree, rows, common)
    if tree.baseline.whole and tree.target.whole:
        result = _test_counts(tree, rows, common, level=level)
    elif any(one.baseline.values is None or one.target.values is None for one in rows):
        result = _moments(tree, rows, common, level=level)
    else:
        result = _test_samples(tree, rows, common, level=level)
    result.p_value[~_is_testable(tree, rows)] = np.nan
    if is_relative(tree) or common.factor >= 1:
        return result
    target, baseline = _means(rows)
    with np.errstate(all="ignore"):
        change = _known_values(target / baseline - 1)
    return replace(result, change=np.minimum(result.change, change), gain=np.minimum(result.gain, target - baseline))


def _means(rows: Sequence[TestedRow]) -> tuple[Floats, Floats]:
    return np.array([one.target.mean for one in rows]), np.array([one.baseline.mean for one in rows])


def _is_testable(tree: AlignedTree, rows: Sequence[TestedRow]) -> Booleans:
    target, baseline = _means(rows)
    wholes = tree.target.total or np.inf, tree.baseline.total or np.inf
    large = np.maximum(target / wholes[0], baseline / wholes[1]) >= SMALLEST_SHARE
    if not tree.target.whole or not tree.baseline.whole:
        return np.asarray(large)
    counts = target * tree.target.whole / tree.target.total + baseline * tree.baseline.whole / tree.baseline.total
    return np.asarray(large & (counts >= DISPERSION * FEWEST_TO_TRIM))


def scales(tree: AlignedTree, common: Common) -> tuple[float, float]:
    """Factors for the target's and baseline's means that remove the common factor; times are as on the slower side."""
    is_slower = common.factor > 1 and not is_relative(tree)
    return (1.0, common.factor) if is_slower else (1 / common.factor, 1.0)


def _totals(tree: AlignedTree, rows: Sequence[TestedRow], common: Common) -> Tests:
    target, baseline = _means(rows)
    # A common slowdown may be caused by the machine, but cannot be recognized here: keep the totals.
    by_target = 1 / common.factor if is_relative(tree) else 1.0
    return _tests(target * by_target, baseline, *(np.full(len(rows), np.nan) for _ in range(3)), level=0.5)


def _tests(target: Floats, baseline: Floats, p_value: Floats, error: Floats, freedom: Floats, *, level: float) -> Tests:
    with np.errstate(all="ignore"):
        change = target / baseline - 1
        half = special.stdtrit(np.maximum(freedom, 1.0), 0.5 + level / 2) * error / baseline
        low, high = change - half, change + half
    return Tests(
        change=_known_values(change),
        gain=target - baseline,
        beyond=target - baseline,
        p_value=p_value,
        low=_known_values(np.maximum(low, -1.0)),
        high=_known_values(high),
        error=error,
        freedom=freedom,
    )


def _known_values(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _test_samples(tree: AlignedTree, rows: Sequence[TestedRow], common: Common, *, level: float) -> Tests:
    by_target, by_baseline = scales(tree, common)
    middle = common.factor**0.5
    sides = []
    for values, factors, scale in (
        ([one.target.values for one in rows], common.target / middle, by_target),
        ([one.baseline.values for one in rows], common.baseline * middle, by_baseline),
    ):
        # Remove each repetition's own factor, but keep that of its side.
        own = factors / factors.mean()
        sides.append(np.array(values, dtype=np.float64) / own * scale)
    is_trimmed = min(side.shape[1] for side in sides) >= FEWEST_TO_TRIM
    target, baseline = (_trimmed_moments(side, is_trimmed=is_trimmed) for side in sides)
    # Noise multiplies times, so logarithms have equal variances [Box & Cox 1964]; tiny amounts count as zero.
    nothing = SMALLEST_SHARE * max(tree.target.total, tree.baseline.total)
    logs = [np.log(np.maximum(side, 0.0) + nothing) for side in sides]
    after, before = (_trimmed_moments(side, is_trimmed=is_trimmed) for side in logs)
    freedom = after.count + before.count - 2
    pooled = (after.squares + before.squares) / freedom
    steadied = _steadied(pooled, freedom, 0.5 * (target.mean + baseline.mean), logs, used=_is_testable(tree, rows))
    variance = steadied.variance * (1 / after.count + 1 / before.count)
    if is_trimmed:
        # The winsorised variance of few is too small. In a simulation of 5 to 20 normal, lognormal and t(3) values per
        # side, false alarms were then 0.8 to 1.3 times the nominal number (0.01, 0.001).
        variance = variance * (1 + np.minimum(after.count, before.count) ** -1.5)
    difference = after.mean - before.mean
    variance, freedom = _with_spread(variance, steadied.degrees_of_freedom, common)
    p_value = student_t(difference, variance, freedom).p_value
    if after.count[0] != before.count[0]:
        # Unequal variances with unequal numbers of repetitions would look like changes.
        p_value = np.maximum(p_value, welch(after, before).p_value)
    error = np.sqrt(variance)
    before_mean = baseline.mean + nothing
    half = special.stdtrit(np.maximum(freedom, 1.0), 0.5 + level / 2) * error
    amount = np.maximum(target.mean, baseline.mean) + nothing
    result = _tests(target.mean, baseline.mean, p_value, error * amount, freedom, level=level)
    with np.errstate(all="ignore"):
        bounds = [(before_mean * np.exp(difference + side) - nothing) / baseline.mean - 1 for side in (-half, half)]
    return replace(result, low=_known_values(np.maximum(bounds[0], -1.0)), high=_known_values(bounds[1]))


def _with_spread(
    variance: Floats, freedom: Floats, common: Common, amounts: Floats | float = 1.0
) -> tuple[Floats, Floats]:
    """Add the variance between methods from side to side: a machine's state does not slow all methods by one factor."""
    spread = (common.spread + common.variance) * np.broadcast_to(amounts, len(variance)) ** 2
    return variance + spread, satterthwaite(variance, freedom, spread, np.full(len(variance), float(common.freedom)))


def _trimmed_moments(values: Floats, *, is_trimmed: bool) -> Moments:
    """Trimmed means of (m, n), and winsorised squares scaled so that variance / count is the mean's error²."""
    count = values.shape[1]
    cut = count // FEWEST_TO_TRIM if is_trimmed else 0
    ordered = np.sort(values, axis=1)
    inner = ordered[:, cut : count - cut]
    winsorised = np.clip(ordered, inner[:, :1], inner[:, -1:])
    squares = ((winsorised - winsorised.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    # Equal values have exactly no spread.
    squares[inner[:, 0] == inner[:, -1]] = 0.0
    return Moments(np.full(len(inner), float(inner.shape[1])), inner.mean(axis=1), squares)


def _steadied(variance: Floats, freedom: Floats, mean: Floats, sides: Sequence[Floats], *, used: Booleans) -> Moderated:
    """Moderate variances of logarithms around a line over the mean: small amounts vary more [Law et al. 2014]."""
    used = used & (variance > 0) & (mean > 0)
    if used.sum() < ENOUGH_METHODS:
        return Moderated(variance, freedom, 0.0)
    x, y = np.log(mean[used]), np.log(variance[used])
    slope = float(np.clip(((x - x.mean()) * (y - y.mean())).sum() / max(((x - x.mean()) ** 2).sum(), 1e-12), -2.0, 0.0))
    line = np.ones_like(variance)
    line[used] = np.exp(y.mean() + slope * (x - x.mean()))
    residuals = np.hstack([side - side.mean(axis=1, keepdims=True) for side in sides])
    worth = effective_number(residuals[used], freedom[used])
    moderated = moderate(np.where(used, variance / line, 0.0), freedom, effective_number=worth)
    return replace(moderated, variance=np.where(used, moderated.variance * line, variance))


def moments(side: Sequence[Spread], scale: float = 1.0) -> Moments:
    return Moments(
        np.array([float(one.count) for one in side]),
        np.array([one.mean for one in side]) * scale,
        np.array([one.squares for one in side]) * scale**2,
    )


def _moments(tree: AlignedTree, rows: Sequence[TestedRow], common: Common, *, level: float) -> Tests:
    by_target, by_baseline = scales(tree, common)
    target, baseline = (
        moments([one.target for one in rows], by_target),
        moments([one.baseline for one in rows], by_baseline),
    )
    by_welch = welch(target, baseline)
    p_value = np.maximum(one_way_anova(target, baseline).p_value, by_welch.p_value)
    squared = target.variance / target.count + baseline.variance / baseline.count
    middle = np.sqrt(target.mean * baseline.mean)
    squared, freedom = _with_spread(squared, by_welch.degrees_of_freedom, common, middle)
    p_value = np.maximum(p_value, student_t(target.mean - baseline.mean, squared, freedom).p_value)
    # There were two possible tests, of its own executions and of all calls.
    twice = np.array([one.baseline.is_chosen or one.target.is_chosen for one in rows])
    p_value = np.where(twice, np.minimum(2 * p_value, 1.0), p_value)
    return _tests(target.mean, baseline.mean, p_value, np.sqrt(squared), freedom, level=level)


@dataclass(frozen=True, slots=True)
class _Counts:
    """One side's samples: by row and repetition (m, n), and in total by repetition (n,)."""

    rows: Floats
    wholes: Floats

    @property
    def count(self) -> Floats:
        return np.asarray(self.rows.sum(axis=1))

    @property
    def whole(self) -> float:
        return float(self.wholes.sum())

    @property
    def expected(self) -> Floats:
        """(m, n) Expected counts if no row's share differs between repetitions."""
        return np.maximum(np.outer(self.count, self.wholes / self.whole), 1e-9)


def _counts(side: Observed, rows: Sequence[Spread]) -> _Counts:
    wholes, totals = np.array(side.wholes), np.array(side.totals)
    per_unit = np.divide(wholes, totals, out=np.zeros_like(wholes), where=totals > 0)
    return _Counts(np.array([one.values for one in rows]) * per_unit, wholes)


def _test_counts(tree: AlignedTree, rows: Sequence[TestedRow], common: Common, *, level: float) -> Tests:
    """Sampled stacks: a quasi-likelihood test of two counts [McCullagh & Nelder 1989, section 9.2; Lund et al. 2012].

    Each row's dispersion is the variation between repetitions beyond Poisson's, moderated by the other rows, at least
    1. One profile per side has none, so DISPERSION replaces it. A repetition without a sample is a small count.
    """
    target, baseline = (
        _counts(tree.target, [one.target for one in rows]),
        _counts(tree.baseline, [one.baseline for one in rows]),
    )
    is_common = is_relative(tree) or common.methods > 0
    per_target = tree.target.total / target.whole / (common.factor if is_common else 1.0)
    per_baseline = tree.baseline.total / baseline.whole
    counts = target.count + 0.5, baseline.count + 0.5
    ratio = counts[0] * per_target / (counts[1] * per_baseline)
    dispersion, freedom = _dispersion((target, baseline), used=_is_testable(tree, rows))
    beside = common if is_common else _of_totals(tree, common)
    if basis_of(tree.baseline, tree.target) is Basis.COUNTS and beside.spread < RUN_TO_RUN**2:
        beside = replace(beside, spread=RUN_TO_RUN**2, freedom=NEARLY_NORMAL)
    # The variance between methods may explain a part of the ratio: use the likeliest part.
    between, its_freedom = beside.spread + beside.variance, np.full(len(rows), float(beside.freedom))
    parts = np.linspace(0.0, 1.0 if between else 0.0, PARTS)[:, None]
    shifts = (parts * np.log(ratio)) ** 2 / max(between, 1e-12)
    chances = _deviance(target.count, baseline.count, per_baseline / per_target * ratio**parts) / dispersion
    likeliest = np.argmin(shifts + chances, axis=0), np.arange(len(rows))
    shift, chance = shifts[likeliest], chances[likeliest]
    of_both = satterthwaite(chance, freedom, shift, its_freedom)
    p_value = student_t(np.sqrt(shift + chance), np.ones(len(rows)), of_both).p_value
    variance, freedom = _with_spread(dispersion * (1 / counts[0] + 1 / counts[1]), freedom, beside)
    error = np.sqrt(variance)
    half = np.exp(special.stdtrit(freedom, 0.5 + level / 2) * error)
    (after, before), (by_target, by_baseline) = _means(rows), scales(tree, common)
    after, before = after * by_target, before * by_baseline
    # The gain's variance: rows without samples may have missed a few.
    chance = sum(
        (one.count + DISPERSION) * (side.total / one.whole * by) ** 2
        for one, side, by in ((target, tree.target, by_target), (baseline, tree.baseline, by_baseline))
    )
    squared = dispersion * chance + between * np.maximum(after, before) ** 2
    result = _tests(after, before, p_value, np.sqrt(squared), freedom, level=level)
    return replace(result, low=ratio / half - 1, high=ratio * half - 1)


def _deviance(target: Floats, baseline: Floats, odds: Floats) -> Floats:
    """(p, m) Deviance of counts (m,) at the target-to-baseline `odds`, with Yates's correction for small counts."""
    both = np.maximum(target + baseline, 1e-9)
    expected = both * odds / (1 + odds), both / (1 + odds)
    away = target - expected[0]
    moved = np.sign(away) * np.maximum(np.abs(away) - 0.5, 0.0)
    terms = ((expected[0], moved), (expected[1], -moved))
    deviance = sum(2 * special.xlogy(mean + one, 1 + one / mean) for mean, one in terms)
    return np.asarray(np.maximum(deviance, 0.0))


def _dispersion(sides: Sequence[_Counts], *, used: Booleans) -> tuple[Floats, Floats]:
    """(m,) Pearson's dispersion and its degrees of freedom."""
    freedom = np.full(len(used), float(sum(len(side.wholes) - 1 for side in sides)))
    if not freedom.any():
        return np.full(len(used), DISPERSION), np.full(len(used), float(NEARLY_NORMAL))
    residuals = np.hstack([(side.rows - side.expected) / np.sqrt(side.expected) for side in sides])
    own = np.where(used, (residuals**2).sum(axis=1) / np.maximum(freedom, 1.0), 0.0)
    worth = effective_number(residuals[used], freedom[used])
    steadied = moderate(own, freedom, effective_number=worth)
    # All have the same number of repetitions, including rows without variation.
    return np.maximum(steadied.variance, 1.0), np.full(len(used), float(steadied.degrees_of_freedom.max()))


def _of_totals(tree: AlignedTree, common: Common) -> Common:
    """Replace the common variance by the whole's between repetitions if too few methods show the machine's state."""
    logs = [np.log(np.maximum(side.totals, 1e-9)) for side in (tree.target, tree.baseline) if side.repetitions > 1]
    variance = sum(float(one.var(ddof=1)) / len(one) for one in logs)
    return replace(common, variance=variance, freedom=sum(len(one) - 1 for one in logs))


PARTS: Final = 65


# Own and total time, of methods and of paths.
FAMILIES: Final = 4


def families_of(trees: Sequence[AlignedTree]) -> int:
    """Return how many test families share the false discovery rate; counts of single profiles have margins."""
    is_counted = any(basis_of(tree.baseline, tree.target) is Basis.COUNTS for tree in trees)
    return 1 if is_counted else FAMILIES


def largest_gains(tests: Tests) -> Floats:
    """(m,) Upper bounds of the rows' gains; the largest bounds all together [Berger 1982, intersection-union].

    The joint bound fails only if the bound of the row with the largest gain fails.
    """
    tested = ~np.isnan(tests.p_value)
    freedom = np.maximum(np.nan_to_num(tests.freedom, nan=1.0), 1.0)
    times = special.stdtrit(freedom, CONFIDENCE)
    return np.asarray(np.where(tested, np.maximum(tests.beyond, 0.0) + times * tests.error, np.nan))
