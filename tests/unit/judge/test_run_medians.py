"""Medians of runs and their uncertainty: one run is one observation, however many samples it has."""

from collections.abc import Collection

import numpy as np
import pytest

from perf_culprit.arrays import Floats
from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.judge.run_medians import median_allowance, median_error
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.run import Run
from tests.support.noisy_counters import counter_run

CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}
CALLS = {*CHANGES, Verdict.SUSPECTED}
TRIALS = 20


def autocorrelated(rng: np.random.Generator, count: int) -> Floats:
    shocks = rng.normal(size=count + 60)
    values: Floats = np.convolve(shocks, 0.9 ** np.arange(61), "valid") * np.sqrt(1 - 0.81)
    return values


@pytest.mark.parametrize("dependent", [False, True])
def test_the_error_of_a_median_knows_how_samples_depend_on_each_other(dependent: bool) -> None:
    rng = np.random.default_rng(1)
    series = [autocorrelated(rng, 400) if dependent else rng.normal(size=400) for _ in range(400)]
    true = np.var([np.median(values) for values in series])
    assert np.mean([median_error(values) for values in series]) == pytest.approx(true, rel=0.25)


def test_from_three_runs_of_the_targets_length_on_the_runs_show_it_themselves() -> None:
    rng = np.random.default_rng(1)
    runs = [rng.normal(size=100) for _ in range(3)]
    assert median_allowance(runs[0], runs, longer=False) == 0
    assert median_allowance(runs[0], runs[:2], longer=False) > median_error(runs[0])
    assert median_allowance(runs[0], [], longer=False) == 0
    short = runs[0][:10]
    assert median_allowance(short, runs, longer=True) > 0


def test_noise_is_worth_less_at_a_much_lower_level_and_the_same_at_nearly_the_same() -> None:
    rng = np.random.default_rng(1)
    run, near = rng.normal(100, 3, 100), rng.normal(97, 3, 100)
    of_run = median_error(run)
    assert median_allowance(near, [run], longer=False) == pytest.approx(median_error(near) + of_run)
    for factor in (1e-1, 1e-3):
        low = factor * near
        assert median_allowance(low, [run], longer=False) < median_error(low) + 5 * factor**2 * of_run


@pytest.mark.parametrize("factor", [0.1, 0.001, 1000.0])
def test_against_a_lone_baseline_run_an_enormous_change_is_suspected_and_never_proven(factor: float) -> None:
    rng = np.random.default_rng(1)
    before, after = (counter_run({"requests": level * rng.normal(100, 3, 120)}) for level in (1.0, factor))
    judged = judge(Baseline(runs=(before,), source=BaselineSource.FILES), after, settings=PolicySettings())
    assert {finding.verdict for finding in judged.findings} == {Verdict.SUSPECTED}


@pytest.mark.slow  # a rate needs trials
@pytest.mark.parametrize(
    ("source", "detector", "runs"),
    [
        (BaselineSource.FILES, "control_chart", 1),
        (BaselineSource.HISTORY, "rule_ensemble", 1),
        (BaselineSource.HISTORY, "control_chart", 2),
        (BaselineSource.FILES, "rule_ensemble", 2),
    ],
)
def test_unchanged_counters_are_quiet_against_one_or_two_runs(source: BaselineSource, detector: str, runs: int) -> None:
    """Levels differ by 10% between runs. One or two runs prove nothing, but an eightfold counter is suspected."""
    rng = np.random.default_rng(3)

    def run(**factors: float) -> Run:
        names = [f"c{number}" for number in range(6)]
        levels = {name: 50 * np.exp(rng.normal(0, 0.1)) * factors.get(name, 1.0) for name in names}
        return counter_run({name: rng.normal(level, 0.1 * level, 96) for name, level in levels.items()})

    def called(target: Run, verdicts: Collection[Verdict]) -> set[str]:
        baseline = Baseline(runs=tuple(run() for _ in range(runs)), source=source)
        judged = judge(baseline, target, counter_detector=detector, settings=PolicySettings())
        return {finding.key.metric for finding in judged.findings if finding.verdict in verdicts}

    assert not any(called(run(), CHANGES) for _ in range(TRIALS))
    suspects = [called(run(c2=8.0), CALLS) for _ in range(TRIALS)]
    assert sum("c2" in suspected for suspected in suspects) >= 0.8 * TRIALS
    assert sum(bool(suspected - {"c2"}) for suspected in suspects) <= 0.3 * TRIALS


def test_from_three_runs_on_medians_show_what_a_target_as_long_is_not_sure_of() -> None:
    rng = np.random.default_rng(4)
    short, loud = rng.normal(1, 0.01, 40), rng.normal(1, 0.05, 40)
    runs = [rng.normal(1, 0.02, 400) for _ in range(3)]
    assert median_allowance(short, runs, longer=False) == 0.0
    # Longer runs: the allowance is the target median's extra uncertainty over theirs, and never negative.
    assert median_allowance(np.full(40, 1.0), runs, longer=True) == 0.0
    assert 0 < median_allowance(loud, runs, longer=True) < median_error(loud)
