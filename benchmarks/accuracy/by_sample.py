"""False alarms of the published tests of samples, on unchanged recorded executions, one file a side.

python -m benchmarks.accuracy.by_sample [--detector median_interval] [--minimum-effect 5%]

Each execution of a recording (benchmarks/truth/corpora) is a file, judged against the one before it by the shipped
detector with `unit: sample`. Recordings with too few samples a file have nothing to test.
"""

import argparse
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.detectors import BY_SAMPLE_DETECTORS, DEFAULT_DETECTOR
from perf_culprit.model.finding import PROVEN, Baseline, BaselineSource, Verdict
from perf_culprit.model.run import Benchmark, Direction, Metric, Run

CORPORA = Path(__file__).parents[1] / "truth" / "corpora"


def files(path: Path) -> Iterator[Run]:
    """Return one run per execution, in order."""
    recorded = np.load(path)
    metrics = [
        Metric(name=str(name), unit=str(unit), direction=Direction(str(direction)))
        for name, unit, direction in zip(recorded["metrics"], recorded["unit"], recorded["directions"], strict=True)
    ]
    for execution in range(recorded["seconds"].shape[1]):
        measured = []
        for row, (name, metric) in enumerate(zip(recorded["names"], metrics, strict=True)):
            samples = recorded["seconds"][row, execution]
            samples = tuple(samples[np.isfinite(samples)].tolist())
            measured.append(Benchmark.of(name=str(name), metric=metric, samples=samples, group_sizes=(len(samples),)))
        yield Run(suite=path.stem, benchmarks=tuple(measured))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minimum-effect", default="5%")
    parser.add_argument("--detector", choices=BY_SAMPLE_DETECTORS, default=DEFAULT_DETECTOR)
    asked = parser.parse_args()
    settings = PolicySettings(unit="sample", minimum_effect=asked.minimum_effect)
    print("| recording | samples a file | benchmarks called | comparisons with any |\n|---|--:|--:|--:|")
    whole = np.zeros(4, dtype=int)
    for path in sorted(CORPORA.glob("*.npz")):
        runs = list(files(path))
        if (samples := max(len(one.samples) for one in runs[0].benchmarks)) < 2:
            continue
        counts = np.zeros(4, dtype=int)
        for before, after in pairwise(runs):
            baseline = Baseline(runs=(before,), source=BaselineSource.FILES)
            findings = judge(baseline, after, detector=asked.detector, settings=settings).findings
            tested = [one.verdict for one in findings if one.verdict is not Verdict.UNTESTED]
            called = sum(verdict in PROVEN for verdict in tested)
            counts += [called, len(tested), called > 0, len(tested) > 0]
        if not counts[1]:
            continue
        whole += counts
        print(_row(path.stem, str(samples), counts))
    print(_row("all", "", whole))


def _row(name: str, samples: str, counts: np.ndarray) -> str:
    called, benchmarks, wrong, comparisons = counts.tolist()
    return (
        f"| {name} | {samples} | {called} of {benchmarks} ({called / benchmarks:.0%}) | "
        f"{wrong} of {comparisons} ({wrong / comparisons:.0%}) |"
    )


if __name__ == "__main__":
    main()
