"""Ranks of planted slow methods, over seeds.

python benchmarks/logs/ranking.py [SEEDS] [CALLS]
"""

import statistics
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT))

from benchmarks.logs.generator import write_log  # noqa: E402 - found by the path above
from perf_culprit.explain.ranking import diagnose_log  # noqa: E402
from perf_culprit.read.logs.log_pattern import load_pattern  # noqa: E402
from perf_culprit.read.logs.reading_settings import RankingSettings, ReadingSettings  # noqa: E402


def ranks(path: Path, *, seed: int, calls: int) -> tuple[dict[str, list[int]], list[int]]:
    """Return the ranks of the planted methods by reason of their slowness, and those of the obvious ones."""
    plan = write_log(path, calls=calls, seed=seed)
    diagnosis = diagnose_log(
        [str(path)], pattern=load_pattern("labelled"), reading=ReadingSettings(), ranking=RankingSettings()
    )
    rank_of = {suspect.method: rank for rank, suspect in enumerate(diagnosis.suspects, 1)}
    by_reason: dict[str, list[int]] = {}
    for method, why in plan.planted.items():
        by_reason.setdefault(why, []).append(rank_of.get(method, len(rank_of) + 1))
    return by_reason, sorted(rank_of.get(method, len(rank_of) + 1) for method in plan.obvious)


def main(seeds: int, calls: int) -> None:
    worst_obvious = []
    within_20 = []
    worst = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            by_reason, obvious = ranks(Path(folder) / "log", seed=seed, calls=calls)
            every = sorted(rank for entry in by_reason.values() for rank in entry)
            within_20.append(sum(rank <= 20 for rank in every))
            worst.append(every[-1])
            worst_obvious.append(obvious[-1])
            print(f"seed {seed}: {within_20[-1]} of {len(every)} within 20, last at {worst[-1]}, obvious {obvious}")
            print("  " + ", ".join(f"{why} {sorted(entry)}" for why, entry in by_reason.items()))
    print(f"within 20: least {min(within_20)} (must be 16); last planted: {max(worst)} (must be 30)")
    print(f"last obvious: median {statistics.median(worst_obvious)} (must be 10)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, int(sys.argv[2]) if len(sys.argv) > 2 else 2_000)
