"""Whether amounts of two revisions differ: by repetitions, by counted samples, or by totals alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from perf_culprit.explain.aligned_trees import AlignedTree, Observed
from perf_culprit.explain.tree_methods import SMALLEST_COUNT, SMALLEST_SHARE, Common, Row, is_relative
from perf_culprit.model.report import Basis
from perf_culprit.stats.moderation import Moderated, effective_number, moderate
from perf_culprit.stats.ragged import Floats, Moments
from perf_culprit.stats.two_groups import one_way_anova, satterthwaite, student_t, welch

# From as many repetitions on the largest and smallest fifth are left out [Yuen 1974]: one outlier hides nothing.
TRIMMED_FROM: Final = 5
TRIMMED: Final = 0.2
# Of few repetitions the winsorised variance is too small: its factor 1 + kept^-1.5 makes 0.8 to 1.3 times the nominal
# number of false alarms at 0.01 and 0.001 of 5 to 20 normal, lognormal and t(3) values per side, by simulation.
TRIMMED_MARGIN: Final = -1.5
# Rows that a line of variance over mean is fitted to.
FEWEST_ROWS: Final = 10
# The noise of an amount grows with it: computed for 90% so that 80% are seen.
POWER: Final = 0.9
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tests:
    """Per row, shape (m,); NaN where nothing was tested. `change`: relative, beyond what all methods have in common.

    `gain`: the same in the tree's unit. `low`, `high`: bounds of the change. `error`: the gain's standard error, and
    `freedom` its degrees of freedom. `scale`: what errors are multiples of.
    """

    change: Floats
    gain: Floats
    p_value: Floats
    low: Floats
    high: Floats
    error: Floats
    freedom: Floats
    scale: Floats


def basis_of(baseline: Observed, target: Observed) -> Basis:
    """Repetitions hold everything that varies between executions, so they come first."""
    if min(baseline.repetitions, target.repetitions) > 1:
        return Basis.SAMPLES
    return Basis.COUNTS if baseline.whole and target.whole else Basis.TOTALS


def test_rows(tree: AlignedTree, rows: Sequence[Row], common: Common, *, level: float) -> Tests:
    """Rows below a thousandth of the whole on both sides, or of a handful of samples, are not tested.

    SAMPLES: a t-test of trimmed means of logarithms; the variance is steadied by those of the other rows, because few
    repetitions say little of their own. Without single values (logs of many calls) ANOVA [H13, section 4.2] and Welch's
    test, the larger p-value. COUNTS: log ratios of counts, with the spread of the other methods. TOTALS: no test.
    """
    basis = basis_of(tree.baseline, tree.target)
    if not rows:
        none = np.zeros(0)
        return Tests(change=none, gain=none, p_value=none, low=none, high=none, error=none, freedom=none, scale=none)
    if basis is Basis.TOTALS:
        return _totals(tree, rows, common)
    if basis is Basis.COUNTS:
        result = _counted(tree, rows, common, level=level)
    elif any(one.baseline.values is None or one.target.values is None for one in rows):
        result = _moments(tree, rows, common, level=level)
    else:
        result = _sampled(tree, rows, common, level=level)
    result.p_value[~_is_testable(tree, rows)] = np.nan
    return result


def _means(rows: Sequence[Row]) -> tuple[Floats, Floats]:
    return np.array([one.target.mean for one in rows]), np.array([one.baseline.mean for one in rows])


def _is_testable(tree: AlignedTree, rows: Sequence[Row]) -> Mask:
    target, baseline = _means(rows)
    large = np.maximum(target / _some(tree.target.total), baseline / _some(tree.baseline.total)) >= SMALLEST_SHARE
    if not tree.target.whole or not tree.baseline.whole:
        return np.asarray(large)
    return np.asarray(large & (target * tree.target.whole + baseline * tree.baseline.whole >= SMALLEST_COUNT))


def _some(total: float) -> float:
    return total if total > 0 else np.inf


def scales(tree: AlignedTree, common: Common) -> tuple[float, float]:
    """Of the target's and the baseline's means, so that what is common is equal.

    Times also count as they are: where everything got faster, what stayed as it was did not get slower.
    """
    if is_relative(tree):
        return 1 / common.factor, 1.0
    return (1.0, common.factor) if common.factor > 1 else (1.0, 1.0)


def _totals(tree: AlignedTree, rows: Sequence[Row], common: Common) -> Tests:
    target, baseline = _means(rows)
    # Everything slower by one factor may be the machine, but nothing can tell: the totals stand as they are.
    by_target = 1 / common.factor if is_relative(tree) else 1.0
    return _tests(target * by_target, baseline, *(np.full(len(rows), np.nan) for _ in range(3)), level=0.5)


def _tests(target: Floats, baseline: Floats, p_value: Floats, error: Floats, freedom: Floats, *, level: float) -> Tests:
    with np.errstate(all="ignore"):
        change = target / baseline - 1
        half = special.stdtrit(np.maximum(freedom, 1.0), 0.5 + level / 2) * error / baseline
        low, high = change - half, change + half
    return Tests(
        change=_known(change),
        gain=target - baseline,
        p_value=p_value,
        low=_known(np.maximum(low, -1.0)),
        high=_known(high),
        error=error,
        freedom=freedom,
        scale=baseline,
    )


def _known(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _sampled(tree: AlignedTree, rows: Sequence[Row], common: Common, *, level: float) -> Tests:
    by_target, by_baseline = scales(tree, common)
    middle = common.factor**0.5
    sides = []
    for values, factors, scale in (
        ([one.target.values for one in rows], common.target / middle, by_target),
        ([one.baseline.values for one in rows], common.baseline * middle, by_baseline),
    ):
        # Without each repetition's own factor, but with its side's.
        own = factors / factors.mean()
        sides.append(np.array(values, dtype=np.float64) / own * scale)
    is_trimmed = min(side.shape[1] for side in sides) >= TRIMMED_FROM
    target, baseline = (_trimmed(side, is_trimmed=is_trimmed) for side in sides)
    # Noise multiplies times, so logarithms have equal variances [Box & Cox 1964]; what is tiny counts as nothing.
    nothing = max(_nothing(tree.target), _nothing(tree.baseline))
    logs = [np.log(np.maximum(side, 0.0) + nothing) for side in sides]
    after, before = (_trimmed(side, is_trimmed=is_trimmed) for side in logs)
    freedom = np.full(len(rows), after.freedom + before.freedom)
    pooled = (after.squares + before.squares) / freedom
    steadied = _steadied(pooled, freedom, 0.5 * (target.mean + baseline.mean), logs, used=_is_testable(tree, rows))
    variance = steadied.variance * (1 / after.kept + 1 / before.kept)
    if is_trimmed:
        variance = variance * (1 + min(after.kept, before.kept) ** TRIMMED_MARGIN)
    difference = after.mean - before.mean
    p_value = student_t(difference, variance, steadied.degrees_of_freedom).p_value
    if after.kept != before.kept:
        # Unequal variances with unequal numbers of repetitions would look like changes.
        p_value = np.maximum(p_value, _unpooled(after, before))
    error = np.sqrt(variance)
    before_mean = baseline.mean + nothing
    half = special.stdtrit(np.maximum(steadied.degrees_of_freedom, 1.0), 0.5 + level / 2) * error
    result = _tests(target.mean, baseline.mean, p_value, error * before_mean, steadied.degrees_of_freedom, level=level)
    with np.errstate(all="ignore"):
        bounds = [(before_mean * np.exp(difference + side) - nothing) / baseline.mean - 1 for side in (-half, half)]
    return replace(result, low=_known(np.maximum(bounds[0], -1.0)), high=_known(bounds[1]), scale=before_mean)


def _nothing(side: Observed) -> float:
    """A thousandth of the whole; where samples are counted at least half a sample."""
    samples = side.whole / side.repetitions if side.whole else np.inf
    return side.total * max(SMALLEST_SHARE, 0.5 / samples)


@dataclass(frozen=True, slots=True)
class _Trimmed:
    mean: Floats
    squares: Floats
    kept: int

    @property
    def freedom(self) -> int:
        return self.kept - 1


def _unpooled(target: _Trimmed, baseline: _Trimmed) -> Floats:
    errors = [side.squares / side.freedom / side.kept for side in (target, baseline)]
    freedoms = [np.full(len(side.mean), float(side.freedom)) for side in (target, baseline)]
    freedom = satterthwaite(errors[0], freedoms[0], errors[1], freedoms[1])
    return student_t(target.mean - baseline.mean, errors[0] + errors[1], freedom).p_value


def _trimmed(values: Floats, *, is_trimmed: bool) -> _Trimmed:
    """Trimmed means of (m, n), and winsorised squares scaled so that squares / freedom / kept is the mean's error²."""
    count = values.shape[1]
    cut = int(TRIMMED * count) if is_trimmed else 0
    ordered = np.sort(values, axis=1)
    kept = ordered[:, cut : count - cut]
    winsorised = np.clip(ordered, kept[:, :1], kept[:, -1:])
    squares = ((winsorised - winsorised.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    # Equal values have exactly no spread.
    squares[kept[:, 0] == kept[:, -1]] = 0.0
    return _Trimmed(kept.mean(axis=1), squares, kept.shape[1])


def _steadied(variance: Floats, freedom: Floats, mean: Floats, sides: Sequence[Floats], *, used: Mask) -> Moderated:
    """Small amounts vary more: variances of logarithms are steadied around a line over the mean [Law et al. 2014]."""
    used = used & (variance > 0) & (mean > 0)
    if used.sum() < FEWEST_ROWS:
        return Moderated(variance, freedom, 0.0)
    x, y = np.log(mean[used]), np.log(variance[used])
    slope = float(np.clip(((x - x.mean()) * (y - y.mean())).sum() / max(((x - x.mean()) ** 2).sum(), 1e-12), -2.0, 0.0))
    line = np.ones_like(variance)
    line[used] = np.exp(y.mean() + slope * (x - x.mean()))
    residuals = np.hstack([side - side.mean(axis=1, keepdims=True) for side in sides])
    worth = effective_number(residuals[used], freedom[used])
    moderated = moderate(np.where(used, variance / line, 0.0), freedom, effective_number=worth)
    return replace(moderated, variance=np.where(used, moderated.variance * line, variance))


def _moments(tree: AlignedTree, rows: Sequence[Row], common: Common, *, level: float) -> Tests:
    by_target, by_baseline = scales(tree, common)
    target = Moments(
        np.full(len(rows), float(tree.target.repetitions)),
        np.array([one.target.mean for one in rows]) * by_target,
        np.array([one.target.squares for one in rows]) * by_target**2,
    )
    baseline = Moments(
        np.full(len(rows), float(tree.baseline.repetitions)),
        np.array([one.baseline.mean for one in rows]) * by_baseline,
        np.array([one.baseline.squares for one in rows]) * by_baseline**2,
    )
    by_welch = welch(target, baseline)
    p_value = np.maximum(one_way_anova(target, baseline).p_value, by_welch.p_value)
    error = np.sqrt(target.variance / target.count + baseline.variance / baseline.count)
    return _tests(target.mean, baseline.mean, p_value, error, by_welch.degrees_of_freedom, level=level)


def _counted(tree: AlignedTree, rows: Sequence[Row], common: Common, *, level: float) -> Tests:
    """One profile per side: log ratios of counts around the common one.

    Stacks follow each other in runs and programs differ from run to run, so counts vary more than Poisson's: by
    the spread of most methods' log ratios around the common one, at least Poisson's, and by RUN_TO_RUN of each method.
    """
    by_target, by_baseline = scales(tree, common)
    target, baseline = _means(rows)
    wholes = (tree.target.whole or 0.0), (tree.baseline.whole or 0.0)
    per_target, per_baseline = (wholes[0], wholes[1]) if is_relative(tree) else (1.0, 1.0)
    counts = target * per_target + 0.5, baseline * per_baseline + 0.5
    poisson = 1 / counts[0] + 1 / counts[1]
    ratio = np.log(counts[0] / per_target * by_target) - np.log(counts[1] / per_baseline * by_baseline)
    error = np.sqrt(DISPERSION * poisson + common.variance + RUN_TO_RUN**2)
    p_value = special.erfc(np.abs(ratio) / error / np.sqrt(2))
    result = _tests(
        target * by_target, baseline * by_baseline, p_value, error * baseline, np.full(len(rows), 1e6), level=level
    )
    factor = np.exp(special.ndtri(0.5 + level / 2) * error)
    return replace(result, low=np.exp(ratio) / factor - 1, high=np.exp(ratio) * factor - 1)


# A method's share differs from run to run by some percent of itself, however many samples there are.
RUN_TO_RUN: Final = 0.05
DISPERSION: Final = 2.0


# Own and total time, of methods and of paths.
FAMILIES: Final = 4


def families_of(trees: Sequence[AlignedTree]) -> int:
    """How many share the false discovery rate; tests of one profile's counts have margins of their own."""
    is_counted = any(basis_of(tree.baseline, tree.target) is Basis.COUNTS for tree in trees)
    return 1 if is_counted else FAMILIES


def visible_gain(tests: Tests, *, alpha: float) -> Floats:
    """(m,) The gain that would have been seen with a power of 80%, however many rows are tested (Bonferroni)."""
    count = FAMILIES * max(1, int((~np.isnan(tests.p_value)).sum()))
    freedom = np.maximum(np.nan_to_num(tests.freedom, nan=1.0), 1.0)
    needed = special.stdtrit(freedom, 1 - alpha / (2 * count)) + special.stdtrit(freedom, POWER)
    with np.errstate(all="ignore"):
        multiplied = tests.scale * np.expm1(needed * tests.error / tests.scale)
    gain = np.where(np.isfinite(multiplied), multiplied, needed * tests.error)
    return np.asarray(np.where(np.isnan(tests.p_value), np.nan, gain))
