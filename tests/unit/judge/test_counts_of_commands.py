"""Counts of whole commands: judged from one stored run, and quiet without a change, however noisy the command."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.config.policy_settings import BenchmarkConfig, PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.count import Count
from perf_culprit.model.counted_metric import metric_of
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.run import Benchmark, Run

EXECUTIONS = 2  # per side, the default of `measure --metric`


def run_of(*numbers: float) -> Run:
    entry = Benchmark.of(name="command", metric=metric_of(Count.INSTRUCTIONS), samples=numbers)
    return Run(benchmarks=(entry,), commit="a" * 40)


def judged(runs: list[Run], target: Run, *, paired: bool = False, settings: PolicySettings | None = None) -> Finding:
    source = BaselineSource.PAIRED if paired else BaselineSource.HISTORY
    baseline = Baseline(runs=tuple(runs), source=source)
    (finding,) = judge(baseline, target, settings=settings or PolicySettings()).findings
    return finding


# Counts by cachegrind for an unchanged Python program with a fixed hash seed.
UNCHANGED = (628_274_731.0, 628_277_014.0)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (1.0, Verdict.UNCHANGED),
        (1.001, Verdict.UNCHANGED),
        (1.003, Verdict.UNCHANGED),
        (1.0045, Verdict.NOT_SEEN),
        (1.006, Verdict.REGRESSION),
        (1.01, Verdict.REGRESSION),
        (1000.0, Verdict.REGRESSION),
        (0.99, Verdict.IMPROVEMENT),
    ],
)
def test_one_stored_run_is_enough(factor: float, verdict: Verdict, paired: bool) -> None:
    finding = judged([run_of(*UNCHANGED)], run_of(*(factor * number for number in UNCHANGED)), paired=paired)
    assert finding.verdict is verdict
    assert finding.relative_change == pytest.approx(factor - 1)
    assert finding.minimum_effect == 0.005
    if finding.verdict is Verdict.UNCHANGED:
        # The minimum effect plus the change that the prior hides in one case of ten.
        assert finding.detectable_effect == pytest.approx(0.0055, abs=1e-4)


def test_a_rule_of_the_configuration_lets_a_thousandth_count() -> None:
    rules = (BenchmarkConfig(match="*", metric="instructions", minimum_effect="0.05%"),)
    runs = [run_of(*UNCHANGED) for _ in range(6)]
    target = run_of(*(1.001 * number for number in UNCHANGED))
    assert judged(runs, target).verdict is Verdict.UNCHANGED
    assert judged(runs[:1], target, settings=PolicySettings(benchmarks=rules)).verdict is Verdict.SUSPECTED


def test_counts_of_a_command_that_varies_decide_nothing() -> None:
    """The command repeats its work until a time limit, and its own executions show that variation."""
    finding = judged([run_of(100e6, 112e6)], run_of(117e6, 121e6))
    assert finding.verdict is not Verdict.REGRESSION
    interval = finding.confidence_interval
    assert interval is not None
    assert interval.low < -0.1


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("spread", [0.0, 1e-5, 3e-4, 1e-3, 0.05])
def test_unchanged_commands_are_quiet(spread: float, runs: int, paired: bool) -> None:
    """Each case alarms in at most alpha = 1% of trials. For one pair with a small spread, the prior ensures that."""
    if paired and runs > 1:
        pytest.skip("a pair has one run of each side")
    rng, alarms, trials = np.random.default_rng(7), 0, 400
    for _ in range(trials):
        counts = 1e8 * np.exp(rng.normal(0, spread, (runs + 1, EXECUTIONS)))
        *before, after = (run_of(*row) for row in counts.tolist())
        alarms += judged(before, after, paired=paired).verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT}
    assert alarms <= 10  # the 99.5% point of a binomial distribution of 400 trials at 1%


def test_times_keep_their_minimum_effect() -> None:
    settings = PolicySettings()
    assert settings.general.minimum_effect == 0.05
    assert settings.counted.minimum_effect == 0.005
    assert PolicySettings(minimum_effect="0.2%").counted.minimum_effect == 0.002


def test_the_interval_lies_evenly_around_the_quotient_of_geometric_means() -> None:
    finding = judged([run_of(99e6, 101e6), run_of(99.5e6, 100.5e6)], run_of(108e6, 112e6))
    interval = finding.confidence_interval
    assert finding.relative_change == pytest.approx(0.1, rel=2e-3)
    assert interval is not None
    assert np.log1p([interval.low, interval.high]).mean() == pytest.approx(
        np.log1p(finding.relative_change or 0.0), rel=1e-6
    )
    # Student's t with 3 degrees of freedom: executions within the runs spread more than the prior expects.
    within = sum(((np.log(run) - np.log(run).mean()) ** 2).sum() for run in ((99, 101), (99.5, 100.5), (108, 112))) / 3
    width = stats.t.ppf(1 - 0.05 / 2, 3) * np.sqrt(within * (1 / 2 + 1 / 4))
    assert np.log1p(interval.high) - np.log1p(interval.low) == pytest.approx(2 * width, rel=1e-6)
