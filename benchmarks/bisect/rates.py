"""A command that fails in some executions: how often is the right commit named, and what does it cost?

    python benchmarks/bisect/rates.py [--runs N] [--first SEED] [--processes N] [--case PART] [--budget N]

Ranges are chains and histories with merges of 12 to 64 commits, by turns. "git" is `git bisect run`. Its script
executes a commit K times, and T failures make it bad. T is the best for both rates, as if somebody knew them. It
neither tests the ends nor confirms.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.machine import chain, levels_of, merge_dag
from perf_culprit.model.bisection import CommitRange, OutcomeKind, SearchSettings
from perf_culprit.model.count import FAILED, PASSED
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.search import Search
from perf_culprit.stats.binomial import share_interval

SIZES: Final = (12, 24, 64)
REPETITIONS: Final = (1, 5, 10, 20, 40)
CASES: Final[dict[str, tuple[float, float]]] = {
    "0 -> 100%": (0.0, 1.0),
    "0 -> 20%": (0.0, 0.20),
    "5 -> 40%": (0.05, 0.40),
    "10 -> 30%": (0.10, 0.30),
    "50 -> 90%": (0.50, 0.90),
    "5 -> 6%": (0.05, 0.06),
    "0% throughout": (0.0, 0.0),
    "5% throughout": (0.05, 0.05),
    "30% throughout": (0.30, 0.30),
    "100% throughout": (1.0, 1.0),
}


@dataclass(frozen=True, slots=True)
class Trial:
    kind: OutcomeKind
    named: str | None
    right: str
    executions: int


def history(seed: int) -> tuple[CommitRange, int]:
    """Return a range and its culprit's place."""
    size = SIZES[seed % len(SIZES)]
    commit_range = chain(size) if seed % 2 else merge_dag(size, seed)
    return commit_range, int(np.random.default_rng([seed, 5]).integers(size))


def rates_of(commit_range: CommitRange, culprit: int, rates: tuple[float, float]) -> dict[str, float]:
    levels = levels_of(commit_range, {culprit: 1.0})
    return {commit: rates[bool(level)] for commit, level in levels.items()}


def trial(rates: tuple[float, float], budget: int, seed: int) -> Trial:
    commit_range, culprit = history(seed)
    rate_of = rates_of(commit_range, culprit, rates)
    generator = np.random.default_rng([seed, 29])
    settings = SearchSettings(of_failures=True, budget_executions=budget, seed=seed)
    search = Search.start(commit_range, settings=settings)
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            fails = {commit: generator.random() < rate_of[commit] for commit in job.commits}
            search.record(job.id, {commit: [FAILED if fails[commit] else PASSED] for commit in job.commits})
    named = outcome.culprits[0].commit if outcome.culprits else None
    return Trial(outcome.kind, named, commit_range.commits[culprit], outcome.executions)


def by_git(rates: tuple[float, float], repetitions: int, seed: int) -> Trial:
    """`git bisect run`, by its weights."""
    commit_range, culprit = history(seed)
    rate_of = rates_of(commit_range, culprit, rates)
    least = np.arange(1, repetitions + 1)
    errors = binom.sf(least - 1, repetitions, rates[0]) + binom.cdf(least - 1, repetitions, rates[1])
    enough = int(least[np.argmin(errors)])
    generator, reach = np.random.default_rng([seed, 31]), Descendants(commit_range)
    left, executions = np.ones(reach.size, dtype=np.bool_), 0
    while left.sum() > 1:
        inside = np.rint(reach.slow_mass(left.astype(np.float64))[1:])
        target = int(np.argmax(np.where(left, np.minimum(inside, left.sum() - inside), -1)))
        fails = generator.random(repetitions) < rate_of[commit_range.commits[target]]
        executions += repetitions
        ancestors = reach.column(target + 1)
        left &= ancestors if fails.sum() >= enough else ~ancestors
    named = commit_range.commits[int(np.flatnonzero(left)[0])]
    return Trial(OutcomeKind.CULPRIT, named, commit_range.commits[culprit], executions)


def row(name: str, method: str, trials: Sequence[Trial], *, is_changed: bool) -> str:
    right = sum(one.named == one.right for one in trials) if is_changed else 0
    wrong = sum(one.named is not None for one in trials) - right
    kinds = {kind: sum(one.kind is kind for one in trials) for kind in OutcomeKind}
    others = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count and kind is not OutcomeKind.CULPRIT)
    executions = [one.executions for one in trials]
    bounds = share_interval(right if is_changed else wrong, len(trials))
    interval = f"{100 * bounds[0]:.1f} … {100 * bounds[1]:.1f}%"
    cost = f"{np.mean(executions):.0f}, {np.median(executions):.0f}"
    return f"| {name} | {method} | {right} of {len(trials)} | {wrong} | {interval} | {others or 'none'} | {cost} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first search; 0 to 999 were for tuning")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--case", default="", help="part of a name")
    parser.add_argument("--budget", type=int, default=400)
    arguments = parser.parse_args()
    print(
        "| failures | method | right | wrong | 95% of right, or of wrong | other answers | executions: mean, median |"
    )
    print("|:--|:--|--:|--:|--:|:--|--:|")
    seeds = range(arguments.first, arguments.first + arguments.runs)
    with ProcessPoolExecutor(arguments.processes) as pool:
        for name, rates in CASES.items():
            if arguments.case not in name:
                continue
            is_changed = rates[0] != rates[1]
            trials = list(pool.map(partial(trial, rates, arguments.budget), seeds, chunksize=5))
            print(row(name, "bisect --outcome", trials, is_changed=is_changed), flush=True)
            for repetitions in REPETITIONS if is_changed else ():
                rival = list(pool.map(partial(by_git, rates, repetitions), seeds, chunksize=20))
                print(row(name, f"git, K = {repetitions}", rival, is_changed=True), flush=True)


if __name__ == "__main__":
    main()
