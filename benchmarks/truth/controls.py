"""Count what controls cost and excuse, on recorded executions.

    python -m benchmarks.truth.controls CORPUS... [--draws 300]

A draw is a stretch of executions of some benchmarks of a suite, of which one or two are named as controls. A slow
machine multiplies all of the target's numbers, and a change those of one benchmark. The rule of controls has no
constants, so it was fitted on nothing. Corpora are those of `benchmarks.truth.recordings`.
"""

import argparse
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.truth.executions import FILES, Way
from benchmarks.truth.recordings import Suite, read_suites, rows_of, stretch_of
from perf_culprit.arrays import Booleans, Floats
from perf_culprit.judge.run_medians import MEDIAN_FACTOR
from perf_culprit.stats.controls import exonerate
from perf_culprit.stats.engine import judge_units
from perf_culprit.stats.unit_table import Tiers, UnitJudgement, UnitTable, log_change

WAYS: Final = ("3v3", "5v5", "9v1", "6r")
SIZES: Final = ((3, 1), (3, 2), (14, 1), (14, 2))  # benchmarks and controls
# A case: how much slower the machine and one benchmark got; what is counted is that one, or any but a control.
CASES: Final[Mapping[str, tuple[float, float]]] = {
    "unchanged": (0.0, 0.0),
    "machine +20%": (0.2, 0.0),
    "+20%": (0.0, 0.2),
    "+50%": (0.0, 0.5),
    "machine +20%, one +50%": (0.2, 0.5),
}
TIERS: Final = Tiers()
COLUMNS: Final = ("suspected", "with controls", "proven", "with controls")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=300)
    arguments = parser.parse_args()
    suites = read_suites(arguments.corpora)
    print("| way | benchmarks, controls | case | draws |", *(f"{column} |" for column in COLUMNS))
    print("|:--|:--|:--|--:|", *("--:|" for _ in COLUMNS), sep="")
    for name in WAYS:
        for size, controls in SIZES:
            for case, calls in counted(suites, FILES[name], size, controls, arguments.draws).items():
                shares = " | ".join(f"{share:.1%}" for share in np.mean(calls, axis=0))
                print(f"| {FILES[name].title} | {size}, {controls} | {case} | {len(calls)} | {shares} |", flush=True)
    return 0


def counted(suites: Mapping[str, Suite], way: Way, size: int, controls: int, count: int) -> dict[str, list[list[bool]]]:
    """Count the calls of each draw in each case, in the order of COLUMNS."""
    calls: dict[str, list[list[bool]]] = {case: [] for case in CASES}
    for table, is_control, row in drawn(suites, way, size, controls, count):
        for case, (machine, change) in CASES.items():
            moved = np.full(table.location.shape, log_change(machine)) * table.is_target
            moved[row, table.is_target] += log_change(change)
            units = replace(table, location=table.location + moved)
            least = np.full(len(is_control), log_change(0.05))
            before = judge_units(units, least_change=least, tiers=TIERS)
            after, _ = exonerate(before, units, is_control, least_change=least, tiers=TIERS)
            rows = np.arange(len(is_control)) == row if change else ~is_control
            sides = [_calls(judged, rows, with_suite=not change) for judged in (before, after)]
            calls[case].append([sides[0][0], sides[1][0], sides[0][1], sides[1][1]])
    return calls


def drawn(
    suites: Mapping[str, Suite], way: Way, size: int, controls: int, count: int
) -> Iterator[tuple[UnitTable, Booleans, int]]:
    """The units of a stretch, its controls, and a benchmark that is none."""
    rng = np.random.default_rng(zlib.crc32(f"{way.title} {size} {controls}".encode()))
    long = [one for one in suites.values() if one.y.shape[1] >= way.units and len(one.names) >= size + controls]
    for index in range(count if long else 0):
        suite = long[index % len(long)]
        rows = sorted(rng.choice(len(suite.names), size + controls, replace=False).tolist())
        start = int(rng.integers(suite.y.shape[1] - way.units + 1))
        stretch = stretch_of(rows_of(suite, rows), start, way.units)
        order = rng.permutation(len(rows))
        is_control = np.isin(np.arange(len(rows)), order[:controls])
        yield _table(stretch, way), is_control, int(order[-1])


def _table(suite: Suite, way: Way) -> UnitTable:
    block = np.arange(way.units) // 4 if way.jobs is not None and not way.jobs.any() else np.arange(way.units)
    count = (~np.isnan(suite.samples)).sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        scatter: Floats = MEDIAN_FACTOR * np.nanvar(suite.samples, axis=2) / (count - 1) / np.exp(2 * suite.y)
    return UnitTable.of(suite.y, way.is_target, block=block, scatter=np.where(count > 1, scatter, np.nan))


def _calls(judged: UnitJudgement, rows: Booleans, *, with_suite: bool) -> tuple[bool, bool]:
    """Whether any of these is suspected, or proven. A shift of all of an unchanged suite counts as suspected, too."""
    is_warned = bool(judged.is_suspected[rows].any()) or (with_suite and judged.suite.is_suspected)
    return is_warned, bool(judged.is_proven[rows].any())


if __name__ == "__main__":
    raise SystemExit(main())
