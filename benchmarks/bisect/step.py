"""The time of a decision between two rounds, and the time to read a long history.

    python benchmarks/bisect/step.py [--sizes 64,512,4000] [--history chain|merges] [--profile SIZE]

A step is `record` and `propose` of one round, to the end of a whole search (3% noise, +5%, offsets 6%). Beside it:
the bare one-step posterior and pick on a dense matrix, in numpy. The history of 50,000 commits is read from git's text,
cut and weighed; beside it git weighs the same one with `rev-list --bisect`.
"""

import argparse
import cProfile
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.machine import NOISES, Machine, chain, levels_of, merge_dag, offsets, stream
from perf_culprit.model.bisection import CommitRange, SearchSettings
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.search import Search

LIMIT_S = 0.1
COMMITS = 50_000


def whole_search(commit_range: CommitRange, seed: int) -> tuple[Search, list[float]]:
    """The finished search and the seconds of each step."""
    generator = np.random.default_rng(seed)
    culprit = int(generator.integers(0, len(commit_range.commits)))
    machine = Machine(
        levels=levels_of(commit_range, {culprit: float(np.log1p(0.05))}),
        noise=stream(NOISES["3%"], generator),
        offset=offsets(generator, 0.06),
    )
    search = Search.start(commit_range, settings=SearchSettings(seed=seed))
    seconds = []
    while search.outcome() is None:
        started = time.perf_counter()
        jobs = search.propose()
        seconds.append(time.perf_counter() - started)
        for job in jobs:
            measured = machine.run(job.commits)
            started = time.perf_counter()
            search.record(job.id, *measured)
            seconds[-1] += time.perf_counter() - started
    return search, seconds


def dense_step(search: Search) -> float:
    """Seconds for the plain posterior of one step and the commit nearest to one half, all of it dense."""
    commit_range = search.state.commit_range
    reach = Descendants(commit_range)
    slow = np.stack([reach.column(commit) for commit in range(reach.size + 1)]).astype(np.float32)
    places = {commit_range.good: 0} | {commit: place + 1 for place, commit in enumerate(commit_range.commits)}
    rows = [(places[commit], np.log(value[0])) for one in search.state.results for commit, value in one.values.items()]
    commits, y = (np.array(part) for part in zip(*rows, strict=True))
    started = time.perf_counter()
    measured, place = np.unique(commits, return_inverse=True)
    count, total = np.bincount(place), np.bincount(place, weights=y)
    pattern = slow[measured].T
    n, slow_n, slow_total = len(y), pattern @ count, pattern @ total
    sxx, sxy = slow_n * (n - slow_n) / n, slow_total - slow_n * y.mean()
    sse = ((y - y.mean()) ** 2).sum() - sxy**2 / (sxx + 1 / 16)
    t = sxy / np.sqrt((sxx + 1 / 16) * sse / (n - 1))
    log_m = -0.5 * np.log1p(16 * sxx) - 0.5 * (n - 1) * np.log(sse) + np.log(2 * ndtr(t) + 1e-300)
    posterior = np.exp(log_m - log_m.max())
    p: npt.NDArray[np.float64] = slow @ (posterior / posterior.sum())
    int(np.argmax(np.minimum(p, 1 - p)))
    return time.perf_counter() - started


def report_steps(sizes: Sequence[int], history: str) -> None:
    print(f"{'commits':>8} {'rounds':>7} {'median':>9} {'95%':>9} {'longest':>9} {'dense numpy':>12}")
    for size in sizes:
        commit_range = chain(size) if history == "chain" else merge_dag(size, 1)
        search, seconds = whole_search(commit_range, seed=1)
        # The machine has other load: take the least of a few.
        dense = min(dense_step(search) for _ in range(3))
        cuts = np.quantile(seconds, [0.5, 0.95, 1.0]) * 1000
        print(
            f"{size:8} {len(seconds):7} {cuts[0]:6.1f} ms {cuts[1]:6.1f} ms {cuts[2]:6.1f} ms {dense * 1000:9.1f} ms",
            flush=True,
        )
    print(f"limit: {LIMIT_S * 1000:.0f} ms at 4000 commits")


def merged_text() -> str:
    """A merge at every fifth commit, parents first: "<commit> <parent>..."."""
    rows = ["1"]
    for number in range(2, COMMITS + 1):
        second = f" {number - 2}" if number % 5 == 0 and number > 5 else ""
        rows.append(f"{number} {number - 1}{second}")
    return "\n".join(rows)


def report_history() -> None:
    text = "\n".join(reversed(merged_text().splitlines()))
    started = time.perf_counter()
    commit_range = cut_range(parse_parents(text), good="1", bad=str(COMMITS))
    cut = time.perf_counter() - started
    started = time.perf_counter()
    Descendants(commit_range).ancestor_counts  # noqa: B018 - its time is what counts
    weighed = time.perf_counter() - started
    print(f"{COMMITS} commits: read and cut {cut:.2f} s, weighed {weighed:.2f} s; limit 1 s together")
    print(f"git rev-list --bisect: {git_seconds():.2f} s")


def git_seconds() -> float:
    commands = []
    for row in merged_text().splitlines():
        number, *parents = row.split()
        commands.append(
            f"commit refs/heads/main\nmark :{number}\ncommitter a <a@b.c> {1_700_000_000 + int(number)} +0000"
        )
        commands.append("data 0")
        commands += [f"{'merge' if place else 'from'} :{parent}" for place, parent in enumerate(parents)]
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", folder]
        subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], check=True)
        subprocess.run([*git, "fast-import", "--quiet"], input="\n".join([*commands, ""]).encode(), check=True)
        root = subprocess.run(
            [*git, "rev-list", "--max-parents=0", "main"], check=True, capture_output=True, text=True
        ).stdout.strip()
        started = time.perf_counter()
        subprocess.run([*git, "rev-list", "--bisect", "main", f"^{root}"], check=True, capture_output=True)
        return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="64,512,4000")
    parser.add_argument("--history", choices=("chain", "merges"), default="merges")
    parser.add_argument("--profile", type=int, metavar="SIZE", help="where the time of one search goes, by function")
    arguments = parser.parse_args()
    if arguments.profile:
        commit_range = chain(arguments.profile) if arguments.history == "chain" else merge_dag(arguments.profile, 1)
        profile = cProfile.Profile()
        profile.runcall(whole_search, commit_range, 1)
        pstats.Stats(profile).sort_stats("tottime").print_stats(18)
        return
    report_steps([int(size) for size in arguments.sizes.split(",")], arguments.history)
    report_history()


if __name__ == "__main__":
    main()
