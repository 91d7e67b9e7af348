"""The levels at which samples are independent: all samples, whole runs, whole processes; and which one decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.judge.evidence_columns import Tested
from perf_culprit.judge.sample_arrays import SampleStatistics
from perf_culprit.stats.power import samples_per_side
from perf_culprit.stats.ragged import Booleans, Floats, Integers, Ragged
from perf_culprit.stats.relative import MeanEstimate, bounded_change, samples_error, welch_freedom
from perf_culprit.stats.run_comparison import RunSizes, scale_at, uncertain_share, unit_test
from perf_culprit.stats.two_groups import one_way_anova

# In the order of `decide`'s levels.
LEVELS: Final = ("anova", "anova_between_runs", "anova_between_processes")
# Beside whole runs, fewer processes per side say little about how much processes differ.
MINIMUM_GROUPS = 3
P_VALUES: Final = [0, 6]  # of a `Level`'s fields


@dataclass(frozen=True, slots=True)
class Level:
    """One test at one level, per metric (m,); all NaN where the level does not exist.

    The errors are squared standard errors of the two means; `target_samples_error` is the part of the target's that
    more samples would lessen. `half_width` is that of the change's interval, as a fraction of the baseline, or of the
    change's logarithm where `logarithmic`.
    """

    p_value: Floats
    target_error: Floats
    baseline_error: Floats
    degrees_of_freedom: Floats
    half_width: Floats
    logarithmic: Floats
    p_without_modes: Floats
    target_samples_error: Floats


@dataclass(frozen=True, kw_only=True, slots=True)
class Metrics:
    """What is known of the metrics beside their numbers, per metric (m,).

    `families`: metrics of one kind share a number. `timed`: the number depends on the machine, not on the program
    alone. `confidence` is that of the intervals.
    """

    families: Integers
    timed: Booleans
    confidence: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """`p_values` (3, m) in the order of LEVELS; `deciding` (m,) indexes the largest, which is the one that counts.

    `p_without_modes` (m,) is the largest without the doubt of a second mode. `uncertain` is the level with the widest
    interval, whose errors are reported.
    """

    p_values: Floats
    p_without_modes: Floats
    deciding: Integers
    uncertain: Level


def decide(measured: SampleStatistics, metrics: Metrics) -> tuple[Decision, Floats]:
    """Test at every level that exists and keep the most cautious answer; beside it all samples' F."""
    pooled = one_way_anova(measured.target, measured.baseline)
    levels = (
        _pooled_level(measured, pooled.p_value, metrics),
        _run_level(measured, metrics),
        _process_level(measured, metrics),
    )
    return most_cautious(levels), pooled.statistic


def most_cautious(levels: Sequence[Floats]) -> Decision:
    """Of the levels' fields, (8, m) each, in the order of LEVELS."""
    p_values = np.stack([level[0] for level in levels])
    widest = np.nanargmax([level[4] for level in levels], axis=0)
    return Decision(
        p_values=p_values,
        p_without_modes=np.fmax.reduce([level[6] for level in levels]),
        deciding=np.nanargmax(p_values, axis=0),
        uncertain=Level(*np.choose(widest, levels)),
    )


def tested(
    decision: Decision,
    target: Floats,
    baseline: Floats,
    *,
    statistic: str,
    tests: Sequence[str],
    counts: Floats,
    runs: Floats | Integers,
    p_of_samples: Floats,
    constant: Booleans,
    metrics: Metrics,
    details: Mapping[str, Floats],
    effect: float,
    alpha: float,
) -> Tested:
    """What the levels make of both sides' values (m,), of `counts` samples of the target and `runs` of the baseline.

    `tests` names the levels; `effect` and `alpha` are those that the number of samples is asked for.
    """
    level = decision.uncertain
    change = bounded_change(
        MeanEstimate(target, level.target_error),
        MeanEstimate(baseline, level.baseline_error),
        degrees_of_freedom=level.degrees_of_freedom,
        half_width=level.half_width,
        logarithmic=level.logarithmic == 1,
        level=metrics.confidence,
    )
    square = np.where(baseline == 0, np.inf, baseline**2)
    # What differs between whole runs: no number of samples lessens it. Only the run level has such a part.
    between = level.target_error - level.target_samples_error
    needed = samples_per_side(
        level.target_samples_error * counts / square, between * (1 + 1 / runs) / square, effect=effect, alpha=alpha
    )
    return Tested(
        level=metrics.confidence,
        statistic=statistic,
        tests=[tests[deciding] for deciding in decision.deciding.tolist()],
        p_value=np.nanmax(decision.p_values, axis=0),
        change=change,
        constant=constant,
        exact=constant & ~metrics.timed,
        samples_needed=needed,
        precision={
            "degrees_of_freedom": level.degrees_of_freedom,
            "standard_error": change.error,
            "target_samples_error": samples_error(level.target_samples_error, baseline),
            "p_of_samples": p_of_samples,
            "p_without_modes": without_modes(decision.p_values, decision.p_without_modes),
        },
        details=details,
    )


