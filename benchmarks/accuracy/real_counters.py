"""Rule ensembles on real counters in which nothing changed, and with one counter larger for a part of the time.

    PERF_CULPRIT_DATA=DIR python benchmarks/accuracy/real_counters.py --half reporting    some minutes

DIR holds `petshop/dataset/`, `executions-aa/` and `real-noise/`. A target is a part of a recording, its baseline the
nearest other parts. *Planted*: one counter, drawn per target, is four times as high for 35% of the time.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import structs
from scipy import stats
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.accuracy.petshop import BLOCK_ROWS, HIGH, LOW, cut, half_of, read_run
from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.limit_verdict import counter_findings, exceeds_threshold
from perf_culprit.judge.rule_ensemble import assess_tables
from perf_culprit.judge.rule_options import RuleOptions
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.run import Run
from tests.support.counter_runs import counter_run, counter_table

CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}
RUNS = (3, 5, 10)
FACTOR, START, SHARE = 4.0, 0.3, 0.35
SUITES = {"tuning": ("py", "py_load"), "reporting": ("c", "c_load")}
SERIES = {"tuning": "series1", "reporting": "series2"}
SUITE_ROWS, SERIES_ROWS = 16, 60


def recordings(root: Path, half: str) -> dict[str, list[list[Run]]]:
    """Return the parts of each recording in order, by kind."""
    shop = []
    for traffic in (LOW, HIGH):
        run = read_run(root / "petshop" / "dataset" / traffic / "noissue" / "metrics.csv", traffic=traffic)
        blocks = enumerate(cut(run, BLOCK_ROWS))
        shop.append([block for number, block in blocks if half_of(f"{traffic} {number}") == half])
    suites = [np.load(root / "executions-aa" / f"{name}.npz")["seconds"].astype(float) for name in SUITES[half]]
    series = np.loadtxt(root / "real-noise" / f"{SERIES[half]}.csv", delimiter=",", skiprows=1)[:, 1:]
    return {
        "shop": shop,
        "suites": [pieces(np.nanmedian(seconds, axis=2).T, SUITE_ROWS) for seconds in suites],
        "one program": [pieces(series, SERIES_ROWS)],
    }


def pieces(values: np.ndarray, rows: int) -> list[Run]:
    starts = range(0, len(values) - rows + 1, rows)
    return [counter_run(counter_table(values[start : start + rows])) for start in starts]


def comparisons(parts: Sequence[Run], runs: int) -> Iterator[tuple[Run, list[Run]]]:
    for number, target in enumerate(parts):
        nearest = sorted((abs(place - number), place) for place in range(len(parts)) if place != number)[:runs]
        if len(nearest) == runs:
            yield target, [parts[place] for place in sorted(place for _, place in nearest)]


def planted(target: Run, counter: int) -> Run:
    (table,) = target.counters
    values = table.values.copy()
    start = round(START * len(values))
    values[start : start + round(SHARE * len(values)), counter] *= FACTOR
    return structs.replace(target, counters=(replace(table, values=values),))


def judged(target: Run, runs: Sequence[Run]) -> list[Finding]:
    tables = pair_counters(Baseline(runs=tuple(runs), source=BaselineSource.HISTORY), target).tables
    evidence = assess_tables(tables, RuleOptions(), tiers=DetectorOptions().tiers)
    return counter_findings(tables, evidence, PolicySettings())


def row(compared: Sequence[tuple[Run, list[Run]]], rng: np.random.Generator) -> list[str]:
    flagged, called, tested, with_call, finds = 0, 0, 0, 0, []
    for target, runs in compared:
        findings = judged(target, runs)
        calls = sum(finding.verdict in CHANGES for finding in findings)
        flagged += sum(map(exceeds_threshold, findings))
        called, with_call = called + calls, with_call + bool(calls)
        positive = np.nanmin(target.counters[0].values, axis=0) > 0
        places = [i for i, one in enumerate(findings) if one.score == 0 and positive[i]]
        tested += sum(finding.score is not None for finding in findings)
        if places:
            counter = int(rng.choice(places))
            finds.append(judged(planted(target, counter), runs)[counter].verdict in CHANGES)
    count = sum(len(target.counters[0].metrics) for target, _ in compared)
    bound = stats.binomtest(flagged, count).proportion_ci(method="exact").high
    return [
        str(len(compared)),
        str(count),
        f"{tested / count:.0%}",
        f"{flagged / count:.2%} (below {bound:.2%})",
        f"{called / count:.2%}",
        f"{with_call / len(compared):.0%}",
        f"{sum(finds)} of {len(finds)}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("tuning", "reporting"), default="tuning")
    arguments = parser.parse_args()
    root = os.environ.get("PERF_CULPRIT_DATA")
    if not root or not (Path(root) / "petshop" / "dataset").is_dir():
        print("skipped: PERF_CULPRIT_DATA names no folder with petshop/dataset")
        return
    rows = []
    for name, parts in recordings(Path(root), arguments.half).items():
        for runs in RUNS:
            compared = [one for part in parts for one in comparisons(part, runs)]
            if compared:
                rows.append([name, str(runs), *row(compared, np.random.default_rng(runs))])
    headers = ["recording", "runs", "targets", "counters", "tested", "flagged", "called", "targets with a call"]
    print(tabulate(rows, headers=[*headers, "planted: called"], tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
