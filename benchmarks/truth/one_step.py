"""The rate of stored runs called changed, each judged as the newest run, on histories that others recorded.

python -m benchmarks.truth.one_step FILE... [--window 10] [--last 400]

A file is a history that `perf-culprit import` reads, such as a data.js of github-action-benchmark. Nobody says what
changed in it, so a call may be right: the figures compare judges, and say how much there is to look at.
"""

import argparse
import math
import statistics
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.trials import Judge, JudgedTrial, replay
from perf_culprit.model.detectors import DEFAULT_COUNTER_DETECTOR, DEFAULT_DETECTOR
from perf_culprit.model.finding import CALLED_VERDICTS, PROVEN
from perf_culprit.model.run import Benchmark, Run
from perf_culprit.read.results.collect import collect_history
from perf_culprit.store.baseline import baseline_then

RATIOS: Final = (("x2", math.log(2)), ("+10%", math.log(1.1)))


class Calls(NamedTuple):
    """The number of `values` that a judge calls, and of `runs` with any call."""

    judge: str
    values: int
    called: int
    runs: int
    runs_called: int

    def line(self, file: str) -> str:
        if not self.values:
            return f"| {file} | {self.judge} | 0 | 0 | | |"
        return (
            f"| {file} | {self.judge} | {self.runs} | {self.values} | {1000 * self.called / self.values:.1f} "
            f"| {self.runs_called / self.runs:.3f} |"
        )


def calls(runs: tuple[Run, ...], *, window: int, last: int) -> Iterator[Calls]:
    """Count the calls of perf-culprit's two tiers, and of each ratio against the previous run."""
    judge = Judge(detector=DEFAULT_DETECTOR, counter_detector=DEFAULT_COUNTER_DETECTOR, settings=PolicySettings())
    first = max(len(runs) - last, 1)
    judged = replay(runs, judge=judge, choose=partial(baseline_then, window=window), first=first)
    for name, verdicts in (("proven", PROVEN), ("suspected", CALLED_VERDICTS)):
        yield _counted(
            f"perf-culprit, {name}", [[one.verdict in verdicts for one in trial.findings] for trial in judged]
        )
    for name, threshold in RATIOS:
        yield _counted(f"ratio to the run before, {name}", [_ratios(trial, threshold) for trial in judged])


def _counted(judge: str, called: list[list[bool]]) -> Calls:
    return Calls(judge, sum(map(len, called)), sum(map(sum, called)), len(called), sum(map(any, called)))


def _ratios(trial: JudgedTrial, threshold: float) -> list[bool]:
    before = {entry.key: _headline(entry) for run in trial.trial.baseline.runs for entry in run.benchmarks}
    pairs = [(before.get(entry.key), _headline(entry)) for entry in trial.trial.target.benchmarks]
    return [bool(old and new) and abs(math.log(new / old)) >= threshold for old, new in pairs if old is not None]


def _headline(benchmark: Benchmark) -> float:
    return benchmark.summary.value if benchmark.summary else statistics.median(benchmark.samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--window", type=int, default=10)
    parser.add_argument("--last", type=int, default=400)
    asked = parser.parse_args()
    print("| history | judge | runs | values | calls per 1,000 values | runs with any |\n|---|---|--:|--:|--:|--:|")
    for file in asked.files:
        for counted in calls(collect_history([file]), window=asked.window, last=asked.last):
            print(counted.line(file.rsplit("/", 1)[-1]), flush=True)


if __name__ == "__main__":
    main()