def without_modes(p_values: Floats, p_without_modes: Floats) -> Floats:
    """The p-value (m,) without the doubt of a second mode; NaN where the largest of `p_values` (levels, m) has none."""
    return np.where(p_without_modes < np.nanmax(p_values, axis=0), p_without_modes, np.nan)


def within_variance(measured: SampleStatistics) -> Floats:
    """Of samples about their own run's mean, pooled over both sides."""
    runs = measured.target_means.sizes + measured.sampled_runs
    freedom = measured.target.count + measured.baseline.count - runs
    return np.asarray((measured.target_within_squares + measured.within_squares) / freedom)


def _pooled_level(measured: SampleStatistics, p_value: Floats, metrics: Metrics) -> Floats:
    """All samples of a side as one group. Its interval is Welch's: it holds for unequal variances too."""
    target_error = measured.target.variance / measured.target.count
    baseline_error = measured.baseline.variance / measured.baseline.count
    freedom = welch_freedom(measured.target, measured.baseline)
    half_width = special.stdtrit(freedom, 0.5 + metrics.confidence / 2) * np.sqrt(target_error + baseline_error)
    size = np.where(measured.baseline.mean == 0, 1.0, np.abs(measured.baseline.mean))
    return np.stack(
        [
            p_value,
            target_error,
            baseline_error,
            freedom,
            half_width / size,
            np.zeros_like(half_width),
            p_value,
            target_error,
        ]
    )


def _run_level(measured: SampleStatistics, metrics: Metrics) -> Floats:
    """The target's runs, mostly one, against the baseline's by their means."""
    within = within_variance(measured)
    allowance = _target_allowance(measured, within)
    level = level_of_units(
        measured.target_means,
        measured.run_means,
        metrics,
        tested=metrics.timed | ~measured.constant,
        target_allowance=allowance,
        lessened=within / measured.target.count,
    )
    # A machine's stalls move one run's mean by any factor. They leave its median, which has to have changed as well.
    lone = metrics.timed & (measured.target_means.sizes == 1) & (measured.run_means.sizes == 1)
    one_each = np.ones_like(measured.run_means.sizes)
    medians = level_of_units(
        Ragged(measured.target_median, one_each),
        Ragged(measured.baseline_median, one_each),
        metrics,
        tested=lone,
        target_allowance=allowance,
    )
    return doubted(level, medians)


def doubted(columns: Floats, doubts: Floats) -> Floats:
    """A `Level`'s fields (8 or 7, m), with the larger p-values of both; as they are where the doubts have none."""
    raised = columns.copy()
    raised[P_VALUES] = np.fmax(columns[P_VALUES], doubts[P_VALUES])
    return raised


def _target_allowance(measured: SampleStatistics, within: Floats) -> Floats:
    """What the mean of the target's runs varies more than a baseline run's, (m,)."""
    of_means = uncertain_share(
        RunSizes(measured.target_inverse_counts, measured.target_means.sizes),
        RunSizes(measured.inverse_counts, measured.run_means.sizes),
    )
    within_target = within * scale_at(measured.target.mean, measured.run_means.moments().mean) ** 2
    # One wild sample moves the target's mean, and shows in its variance: such a mean is worth less.
    target_freedom = np.maximum(measured.target.count - measured.target_means.sizes, 1.0)
    noisier = np.maximum(measured.target_within_squares / target_freedom - within_target, 0.0) / measured.target.count
    return np.asarray(of_means * within_target + noisier)


def _process_level(measured: SampleStatistics, metrics: Metrics) -> Floats:
    """Processes against processes by their means."""
    enough = np.minimum(measured.target_groups.sizes, measured.baseline_groups.sizes) >= MINIMUM_GROUPS
    tested = enough & (metrics.timed | ~measured.constant)
    return level_of_units(measured.target_groups, measured.baseline_groups, metrics, tested=tested)


def level_of_units(
    target: Ragged,
    baseline: Ragged,
    metrics: Metrics,
    *,
    tested: Booleans,
    target_allowance: Floats | None = None,
    lessened: Floats | None = None,
    in_turn: bool = False,
) -> Floats:
    """A `Level`'s fields (8, m) by one value per unit, NaN but for the metrics that are `tested` (m,).

    `target_allowance` and `in_turn` as in `unit_test`. `lessened` (m,): the part of the target's error that more
    samples would lessen, all of it where that is not given.
    """
    rows = np.flatnonzero(tested)
    if not len(rows):
        return np.full((8, len(tested)), np.nan)
    test = unit_test(
        target.rows(rows),
        baseline.rows(rows),
        families=metrics.families[rows],
        timed=metrics.timed[rows],
        level=metrics.confidence,
        target_allowance=None if target_allowance is None else target_allowance[rows],
        in_turn=in_turn,
    )
    error = test.target_error if lessened is None else np.minimum(lessened[rows], test.target_error)
    columns = np.full((8, len(tested)), np.nan)
    columns[:, rows] = np.vstack([test.columns, error])
    return columns
