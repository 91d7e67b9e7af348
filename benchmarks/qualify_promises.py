"""Whether a change that `qualify` says is suspected 9 times in 10 is found as often in what the machine does next.

    python -m benchmarks.qualify_promises CORPUS... [--rounds 4] [--draws 40] [--stored]

A draw is a stretch of a suite's executions in their order in time, of 3 benchmarks. The first half is what `qualify`
measures. The change that it says is planted into the second half. With `--stored` the first half is a stored run. Then
a report on it says what in turn would have seen, by the first look. Corpora are those of `benchmarks.truth.recordings`.
"""

import argparse
from collections.abc import Collection
from pathlib import Path
from statistics import mean, median
from typing import Final

import numpy as np

from benchmarks.truth.recordings import Suite, read_suites, rows_of, stretch_of
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import flagged, judge_run
from perf_culprit.flows.measured_side import paired
from perf_culprit.flows.seen_in_turn import seen_in_turn
from perf_culprit.judge.paired_executions import LOOKS
from perf_culprit.judge.planting import Planting, RunPair
from perf_culprit.judge.trials import DRAWS
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.run import Benchmark, Cost, Run

SIZE: Final = 3
MOST_ROUNDS: Final = 7  # which `qualify` takes
# Rounds are A B B A.
BY_SIDE: Final = ((0, 3), (1, 2))


def sides_of(suite: Suite) -> RunPair:
    """Both sides of the rounds that a stretch of executions makes."""
    rounds = suite.samples.shape[1] // 4
    order = [[4 * number + place for number in range(rounds) for place in places] for places in BY_SIDE]
    first, second = (
        Run(
            benchmarks=tuple(_benchmark(suite, row, executions) for row in range(len(suite.names))),
            analyses=LOOKS,
        )
        for executions in order
    )
    return first, second


def _benchmark(suite: Suite, row: int, executions: list[int]) -> Benchmark:
    groups = [suite.samples[row, one][~np.isnan(suite.samples[row, one])].tolist() for one in executions]
    metric = suite.metrics[row]
    return Benchmark(
        name=suite.names[row],
        metric_name=metric.name,
        unit=metric.unit,
        direction=metric.direction,
        samples=tuple(sample for group in groups for sample in group),
        group_sizes=tuple(map(len, groups)),
        rounds=tuple(place // 2 + 1 for place in range(len(groups))),
    )


def seen_by(half: Suite) -> float | None:
    """The change that a report on this stored run says measuring in turn would have seen."""
    executions = list(range(half.samples.shape[1]))
    benchmarks = tuple(_benchmark(half, row, executions) for row in range(len(half.names)))
    run = Run(benchmarks=benchmarks, cost=Cost(len(executions), float(len(executions))))
    told = seen_in_turn(Baseline(runs=(), source=BaselineSource.HISTORY), run, config=Config())
    return float(str(told[0].arguments["seen"])) if told else None


def judged(first: Run, second: Run) -> Collection[str]:
    return flagged(judge_run(paired(first), second, config=Config()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--stored", action="store_true")
    asked = parser.parse_args()
    for name, suite in read_suites(asked.corpus).items():
        rng = np.random.default_rng(1)
        rounds = min(suite.y.shape[1] // 8, MOST_ROUNDS)
        if rounds < asked.rounds or len(suite.names) < SIZE:
            continue
        shares, promised, without = list[float](), list[float](), 0
        for _ in range(asked.draws):
            rows = sorted(rng.permutation(len(suite.names))[:SIZE].tolist())
            start = int(rng.integers(suite.y.shape[1] - 8 * rounds + 1))
            halves = [rows_of(stretch_of(suite, start + half * 4 * rounds, 4 * rounds), rows) for half in (0, 1)]
            before, after = (Planting(sides_of(half), judged) for half in halves)
            noises = before.noises()
            typical = sorted(noises, key=lambda key: noises[key])[(len(noises) - 1) // 2]
            change = seen_by(halves[0]) if asked.stored else before.smallest_found(asked.rounds, [typical] * DRAWS)
            if change is None:
                without += 1
                continue
            promised.append(change)
            shares.append(after.count_found(asked.rounds, [typical] * DRAWS, change) / DRAWS)
        print(f"{name}: {len(shares)} draws with a promise", end="")
        if shares:
            print(f", in the median {median(promised):+.1%}, found {mean(shares):.2f}", end="")
        print(f"; nothing promised in {without}", flush=True)


if __name__ == "__main__":
    main()
