"""Limits of each further detector: time and memory at its largest input, and its rate of false alarms.

    python benchmarks/detectors.py control_chart time       2,000 counters x 5,760 instants x 10 runs, given in memory
    python benchmarks/detectors.py control_chart alarms     the A/A and power tables, some minutes
Without `time` or `alarms` both run. `--trials N` reduces the number of trials.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1]))

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.limit_verdict import exceeds_threshold
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Judgement
from perf_culprit.model.run import Run
from tests.support.noisy_counters import noisy_counters, stored
from tests.support.noisy_runs import noisy_run

CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}
COUNTERS, INSTANTS, RUNS = 2_000, 5_760, 10
# Stored runs, and the offsets of whole runs: of each metric separately, and of all metrics together.
SCENARIOS = tuple((runs, *offsets) for runs in (3, 5, 10) for offsets in ((0.0, 0.0), (0.03, 0.0), (0.0, 0.03)))
METRICS = 40
CHANGED = 3

Make = Callable[[np.random.Generator, float, float, np.ndarray], Run]


def counters(rng: np.random.Generator, own: float, shared: float, effects: np.ndarray) -> Run:
    return noisy_counters(rng, counters=METRICS, instants=96, own_offset=own, shared_offset=shared, effects=effects)


def benchmarks(rng: np.random.Generator, own: float, shared: float, effects: np.ndarray) -> Run:
    return noisy_run(rng, benchmarks=METRICS, samples=30, own_offset=own, shared_offset=shared, effects=effects)


def charted(make: Make, rng: np.random.Generator, scenario: tuple[int, float, float], effects: np.ndarray) -> Judgement:
    runs, own, shared = scenario
    unchanged = np.ones(METRICS)
    baseline = stored(*(make(rng, own, shared, unchanged) for _ in range(runs)))
    target = make(rng, own, shared, effects)
    return judge(baseline, target, detector="control_chart", settings=PolicySettings())


def alarms(trials: int) -> None:
    """Print alarms per target run next to the bound 1 / runs, metrics out of control next to 1 / (runs + 1)."""
    effects = np.ones(METRICS)
    effects[:CHANGED] = 1.2
    print(f"{METRICS} metrics, {trials} unchanged targets; then {trials // 2} with {CHANGED} metrics 20% higher")
    for make in (counters, benchmarks):
        for scenario in SCENARIOS:
            rng = np.random.default_rng(scenario[0])
            unchanged = [charted(make, rng, scenario, np.ones(METRICS)) for _ in range(trials)]
            alarmed = sum(any(f.verdict in CHANGES for f in judgement.findings) for judgement in unchanged)
            outside = sum(exceeds_threshold(f) for judgement in unchanged for f in judgement.findings)
            bound = stats.binomtest(alarmed, trials).proportion_ci(0.95).high
            changed = [charted(make, rng, scenario, effects) for _ in range(trials // 2)]
            names = [
                [f.key.benchmark + f.key.metric for f in judgement.findings if f.verdict in CHANGES]
                for judgement in changed
            ]
            true = sum(_number(name) < CHANGED for entry in names for name in entry)
            false = sum(map(len, names)) - true
            runs, own, shared = scenario
            print(
                f"{make.__name__:10} {runs:2} runs, offsets {own:.0%} own {shared:.0%} shared:"
                f" alarms {alarmed / trials:.1%} (95% bound {bound:.1%}, stated {1 / runs:.1%}),"
                f" out of control {outside / trials / METRICS:.1%} (stated {1 / (runs + 1):.1%}),"
                f" found {true / len(changed) / CHANGED:.0%}, false beside them {false / len(changed):.2f}",
                flush=True,
            )


def _number(name: str) -> int:
    return int("".join(character for character in name if character.isdigit()))


def timing() -> None:
    rng = np.random.default_rng(0)
    *runs, target = (noisy_counters(rng, counters=COUNTERS, instants=INSTANTS) for _ in range(RUNS + 1))
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    seconds = _seconds(lambda: judge(stored(*runs), target, settings=PolicySettings()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"control chart, {COUNTERS:,} counters x {INSTANTS:,} instants x {RUNS} runs: {seconds:.1f} s (limit 30 s),")
    print(f"  peak {peak:.2f} GB (limit 4 GB), of which {held:.2f} GB were there before: the input and its making")

    def percentiles() -> None:
        """Compute only the limits of the pooled runs: nothing left out, no load, no idle time."""
        for start in range(0, COUNTERS, 50):
            block = np.concatenate([run.counters[0].values[:, start : start + 50] for run in runs])
            np.percentile(block, [5, 50, 95], axis=0)

    reference = _seconds(percentiles)
    print(f"  reference, numpy's percentiles of the pooled runs: {reference:.1f} s; ratio {seconds / reference:.1f}")


def _seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("detector", choices=["control_chart"])
    parser.add_argument("part", nargs="?", choices=["time", "alarms"])
    parser.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    if options.part != "alarms":
        timing()
    if options.part != "time":
        alarms(options.trials)


if __name__ == "__main__":
    main()
