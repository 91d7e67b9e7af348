"""How many stored runs are needed: the number that is told is one with which the engine does prove the change."""

import numpy as np
import pytest

from perf_culprit.config.settings import Config
from perf_culprit.judge.foreseen_runs import CHANGE, USUAL_NOISE, runs_note
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import Reason, Remark
from perf_culprit.model.run import Run
from tests.support.noisy_runs import noisy_run

WINDOW = 40


def stored(seed: int, count: int, *, spread: float = 0.02) -> tuple[Baseline, Run]:
    """Stored runs of 20 benchmarks whose levels vary by `spread`, and an unchanged run."""
    rng = np.random.default_rng(seed)
    runs = [noisy_run(rng, benchmarks=20, samples=1, spread=spread) for _ in range(count + 1)]
    return Baseline(runs=tuple(runs[:-1]), source=BaselineSource.HISTORY), runs[-1]


def note(count: int, *, spread: float = 0.02) -> Reason:
    (reason,) = runs_note(*stored(1, count, spread=spread), settings=Config(), window=WINDOW)
    return reason


def test_the_number_of_runs_that_is_told_proves_the_change() -> None:
    runs = note(4).arguments["runs"]
    assert isinstance(runs, int)
    proven = 0
    for seed in range(10):
        rng = np.random.default_rng(100 + seed)
        baseline, _ = stored(seed, runs)
        target = noisy_run(rng, benchmarks=20, samples=1, spread=0.02, effects=np.array([1 + CHANGE] + [1.0] * 19))
        findings = judge(baseline, target, settings=Config()).findings
        proven += any(one.verdict is Verdict.REGRESSION and one.key.benchmark == "bench_00000" for one in findings)
    assert proven >= 6


def test_enough_runs_files_and_a_first_run_need_no_note() -> None:
    baseline, target = stored(1, 35)
    assert runs_note(baseline, target, settings=Config(), window=WINDOW) == ()
    few, target = stored(1, 3)
    given = Baseline(runs=few.runs, source=BaselineSource.FILES)
    assert runs_note(given, target, settings=Config(), window=WINDOW) == ()
    none = Baseline(runs=(), source=BaselineSource.HISTORY)
    assert runs_note(none, target, settings=Config(), window=WINDOW) == ()


@pytest.mark.parametrize("count", [1, 2])
def test_the_variation_of_one_or_two_runs_is_supposed(count: int) -> None:
    told = note(count)
    assert (told.arguments["usual"], "noise" in told.arguments) == (USUAL_NOISE, False)


def test_noise_that_no_number_of_runs_overcomes_is_told_as_such() -> None:
    told = note(4, spread=0.3)
    assert (told.code, told.arguments["runs"]) == (Remark.RUNS_PROVE_NOTHING, WINDOW)
