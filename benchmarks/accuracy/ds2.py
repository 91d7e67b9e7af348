"""The Dell DVD Store experiment of [N12, table 5] and [F11, table 5-1], rebuilt by simulation for the rule ensemble.

Five good runs, each against the other four, and five programming faults against all five. DB connection has no effect,
as in the source, whose driver had learnt to reuse connections.

python benchmarks/accuracy/ds2.py [--repetitions N]
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.accuracy.web_shop import Shop, expected, mean, precision_recall, shop_run
from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.judge.limit_verdict import exceeds_threshold
from perf_culprit.judge.rule_ensemble import assess_tables
from perf_culprit.judge.rule_options import RuleOptions
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence
from perf_culprit.model.run import Run

FAULTS = {
    "query limit": Shop(rows=6.0, tomcat_cpu=1.4, mysql_cpu=1.3, disk_reads=1.8),
    "system print": Shop(logging=6.0, tomcat_cpu=1.15),
    "DB connection": Shop(),
    "key index": Shop(mysql_cpu=2.0, disk_reads=4.0, rows=1.3),
    "text index": Shop(mysql_cpu=1.7, disk_reads=2.0),
}
GOOD_RUNS = 5
# The source's table: its results for good runs and faults.
MOST_FALSE, LEAST_VIOLATION = 5, 0.7
WITHOUT_EFFECT = "DB connection"
REFERENCE = "references of [F11]: precision/recall DS2 1.00/0.52, JPetStore 0.75/0.67, enterprise 0.93/1.00"


def out_of_control(target: Run, runs: list[Run]) -> list[Evidence]:
    tables = pair_counters(Baseline(runs=tuple(runs), source=BaselineSource.HISTORY), target).tables
    return [entry for entry in assess_tables(tables, RuleOptions()) if exceeds_threshold(entry)]


def violation(flagged: list[Evidence]) -> float:
    return mean([entry.excess.time_in_violation for entry in flagged])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    holds, precisions, recalls = True, [], []
    for seed in range(parser.parse_args().repetitions):
        rng = np.random.default_rng(seed)
        good = [shop_run(rng, Shop()) for _ in range(GOOD_RUNS)]
        print(f"repetition {seed + 1}: counters out of control, mean time in violation, precision, recall")
        for number, run in enumerate(good, 1):
            flagged = out_of_control(run, [other for other in good if other is not run])
            print(f"  good run {number}     {len(flagged):3}  {violation(flagged):5.0%}")
            holds &= len(flagged) <= MOST_FALSE
        for name, shop in FAULTS.items():
            flagged = out_of_control(shop_run(rng, shop), good)
            wanted = expected(shop)
            precision, recall, _ = precision_recall({entry.key for entry in flagged}, wanted)
            print(f"  {name:14} {len(flagged):3}  {violation(flagged):5.0%}  {precision:.2f}  {recall:.2f}")
            if name == WITHOUT_EFFECT:
                holds &= len(flagged) <= MOST_FALSE
            else:
                holds &= violation(flagged) >= LEAST_VIOLATION
                precisions.append(precision)
                recalls.append(recall)
    print(f"faults with an effect: precision {mean(precisions):.2f}, recall {mean(recalls):.2f}; {REFERENCE}")
    answer = "holds" if holds else "MISSED"
    print(f"good runs <= {MOST_FALSE} counters, faults >= {LEAST_VIOLATION:.0%} in violation: {answer}")
    sys.exit(not holds)


if __name__ == "__main__":
    main()
