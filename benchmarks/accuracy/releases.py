"""Deviations between releases: medians with intervals against tests of means.

    python benchmarks/accuracy/releases.py                            simulated releases
    PERF_CULPRIT_DATA=DIR python benchmarks/accuracy/releases.py      and the source's own data

DIR holds `chromium/`: medians and means with their intervals of 122 functions over 100 releases of a browser. They were
read from the published figures of [B17]. It also has the events of that paper's deviation matrix.
"""

import argparse
import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats
from tabulate import tabulate

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.judge.deviation_matrix import deviation_matrix
from perf_culprit.model.series import Version
from perf_culprit.stats.order_interval import intervals_overlap, median_deviation, median_estimate, median_test
from perf_culprit.stats.ragged import Ragged
from tests.support.noisy_runs import run_of

RELEASES = 20
MINIMUM_EFFECT = 0.05
# Release 8 was measured next to a busy neighbour: a part of its samples takes several times as long.
OUTLIER_RELEASE, OUTLIER_SHARE, OUTLIER_FACTOR = 8, 0.15, 4.0
STEP_RELEASE, TRANSIENT = 12, (5, 10)
NAMED = frozenset({"Paint", "V8.ScriptCompiler"})  # discussed in the source
SHAPES = ("unchanged", "step +15%", "transient regression +15%")


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """Shares of releases: detected changes, and unchanged comparisons in which a change was called."""

    hit_rate: float
    false: float
    outlier: float


def levels(shape: str) -> Floats:
    level = np.ones(RELEASES)
    if shape == "step +15%":
        level[STEP_RELEASE:] = 1.15
    if shape == "transient regression +15%":
        level[slice(*TRANSIENT)] = 1.15
    return level


def simulated(rng: np.random.Generator, shape: str, *, functions: int, samples: int) -> Floats:
    """(releases, functions, samples): skewed noise of 4%, and the outliers of one release."""
    noise = rng.lognormal(0, 0.04, (RELEASES, functions, samples))
    hit = rng.random((functions, samples)) < OUTLIER_SHARE
    noise[OUTLIER_RELEASE][hit] *= OUTLIER_FACTOR
    return np.asarray(levels(shape)[:, None, None] * noise)


# Returns which functions changed between (functions, samples) of two releases.
Rule = Callable[[Floats, Floats], Booleans]


def rows(values: Floats) -> Ragged:
    return Ragged(values.ravel(), np.full(len(values), values.shape[1]))


def two_conditions(after: Floats, before: Floats) -> Booleans:
    return median_deviation(median_estimate(rows(after)), median_estimate(rows(before))).deviates


def with_ranks(after: Floats, before: Floats) -> Booleans:
    return np.asarray(two_conditions(after, before) & (median_test(rows(after), rows(before)) < 0.05))


def mean_intervals(after: Floats, before: Floats) -> Booleans:
    def bounds(side: Floats) -> tuple[Floats, Floats]:
        error = side.std(axis=1, ddof=1) / np.sqrt(side.shape[1]) * stats.t.ppf(0.975, side.shape[1] - 1)
        return side.mean(axis=1) - error, side.mean(axis=1) + error

    return ~intervals_overlap(bounds(after), bounds(before))


def welch(after: Floats, before: Floats) -> Booleans:
    return np.asarray(stats.ttest_ind(after, before, axis=1, equal_var=False).pvalue < 0.01)


def anova(after: Floats, before: Floats) -> Booleans:
    return np.asarray(stats.f_oneway(after, before, axis=1).pvalue < 0.01)


RULES: dict[str, tuple[Rule, Callable[..., Floats]]] = {
    "median: two conditions [B17]": (two_conditions, np.median),
    "median: and the median test": (with_ranks, np.median),
    "mean: 95% intervals apart": (mean_intervals, np.mean),
    "mean: Welch, p < 1%": (welch, np.mean),
    "mean: ANOVA, p < 1%": (anova, np.mean),
}


def scored(values: Floats, shape: str, rule: Rule, centre: Callable[..., Floats]) -> Score:
    truth = np.diff(levels(shape)) != 0
    called = np.zeros((RELEASES - 1, values.shape[1]), dtype=bool)
    for index in range(RELEASES - 1):
        before, after = values[index], values[index + 1]
        large = np.abs(centre(after, axis=1) / centre(before, axis=1) - 1) >= MINIMUM_EFFECT
        called[index] = rule(after, before) & large
    disturbed = np.zeros(RELEASES - 1, dtype=bool)
    disturbed[[OUTLIER_RELEASE - 1, OUTLIER_RELEASE]] = True
    return Score(
        hit_rate=float(called[truth].mean()) if truth.any() else float("nan"),
        false=float(called[~truth & ~disturbed].mean()),
        outlier=float(called[~truth & disturbed].mean()),
    )


