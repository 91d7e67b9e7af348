"""Looking at the numbers while they are taken: the error over all looks is the one that was asked for."""

import numpy as np
import pytest

from bot.config import Config
from bot.measure import look_rounds
from bot.model.baseline import Baseline, BaselineSource
from bot.model.finding import Verdict
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Run
from bot.pipeline.judge import judge_run
from bot.pipeline.measure import LOOKS
from tests.support.rounds import in_rounds

TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
ROUNDS = 12
TRIALS = 250
# A rate at which 250 trials tell one look from four.
CONFIG = Config(alpha="20%", false_discovery_rate="20%", minimum_effect="0%")
CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}


def run_of(samples: np.ndarray, looks: int) -> Run:
    executions = tuple(samples.tolist())
    benchmark = Benchmark(name="a", metric=TIME, samples=executions)
    return in_rounds(Run(benchmarks=(benchmark,), looks=looks))


def false_alarms(*, looks: int) -> float:
    """The share of A/A measurements in which some look would have ended with a change."""
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(TRIALS):
        first, second = np.exp(rng.normal(0, 0.03, (2, 2 * ROUNDS)))
        for rounds in look_rounds(ROUNDS, looks=LOOKS):
            baseline = Baseline(runs=(run_of(first[: 2 * rounds], looks),), source=BaselineSource.PAIRED)
            report = judge_run(baseline, run_of(second[: 2 * rounds], looks), config=CONFIG)
            if report.findings[0].verdict in CHANGES:
                alarms += 1
                break
    return alarms / TRIALS


@pytest.mark.slow  # two thousand judgements
def test_four_looks_cost_what_one_may() -> None:
    allowed = 0.2 + 3 * np.sqrt(0.2 * 0.8 / TRIALS)
    assert false_alarms(looks=LOOKS) <= allowed
    # What the correction is for: the same looks, each at the full rate.
    assert false_alarms(looks=1) > allowed
