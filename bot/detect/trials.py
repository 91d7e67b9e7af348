"""Comparisons in which nothing is known to have changed: every alarm in them is taken for a false one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bot.model.baseline import Baseline, BaselineSource
from bot.model.environment import HARDWARE_COMPONENTS
from bot.model.run import Benchmark, Run
from bot.stats.median_interval import MINIMUM_SAMPLES

# A lone stored run is too little to judge by (docs/decision-rule.md).
FEWEST_STORED = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """`following` is the run after the target, which shows whether an alarm lasts; None where there is none."""

    baseline: Baseline
    target: Run
    following: Run | None = None


def stored_trials(runs: Sequence[Run], *, window: int) -> list[Trial]:
    """Each run, given oldest first, against up to `window` runs before it on the same hardware.

    What was judged a regression takes no part, neither as target nor as baseline.
    """
    unchanged = [without_regressions(run) for run in runs]
    trials = []
    for index, target in enumerate(unchanged):
        earlier = [run for run in unchanged[:index] if run.benchmarks and _same_hardware(run, target)][-window:]
        if not target.benchmarks or len(earlier) < FEWEST_STORED:
            continue
        after = (run for run in unchanged[index + 1 :] if run.benchmarks and _same_hardware(run, target))
        baseline = Baseline(runs=tuple(earlier), source=BaselineSource.HISTORY)
        trials.append(Trial(baseline=baseline, target=target, following=next(after, None)))
    return trials


def split_trials(runs: Sequence[Run], *, count: int, rng: np.random.Generator) -> list[Trial]:
    """Random halves of the runs' samples, `count` trials in all; none where no run has enough samples for two sides."""
    enough = [run for run in map(_divisible, runs) if run.benchmarks]
    if not enough:
        return []
    return [Trial(baseline=baseline, target=target) for baseline, target in _halves(enough, count=count, rng=rng)]


def without_regressions(run: Run) -> Run:
    """The run without the metrics for which it was judged a regression, and without counters."""
    dropped = frozenset(run.regressions)
    return replace(
        run,
        benchmarks=tuple(entry for entry in run.benchmarks if entry.key not in dropped),
        counters=(),
        regressions=(),
    )


def _same_hardware(run: Run, target: Run) -> bool:
    return not run.environment.differences(target.environment, HARDWARE_COMPONENTS)


def _divisible(run: Run) -> Run:
    kept = without_regressions(run).benchmarks
    return replace(run, benchmarks=tuple(entry for entry in kept if len(entry.samples) >= 2 * MINIMUM_SAMPLES))


def _halves(runs: Sequence[Run], *, count: int, rng: np.random.Generator) -> Iterator[tuple[Baseline, Run]]:
    for index in range(count):
        run = runs[index % len(runs)]
        split = [_split(benchmark, rng) for benchmark in run.benchmarks]
        first, second = (replace(run, benchmarks=side, counters=()) for side in zip(*split, strict=True))
        yield Baseline(runs=(first,), source=BaselineSource.PAIRED), second


def _split(benchmark: Benchmark, rng: np.random.Generator) -> tuple[Benchmark, Benchmark]:
    """Processes are torn apart: both halves have samples of each."""
    order = rng.permutation(len(benchmark.samples)).tolist()
    middle = len(order) // 2
    first, second = (
        replace(benchmark, samples=tuple(benchmark.samples[index] for index in half), group_sizes=())
        for half in (order[:middle], order[middle:])
    )
    return first, second
