"""Random results for every way of use: changes from a thousandth to a thousandfold, noise from none to much."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.model.finding import BaselineSource
from perf_culprit.model.run import Benchmark, CounterTable, Direction, Metric, Run, Summary

METRICS: Final = (
    Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER),
    Metric(name="rate", unit="ops/s", direction=Direction.HIGHER_IS_BETTER),
    Metric(name="value", unit="points", direction=Direction.UNKNOWN),
    Metric(name="memory", unit="B", direction=Direction.LOWER_IS_BETTER),
    Metric(name="allocs", unit="allocs/op", direction=Direction.LOWER_IS_BETTER),
    Metric(name="instructions", unit="instructions", direction=Direction.LOWER_IS_BETTER),
)
EFFECTS: Final = (1e-3, 0.1, 0.3, 0.6, 0.9, 0.94, 0.96, 0.99, 1, 1, 1, 1.01, 1.04, 1.06, 1.1, 1.5, 3, 10, 1e3)
NOISES: Final = (0.0, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0)
LEVELS: Final = (1e-2, 1.0, 100.0, 1e6)
SUITES: Final = (1, 2, 3, 6, 20)
WILD_FACTORS: Final = (0.1, 3.0, 10.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """One metric: its target's level is the baseline's times `effect`."""

    metric: Metric
    noise: float
    effect: float
    level: float

    def samples(self, rng: np.random.Generator, count: int, *, changed: bool) -> Floats:
        values = self.level * (self.effect if changed else 1.0) * np.exp(rng.normal(0, self.noise, count))
        if self.noise and rng.random() < 0.1:
            values[rng.integers(count)] *= rng.choice(WILD_FACTORS)
        return np.ceil(values) if self.metric.name in {"allocs", "instructions"} else values


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """The runs of both sides: one each for a paired measurement."""

    baseline: tuple[Run, ...]
    target: tuple[Run, ...]
    source: BaselineSource = BaselineSource.FILES

    @property
    def swapped(self) -> "Compared":
        """Both sides exchanged. A target has only one test of counters."""
        target = self.baseline[:1] if self.baseline[0].counters else self.baseline
        return Compared(baseline=self.target, target=target, source=self.source)


def paired_rounds(rng: np.random.Generator) -> Compared:
    rounds, executions, samples = int(rng.integers(1, 7)), int(rng.integers(1, 6)), int(rng.choice([1, 3]))
    numbers = tuple(np.repeat(np.arange(1, rounds + 1), executions).tolist())

    def benchmark(name: str, drawn: Drawn, *, changed: bool) -> Benchmark:
        of_executions = drawn.samples(rng, len(numbers), changed=changed)
        values = np.repeat(of_executions, samples) * np.exp(rng.normal(0, drawn.noise / 3, len(numbers) * samples))
        sizes = (samples,) * len(numbers)
        return Benchmark.of(
            name=name, metric=drawn.metric, samples=tuple(values.tolist()), group_sizes=sizes, rounds=numbers
        )

    baseline, target = _runs(rng, benchmark, sides=(1, 1))
    return Compared(baseline=baseline, target=target, source=BaselineSource.PAIRED)


def one_file_a_side(rng: np.random.Generator) -> Compared:
    return _of_samples(rng, sides=(1, 1), samples=int(rng.choice([1, 4, 10, 30])))


def several_files_a_side(rng: np.random.Generator) -> Compared:
    return _of_samples(
        rng, sides=(int(rng.integers(1, 7)), int(rng.integers(2, 7))), samples=int(rng.choice([1, 4, 10]))
    )


def stored_history(rng: np.random.Generator) -> Compared:
    runs = int(rng.integers(1, 11))
    return _of_samples(rng, sides=(runs, 1), samples=int(rng.choice([1, 4, 10])), source=BaselineSource.HISTORY)


def summaries(rng: np.random.Generator) -> Compared:
    count = int(rng.integers(2, 30))

    def benchmark(name: str, drawn: Drawn, *, changed: bool) -> Benchmark:
        values = drawn.samples(rng, count, changed=changed)
        spread = float(values.std(ddof=1))
        summary = Summary(value=float(values.mean()), statistic="mean", standard_deviation=spread, count=count)
        return Benchmark.of(name=name, metric=drawn.metric, summary=summary)

    baseline, target = _runs(rng, benchmark, sides=(int(rng.integers(1, 8)), 1))
    return Compared(baseline=baseline, target=target)


def counters(rng: np.random.Generator) -> Compared:
    """Draw tables of at least two counters: reports omit the name of a single one."""
    suite, rows, runs = _suite(rng) + _suite(rng), int(rng.choice([5, 30, 90])), int(rng.integers(1, 8))
    metrics = tuple(
        Metric(name=f"c{index}", unit="", direction=drawn.metric.direction) for index, drawn in enumerate(suite)
    )

    def run(*, changed: bool) -> Run:
        values = np.column_stack([drawn.samples(rng, rows, changed=changed) for drawn in suite])
        times_s = 15.0 * np.arange(rows, dtype=np.float64)
        return Run(counters=(CounterTable(name="host", metrics=metrics, times_s=times_s, values=values),))

    return Compared(baseline=tuple(run(changed=False) for _ in range(runs)), target=(run(changed=True),))


WAYS: Final = (paired_rounds, one_file_a_side, several_files_a_side, stored_history, summaries, counters)


def _suite(rng: np.random.Generator) -> list[Drawn]:
    return [
        Drawn(
            metric=METRICS[rng.integers(len(METRICS))],
            noise=float(rng.choice(NOISES)),
            effect=float(rng.choice(EFFECTS)),
            level=float(rng.choice(LEVELS)),
        )
        for _ in range(int(rng.choice(SUITES)))
    ]


def _of_samples(
    rng: np.random.Generator,
    *,
    sides: tuple[int, int],
    samples: int,
    source: BaselineSource = BaselineSource.FILES,
) -> Compared:
    offset = float(rng.choice([0, 0.02, 0.1]))

    def benchmark(name: str, drawn: Drawn, *, changed: bool) -> Benchmark:
        values = drawn.samples(rng, samples, changed=changed) * np.exp(rng.normal(0, offset))
        return Benchmark.of(name=name, metric=drawn.metric, samples=tuple(values.tolist()))

    baseline, target = _runs(rng, benchmark, sides=sides)
    return Compared(baseline=baseline, target=target, source=source)


def _runs(
    rng: np.random.Generator, benchmark: Callable[..., Benchmark], *, sides: tuple[int, int]
) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    suite = _suite(rng)

    def run(*, changed: bool) -> Run:
        return Run(
            benchmarks=tuple(benchmark(f"b{index}", drawn, changed=changed) for index, drawn in enumerate(suite))
        )

    before, after = (
        tuple(run(changed=changed) for _ in range(count)) for changed, count in zip((False, True), sides, strict=True)
    )
    return before, after
