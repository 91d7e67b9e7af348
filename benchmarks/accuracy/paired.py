"""How often paired tests find a planted step: simulated noise, or real executions replayed in their real order.

python benchmarks/accuracy/paired.py                     simulated noise, with and without a level of each round
python benchmarks/accuracy/paired.py SERIES.csv...       replays; --half second (first, both): what nothing was tuned on
python benchmarks/accuracy/paired.py --time              1,000 benchmarks x 20 rounds through `judge`

A series is a CSV whose last column holds the times of successive executions of unchanged code. A replay takes 12 rounds
A B B A of them, one process each, from a random start, and multiplies those of B. Windows of a short series overlap:
"rounds" draws each round by itself instead, which keeps its real order inside and has no level beyond chance.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import stats
from tabulate import tabulate

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.run import Benchmark, Direction, Metric, Run
from perf_culprit.stats.block_interval import shift_interval
from perf_culprit.stats.permutation import block_test
from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.side_blocks import Blocks

ROUNDS, ALPHA = 12, 0.005
EFFECTS = (0.0, 0.05, 0.10, 0.15, 0.25)
LEVEL_OF_ROUNDS = 0.15
COVERAGE_LEVEL = 0.95
BLOCKS = Blocks(np.tile([False, True, True, False], ROUNDS), np.repeat(np.arange(ROUNDS), 4))
EXECUTIONS = 4 * ROUNDS

Draw = Callable[[np.random.Generator, int], Floats]


def correlated(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    noise = rng.standard_normal(shape)
    for place in range(1, shape[1]):
        noise[:, place] = 0.5 * noise[:, place - 1] + np.sqrt(0.75) * noise[:, place]
    return noise


# Logarithms of times, shape (replays, executions).
SIMULATED: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal 5%": lambda rng, shape: 0.05 * rng.standard_normal(shape),
    "lognormal": lambda rng, shape: 0.1 * rng.lognormal(0, 0.7, shape),
    "t, 3 degrees of freedom": lambda rng, shape: 0.05 * rng.standard_t(3, shape),
    "modes 1.5 : 1": lambda rng, shape: 0.04 * rng.standard_normal(shape) + 0.4 * (rng.random(shape) < 0.25),
    "AR(1) 0.5, 5%": lambda rng, shape: 0.05 * correlated(rng, shape),
}


def simulated() -> Iterator[tuple[str, Draw]]:
    for name, noise in SIMULATED.items():
        yield name, lambda rng, count, noise=noise: noise(rng, (count, EXECUTIONS))  # type: ignore[misc]
        yield (
            f"{name}, rounds ±{LEVEL_OF_ROUNDS:.0%}",
            lambda rng, count, noise=noise: noise(rng, (count, EXECUTIONS)) + levels(rng, count),  # type: ignore[misc]
        )


def levels(rng: np.random.Generator, count: int) -> Floats:
    return np.repeat(LEVEL_OF_ROUNDS * rng.standard_normal((count, ROUNDS)), 4, axis=1)


def replayed(file: Path, half: str) -> Iterator[tuple[str, Draw]]:
    values = np.log(np.genfromtxt(file, delimiter=",", skip_header=1)[:, -1])
    middle = len(values) // 2
    values = {"first": values[:middle], "second": values[middle:], "both": values}[half]

    def windows(rng: np.random.Generator, count: int) -> Floats:
        start = rng.integers(len(values), size=count)
        return np.asarray(values[(start[:, None] + np.arange(EXECUTIONS)) % len(values)])

    def rounds(rng: np.random.Generator, count: int) -> Floats:
        start = rng.integers(len(values), size=(count, ROUNDS))
        drawn = values[(start[:, :, None] + np.arange(4)) % len(values)]
        return np.asarray(drawn.reshape(count, EXECUTIONS))

    yield f"{file.stem}, {half}: windows", windows
    yield f"{file.stem}, {half}: rounds", rounds


def round_differences(values: Floats) -> Floats:
    sides = values.reshape(len(values), ROUNDS, 4)
    differences = sides[:, :, [1, 2]].mean(axis=2) - sides[:, :, [0, 3]].mean(axis=2)
    return np.asarray(stats.ttest_1samp(differences, 0, axis=1).pvalue)


def sides(values: Floats) -> tuple[Floats, Floats]:
    return values[:, BLOCKS.is_target], values[:, ~BLOCKS.is_target]


TESTS: dict[str, Callable[[Floats], Floats]] = {
    "welch": lambda values: np.asarray(stats.ttest_ind(*sides(values), axis=1, equal_var=False).pvalue),
    "round differences": round_differences,
    "mann_whitney": lambda values: np.asarray(stats.mannwhitneyu(*sides(values), axis=1).pvalue),
    "blocks": lambda values: block_test(values, BLOCKS).p_value,
}


def table(noises: Iterator[tuple[str, Draw]], *, replays: int) -> Iterator[list[str]]:
    for name, draw in noises:
        rng = np.random.default_rng(1)
        noise = draw(rng, replays)
        for test, p_value in TESTS.items():
            results = [(p_value(noise + np.log1p(effect) * BLOCKS.is_target) <= ALPHA).mean() for effect in EFFECTS]
            yield [name, test, *(f"{share:.1%}" for share in results), ""]
        interval = shift_interval(noise, BLOCKS, level=COVERAGE_LEVEL)
        covered = ((interval.low <= 0) & (interval.high >= 0)).mean()
        width = np.median(interval.high - interval.low)
        yield [name, f"blocks, {COVERAGE_LEVEL:.0%} interval", *[""] * len(EFFECTS), f"{covered:.1%}, ±{width / 2:.1%}"]


def timing(benchmarks: int = 1_000, rounds: int = 20) -> str:
    rng = np.random.default_rng(2)
    metric = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
    numbers = tuple(number for number in range(rounds) for _ in range(2))

    def run(effect: float) -> Run:
        factors = 1 + effect * (np.arange(benchmarks) < benchmarks // 20)
        times = factors[:, None] * rng.lognormal(5, 0.05, (benchmarks, 2 * rounds))
        return Run(
            benchmarks=tuple(
                Benchmark.of(
                    name=f"b{index}",
                    metric=metric,
                    samples=tuple(row),
                    group_sizes=(1,) * len(numbers),
                    rounds=numbers,
                )
                for index, row in enumerate(times.tolist())
            )
        )

    baseline, target = run(0.0), run(0.2)
    start, cpu = time.perf_counter(), time.process_time()
    judgement = judge(
        Baseline(runs=(baseline,), source=BaselineSource.PAIRED), target, detector="anova", settings=PolicySettings()
    )
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    total = sum(finding.verdict == "regression" for finding in judgement.findings)
    return f"{benchmarks:,} benchmarks x {rounds} rounds: {wall:.1f} s ({cpu:.1f} s of CPU time), {total} regressions"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", nargs="*", type=Path)
    parser.add_argument("--half", choices=("first", "second", "both"), default="second")
    parser.add_argument("--replays", type=int, default=600)
    parser.add_argument("--time", action="store_true")
    arguments = parser.parse_args()
    if arguments.time:
        print(timing())
        return
    noises = (pair for file in arguments.series for pair in replayed(file, arguments.half))
    rows = table(noises if arguments.series else simulated(), replays=arguments.replays)
    print(tabulate(rows, headers=["noise", "test", *(f"{effect:+.0%}" for effect in EFFECTS), "covers"]))


if __name__ == "__main__":
    main()
