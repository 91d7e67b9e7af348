"""False alarms and power of every documented way of use, through the real commands.

    python -m benchmarks.truth                       everything, about 20 minutes on one core
    python -m benchmarks.truth --quick               the part that the tests run, under a minute
    python -m benchmarks.truth --only "five rounds" AR --trials 1000
    python -m benchmarks.truth --series nightly.csv  with recorded executions, replayed in their order
`--json FILE` stores the counts.
"""

import argparse
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.truth.cells import chosen_cells, run_cells
from benchmarks.truth.quick import QUICK, QUICK_POWER, is_quick
from benchmarks.truth.recorded import RECORDED, read_series
from benchmarks.truth.results import Results, dump
from benchmarks.truth.table import plain_table

TRIALS, POWER_TRIALS = 120, 24


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the seeded part that the tests run")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="cells with all of these in their names")
    parser.add_argument("--trials", type=int, metavar="N", help="without a change, per cell")
    parser.add_argument("--power-trials", type=int, metavar="N", help="with each of the changes, per cell")
    parser.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="per way and noise, then what there is counts"
    )
    parser.add_argument(
        "--series",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="instead of ours: recorded executions, one number each, in order",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="OUT", help="keep the counts")
    arguments = parser.parse_args()
    trials = arguments.trials or (QUICK if arguments.quick else TRIALS)
    power = (
        arguments.power_trials
        if arguments.power_trials is not None
        else QUICK_POWER
        if arguments.quick
        else POWER_TRIALS
    )
    begun = time.monotonic()
    series = [read_series(path) for path in arguments.series or [RECORDED]]
    work = [entry for entry in chosen_cells(arguments.only) if not arguments.quick or is_quick(*entry)]
    command = "python -m benchmarks.truth " + " ".join(sys.argv[1:])
    results = Results(commit=commit(), command=command, cells=[])
    with ProcessPoolExecutor(max_workers=arguments.processes) as pool:
        jobs = [
            pool.submit(
                run_cells,
                *entry,
                trials=trials,
                power_trials=power,
                seed=arguments.seed,
                series=series,
                seconds=arguments.seconds,
            )
            for entry in work
        ]
        for job in jobs:
            done = list(job.result().values())
            results = results.with_cells(done, series)
            if arguments.json:  # keeps the counts if the run is interrupted
                arguments.json.write_text(dump(results))
            print(f"{time.monotonic() - begun:5.0f} s  {done[0].row}, {done[0].noise}", file=sys.stderr, flush=True)
    print(plain_table(results))
    return 0


def commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
