"""The detectors' limits: time and memory of `judge`, and how often it raises an alarm when nothing changed.

    python benchmarks/detect.py             all
    python benchmarks/detect.py time        10,000 benchmarks x 50 samples x 30 runs
    python benchmarks/detect.py alarms      the A/A and power tables, some minutes; `--runs N` for fewer
    python benchmarks/detect.py smallest    how large a slowdown of one benchmark must be to be called, by stored runs

`--detector NAME` measures another one than the default.
"""

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
from scipy import stats

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.detectors import BENCHMARK_DETECTORS, DEFAULT_DETECTOR
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.report import Judgement
from perf_culprit.model.run import Run
from tests.support.noisy_runs import Noise, noisy_run

SETTINGS = PolicySettings()
CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A comparison of `runs` stored runs with one more; offsets are those of `noisy_run`."""

    runs: int
    own_offset: float = 0.0
    shared_offset: float = 0.0
    samples: int = 30
    benchmarks: int = 200
    spread: float = 0.05

    def __str__(self) -> str:
        return f"{self.runs:2} runs, offsets {self.own_offset:.1%} own, {self.shared_offset:.1%} shared"


SCENARIOS = (
    Scenario(runs=1),
    Scenario(runs=3, own_offset=0.03),
    Scenario(runs=10, own_offset=0.03),
    Scenario(runs=10, own_offset=0.02, shared_offset=0.02),
    Scenario(runs=30, own_offset=0.03),
    Scenario(runs=30, shared_offset=0.03),
)


def judged(
    rng: np.random.Generator,
    scenario: Scenario,
    noise: Noise,
    *,
    detector: str,
    effects: np.ndarray | float = 1.0,
) -> Judgement:
    def run(change: np.ndarray | float) -> Run:
        return noisy_run(
            rng,
            benchmarks=scenario.benchmarks,
            samples=scenario.samples,
            noise=noise,
            spread=scenario.spread,
            own_offset=scenario.own_offset,
            shared_offset=scenario.shared_offset,
            effects=change,
        )

    runs = tuple(run(1.0) for _ in range(scenario.runs))
    baseline = Baseline(runs=runs, source=BaselineSource.HISTORY)
    return judge(baseline, run(effects), detector=detector, settings=SETTINGS)


def alarm(judgement: Judgement) -> bool:
    return any(finding.verdict in CHANGES for finding in judgement.findings)


def false_alarms(runs: int, detector: str) -> None:
    print(f"A/A: share of {runs} target runs of 200 benchmarks with any regression or improvement")
    for scenario in SCENARIOS:
        for noise in get_args(Noise)[1:]:
            rng = np.random.default_rng([scenario.runs, len(noise)])
            alarms = sum(alarm(judged(rng, scenario, noise, detector=detector)) for _ in range(runs))
            bound = stats.binomtest(alarms, runs).proportion_ci(0.95).high
            print(f"  {scenario}, {noise:12}  {alarms / runs:7.2%}  (95% bound {bound:.2%})", flush=True)


def power(runs: int, detector: str) -> None:
    print(f"power: 1 of 200 benchmarks slower, lognormal noise of 3%, found in {runs} runs")
    for scenario, effect in (
        (Scenario(runs=1, spread=0.03), 1.1),
        (Scenario(runs=10, own_offset=0.005, spread=0.03), 1.1),
        (Scenario(runs=10, own_offset=0.03, spread=0.03), 1.2),
        (Scenario(runs=30, own_offset=0.03, spread=0.03), 1.2),
    ):
        rng = np.random.default_rng(scenario.runs)
        effects = np.ones(scenario.benchmarks)
        effects[17] = effect
        count = 0
        for _ in range(runs):
            judgement = judged(rng, scenario, "lognormal", detector=detector, effects=effects)
            count += any(
                finding.verdict is Verdict.REGRESSION and finding.key.benchmark == "bench_00017"
                for finding in judgement.findings
            )
        print(f"  {scenario}, {effect - 1:+.0%}  {count / runs:7.2%}", flush=True)


def smallest(trials: int, detector: str) -> None:
    print(f"slowdown of one benchmark that is called in 9 of 10 of {trials} suites; runs differ by 2% each")
    for benchmarks in (1, 5, 200):
        for runs in (1, 2, 3, 5, 10, 30):
            scenario = Scenario(runs=runs, own_offset=0.02, samples=10, benchmarks=benchmarks, spread=0.03)
            rng = np.random.default_rng([benchmarks, runs, scenario.samples])
            factors = np.sort([smallest_factor(rng, scenario, detector=detector) for _ in range(trials)])
            print(f"  {benchmarks:3} benchmarks, {runs:2} runs: x{factors[int(0.9 * trials) - 1]:.2f}", flush=True)


def smallest_factor(rng: np.random.Generator, scenario: Scenario, *, detector: str) -> float:
    """Find the smallest factor that is called, by bisecting logarithms, to about 2%; infinite if above 8."""
    seed, effects = int(rng.integers(2**32)), np.ones(scenario.benchmarks)

    def called(factor: float) -> bool:
        effects[0] = factor
        judgement = judged(
            np.random.default_rng(seed), scenario, "lognormal", detector=detector, effects=effects.copy()
        )
        return any(
            finding.verdict is Verdict.REGRESSION and finding.key.benchmark == "bench_00000"
            for finding in judgement.findings
        )

    low, high = 1.0, 8.0
    if not called(high):
        return np.inf
    for _ in range(7):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if called(middle) else (middle, high)
    return high


def timing(detector: str) -> None:
    benchmarks, samples, runs = 10_000, 50, 30
    rng = np.random.default_rng(0)
    stored = tuple(noisy_run(rng, benchmarks=benchmarks, samples=samples, own_offset=0.01) for _ in range(runs))
    target = noisy_run(rng, benchmarks=benchmarks, samples=samples, own_offset=0.01)
    baseline = Baseline(runs=stored, source=BaselineSource.HISTORY)
    seconds = fastest(lambda: judge(baseline, target, detector=detector, settings=SETTINGS))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    target_array = np.array([benchmark.samples for benchmark in target.benchmarks])
    baseline_array = np.hstack([[benchmark.samples for benchmark in run.benchmarks] for run in stored])
    reference = fastest(lambda: stats.f_oneway(target_array, baseline_array, axis=1))
    print(f"judge, {benchmarks:,} benchmarks x {samples} samples x {runs} runs: {seconds:.2f} s, peak {peak:.2f} GB")
    print(f"  reference, scipy's f_oneway on ready arrays: {reference:.2f} s; ratio {seconds / reference:.1f}")


def fastest(action: Callable[[], object], *, repetitions: int = 3) -> float:
    elapsed = []
    for _ in range(repetitions):
        start = time.perf_counter()
        action()
        elapsed.append(time.perf_counter() - start)
    return min(elapsed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("time", "alarms", "smallest", "all"), default="all")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--detector", choices=BENCHMARK_DETECTORS, default=DEFAULT_DETECTOR)
    arguments = parser.parse_args()
    if arguments.what in {"time", "all"}:
        timing(arguments.detector)
    if arguments.what in {"alarms", "all"}:
        false_alarms(arguments.runs, arguments.detector)
        power(arguments.runs, arguments.detector)
    if arguments.what in {"smallest", "all"}:
        smallest(min(arguments.runs, 40), arguments.detector)


if __name__ == "__main__":
    main()
