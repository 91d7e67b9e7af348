"""The changes that rounds are predicted to show are the ones that new measurements with the same noise show."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from perf_culprit.config.settings import Config
from perf_culprit.judge.foreseen_rounds import foresee
from perf_culprit.judge.policy import judge
from perf_culprit.model.accuracy import Foresight
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.run import Benchmark, Run
from perf_culprit.say.audit_text import foresight_text
from tests.support.measurements import SECONDS

ROUND, EXECUTION, SAMPLE = 0.2, 0.02, 0.03
SAMPLES = 6
SETTINGS = Config.model_validate({"minimum-effect": "1%"})


def sides(seed: int, *, rounds: int, change: float = 0.0, metrics: int = 2, samples: int = SAMPLES) -> tuple[Run, Run]:
    """Rounds of A B B A. The last benchmark changes, and of several benchmarks the first has half of the noise."""
    rng = np.random.default_rng(seed)
    benchmarks: tuple[list[Benchmark], list[Benchmark]] = ([], [])
    for place in range(metrics):
        noise = 0.5 if place == 0 and metrics > 1 else 1.0
        level = rng.normal(0, ROUND, rounds)
        for is_target, side in enumerate(benchmarks):
            own = np.repeat(level, 2) + noise * rng.normal(0, EXECUTION, 2 * rounds)
            own += np.log1p(change) * (is_target and place == metrics - 1)
            values = np.exp(np.repeat(own, samples) + noise * rng.normal(0, SAMPLE, 2 * rounds * samples))
            side.append(
                Benchmark.of(
                    name=f"b{place}",
                    metric=SECONDS,
                    samples=tuple(values.tolist()),
                    group_sizes=(samples,) * 2 * rounds,
                    rounds=tuple(number for number in range(rounds) for _ in range(2)),
                )
            )
    baseline, target = (Run(benchmarks=tuple(side)) for side in benchmarks)
    return baseline, target


def paired(baseline: Run) -> Baseline:
    return Baseline(runs=(baseline,), source=BaselineSource.PAIRED)


def foreseen(*, rounds: int, measured: int = 40, metrics: int = 2, samples: int = SAMPLES) -> Foresight:
    baseline, target = sides(1, rounds=measured, metrics=metrics, samples=samples, change=0.3)
    answer = foresee(paired(baseline), target, rounds=rounds, settings=SETTINGS)
    assert answer is not None
    return answer


@pytest.mark.slow  # a rate needs trials
def test_nine_in_ten_changes_of_the_foreseen_size_are_called_and_few_of_half_of_it() -> None:
    foresight = foreseen(rounds=8)
    assert foresight.largest is not None
    assert foresight.typical is not None
    assert foresight.noisiest.benchmark == "b1"
    assert foresight.typical < foresight.largest

    def called(change: float) -> float:
        verdicts = []
        for seed in range(2, 26):
            baseline, target = sides(seed, rounds=8, change=change)
            judgement = judge(paired(baseline), target, detector="anova", settings=SETTINGS)
            verdicts += [finding.verdict for finding in judgement.findings if finding.key.benchmark == "b1"]
        return verdicts.count(Verdict.REGRESSION) / len(verdicts)

    assert called(foresight.largest) >= 0.7  # fewer in 1 of 400, if the power is 90%
    assert called(foresight.largest / 2) <= 0.5


def test_the_rounds_that_it_asks_for_show_the_minimum_effect() -> None:
    needed = foreseen(rounds=3).needed
    assert needed is not None
    assert foreseen(rounds=needed).largest == pytest.approx(0.01, rel=0.02)


def test_executions_and_their_samples_are_told_apart_whatever_rounds_and_the_change_are() -> None:
    foresight = foreseen(rounds=8, measured=120, metrics=1)
    assert foresight.executions == pytest.approx(EXECUTION, rel=0.12)
    assert foresight.samples == pytest.approx(SAMPLE, rel=0.06)
    assert "6 samples per execution are few, up to 9 help" in foresight_text(foresight)
    assert "12 samples per execution are enough" in foresight_text(replace(foresight, per_execution=12))


def test_too_few_rounds_and_too_much_noise_are_said() -> None:
    foresight = foreseen(rounds=2, samples=1)
    assert foresight_text(foresight) == "2 rounds can prove no change in 2 metrics, however large: --rounds 3 can\n"
    loud = replace(foreseen(rounds=8), needed=None)
    assert "hidden by the noise, whatever the rounds: use a quieter machine" in foresight_text(loud)


def test_no_noise_makes_fewer_rounds_enough_than_can_prove_a_change() -> None:
    baseline, _ = sides(1, rounds=6)
    level = tuple(structs.replace(entry, samples=(1.0,) * len(entry.samples)) for entry in baseline.benchmarks)
    quiet = Run(benchmarks=level)
    foresight = foresee(paired(quiet), quiet, rounds=6, settings=SETTINGS)
    assert foresight is not None
    assert foresight.needed == foresight.least > 1
    assert (foresight.typical, foresight.largest) == (0.0, 0.0)


def test_one_round_tells_nothing() -> None:
    baseline, target = sides(1, rounds=1)
    assert foresee(paired(baseline), target, rounds=7, settings=SETTINGS) is None
