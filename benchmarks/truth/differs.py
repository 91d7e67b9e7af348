"""How often benchmarks *differ* between two unchanged runs, one file a side, through `compare`'s own code.

    python -m benchmarks.truth.differs CORPUS... [--pairs 60]

A corpus is one of `benchmarks.truth.executions`; here each file keeps its samples. Pairs are neighbours in time.
"""

import argparse
import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.run import Benchmark, Direction, Metric, Run

TIME: Final = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
SIZES: Final = (1, 3, 20)


def suites_of(path: Path) -> Iterator[tuple[str, Floats]]:
    """Yield the times of each suite, (benchmarks, executions, samples) with NaN where there are fewer."""
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.suffix == ".npz":
            held = np.load(file)
            is_time = np.array([unit == "s" for unit in held["units"]]) if "units" in held else slice(None)
            seconds = held["seconds"][is_time]
            yield file.stem, seconds[~np.isnan(seconds[:, :, 0]).any(axis=1)]
        elif file.name.endswith(".csv.gz"):
            systems: dict[str, dict[str, list[list[float]]]] = {}
            with gzip.open(file, "rt") as text:
                for row in list(csv.reader(text))[1:]:
                    systems.setdefault(row[0], {}).setdefault(row[1], []).append([float(one) for one in row[3:]])
            yield from ((name, np.array(list(rows.values()))) for name, rows in systems.items())


def run_of(values: Floats) -> Run:
    """Return one file: `values` (benchmarks, samples)."""
    samples = [tuple(row[~np.isnan(row)].tolist()) for row in values]
    return Run(benchmarks=tuple(Benchmark.of(name=f"b{n}", metric=TIME, samples=own) for n, own in enumerate(samples)))


def differing(before: Floats, after: Floats) -> tuple[int, int]:
    """Return how many benchmarks differ, and how many are called."""
    baseline = Baseline(runs=(run_of(before),), source=BaselineSource.FILES)
    verdicts = [one.verdict for one in judge(baseline, run_of(after), settings=PolicySettings()).findings]
    called = sum(one in {Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.SUSPECTED} for one in verdicts)
    return verdicts.count(Verdict.DIFFERS), called


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth.differs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    parser.add_argument("--pairs", type=int, default=60, metavar="N", help="pairs per suite and size")
    arguments = parser.parse_args()
    print("| corpus | samples | benchmarks | pairs | differ | pairs with any | with a suspicion |")
    for corpus in arguments.corpora:
        suites = list(suites_of(corpus))
        for one_number in (False, True):
            for size in SIZES:
                rng, counts = np.random.default_rng(0), []
                for _, seconds in suites:
                    taken = min(size, len(seconds))
                    for _ in range(arguments.pairs):
                        rows, at = rng.permutation(len(seconds))[:taken], int(rng.integers(seconds.shape[1] - 1))
                        pair = seconds[rows, at : at + 2, : 1 if one_number else None]
                        counts.append((*differing(pair[:, 0], pair[:, 1]), taken))
                told = np.array(counts)
                shares = told[:, 0].sum() / told[:, 2].sum(), (told[:, 0] > 0).mean(), (told[:, 1] > 0).mean()
                kind = "1" if one_number else "several"
                print(f"| {corpus.name} | {kind} | {size} | {len(told)} |", *(f"{one:.2f} |" for one in shares))


if __name__ == "__main__":
    main()
