"""The cost of a search without confirmation: the exact posterior under normal noise, stopped at a probability.

    python benchmarks/bisect/ideal.py [--runs 300]

64 commits form a chain with one step. The search measures the commit nearest to one half, or, if that has as many
executions, the end of the side that has fewer. "Told" knows level, step and noise. "Learns" estimates them from its
executions, including the two ends, with an even prior of no step at all. It uses the closed form of
`perf_culprit.search.pattern_evidence`, with one block.
"""

import argparse
import sys
from pathlib import Path
from typing import Final

import numpy as np
from scipy.special import stdtr

sys.path.insert(0, str(Path(__file__).parents[2]))

COMMITS: Final = 64
MOST: Final = 200
G: Final = 16.0
STEPS: Final = ((0.01, 0.03), (0.03, 0.10))


def _log_learned(y: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """Return log m of each commit [N], and of no step (the last), both with their prior."""
    n, mean = len(y), y.mean()
    syy = ((y - mean) ** 2).sum() + 1e-9
    count, total = slow.sum(axis=1), slow @ y
    sxx, sxy = count * (n - count) / n, total - count * mean
    sse = syy - sxy**2 / (sxx + 1 / G)
    t = sxy / np.sqrt((sxx + 1 / G) * sse / (n - 1))
    log_m = -0.5 * np.log1p(G * sxx) - (n - 1) / 2 * np.log(sse) + np.log(2 * stdtr(n - 1, t))
    return np.append(log_m - np.log(COMMITS), -(n - 1) / 2 * np.log(syy))


def search(seed: int, step: float, sd: float, *, stop: float, told: bool) -> tuple[bool, int]:
    """Return whether the search named the right commit, and its executions."""
    generator = np.random.default_rng(seed)
    culprit = int(generator.integers(1, COMMITS + 1))
    commits: list[int] = [] if told else [0, COMMITS]
    y = [step * (commit >= culprit) + generator.normal(0, sd) for commit in commits]
    while len(y) < MOST:
        slow = (np.array(commits, dtype=int) >= np.arange(1, COMMITS + 1)[:, None]).astype(float)
        if told:
            log_p = -0.5 * (((np.array(y) - step * slow) / sd) ** 2).sum(axis=1)
        else:
            log_p = _log_learned(np.array(y), slow) if len(y) > 2 else np.zeros(COMMITS + 1)
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        if p[:COMMITS].max() >= stop:
            return int(np.argmax(p[:COMMITS])) + 1 == culprit, len(y)
        is_slow = np.concatenate(([0.0], np.cumsum(p[:COMMITS] / p[:COMMITS].sum())))
        useful = np.minimum(is_slow, 1 - is_slow)
        useful[[0, -1]] = 0.0
        pick = int(np.argmax(np.round(useful, 9)))
        counts = np.bincount(np.array(commits, dtype=int), minlength=COMMITS + 1)
        fast_side, slow_side = counts[is_slow < 0.02].sum(), counts[is_slow > 0.98].sum()
        if not told and counts[pick] >= min(fast_side, slow_side):
            pick = 0 if fast_side <= slow_side else COMMITS
        commits.append(pick)
        y.append(step * (pick >= culprit) + generator.normal(0, sd))
    return False, MOST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    arguments = parser.parse_args()
    print("noise, effect   knows    stop   right  executions: mean, median")
    for sd, effect in STEPS:
        for told in (True, False):
            for stop in (0.95, 0.99, 0.999):
                runs = [
                    search(seed, float(np.log1p(effect)), sd, stop=stop, told=told) for seed in range(arguments.runs)
                ]
                right, counts = (np.array(part, dtype=float) for part in zip(*runs, strict=True))
                name = "told" if told else "learns"
                cost = f"{right.mean():5.3f} {counts.mean():8.1f} {np.median(counts):6.0f}"
                print(f"{sd:5.0%}, {effect:+5.0%}   {name:7} {stop:6}  {cost}", flush=True)


if __name__ == "__main__":
    main()
