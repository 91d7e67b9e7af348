"""How often each detector alarms when nothing changed, next to the rate that its page states.

    python benchmarks/accuracy/error_rates.py                all detectors, three minutes
    python benchmarks/accuracy/error_rates.py --trials 1000 --counter-trials 100    narrower intervals

A trial is one unchanged target against stored runs, all with an offset of 3% of each metric per run. Every detector
judges the same runs. Intervals are the binomial ones of Clopper and Pearson at 95%.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
from scipy import stats
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).parents[2]))

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge import control_chart
from perf_culprit.judge.counter_pairs import TablePair, pair_counters
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.limit_verdict import counter_findings, exceeds_threshold
from perf_culprit.judge.policy import judge
from perf_culprit.judge.rule_ensemble import assess_tables
from perf_culprit.judge.rule_options import RuleOptions
from perf_culprit.model.detectors import BENCHMARK_DETECTORS
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence, Finding, Verdict
from perf_culprit.model.run import Run
from tests.support.counter_runs import counter_run, counter_table, noisy_counters
from tests.support.noisy_runs import Noise, noisy_run

SETTINGS = PolicySettings()
CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}
STORED = (10, 30)
METRICS, SAMPLES, INSTANTS = 50, 30, 96
OFFSET, SPREAD = 0.03, 0.05
# `noisy_counters` have a noise of 3%, and its offsets are in units of that.
COUNTER_OFFSET = 1.0
COUNTER_NOISES = ("normal", "bimodal", "heavy-tailed")
# From the page of change points: alarms per run of an unchanged series, for the worst of its noises.
CHANGE_POINT_RATE = 0.001


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarms:
    """Metrics with an alarm per trial; `judged` metrics of all trials together had an answer."""

    counts: tuple[int, ...]
    judged: int

    def row(self) -> list[str]:
        trials = len(self.counts)
        if not self.judged:
            return ["0%", "-", "-"]
        runs = sum(count > 0 for count in self.counts)
        judged = f"{100 * self.judged / trials / METRICS:.0f}%"
        return [judged, share(runs, trials), share(sum(self.counts), trials * METRICS)]


def share(alarms: int, trials: int) -> str:
    interval = stats.binomtest(alarms, trials).proportion_ci(method="exact")
    return f"{100 * alarms / trials:.2f}% ({100 * interval.low:.2f} to {100 * interval.high:.2f})"


def of_findings(trials: Iterable[Sequence[Finding]]) -> Alarms:
    counts, judged = [], 0
    for findings in trials:
        counts.append(sum(finding.verdict in CHANGES for finding in findings))
        judged += sum(finding.p_value is not None or finding.score is not None for finding in findings)
    return Alarms(counts=tuple(counts), judged=judged)


def stated(detector: str, runs: int) -> str:
    """Return the stated share of runs with any alarm."""
    if detector == "control_chart":
        return f"{100 / runs:.1f}%"
    if detector == "change_point":
        return f"{100 * (1 - (1 - CHANGE_POINT_RATE) ** METRICS):.1f}%"
    return "1%"


def benchmark_rows(scenario: tuple[int, Noise], trials: int) -> list[list[str]]:
    """One row of the table per detector."""
    runs, noise = scenario
    rng = np.random.default_rng([runs, len(noise)])
    results: dict[str, list[Sequence[Finding]]] = {name: [] for name in BENCHMARK_DETECTORS}
    for _ in range(trials):
        *stored, target = (benchmark_run(rng, noise) for _ in range(runs + 1))
        baseline = Baseline(runs=tuple(stored), source=BaselineSource.HISTORY)
        for name, kept in results.items():
            kept.append(judge(baseline, target, detector=name, settings=SETTINGS).findings)
    print(f"  benchmarks, {runs} runs, {noise}: {time.process_time():.0f} s", file=sys.stderr, flush=True)
    return [[name, str(runs), noise, *of_findings(kept).row(), stated(name, runs)] for name, kept in results.items()]


def benchmark_run(rng: np.random.Generator, noise: Noise) -> Run:
    return noisy_run(rng, benchmarks=METRICS, samples=SAMPLES, noise=noise, spread=SPREAD, own_offset=OFFSET)


# Returns the number of flagged counters, and of counters with an answer.
CounterMethod = Callable[[tuple[TablePair, ...]], tuple[int, int]]


@lru_cache(maxsize=1)
def charts(tables: tuple[TablePair, ...]) -> Sequence[Evidence]:
    return control_chart.DETECTOR.detect_counters(tables, DetectorOptions())


def charted(tables: tuple[TablePair, ...]) -> tuple[int, int]:
    return out_of_control(charts(tables))


def called(tables: tuple[TablePair, ...]) -> tuple[int, int]:
    """Count the counters that the policy calls changed; it requires more than that they are out of control."""
    findings = counter_findings(tables, charts(tables), SETTINGS)
    return sum(finding.verdict in CHANGES for finding in findings), out_of_control(charts(tables))[1]


def ensemble(options: RuleOptions) -> CounterMethod:
    return lambda tables: out_of_control(assess_tables(tables, options))


def out_of_control(evidence: Sequence[Evidence]) -> tuple[int, int]:
    return sum(map(exceeds_threshold, evidence)), sum(entry.score is not None for entry in evidence)


COUNTER_METHODS: Mapping[str, CounterMethod] = {
    "control_chart, out of control": charted,
    "control_chart, called": called,
    "rule_ensemble, stacking": ensemble(RuleOptions()),
    "rule_ensemble, bagging": ensemble(RuleOptions(ensemble="bagging")),
    "rule_ensemble, single": ensemble(RuleOptions(ensemble="single")),
}


def counter_stated(method: str, runs: int) -> str:
    if method == "control_chart, out of control":
        return f"{100 / (runs + 1):.1f}% of counters"
    return f"{100 / runs:.1f}% of runs" if method.startswith("control_chart") else "1% of counters"


def counter_rows(scenario: tuple[int, str], trials: int) -> list[list[str]]:
    """One row of the table per method."""
    runs, noise = scenario
    rng = np.random.default_rng([runs, len(noise)])
    results: dict[str, list[tuple[int, int]]] = {name: [] for name in COUNTER_METHODS}
    for _ in range(trials):
        *stored, target = (noisy_counter_run(rng, noise) for _ in range(runs + 1))
        baseline = Baseline(runs=tuple(stored), source=BaselineSource.HISTORY)
        tables = pair_counters(baseline, target).tables
        for name, method in COUNTER_METHODS.items():
            results[name].append(method(tables))
    print(f"  counters, {runs} runs, {noise}: {time.process_time():.0f} s", file=sys.stderr, flush=True)
    table = []
    for name, kept in results.items():
        alarms = Alarms(counts=tuple(count for count, _ in kept), judged=sum(judged for _, judged in kept))
        table.append([name, str(runs), noise, *alarms.row(), counter_stated(name, runs)])
    return table


def noisy_counter_run(rng: np.random.Generator, noise: str) -> Run:
    values = noisy_counters(rng, counters=METRICS, instants=INSTANTS, own_offset=COUNTER_OFFSET, noise=noise)
    return counter_run(counter_table(values))


def print_table(title: str, parts: Iterable[Sequence[Sequence[str]]], *, of_metrics: str) -> None:
    """Print the rows of all `parts`, which list the detectors in the same order, grouped by detector."""
    rows = [row for of_detector in zip(*parts, strict=True) for row in of_detector]
    headers = ["detector", "stored runs", "noise", "judged", "runs with any alarm", of_metrics, "stated"]
    print(f"\n{title}\n\n{tabulate(rows, headers=headers, tablefmt='github', disable_numparse=True)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("benchmarks", "counters", "all"), default="all")
    parser.add_argument("--trials", type=int, default=200, help="of benchmarks")
    parser.add_argument("--counter-trials", type=int, default=30)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    with ProcessPoolExecutor(max_workers=arguments.processes) as pool:
        if arguments.what in {"benchmarks", "all"}:
            trials = arguments.trials
            parts = pool.map(partial(benchmark_rows, trials=trials), product(STORED, get_args(Noise)[1:]))
            title = f"{trials} unchanged targets of {METRICS} benchmarks with {SAMPLES} samples"
            print_table(title, parts, of_metrics="metrics alarmed")
        if arguments.what in {"counters", "all"}:
            trials = arguments.counter_trials
            parts = pool.map(partial(counter_rows, trials=trials), product(STORED, COUNTER_NOISES))
            title = f"{trials} unchanged targets of {METRICS} counters with {INSTANTS} instants"
            print_table(title, parts, of_metrics="counters flagged")


if __name__ == "__main__":
    main()
