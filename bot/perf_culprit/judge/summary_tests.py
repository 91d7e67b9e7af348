"""Honest tests for inputs that hold no samples: weaker, and named for what they are.

Tried in this order: counts that need no test (`exact`), a new value among at least five old ones (`run_values`),
Welch's test from moments (`welch_from_summary`), the tools' own intervals (`interval_summary`).
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.estimate import Estimate, averaged, estimate, pooled_moments
from perf_culprit.judge.evidence_columns import EXACT, UNTESTED, Tested, evidence_of, exact, relative, untested
from perf_culprit.judge.metric_pairs import MetricPair, are_timed, metric_families
from perf_culprit.judge.sample_levels import doubted, without_modes
from perf_culprit.judge.statistic import MEAN, MEDIAN, common_statistic
from perf_culprit.judge.unit_factors import is_deterministic, milliseconds_per
from perf_culprit.model.finding import Evidence
from perf_culprit.model.reason import Reason, Untested, because
from perf_culprit.stats.ragged import Floats, Ragged
from perf_culprit.stats.relative import MeanEstimate, bounded_change
from perf_culprit.stats.run_comparison import unit_test
from perf_culprit.stats.two_groups import satterthwaite, student_t

RUN_VALUES: Final = "run_values"
WELCH: Final = "welch_from_summary"
INTERVAL: Final = "interval_summary"

# The p-value of the two sides' own errors, beside that of their runs.
P_NAMES: Final = {WELCH: "p_welch", INTERVAL: "p_interval"}
# These do not rest on a number of samples per side that the policy could ask for.
WITHOUT_SAMPLE_COUNT = frozenset({EXACT, RUN_VALUES, INTERVAL})
# Fewer old values say little about where a new one may fall; of several new ones all but one help.
MINIMUM_VALUES = 5
# An interval without a count says nothing about its degrees of freedom: the normal distribution's.
NORMAL_FREEDOM = 1e9

# A pair with its two sides reduced to values: the target's, those of its runs, and those of the baseline's runs.
Reduced = tuple[MetricPair, Estimate, list[Estimate], list[Estimate]]
# p-value, squared errors of target and baseline, degrees of freedom, half-width of the change's interval, whether it is
# that of the logarithm, and the p-value without modes; a row each, shape (7, m).
Columns = Floats


def assess(pairs: Sequence[MetricPair], options: DetectorOptions, *, preferred: str = MEAN) -> list[Evidence]:
    """One evidence per pair, in order, by the strongest test that its numbers allow; of `preferred` if all state it."""
    evidence: dict[int, Evidence] = {}
    waiting: dict[str, dict[int, Reduced]] = {RUN_VALUES: {}, WELCH: {}, INTERVAL: {}}
    for index, pair in enumerate(pairs):
        statistic, obstacle = _statistic(pair, preferred)
        if obstacle is not None:
            evidence[index] = untested(pair.key, pair.metric, obstacle)
            continue
        targets, runs = ([estimate(run, statistic) for run in side] for side in (pair.targets, pair.baseline))
        target = estimate(pair.target, statistic)
        test = _strongest_test(pair, target, runs, values=len(runs) + len(targets) - 1)
        if test in waiting:
            waiting[test][index] = (pair, target, targets, runs)
        else:
            described = _exact if test == EXACT else _undecided
            evidence[index] = described(pair, target, averaged(runs), options)
    for test, rows in waiting.items():
        evidence.update(zip(rows, _tested(test, list(rows.values()), options), strict=True))
    return [evidence[index] for index in range(len(pairs))]


def _statistic(pair: MetricPair, preferred: str) -> tuple[str, Reason | None]:
    """What both sides state, and why they cannot be compared if they cannot."""
    benchmarks = (*pair.baseline, pair.target)
    statistic = common_statistic(benchmarks, preferred=preferred)
    if pair.obstacle is not None:
        return MEAN, pair.obstacle
    if statistic is None:
        return MEAN, because(Untested.DIFFERENT_STATISTICS)
    return statistic, None


def _strongest_test(pair: MetricPair, target: Estimate, runs: Sequence[Estimate], *, values: int) -> str:
    constant = len({run.value for run in runs}) == 1 and not any(run.standard_deviation for run in (target, *runs))
    timed = milliseconds_per(pair.metric.unit) is not None
    enough = values >= MINIMUM_VALUES
    if constant and (is_deterministic(pair.metric.unit) or (enough and (not timed or target.value == runs[0].value))):
        return EXACT
    if enough and not constant:
        return RUN_VALUES
    if all(run.moments is not None for run in (target, *runs)):
        return WELCH
    if all(run.error is not None for run in (target, *runs)):
        return INTERVAL
    return UNTESTED


def _tested(test: str, rows: Sequence[Reduced], options: DetectorOptions) -> Sequence[Evidence]:
    if not rows:
        return []
    pool: Callable[[list[Estimate]], Estimate | None] = pooled_moments if test == WELCH else averaged
    baselines = [pool(runs) or averaged(runs) for *_, runs in rows]
    target_mean = np.array([target.value for _, target, *_ in rows], dtype=np.float64)
    baseline_mean = np.array([baseline.value for baseline in baselines], dtype=np.float64)
    tested = _between_runs(rows, options)
    own_p = np.full(len(rows), np.nan)
    if test != RUN_VALUES:
        own = _from_errors(test, rows, baselines, options)
        tested, own_p = _widest(tested, own), own[0]
    p_value, target_error, baseline_error, freedom, half_width, logarithmic, plain_p = tested
    change = bounded_change(
        MeanEstimate(target_mean, target_error),
        MeanEstimate(baseline_mean, baseline_error),
        degrees_of_freedom=freedom,
        half_width=half_width,
        logarithmic=logarithmic == 1,
        level=1 - options.settings.alpha,
    )
    never = np.zeros(len(rows), dtype=np.bool_)
    columns = Tested(
        level=1 - options.settings.alpha,
        statistic="value",
        tests=[test] * len(rows),
        p_value=p_value,
        change=change,
        constant=never,
        exact=never,
        samples_needed=np.full(len(rows), np.nan),
        precision={
            "degrees_of_freedom": freedom,
            "standard_error": np.where(np.isnan(change.low), np.nan, change.error),
            "p_of_samples": own_p,
            "p_without_modes": without_modes(p_value[None], plain_p),
        },
        details={P_NAMES[test]: own_p} if test in P_NAMES else {},
    )
    return evidence_of(
        [pair for pair, *_ in rows],
        columns,
        baseline=[baseline.side() for baseline in baselines],
        target=[target.side() for _, target, *_ in rows],
    )


def _between_runs(rows: Sequence[Reduced], options: DetectorOptions) -> Columns:
    """Values of runs against values of runs; of one more run the prediction interval of t, s over the old values."""
    columns = _of_runs(rows, options)
    lone = [index for index, row in enumerate(rows) if _is_lone_mean(row)]
    if lone:
        # As of samples: stalls move one run's mean by any factor, and leave its median.
        medians = [_medians(rows[index]) for index in lone]
        columns[:, lone] = doubted(columns[:, lone], _of_runs(medians, options))
    return columns


def _is_lone_mean(row: Reduced) -> bool:
    pair, target, targets, runs = row
    of_medians = common_statistic((*pair.baseline, pair.target), preferred=MEDIAN) == MEDIAN
    return target.statistic == MEAN and of_medians and len(targets) == len(runs) == 1


def _medians(row: Reduced) -> Reduced:
    pair = row[0]
    target = estimate(pair.target, MEDIAN)
    return pair, target, [target], [estimate(pair.baseline[0], MEDIAN)]


def _of_runs(rows: Sequence[Reduced], options: DetectorOptions) -> Columns:
    pairs = [pair for pair, *_ in rows]
    test = unit_test(
        _values([targets for _, _, targets, _ in rows]),
        _values([runs for *_, runs in rows]),
        families=metric_families(pairs),
        timed=are_timed(pairs),
        level=1 - options.settings.alpha,
    )
    return test.columns


def _values(sides: Sequence[Sequence[Estimate]]) -> Ragged:
    return Ragged(
        np.array([run.value for side in sides for run in side], dtype=np.float64),
        np.array([len(side) for side in sides], dtype=np.intp),
    )


def _widest(first: Columns, second: Columns) -> Columns:
    """Per metric the one with the wider interval, and the larger p-value."""
    widest = np.where(first[4] >= second[4], first, second)
    widest[0], widest[6] = np.maximum(first[0], second[0]), np.maximum(first[6], second[6])
    return widest


def _from_errors(
    test: str, rows: Sequence[Reduced], baselines: Sequence[Estimate], options: DetectorOptions
) -> Columns:
    targets = [target for _, target, *_ in rows]
    target_error = np.array([target.error or 0.0 for target in targets]) ** 2
    baseline_error = np.array([baseline.error or 0.0 for baseline in baselines]) ** 2
    freedom = np.full(len(rows), NORMAL_FREEDOM)
    if test == WELCH:
        counts = [[float(side.count or 0) for side in sides] for sides in (targets, baselines)]
        freedom = satterthwaite(target_error, np.array(counts[0]) - 1, baseline_error, np.array(counts[1]) - 1)
    before = np.array([baseline.value for baseline in baselines])
    difference = np.array([target.value for target in targets]) - before
    half_width = special.stdtrit(freedom, 1 - options.settings.alpha / 2) * np.sqrt(target_error + baseline_error)
    p_value = student_t(difference, target_error + baseline_error, freedom).p_value
    return np.stack(
        [
            p_value,
            target_error,
            baseline_error,
            freedom,
            half_width / np.where(before == 0, 1.0, np.abs(before)),
            np.zeros_like(freedom),
            p_value,
        ]
    )


def _exact(pair: MetricPair, target: Estimate, baseline: Estimate, options: DetectorOptions) -> Evidence:
    is_equal = target.value == baseline.value
    change = 0.0 if is_equal else relative(target.value, baseline.value)
    described = untested(pair.key, pair.metric, baseline=baseline.side(), target=target.side())
    return exact(described, change, spread=0.0, is_equal=is_equal, level=1 - options.settings.alpha)


def _undecided(pair: MetricPair, target: Estimate, baseline: Estimate, options: DetectorOptions) -> Evidence:
    del options  # the same signature as `_exact`; nothing is tested here
    more = MINIMUM_VALUES - baseline.runs
    reason = because(Untested.WITHOUT_SPREAD, runs=more) if more > 0 else because(Untested.ALL_EQUAL)
    change = relative(target.value, baseline.value)
    return untested(pair.key, pair.metric, reason, baseline=baseline.side(), target=target.side(), change=change)
