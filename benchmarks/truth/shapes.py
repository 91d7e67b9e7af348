"""False alarms of `shapes` on unchanged benchmarks, and its power: recorded executions in rounds A B B A.

python -m benchmarks.truth.shapes CORPUS.npz ... [--rounds 5 7]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.shapes import noisier
from perf_culprit.model.run import Benchmark, Direction, Metric

TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
RATE = 0.01


def windows(values: Floats, rounds: int) -> Iterator[tuple[Floats, Booleans]]:
    """Yield every stretch of `rounds` rounds, with its two sides in both orders."""
    labels = np.tile([False, True, True, False], rounds)
    for start in range(values.shape[1] - 4 * rounds + 1):
        for swapped in (False, True):
            yield values[:, start : start + 4 * rounds], labels ^ swapped


def side(samples: Floats, chosen: Booleans) -> Benchmark:
    own = [row[~np.isnan(row)].tolist() for row in samples[chosen]]
    rounds = tuple((np.flatnonzero(chosen) // 4 + 1).tolist())
    flat = tuple(one for row in own for one in row)
    return Benchmark.of(name="b", metric=TIME, samples=flat, group_sizes=tuple(map(len, own)), rounds=rounds)


def is_called(samples: Floats, labels: Booleans, benchmarks: int) -> bool:
    before, now = side(samples, ~labels), side(samples, labels)
    pair = MetricPair(key=now.key, metric=TIME, target=now, baseline=(before,), positions=(0,))
    return noisier(pair, level=RATE / benchmarks) is not None


def scattered(samples: Floats, labels: Booleans, factor: float) -> Floats:
    """Multiply the distance of the target's samples from their execution's median, in logarithms."""
    logs = np.log(samples)
    middle = np.nanmedian(logs, axis=1, keepdims=True)
    return np.where(labels[:, None], np.exp(middle + factor * (logs - middle)), samples)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth.shapes", description=__doc__)
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, nargs="+", default=[5, 7])
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    print("| corpus | rounds | comparisons | any called | benchmarks called | twice found | thrice found |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for corpus in asked.corpora:
        values = np.load(corpus)["seconds"]
        for rounds in asked.rounds:
            called: list[list[bool]] = []
            planted: dict[float, list[bool]] = {2.0: [], 3.0: []}
            for stretch, labels in windows(values, rounds):
                called.append([is_called(one, labels, len(stretch)) for one in stretch])
                chosen = stretch[rng.integers(len(stretch))]
                for factor, hits in planted.items():
                    hits.append(is_called(scattered(chosen, labels, factor), labels, len(stretch)))
            if called:
                rates = (np.any(called, axis=1).mean(), np.mean(called), *(np.mean(hits) for hits in planted.values()))
                shown = " | ".join(f"{rate:.2%}" for rate in rates)
                print(f"| {corpus.stem} | {rounds} | {len(called)} | {shown} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
