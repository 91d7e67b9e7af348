"""Record calls of six real workloads, unchanged, with slower slow calls, and slower as a whole, in rounds A B B A.

    python -m benchmarks.truth.record_tails --output FILE.npz [--minutes 20]

Each execution is a separate process of `suites/tails`, and its 1,000 calls do work that is really more, not multiplied.
A measurement has six rounds. Six that change nothing are followed by one of every change, which share the baseline.
The file holds `samples` (executions, calls) in ns, and of each execution its measurement, workload, change and round.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np

SUITE: Final = Path(__file__).parent / "suites" / "tails"
ROUNDS: Final = 6
UNCHANGED_EACH: Final = 6
USUAL: Final = 20
SLOW: Final = 80
MOST: Final = 2**32 - 1
UNCHANGED: Final = "unchanged"
BASELINE: Final = "baseline"


class Work(NamedTuple):
    usual: int = USUAL
    slow: int = SLOW


CHANGES: Final = {f"tail +{more}%": Work(slow=SLOW * (100 + more) // 100) for more in (5, 10, 25, 100)} | {
    f"all +{more}%": Work(USUAL * (100 + more) // 100, SLOW * (100 + more) // 100) for more in (10, 25, 100)
}
WORK: Final = {BASELINE: Work(), UNCHANGED: Work(), **CHANGES}


def commands(folder: Path) -> dict[str, list[str]]:
    """Return each workload's command, after building those in Go."""
    program = folder / "tail"
    subprocess.run(["go", "build", "-o", program, "tail.go"], cwd=SUITE / "go", check=True)
    runtimes = {
        "python": ([sys.executable, str(SUITE / "tail.py")], ("json", "sort")),
        "node": (["node", str(SUITE / "tail.mjs")], ("json", "regexp")),
        "go": ([str(program)], ("map", "json")),
    }
    return {f"{name} {load}": [*start, load] for name, (start, loads) in runtimes.items() for load in loads}


def order(changes: list[str]) -> list[str]:
    """Return a round's executions: each change between two executions of the baseline, which neighbours share."""
    return [BASELINE, *(name for change in changes for name in (change, change, BASELINE))]


def measurements() -> Iterator[list[str]]:
    return cycle([[UNCHANGED]] * UNCHANGED_EACH + [list(CHANGES)])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth.record_tails",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.npz")
    parser.add_argument("--minutes", type=float, default=20)
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    samples: list[list[int]] = []
    rows: list[tuple[int, str, str, int, float]] = []
    with TemporaryDirectory() as folder:
        programs = cycle(commands(Path(folder)).items())
        number = 0
        # Seven measurements and six workloads have no common divisor: each workload gets every change.
        for number, (changes, (workload, command)) in enumerate(zip(measurements(), programs, strict=False)):
            if time.monotonic() > end:
                break
            for round_number in range(1, ROUNDS + 1):
                for change in order(changes):
                    work = WORK[change]
                    told = subprocess.run(
                        [*command, str(work.usual), str(work.slow)], stdout=subprocess.PIPE, check=True
                    ).stdout
                    samples.append(json.loads(told))
                    rows.append((number, workload, change, round_number, os.getloadavg()[0]))
    numbers, workloads, changes_of, rounds, loads = zip(*rows, strict=True)
    np.savez_compressed(
        asked.output,
        samples=np.minimum(samples, MOST).astype(np.uint32),
        measurement=numbers,
        workload=workloads,
        change=changes_of,
        round=rounds,
        load=loads,
    )
    print(f"{number} measurements, {len(samples):,} executions")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
