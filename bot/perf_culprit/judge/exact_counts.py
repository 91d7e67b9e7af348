"""Counts of whole commands: so exact that one stored run can judge, and never taken for quieter than they were seen.

docs/measure.md#counts has what was measured.
"""

from collections.abc import Sequence
from functools import partial
from math import sqrt
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.judge.detector import BenchmarkDetector, DetectorOptions
from perf_culprit.judge.estimate import averaged, estimate
from perf_culprit.judge.evidence_columns import Tested, evidence_of
from perf_culprit.judge.families import by_kind
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.statistic import MEAN
from perf_culprit.model.count import is_count
from perf_culprit.model.finding import Evidence
from perf_culprit.stats.relative import Change, logarithmic_interval, relative_change
from perf_culprit.stats.two_groups import student_t

TEST: Final = "counts"
# What a run's count may be off before two of them were seen: a scaled inverse chi-square prior [Smyth 2004], whose two
# degrees of freedom leave 1% for a command of ten times this spread.
PRIOR_SPREAD: Final = 2e-4
PRIOR_FREEDOM: Final = 2.0
FEWEST_RUNS: Final = 3  # that show how counts differ from run to run


def detect(pairs: Sequence[MetricPair], options: DetectorOptions, detector: BenchmarkDetector) -> Sequence[Evidence]:
    """One evidence per pair, in order: counts as here, all else by `detector`."""
    assess = {True: partial(_tested, options=options), False: partial(detector.detect, options=options)}
    return by_kind(pairs, list(map(_is_counted, pairs)), assess)


def _is_counted(pair: MetricPair) -> bool:
    benchmarks = (pair.target, *pair.baseline)
    return (
        is_count(pair.metric)
        and pair.obstacle is None
        and all(benchmark.samples and min(benchmark.samples) > 0 for benchmark in benchmarks)
    )


def _tested(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    """The least convincing of three t-tests of logarithms, of which each pair has those that its numbers allow.

    By the prior alone; by the spread of executions within runs; by that of the baseline's runs.
    """
    columns = np.array([_widest(pair, options.settings.alpha) for pair in pairs])
    p_value, error, freedom, half_width, by_prior = columns.T
    targets = [estimate(pair.target, MEAN) for pair in pairs]
    baselines = [averaged([estimate(run, MEAN) for run in pair.baseline]) for pair in pairs]
    change = relative_change(*(np.array([side.value for side in sides]) for sides in (targets, baselines)))
    low, high = logarithmic_interval(change, half_width)
    never = np.zeros(len(pairs), dtype=np.bool_)
    tested = Tested(
        level=1 - options.settings.alpha,
        statistic=MEAN,
        tests=[TEST] * len(pairs),
        p_value=p_value,
        change=Change(change=change, low=low, high=high, error=error),
        constant=never,
        exact=never,
        samples_needed=np.full(len(pairs), np.nan),
        # The prior's spread is known, not estimated: what would have been seen is no question of its freedom.
        precision={"degrees_of_freedom": np.where(by_prior == 1, np.nan, freedom), "standard_error": error},
        details={},
    )
    sides = ([one.side() for one in baselines], [one.side() for one in targets])
    return evidence_of(pairs, tested, baseline=sides[0], target=sides[1])


def _widest(pair: MetricPair, alpha: float) -> tuple[float, float, float, float, bool]:
    """p-value, standard error of the logarithm's change, its degrees of freedom, the half width; whether by prior."""
    target, *runs = (np.log(run.samples) for run in (pair.target, *pair.baseline))
    means = np.array([run.mean() for run in runs])
    difference, count = float(target.mean() - means.mean()), len(runs)
    squared = [PRIOR_SPREAD**2 * (1 + 1 / count)]
    freedom = [PRIOR_FREEDOM]
    if within := sum(len(run) - 1 for run in (target, *runs)):
        variance = sum(float(((run - run.mean()) ** 2).sum()) for run in (target, *runs)) / within
        squared.append(variance * (1 / len(target) + sum(1 / len(run) for run in runs) / count**2))
        freedom.append(within)
    if count >= FEWEST_RUNS:
        squared.append(float(means.var(ddof=1)) * (1 + 1 / count))
        freedom.append(count - 1)
    differences = np.full(len(squared), difference)
    p_value = float(student_t(differences, np.array(squared), np.array(freedom)).p_value.max())
    widths = special.stdtrit(np.array(freedom), 1 - alpha / 2) * np.sqrt(squared)
    widest = int(widths.argmax())
    return p_value, sqrt(squared[widest]), freedom[widest], float(widths[widest]), widest == 0
