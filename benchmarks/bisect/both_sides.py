"""The cost of a search by counts when both sides of a merge made the same change.

    python benchmarks/bisect/both_sides.py [--searches 12]

Two branches of a merged history, of random lengths, each get +11% at a random commit; the merge has it once. For 24 and
64 commits it prints the executions of each search, how many of the two commits it names, and how many others.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.machine import Machine, commit_range_of, lognormal, play, stream
from perf_culprit.model.bisection import SearchSettings
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.search.search import Search

STEP = float(np.log1p(0.11))
SHORTEST = 8
# Three commits before the branches, the merge and two after it.
TRUNK = 3
AFTER = 3
COUNTING_NOISE = 1e-7


def searched(size: int, seed: int) -> tuple[int, int, int]:
    """Return the executions, and the numbers of named commits that were planted and that were not."""
    generator = np.random.default_rng(seed)
    first = int(generator.integers(SHORTEST, size // 2))
    lengths = (first, size - first - TRUNK - AFTER)
    parents = [[], [0], [1]]
    tips, planted = [], []
    for length in lengths:
        branch = range(len(parents), len(parents) + length)
        parents += [[place - 1] if place > branch[0] else [TRUNK - 1] for place in branch]
        tips.append(branch[-1])
        planted.append(branch[int(generator.integers(0, length))])
    parents.append(tips)
    parents += [[len(parents) - 1], [len(parents)]]
    levels = {"c0": 0.0}
    for place, own in enumerate(parents):
        inherited = max((levels[f"c{parent + 1}"] for parent in own), default=0.0)
        levels[f"c{place + 1}"] = STEP if place in planted else inherited
    rounds = Machine(levels=levels, noise=stream(lognormal(COUNTING_NOISE), generator))
    settings = SearchSettings(seed=seed, minimum_effect=DEFAULTS[DataKind.COUNT])
    outcome = play(Search.start(commit_range_of(parents), settings=settings), rounds)
    names = {one.commit for one in outcome.culprits}
    both = {f"c{place + 1}" for place in planted}
    return rounds.executions, len(names & both), len(names - both)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=12)
    searches = parser.parse_args().searches
    for size in (24, 64):
        executions, named, others = zip(*(searched(size, seed) for seed in range(searches)), strict=True)
        print(f"{size} commits: executions {sorted(executions)}, mean {np.mean(executions):.1f}")
        both, one, none = (Counter(named)[count] for count in (2, 1, 0))
        print(f"  both named {both}, one {one}, none {none}; others {sum(others)}")


if __name__ == "__main__":
    main()
