"""Tables 4 and 5 of [N12], control charts of the Dell DVD Store, rebuilt by simulation next to the published figures.

python -m benchmarks.accuracy.ds2_charts
"""

from typing import Final

import numpy as np

from benchmarks.accuracy.ds2 import FAULTS, GOOD_RUNS
from benchmarks.accuracy.web_shop import Shop, mean, shop_run
from perf_culprit.judge import control_chart
from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.limit_verdict import exceeds_threshold
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence
from perf_culprit.model.run import Run

# Counters out of control, and their average violation ratio, of table 5.
PUBLISHED: Final = {
    "good run 1": (2, 0.1315),
    "good run 2": (0, None),
    "good run 3": (3, 0.277),
    "good run 4": (5, 0.136),
    "good run 5": (0, None),
    "query limit": (14, 0.812),
    "system print": (6, 0.817),
    "DB connection": (2, 0.125),
    "key index": (2, 1.0),
    "text index": (17, 0.712),
}
TABLE_4: Final = "system print"
SEED: Final = 0


def charted(target: Run, runs: list[Run]) -> list[Evidence]:
    """Return the counters out of control, in the order of their violation relative to the threshold."""
    tables = pair_counters(Baseline(runs=tuple(runs), source=BaselineSource.HISTORY), target).tables
    evidence = control_chart.DETECTOR.detect_counters(tables, DetectorOptions())
    return sorted(filter(exceeds_threshold, evidence), key=lambda entry: -entry.violation)


def main() -> None:
    rng = np.random.default_rng(SEED)
    good = [shop_run(rng, Shop()) for _ in range(GOOD_RUNS)]
    results = {
        f"good run {number}": charted(run, [other for other in good if other is not run])
        for number, run in enumerate(good, 1)
    }
    results |= {name: charted(shop_run(rng, shop), good) for name, shop in FAULTS.items()}
    print("| table 5 | out of control | published | average violation ratio | published |\n|---|--:|--:|--:|--:|")
    for name, outside in results.items():
        count, ratio = PUBLISHED[name]
        own = f"{mean([entry.score or 0.0 for entry in outside]):.1%}" if outside else "-"
        print(f"| {name} | {len(outside)} | {count} | {own} | {'-' if ratio is None else f'{ratio:.1%}'} |")
    print(f"\n| table 4: {TABLE_4} | threshold | violation ratio |\n|---|--:|--:|")
    for entry in results[TABLE_4]:
        print(f"| {entry.key.full_name} | {entry.threshold:.1%} | {entry.score:.1%} |")


if __name__ == "__main__":
    main()
