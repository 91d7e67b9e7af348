"""The whole grid: lengths, histories, noises and offsets; both engines against the usual ways and the Fano bound.

    python benchmarks/bisect/grid.py [--runs 20] [--cells "chain 64"] [--methods bayes,weighted] [--workers 2]
                                     [--executions 800] [--json FILE]

One step is planted at a random commit. `right`: exactly it is named; `wrong`: any other commit is; `none`: no name.
`batches` are rounds one after the other (k jobs at once where the method says so). `said - was` is the mean posterior
of the names less their share of right ones. Runs are seeded by the cell: the same arguments give the same figures.
"""

import argparse
import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.bound import capacity_bits, fano_executions
from benchmarks.bisect.machine import NOISES, Machine, chain, levels_of, merge_dag, offsets, scales, stream
from benchmarks.bisect.rivals import RIVALS, play_rival
from perf_culprit.model.bisection import CommitRange, Engine, SearchSettings
from perf_culprit.search.search import Search

SIZES = (8, 64, 512)
HISTORIES: Mapping[str, Callable[[int, int], CommitRange]] = {"chain": lambda size, _: chain(size), "merges": merge_dag}
STEPS = (
    ("1%", 0.02),
    ("3%", 0.02),
    ("3%", 0.05),
    ("3%", 0.10),
    ("10%", 0.05),
    ("10%", 0.10),
    ("bimodal", 0.05),
    ("heavy", 0.05),
)
OFFSETS = (0.0, 0.06)
# As `/perf-bisect` searches: parallel rounds, three on each of four machines whose noise differs too.
MACHINES_ROUNDS = 12
MACHINES_SCALE = 0.5
METHODS = ("bayes", "bayes, 8 jobs", "bayes, 4 machines", "weighted", *RIVALS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A cell of the grid. `offset_sd`: standard deviation of a job's level, in logarithms."""

    history: str
    size: int
    noise: str
    effect: float
    offset_sd: float

    @property
    def name(self) -> str:
        return f"{self.history} {self.size}, {self.noise}, {self.effect:+.0%}, offsets {self.offset_sd:.0%}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    verdict: str
    executions: int
    batches: int
    posterior: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One method in one cell. `over_bound` is executions over the Fano bound, whose ends are free."""

    cell: str
    method: str
    runs: int
    right: float
    wrong: float
    none: float
    executions: float
    batches: float
    said_minus_was: float | None
    bound: float
    over_bound: float


def cells(wanted: str) -> Iterator[Cell]:
    """Yield the cells whose name contains all parts of `wanted`, which are separated by semicolons."""
    for history, size, (noise, effect), offset in product(HISTORIES, SIZES, STEPS, OFFSETS):
        cell = Cell(history=history, size=size, noise=noise, effect=effect, offset_sd=offset)
        if all(part.strip() in cell.name for part in wanted.split(";")):
            yield cell


def trial(cell: Cell, method: str, number: int, *, budget: int) -> Trial:
    seed = zlib.crc32(f"{cell.name} {number}".encode())
    generator = np.random.default_rng(seed)
    commit_range = HISTORIES[cell.history](cell.size, number)
    culprit = int(generator.integers(0, cell.size))
    several = method.endswith("machines")
    machine = Machine(
        levels=levels_of(commit_range, {culprit: float(np.log1p(cell.effect))}),
        noise=stream(NOISES[cell.noise], generator),
        offset=offsets(generator, cell.offset_sd),
        scale=scales(generator, MACHINES_SCALE if several else 0.0),
    )
    planted = commit_range.commits[culprit]
    if method in RIVALS:
        answer = play_rival(RIVALS[method], commit_range, machine)
        verdict = "none" if answer.named is None else "right" if answer.named == planted else "wrong"
        return Trial(verdict=verdict, executions=answer.executions, batches=answer.batches)
    engine, _, jobs = method.partition(", ")
    settings = SearchSettings(
        engine=Engine(engine), budget_executions=budget, seed=seed % 2**31, one_machine=not several
    )
    rounds = MACHINES_ROUNDS if several else 8 if jobs else 1
    return _search(Search.start(commit_range, settings=settings), machine, planted, jobs=rounds)


def _search(search: Search, machine: Machine, planted: str, *, jobs: int) -> Trial:
    batches = 0
    while (outcome := search.outcome()) is None:
        proposed = search.propose(jobs)
        batches += bool(proposed)
        for job in proposed:
            search.record(job.id, *machine.run(job.commits))
    named = [culprit.commit for culprit in outcome.culprits]
    verdict = "none" if not named else "right" if named == [planted] else "wrong"
    posterior = outcome.culprits[0].posterior if named else None
    return Trial(verdict=verdict, executions=machine.executions, batches=batches, posterior=posterior)


def row(cell: Cell, method: str, trials: Sequence[Trial]) -> Row:
    def share(verdict: str) -> float:
        return sum(one.verdict == verdict for one in trials) / len(trials)

    posteriors = [(one.posterior, one.verdict == "right") for one in trials if one.posterior is not None]
    executions = float(np.mean([one.executions for one in trials]))
    bound = fano_executions(cell.size, capacity_bits(cell.noise, cell.effect))
    return Row(
        cell=cell.name,
        method=method,
        runs=len(trials),
        right=share("right"),
        wrong=share("wrong"),
        none=share("none"),
        executions=executions,
        batches=float(np.mean([one.batches for one in trials])),
        said_minus_was=float(np.mean([posterior - right for posterior, right in posteriors])) if posteriors else None,
        bound=bound,
        over_bound=executions / bound,
    )


def line(one: Row) -> str:
    calibration = "" if one.said_minus_was is None else f"{one.said_minus_was:+.3f}"
    return (
        f"{one.cell:38} {one.method:19} {one.right:5.2f} {one.wrong:6.2f} {one.none:5.2f} {one.executions:10.0f} "
        f"{one.batches:8.1f} {calibration:>10} {one.bound:7.1f} {one.over_bound:7.1f}"
    )


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Summarize each method over all cells: mean shares, and geometric mean of executions over the bound."""
    for method in dict.fromkeys(one.method for one in rows):
        own = [one for one in rows if one.method == method]
        ratio = float(np.exp(np.mean(np.log([one.over_bound for one in own]))))
        shares = ", ".join(f"{name} {np.mean([getattr(one, name) for one in own]):.3f}" for name in VERDICTS)
        worst = max(own, key=lambda one: one.wrong)
        yield f"{method}: {shares}; {ratio:.2f} x the bound; most wrong {worst.wrong:.2f} in {worst.cell}"


VERDICTS = ("right", "wrong", "none")


def revision() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--cells", default="", help='parts of a name, all of them: "chain 64; 3%%"')
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by semicolons")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--executions", type=int, default=800, help="budget of a search")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    methods = [method.strip() for method in arguments.methods.split(";")]
    if unknown := set(methods) - set(METHODS):
        parser.error(f"unknown methods: {', '.join(sorted(unknown))}; there are: {'; '.join(METHODS)}")
    chosen = list(cells(arguments.cells))
    if not chosen:
        parser.error("no cell has such a name")
    print(f"{arguments.runs} runs per row, at most {arguments.executions} executions, revision {revision()}")
    header = f"{'cell':38} {'method':19} right  wrong  none executions  batches said - was   bound  x bound"
    print(header)
    rows = []
    with ProcessPoolExecutor(arguments.workers) as pool:
        for cell, method in product(chosen, methods):
            play = partial(trial, cell, method, budget=arguments.executions)
            rows.append(row(cell, method, list(pool.map(play, range(arguments.runs)))))
            print(line(rows[-1]), flush=True)
    print(*summary(rows), sep="\n")
    if arguments.json:
        document: dict[str, Any] = {"revision": revision(), "arguments": {**vars(arguments), "json": None}}
        arguments.json.write_text(json.dumps({**document, "rows": [asdict(one) for one in rows]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
