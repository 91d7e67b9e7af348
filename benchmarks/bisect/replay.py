"""Searches on virtual commits: simulated noise beside the Fano bound, and recorded A/A series of real programs.

python benchmarks/bisect/replay.py [--runs N] [--processes N]

A step is put on a virtual chain of 64 commits; real samples are consumed in their real order, from random starting
points in the second half of each series (`real-noise/*.csv` in the folder that PERF_CULPRIT_DATA names; skipped where
absent). `right`: exactly the planted commit is named; `wrong`: any other commit is.
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

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.machine import NOISES, Machine, chain, levels_of, play, stream
from bot.bisect.search import Search
from bot.model.bisection import Engine, SearchSettings

COMMITS = 64
BUDGET = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """`series`: recorded values, or empty for simulated `noise`; `offset`: standard deviation of a round's level."""

    name: str
    effect: float
    noise: str = "3 %"
    series: tuple[float, ...] = ()
    offset: float = 0.0
    engine: Engine = Engine.BAYES


def one(cell: Cell, seed: int) -> tuple[str, int]:
    """What a single search answers, and its executions."""
    generator = np.random.default_rng([seed, 17])
    commit_range = chain(COMMITS)
    culprit = int(generator.integers(0, COMMITS))
    effects = {culprit: float(np.log1p(cell.effect))} if cell.effect else {}
    machine = Machine(
        levels=levels_of(commit_range, effects),
        noise=_recorded(cell.series, generator) if cell.series else stream(NOISES[cell.noise], generator),
        offset=lambda: float(generator.normal(0, cell.offset)) if cell.offset else 0.0,
    )
    settings = SearchSettings(engine=cell.engine, budget_executions=BUDGET, seed=seed)
    outcome = play(Search.start(commit_range, settings=settings), machine)
    named = [step.commit for step in outcome.culprits]
    planted = [commit_range.commits[culprit]] if cell.effect else []
    if not named:
        return "none", machine.executions
    return ("right" if named == planted else "wrong"), machine.executions


def _recorded(series: Sequence[float], generator: np.random.Generator) -> Iterator[float]:
    start = int(generator.integers(0, len(series)))
    return islice(cycle(series), start, None)


def recorded_series() -> dict[str, tuple[float, ...]]:
    """Log seconds of the second half of each recorded series."""
    folder = Path(os.environ.get("PERF_CULPRIT_DATA", "")) / "real-noise"
    if not os.environ.get("PERF_CULPRIT_DATA") or not folder.is_dir():
        print("real series: skipped, PERF_CULPRIT_DATA names no folder with real-noise/")
        return {}
    found = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as file:
            rows = list(csv.reader(file))
        values = np.array([float(row[-1]) for row in rows if _is_number(row[-1])])
        found[path.stem] = tuple(np.log(values[len(values) // 2 :]).tolist())
    return found


def _is_number(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    cells = [
        Cell(name="3 %, +5 %, offsets 6 %", effect=0.05, offset=0.06),
        Cell(name="3 %, +10 %, offsets 6 %", effect=0.10, offset=0.06),
        Cell(name="bimodal, +5 %", effect=0.05, noise="bimodal"),
        Cell(name="heavy, +5 %", effect=0.05, noise="heavy"),
        Cell(name="3 %, nothing", effect=0.0, offset=0.06),
        Cell(name="3 %, +10 %, weighted", effect=0.10, engine=Engine.WEIGHTED),
        *(
            Cell(name=f"real {name}, +{effect:.0%}", effect=effect, series=series)
            for name, series in recorded_series().items()
            for effect in (0.15, 0.40, 0.0)
        ),
    ]
    print(f"{arguments.runs} searches per cell, {COMMITS} commits, at most {BUDGET} executions")
    print(f"{'cell':32} right  wrong  none   executions (mean)")
    with ProcessPoolExecutor(arguments.processes) as pool:
        for cell in cells:
            answers = list(pool.map(one, [cell] * arguments.runs, range(arguments.runs)))
            share = {kind: sum(answer == kind for answer, _ in answers) / len(answers) for kind in KINDS}
            mean = float(np.mean([executions for _, executions in answers]))
            shares = "  ".join(f"{share[kind]:5.2f}" for kind in KINDS)
            print(f"{cell.name:32} {shares}  {mean:8.0f}", flush=True)


KINDS = ("right", "wrong", "none")

if __name__ == "__main__":
    main()
