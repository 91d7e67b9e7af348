"""Blocks of commits that do not run, in the middle of a chain, with the culprit outside or inside.

    python benchmarks/bisect/blocks.py [--runs 10] [--crash] [--sizes 64,194] [--noise 1%] [--effect 0.5]

`right`: outside, exactly the culprit is named; inside, the suspects contain it. `wrong`: another commit is named, or
the suspects lack it. `suspects`: how many the answer lists. Searches are seeded by cell and number.
"""

import argparse
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.machine import NOISES, Machine, chain, levels_of, play, stream
from perf_culprit.model.bisection import FailureKind, SearchSettings
from perf_culprit.search.search import Search

SHARES = (0.0, 1 / 3, 0.6)
BUDGET = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    size: int
    share: float
    inside: bool
    noise: str
    effect: float
    kind: FailureKind

    @property
    def name(self) -> str:
        where = "no block" if not self.share else "inside" if self.inside else "outside"
        return f"{self.size} commits, block {self.share:.0%}, {where}"


def cells(arguments: argparse.Namespace) -> Iterator[Cell]:
    kind = FailureKind.CRASHED if arguments.crash else FailureKind.BUILD
    for size in map(int, arguments.sizes.split(",")):
        for share in SHARES:
            for inside in (False, True)[: 1 + bool(share)]:
                yield Cell(
                    size=size, share=share, inside=inside, noise=arguments.noise, effect=arguments.effect, kind=kind
                )


def trial(cell: Cell, number: int) -> tuple[str, int, int]:
    seed = zlib.crc32(f"{cell.name} {number}".encode())
    generator = np.random.default_rng(seed)
    commit_range, length = chain(cell.size), int(cell.size * cell.share)
    first = int(generator.integers(2, cell.size - length - 1))
    block = range(first, first + length)
    # The first commit after the block cannot be told from those in it.
    outside = [place for place in range(cell.size) if place not in block and place != block.stop]
    culprit = int(generator.choice(block if cell.inside else outside))
    machine = Machine(
        levels=levels_of(commit_range, {culprit: float(np.log1p(cell.effect))}),
        noise=stream(NOISES[cell.noise], generator),
        broken=frozenset(commit_range.commits[first : first + length]),
        breaks=cell.kind,
    )
    settings = SearchSettings(budget_executions=BUDGET, seed=seed % 2**31)
    outcome = play(Search.start(commit_range, settings=settings), machine)
    named = [one.commit for one in outcome.culprits]
    suspects = {one.commit for one in outcome.suspects}
    planted = commit_range.commits[culprit]
    if named:
        verdict = "right" if named == [planted] else "wrong"
    elif cell.inside and suspects:
        verdict = "right" if planted in suspects else "wrong"
    else:
        verdict = "none"
    return verdict, machine.executions, len(suspects)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--sizes", default="64,194")
    parser.add_argument("--noise", default="1%")
    parser.add_argument("--effect", type=float, default=0.5)
    parser.add_argument("--crash", action="store_true", help="the commits crash instead of failing to build")
    arguments = parser.parse_args()
    print(f"{'cell':36} right wrong  none executions  most  suspects")
    with ProcessPoolExecutor(1) as pool:
        for cell in cells(arguments):
            trials = list(pool.map(partial(trial, cell), range(arguments.runs)))
            counts = [sum(one[0] == verdict for one in trials) for verdict in ("right", "wrong", "none")]
            executions = [one[1] for one in trials]
            suspects = np.mean([one[2] for one in trials])
            print(
                f"{cell.name:36} {counts[0]:5} {counts[1]:5} {counts[2]:5} {np.mean(executions):10.1f} "
                f"{max(executions):5} {suspects:9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
