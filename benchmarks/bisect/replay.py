"""Searches on virtual commits: simulated noise, and recorded A/A series of real programs.

    python benchmarks/bisect/replay.py [--runs N] [--processes N] [--half HALF] [--measure SECONDS] [--series FILE ...]

A step is put on a virtual chain of 64 commits. Real samples are used in their real order, from random starting points
in one half of each series. The first half is for tuning, the second for reporting. Series are CSV files whose last
column is a time: the given ones, and `real-noise/*.csv` in the folder PERF_CULPRIT_DATA. With --measure, two programs
are also measured on this machine for that long each (noise.py). `right`: exactly the planted commit is named; `wrong`:
any other commit is named.
"""

import argparse
import csv
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from tempfile import gettempdir

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.machine import NOISES, Machine, chain, levels_of, offsets, play, stream
from benchmarks.bisect.noise import PROGRAMS, measure
from perf_culprit.model.bisection import Engine, SearchSettings
from perf_culprit.search.search import Search

COMMITS = 64
BUDGET = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """`series`: recorded values, or empty for simulated `noise`; `offset`: standard deviation of a round's level."""

    name: str
    effect: float
    noise: str = "3%"
    series: tuple[float, ...] = ()
    offset: float = 0.0
    engine: Engine = Engine.BAYES


def one(cell: Cell, seed: int) -> tuple[str, int]:
    """Run a single search; return its verdict and its executions."""
    generator = np.random.default_rng([seed, 17])
    commit_range = chain(COMMITS)
    culprit = int(generator.integers(0, COMMITS))
    effects = {culprit: float(np.log1p(cell.effect))} if cell.effect else {}
    machine = Machine(
        levels=levels_of(commit_range, effects),
        noise=recorded(cell.series, generator) if cell.series else stream(NOISES[cell.noise], generator),
        offset=offsets(generator, cell.offset),
    )
    settings = SearchSettings(engine=cell.engine, budget_executions=BUDGET, seed=seed)
    outcome = play(Search.start(commit_range, settings=settings), machine)
    named = [step.commit for step in outcome.culprits]
    planted = [commit_range.commits[culprit]] if cell.effect else []
    if not named:
        return "none", machine.executions
    return ("right" if named == planted else "wrong"), machine.executions


def recorded(series: Sequence[float], generator: np.random.Generator) -> Iterator[float]:
    start = int(generator.integers(0, len(series)))
    return islice(cycle(series), start, None)


def log_half(path: Path, half: str) -> tuple[float, ...]:
    """Return the natural logarithms of one half of a recorded series."""
    with path.open(newline="") as file:
        values = [float(row[-1]) for row in csv.reader(file) if _is_number(row[-1])]
    middle = len(values) // 2
    chosen = values[:middle] if half == "first" else values[middle:]
    return tuple(np.log(chosen).tolist())


def series_files(arguments: argparse.Namespace) -> list[Path]:
    files = [*arguments.series]
    folder = Path(os.environ.get("PERF_CULPRIT_DATA", "")) / "real-noise"
    if os.environ.get("PERF_CULPRIT_DATA") and folder.is_dir():
        files += sorted(folder.glob("*.csv"))
    else:
        print("recorded series: PERF_CULPRIT_DATA names no folder with real-noise/")
    if arguments.measure:
        for program in PROGRAMS:
            output = Path(gettempdir()) / f"machine-{program}.csv"
            print(f"{measure(program, arguments.measure, output)} executions of {program} -> {output}", flush=True)
            files.append(output)
    return files


def _is_number(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--half", choices=("first", "second"), default="second")
    parser.add_argument("--measure", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--series", type=Path, nargs="*", default=[])
    arguments = parser.parse_args()
    cells = [
        *(
            Cell(name=f"real {path.stem}, +{effect:.0%}", effect=effect, series=log_half(path, arguments.half))
            for path in series_files(arguments)
            for effect in (0.15, 0.40, 0.0)
        ),
        Cell(name="3%, +5%, offsets 6%", effect=0.05, offset=0.06),
        Cell(name="3%, +10%, offsets 6%", effect=0.10, offset=0.06),
        Cell(name="bimodal, +5%", effect=0.05, noise="bimodal"),
        Cell(name="heavy, +5%", effect=0.05, noise="heavy"),
        Cell(name="10%, +10%", effect=0.10, noise="10%"),
        Cell(name="bursts, +15%", effect=0.15, noise="bursts"),
        Cell(name="bursts, +40%", effect=0.40, noise="bursts"),
        Cell(name="3%, nothing", effect=0.0, offset=0.06),
        Cell(name="heavy, nothing", effect=0.0, noise="heavy"),
        Cell(name="bursts, nothing", effect=0.0, noise="bursts"),
        Cell(name="3%, +10%, weighted", effect=0.10, engine=Engine.WEIGHTED),
    ]
    print(f"{arguments.runs} searches per cell, {COMMITS} commits, at most {BUDGET} executions")
    print(f"{'cell':32} right  wrong  none   executions: mean, median")
    with ProcessPoolExecutor(arguments.processes) as pool:
        for cell in cells:
            answers = list(pool.map(one, [cell] * arguments.runs, range(arguments.runs)))
            share = {kind: sum(answer == kind for answer, _ in answers) / len(answers) for kind in KINDS}
            counts = [executions for _, executions in answers]
            shares = "  ".join(f"{share[kind]:5.3f}" for kind in KINDS)
            print(f"{cell.name:32} {shares}  {np.mean(counts):8.0f} {np.median(counts):8.0f}", flush=True)


KINDS = ("right", "wrong", "none")

if __name__ == "__main__":
    main()
