"""Ranges without any change, by kind of noise: how often is a commit named, and what does the answer cost?

    python benchmarks/bisect/unchanged.py [--runs N] [--first SEED] [--processes N] [--noise PART] [--machines]
                                          [--series FILE ...]

Ranges are chains of 5 to 64 commits, the size changing from search to search. "Tight": two states of the machine, each
0.1% wide, half of the executions in either. "Sticky": the state lasts; one execution in ten draws a new one. "Walk":
the level moves by 0.5% from execution to execution. With --machines, rounds run on several machines, as those of
`/perf-bisect`: 6% apart, their noise by a factor of 1.65 (standard deviations). Recorded series are those of
`replay.py`. "At most" is the upper bound of Clopper and Pearson, 95%.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.grid import MACHINES_ROUNDS, MACHINES_SCALE, OFFSETS
from benchmarks.bisect.machine import NOISES as PLAIN
from benchmarks.bisect.machine import Floats, Machine, Sampler, chain, lognormal, offsets, play, scales, stream
from benchmarks.bisect.replay import BUDGET, log_half, recorded, series_files
from benchmarks.bisect.scales import NOISES as SCALES
from benchmarks.bisect.scales import two_modes
from perf_culprit.model.bisection import SearchSettings
from perf_culprit.search.search import Search
from perf_culprit.stats.binomial import share_interval

SIZES: Final = (5, 8, 12, 24, 64)
Source = Callable[[np.random.Generator], Iterator[float]]


def drawn(sampler: Sampler) -> Source:
    return partial(stream, sampler)


def correlated(generator: np.random.Generator, *, sd: float, correlation: float) -> Iterator[float]:
    """Yield an AR(1) of standard deviation `sd`; with a correlation of 1, a walk with steps of `sd`."""
    fresh = sd * np.sqrt(1 - correlation**2) if correlation < 1 else sd
    level = generator.normal(0, sd)
    while True:
        yield float(level)
        level = correlation * level + generator.normal(0, fresh)


def sticky(generator: np.random.Generator, *, gap: float, width: float = 0.001, stay: float = 0.9) -> Iterator[float]:
    is_slow = generator.random() < 0.5
    while True:
        yield float(generator.normal(0, width) + is_slow * np.log1p(gap))
        if generator.random() > stay:
            is_slow = generator.random() < 0.5


def students(generator: np.random.Generator, size: int) -> Floats:
    return np.asarray(0.02 * generator.standard_t(2, size))


KINDS: Final[Mapping[str, Source]] = {
    **{f"{100 * cv:g}%": drawn(lognormal(cv)) for cv in (0.001, 0.01, 0.03, 0.10)},
    "AR 0.5, 3%": partial(correlated, sd=0.03, correlation=0.5),
    "AR 0.9, 3%": partial(correlated, sd=0.03, correlation=0.9),
    "walk": partial(correlated, sd=0.005, correlation=1.0),
    "heavy": drawn(PLAIN["heavy"]),
    "t, 2 degrees": drawn(students),
    **{name: drawn(PLAIN[name]) for name in ("bimodal", "bursts")},
    "tight, 5% apart": drawn(two_modes(slow=0.001, fast=0.001, gap=0.05)),
    "tight, 25% apart": drawn(two_modes(slow=0.001, fast=0.001, gap=0.25)),
    "tight sticky, 5% apart": partial(sticky, gap=0.05),
    "tight sticky, 25% apart": partial(sticky, gap=0.25),
    **{name: drawn(SCALES[name]) for name in SCALES if "modes" in name},
}


def trial(name: str, series: Sequence[float], seed: int, *, machines: bool = False) -> tuple[int, int, str]:
    """Return the size, executions and named changes of one search."""
    generator = np.random.default_rng([seed, 23])
    size = SIZES[seed % len(SIZES)]
    commit_range = chain(size)
    noise = recorded(series, generator) if series else KINDS[name](generator)
    machine = Machine(
        levels=dict.fromkeys((commit_range.good, *commit_range.commits), 0.0),
        noise=noise,
        offset=offsets(generator, OFFSETS[-1] if machines else 0.0),
        scale=scales(generator, MACHINES_SCALE if machines else 0.0),
    )
    settings = SearchSettings(budget_executions=BUDGET, seed=seed, one_machine=not machines)
    outcome = play(Search.start(commit_range, settings=settings), machine, k=MACHINES_ROUNDS if machines else 1)
    named = ", ".join(f"{step.relative_change:+.2%}" for step in outcome.culprits)
    return size, machine.executions, named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first search")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--noise", default="", help="part of a name")
    parser.add_argument("--machines", action="store_true")
    parser.add_argument("--half", choices=("first", "second"), default="second")
    parser.add_argument("--series", type=Path, nargs="*", default=[])
    parser.add_argument("--verbose", action="store_true", help="the wrong names as well")
    arguments = parser.parse_args()
    arguments.measure = 0.0
    kinds: dict[str, Sequence[float]] = {
        **dict.fromkeys(KINDS, ()),
        **{f"real {path.stem}": log_half(path, arguments.half) for path in series_files(arguments)},
    }
    print("| noise | named | at most | executions: mean, median |")
    print("|:--|--:|--:|--:|")
    with ProcessPoolExecutor(arguments.processes) as pool:
        for name, series in kinds.items():
            if arguments.noise not in name:
                continue
            seeds = range(arguments.first, arguments.first + arguments.runs)
            trials = list(pool.map(partial(trial, name, series, machines=arguments.machines), seeds, chunksize=5))
            wrong = [one for one in trials if one[2]]
            executions = [one[1] for one in trials]
            upper = share_interval(len(wrong), len(trials))[1]
            cost = f"{np.mean(executions):.0f}, {np.median(executions):.0f}"
            print(f"| {name} | {len(wrong)} of {len(trials)} | {100 * upper:.1f}% | {cost} |", flush=True)
            if arguments.verbose:
                for seed, one in zip(seeds, trials, strict=True):
                    if one[2]:
                        print(f"    seed {seed}: {one}")


if __name__ == "__main__":
    main()
