"""One-way ANOVA of the target's samples against the baseline's [H13], with runs and processes as levels of their own.

docs/detectors/anova.md has the reasons and the measured error rates.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from perf_culprit.judge import blocks, summary_tests
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.evidence_columns import evidence_of
from perf_culprit.judge.families import by_kind
from perf_culprit.judge.metric_pairs import MetricPair, are_timed, metric_families
from perf_culprit.judge.sample_arrays import SampleStatistics, has_samples, sample_statistics
from perf_culprit.judge.sample_levels import LEVELS, Decision, Metrics, decide, tested
from perf_culprit.judge.side import describe_sides, precision_notes
from perf_culprit.model.finding import Evidence
from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.two_groups import welch

ID = "anova"

# METHODS 1: Welch's variant is reported beside ANOVA where Levene's test finds unequal variances.
LEVENE_ALPHA = 0.05


def detect(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    """One evidence per pair, in order; pairs without samples get the weaker tests of `summary`."""
    if options.paired:
        return blocks.detect(pairs, options)
    sampled = [pair.obstacle is None and has_samples(pair) for pair in pairs]
    assess: dict[bool, Callable[[Sequence[MetricPair]], Sequence[Evidence]]] = {
        True: partial(_by_samples, options=options),
        False: partial(summary_tests.assess, options=options),
    }
    return by_kind(pairs, sampled, assess)


def _by_samples(pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
    measured = sample_statistics(pairs)
    metrics = Metrics(families=metric_families(pairs), timed=are_timed(pairs), confidence=1 - options.settings.alpha)
    decision, statistic = decide(measured, metrics)
    runs = measured.run_means.moments()
    columns = tested(
        decision,
        measured.target.mean,
        runs.mean,
        statistic="mean",
        tests=LEVELS,
        counts=measured.target.count,
        runs=measured.run_means.sizes,
        p_of_samples=decision.p_values[0],
        constant=measured.constant,
        metrics=metrics,
        details=_details(measured, decision, statistic),
        effect=options.settings.minimum_effect,
        alpha=options.settings.alpha,
    )
    return evidence_of(
        pairs,
        columns,
        baseline=describe_sides(measured.baseline, measured.baseline_median, means=runs.mean, runs=runs.count),
        target=describe_sides(
            measured.target,
            measured.target_median,
            means=measured.target.mean,
            runs=measured.target_means.sizes.astype(np.float64),
        ),
        notes=lambda _, side: precision_notes(side),
    )


def _details(measured: SampleStatistics, decision: Decision, statistic: Floats) -> dict[str, Floats]:
    """The numbers behind the evidence by name."""
    p_welch = welch(measured.target, measured.baseline).p_value
    return {
        "f": statistic,
        **dict(zip(("p_anova", "p_between_runs", "p_between_processes"), decision.p_values, strict=True)),
        "p_levene": measured.levene_p,
        "p_welch": np.where(measured.levene_p < LEVENE_ALPHA, p_welch, np.nan),
    }
