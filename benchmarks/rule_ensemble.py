"""The rule ensemble's limit: 2,000 counters x 144 intervals x 10 runs, time and memory, beside the bare counting.

python benchmarks/rule_ensemble.py                two minutes at most
python benchmarks/rule_ensemble.py --sampled      from 5,760 instants per run, as an eight-hour test records them
"""

import argparse
import resource
import time

import numpy as np

from bot.detect.counters import pair_counters
from bot.detect.rule_ensemble import assess
from bot.detect.rules.options import RuleOptions
from bot.model.baseline import Baseline, BaselineSource
from bot.model.finding import Evidence
from bot.model.run import Run
from bot.stats.discretise import three_level_scale, to_levels
from bot.stats.items import Items, indicator_matrix
from tests.support.counter_runs import counter_run, counter_table

COUNTERS, INTERVALS, RUNS, LOADS = 2_000, 144, 10, 20
FAULTS = 40


def simulated_run(instants: int, *, seed: int, mixing: np.ndarray, faults: int = 0) -> Run:
    """Counters driven by latent loads; the first `faults` of them are shifted by half."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(size=(INTERVALS, LOADS)).repeat(instants // INTERVALS, axis=0)
    values = 100 + 5 * (loads @ mixing + rng.normal(size=(len(loads), COUNTERS)) * 0.3)
    values[:, :faults] *= 1.5
    return counter_run(counter_table(values, step_s=28_800 / instants))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sampled", action="store_true")
    sampled = parser.parse_args().sampled
    instants = 5_760 if sampled else INTERVALS
    # One load drives each counter.
    mixing = np.eye(LOADS)[np.random.default_rng(0).integers(0, LOADS, COUNTERS)].T
    runs = tuple(simulated_run(instants, seed=seed + 1, mixing=mixing) for seed in range(RUNS))
    target = simulated_run(instants, seed=99, mixing=mixing, faults=FAULTS)
    tables = pair_counters(Baseline(runs=runs, source=BaselineSource.HISTORY), target).tables
    options = RuleOptions() if sampled else RuleOptions(interval_s=200.0, warm_up=0.0, cool_down=0.0)
    start = time.perf_counter()
    evidence = assess(tables, options)
    elapsed_s = time.perf_counter() - start
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"rule ensemble, {COUNTERS:,} counters x {instants:,} instants x {RUNS} runs: {elapsed_s:.1f} s")
    print(f"  peak {peak_gb:.2f} GB; limits 120 s and 4 GB on two cores")
    print(
        f"  flagged {sum(map(flagged, evidence))} counters, {sum(map(flagged, evidence[:FAULTS]))} of {FAULTS} faults"
    )
    reference_s = counting(runs[0].counters[0].values[: INTERVALS * (instants // INTERVALS) : instants // INTERVALS])
    print(f"  reference, the product that counts all pairs: {reference_s:.2f} s per model")


def flagged(entry: Evidence) -> bool:
    return entry.score is not None and entry.threshold is not None and entry.score > entry.threshold


def counting(values: np.ndarray) -> float:
    start = time.perf_counter()
    scale = three_level_scale(values)
    items = Items(scale.sizes)
    holds = indicator_matrix(to_levels(values, scale), items, np.arange(items.total))
    for block in range(0, items.total, 512):
        _ = holds[:, block : block + 512].T @ holds
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
