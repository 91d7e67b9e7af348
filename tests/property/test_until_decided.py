"""Analyses of numbers during a measurement: the error over all analyses is the configured one."""

import numpy as np
import pytest

from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import judge_run
from perf_culprit.judge.paired_executions import LOOKS, planned_looks
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.run import Benchmark, Direction, Metric, Run
from tests.support.rounds import in_rounds

TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
ROUNDS = 12
TRIALS = 48
# A rate at which 48 trials tell one analysis from four.
CONFIG = Config(proven="20%", suspected="20%", minimum_effect="0%")
CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}


def run_of(samples: np.ndarray, analyses: int) -> Run:
    executions = tuple(samples.tolist())
    benchmark = Benchmark.of(name="a", metric=TIME, samples=executions)
    return in_rounds(Run(benchmarks=(benchmark,), analyses=analyses))


def is_alarm(samples: np.ndarray, *, analyses: int) -> bool:
    first, second = samples
    baseline = Baseline(runs=(run_of(first, analyses),), source=BaselineSource.PAIRED)
    return judge_run(baseline, run_of(second, analyses), config=CONFIG).findings[0].verdict in CHANGES


@pytest.mark.slow  # hundreds of judgements
def test_four_analyses_cost_what_one_may() -> None:
    """The share of A/A measurements in which some analysis would have ended with a change: 20% and 49% of 120.

    A part without an alarm at the full rate has none at a quarter of it, so only alarms are corrected.
    """
    rng = np.random.default_rng(7)
    uncorrected = corrected = 0
    for _ in range(TRIALS):
        samples = np.exp(rng.normal(0, 0.03, (2, 2 * ROUNDS)))
        parts = (samples[:, : 2 * rounds] for rounds in planned_looks(ROUNDS, proven=CONFIG.proven))
        alarms = [part for part in parts if is_alarm(part, analyses=1)]
        uncorrected += bool(alarms)
        corrected += any(is_alarm(part, analyses=LOOKS) for part in alarms)
    allowed = 0.2 + 3 * np.sqrt(0.2 * 0.8 / TRIALS)
    assert corrected / TRIALS <= allowed
    # The correction is needed: the same analyses, each at the full rate, exceed the rate.
    assert uncorrected / TRIALS > allowed