def simulate(functions: int) -> None:
    print(f"simulated: {functions} functions x {RELEASES} releases, noise of 4%; one release has {OUTLIER_SHARE:.0%}")
    print(f"of its samples at {OUTLIER_FACTOR:.0f} times the level; changes below {MINIMUM_EFFECT:.0%} do not count\n")
    table = []
    for samples in (5, 10, 50):
        for name, (rule, centre) in RULES.items():
            rng = np.random.default_rng(samples)
            scores = [
                scored(simulated(rng, shape, functions=functions, samples=samples), shape, rule, centre)
                for shape in SHAPES
            ]
            table.append(
                [
                    samples,
                    name,
                    f"{scores[1].hit_rate:.1%}",
                    f"{scores[2].hit_rate:.1%}",
                    f"{np.mean([score.false for score in scores]):.2%}",
                    f"{np.mean([score.outlier for score in scores]):.2%}",
                ]
            )
    header = ["samples", "rule", "step found", "transient regression's ends found", "false alarms", "at the outliers"]
    print(tabulate(table, header, tablefmt="github", disable_numparse=True))


def matrix(functions: int) -> None:
    rng = np.random.default_rng(1)
    values = simulated(rng, "transient regression +15%", functions=functions, samples=50)
    versions = [Version(name=f"r{index}", run=run_of(release)) for index, release in enumerate(values)]
    table = deviation_matrix(versions, minimum_effect=MINIMUM_EFFECT).rows
    start, end = (f"r{index}" for index in TRANSIENT)
    told = sum(any((entry.start, entry.end) == (start, end) for entry in row.transient_regressions) for row in table)
    calls = sum(cell.verdict != "no_change" for row in table for cell in row.cells)
    print(
        f"\ndeviation matrix, 50 samples: {told} of {functions} transient regressions are one;"
        f" {calls} deviations in all\n"
    )


def chromium(folder: Path) -> None:
    intervals: dict[str, list[tuple[str, float, float, float]]] = {}
    with (folder / "extracted_all_functions_ci.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            columns = [row[name] for name in ("median_ms", "median_ci_lo", "median_ci_hi")]
            if not all(columns):
                continue  # the figure shows no interval here
            numbers = (float(columns[0]), float(columns[1]), float(columns[2]))
            intervals.setdefault(row["function"], []).append((row["release"], *numbers))
    with (folder / "labels_all_functions_deviation_matrix.csv").open(newline="") as file:
        labels = {(row["function"], row["release"], row["kind"]) for row in csv.DictReader(file)}
    names: set[tuple[str, str, str]] = set()
    compared = 0
    for function, releases in intervals.items():
        # Versions are numbers between dots; the rows of a function may not be in their order.
        releases.sort(key=lambda entry: tuple(map(int, entry[0].split("."))))
        median, low, high = (np.array(column) for column in list(zip(*releases, strict=True))[1:])
        apart = ~intervals_overlap((low[1:], high[1:]), (low[:-1], high[:-1]))
        compared += len(apart)
        for index in np.flatnonzero(apart):
            kind = "regression" if median[index + 1] > median[index] else "improvement"
            names.add((function, releases[index + 1][0], kind))
    print(f"chromium: {len(intervals)} functions, {compared:,} comparisons of consecutive releases")
    print(f"  events in the source's matrix: {len(labels)}")
    print(f"  intervals apart: {len(names)}; in the matrix {len(names & labels)}, not in it {len(names - labels)}")
    for event in sorted(event for event in labels if event[0] in NAMED):
        print(f"  {' '.join(event)}: {'found' if event in names else 'missed'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=1000)
    arguments = parser.parse_args()
    simulate(arguments.functions)
    matrix(min(arguments.functions, 200))
    folder = Path(os.environ.get("PERF_CULPRIT_DATA", "")) / "chromium"
    if os.environ.get("PERF_CULPRIT_DATA") and folder.is_dir():
        chromium(folder)
    else:
        print("chromium: skipped, PERF_CULPRIT_DATA names no folder that has it")


if __name__ == "__main__":
    main()
