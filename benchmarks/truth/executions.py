"""False alarms and power of `compare` on executions in which nothing changed: real noise only.

    python -m benchmarks.truth.executions CORPUS... [--runs 300] [--ways 5v5 9v1 6r] [--in-a-row] [--peers]

A corpus is a folder or file of executions that nobody changed:
    samples.csv.gz   columns system, benchmark, fork, sample_1, … (a suite per system)
    *.npz            `seconds` (benchmarks, executions, samples), padded with NaN (a suite per file); with names,
                     metrics, units and directions of `benchmarks.truth.record`; without them all are times
A unit is an execution, its location the logarithm of its median. A change is planted in one random benchmark. A way is
the number of units on each side, baseline first, or of A B B A rounds (6r). `named`: the suspected share of changes
that are exactly as large as the report's stated detectable effect.
"""

import argparse
import csv
import gzip
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from scipy import stats

from perf_culprit.config.policy_settings import PROFILES, PolicySettings
from perf_culprit.judge.derived import without_derived
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import PROVEN, Baseline, BaselineSource, Verdict
from perf_culprit.model.run import CI_RUN, Benchmark, Direction, Environment, Metric, Origin, Run
from perf_culprit.stats.ragged import Booleans, Floats

WAYS: Final = ("5v5", "9v1", "5v1", "3v1", "3v3", "2v2", "1v1")
CHANGES: Final = (0.1, 0.2, 0.5, 1.0, 3.0)


class Called(NamedTuple):
    """The results per benchmark, (B,). `visible`: the change that would have been suspected, NaN if none is stated."""

    proven: Booleans
    suspected: Booleans
    visible: Floats | None = None


class Suite(NamedTuple):
    """Log medians (benchmarks, executions), -inf for a count of zero, and the name and metric of each row."""

    y: Floats
    names: tuple[str, ...]
    metrics: tuple[Metric, ...]


Judge = Callable[[Suite, Booleans], Called]
TIME: Final = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)


def by_product(suite: Suite, is_target: Booleans, *, is_paired: bool = False, profile: str = "balanced") -> Called:
    """Judge one file per unit, each of a job of its own, as `compare` does; `is_paired`: rounds A B B A."""
    baseline, target = _joined(suite, ~is_target), _joined(suite, is_target)
    if is_paired:
        against = Baseline(runs=(baseline,), source=BaselineSource.PAIRED)
    else:
        files = tuple(_joined(suite, column == np.arange(len(is_target))) for column in np.flatnonzero(~is_target))
        against = Baseline(runs=of_jobs(files), source=BaselineSource.FILES)
        target = files_of(suite, np.exp(suite.y[:, is_target]))
    findings = {one.key: one for one in judge(against, target, settings=PolicySettings(profile=profile)).findings}
    ordered = [findings[entry.key] for entry in target.benchmarks]
    proven = np.array([one.verdict in PROVEN for one in ordered])
    return Called(
        proven,
        proven | np.array([one.verdict is Verdict.SUSPECTED for one in ordered]),
        np.array([np.nan if one.detectable_effect is None else one.detectable_effect for one in ordered]),
    )


def of_jobs(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs, each measured by a job of its own."""
    jobs = (Environment(components={CI_RUN: f"baseline {number}"}) for number in range(len(runs)))
    return tuple(replace(run, environment=job) for run, job in zip(runs, jobs, strict=True))


def files_of(suite: Suite, values: Floats) -> Run:
    """The target's files (benchmarks, files) as `compare` joins them, each of a job of its own."""
    count = values.shape[1]
    run = run_of(suite, values, rounds=tuple(range(1, count + 1)))
    return replace(run, origins=tuple(Origin((None, None, f"target {number}"), None) for number in range(count)))


def _joined(suite: Suite, chosen: Booleans) -> Run:
    """Return a run whose executions are the chosen columns, two of each round."""
    return run_of(suite, np.exp(suite.y[:, chosen]))


def run_of(suite: Suite, values: Floats, *, rounds: tuple[int, ...] = ()) -> Run:
    units = values.shape[1]
    return Run(
        benchmarks=tuple(
            Benchmark.of(
                name=name,
                metric=metric,
                samples=tuple(values),
                group_sizes=(1,) * units,
                rounds=rounds or tuple(unit // 2 for unit in range(units)),
            )
            for name, metric, values in zip(suite.names, suite.metrics, values.tolist(), strict=True)
        )
    )


def by_mann_whitney(suite: Suite, is_target: Booleans) -> Called:
    """Judge by benchstat's test and its 5%, each benchmark separately; proven after Bonferroni at 1%."""
    p_values = stats.mannwhitneyu(suite.y[:, is_target], suite.y[:, ~is_target], axis=1, method="exact").pvalue
    return Called(p_values * len(suite.y) <= 0.01, p_values <= 0.05)


def by_welch(suite: Suite, is_target: Booleans) -> Called:
    """Judge by Welch's t on the units' medians at 5%; proven after Bonferroni at 1%."""
    with warnings.catch_warnings(action="ignore"):  # counts that are all equal have no p-value
        p_values = stats.ttest_ind(suite.y[:, is_target], suite.y[:, ~is_target], axis=1, equal_var=False).pvalue
    p_values = np.nan_to_num(p_values, nan=1.0)
    return Called(p_values * len(suite.y) <= 0.01, p_values <= 0.05)


def by_ratio(suite: Suite, is_target: Booleans) -> Called:
    """Judge by github-action-benchmark's rule: twice the newest baseline; suspected from 10% on, a common threshold."""
    with np.errstate(invalid="ignore"):  # from zero to zero is no change
        change = suite.y[:, is_target].mean(axis=1) - suite.y[:, np.flatnonzero(~is_target)[-1]]
    return Called(np.abs(change) >= math.log(2), np.abs(change) >= math.log(1.1))


PEERS: Final[dict[str, Judge]] = {"Mann-Whitney": by_mann_whitney, "Welch": by_welch, "ratio": by_ratio}


def read_suites(paths: Sequence[Path]) -> dict[str, Suite]:
    """Read the suites of all files, by name."""
    files = [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    suites: dict[str, Suite] = {}
    for file in files:
        if file.suffix == ".npz":
            suites[file.stem] = _read_recording(file)
        elif file.name.endswith(".csv.gz"):
            suites.update(_read_forks(file))
    return suites


def _read_recording(file: Path) -> Suite:
    """Read the metrics that every execution has, without derived ones, which `compare` leaves out too."""
    held = np.load(file)
    complete = ~np.isnan(held["seconds"][:, :, 0]).any(axis=1)
    medians = np.nanmedian(held["seconds"][complete], axis=2)
    with np.errstate(divide="ignore"):
        y = np.log(medians)
    if "metrics" not in held:
        return Suite(y, tuple(f"b{row}" for row in range(len(y))), (TIME,) * len(y))
    metrics = tuple(
        Metric(name=str(name), unit=str(unit), direction=Direction(str(direction)))
        for name, unit, direction in zip(
            *(held[key][complete] for key in ("metrics", "unit", "directions")), strict=True
        )
    )
    names = tuple(map(str, held["names"][complete]))
    whole = run_of(Suite(y, names, metrics), medians)  # as printed: logarithms would lose the rounding
    baseline = Baseline(runs=(whole,), source=BaselineSource.FILES)
    kept = {entry.key for entry in without_derived(baseline, whole, keep=lambda _: False)[1].benchmarks}
    rows = [row for row, entry in enumerate(whole.benchmarks) if entry.key in kept]
    return Suite(y[rows], tuple(names[row] for row in rows), tuple(metrics[row] for row in rows))


def _read_forks(file: Path) -> Iterator[tuple[str, Suite]]:
    systems: dict[str, dict[str, list[float]]] = {}
    with gzip.open(file, "rt") as text:
        for row in list(csv.reader(text))[1:]:
            location = math.log(float(np.median([float(sample) for sample in row[3:]])))
            systems.setdefault(row[0], {}).setdefault(row[1], []).append(location)
    return (
        (name, Suite(np.array(list(rows.values())), tuple(rows), (TIME,) * len(rows))) for name, rows in systems.items()
    )


class Rates(NamedTuple):
    proven: float
    suspected: float
    worst: float
    """Of the suites' shares of runs with a false suspicion."""


def false_calls(suites: dict[str, Suite], way: str, judged: Judge, *, runs: int, in_a_row: bool) -> Rates:
    rng = np.random.default_rng(0)
    by_suite: dict[str, list[tuple[bool, bool]]] = {name: [] for name in suites}
    for index in range(runs):
        name = list(suites)[index % len(suites)]
        called = judged(*_drawn(suites[name], way, rng, in_a_row=in_a_row))
        by_suite[name].append((bool(called.proven.any()), bool(called.suspected.any())))
    proven, suspected = np.concatenate([np.array(rows, float) for rows in by_suite.values()]).mean(axis=0)
    return Rates(proven, suspected, max(float(np.mean([row[1] for row in rows])) for rows in by_suite.values()))


def power_of(
    suites: dict[str, Suite], way: str, judged: Judge, change: float, *, runs: int, in_a_row: bool
) -> tuple[float, float]:
    """Return the shares of runs that prove and suspect the planted change; NaN plants the stated detectable effect."""
    rng, hits = np.random.default_rng(1), []
    for index in range(runs):
        suite, is_target = _drawn(suites[list(suites)[index % len(suites)]], way, rng, in_a_row=in_a_row)
        row = rng.choice(np.flatnonzero(np.isfinite(suite.y).all(axis=1)))
        planted = change
        if math.isnan(change):
            visible = judged(suite, is_target).visible
            planted = math.nan if visible is None else float(visible[row])
            if math.isnan(planted):
                continue
        suite.y[row, is_target] += math.log1p(planted)
        called = judged(suite, is_target)
        hits.append((called.proven[row], called.suspected[row]))
    proven, suspected = np.array(hits, float).mean(axis=0) if hits else (math.nan, math.nan)
    return proven, suspected


def _drawn(suite: Suite, way: str, rng: np.random.Generator, *, in_a_row: bool) -> tuple[Suite, Booleans]:
    executions = suite.y.shape[1]
    if way.endswith("r"):
        count = 4 * int(way.removesuffix("r"))
        start = int(rng.integers(executions - count + 1))
        return suite._replace(y=suite.y[:, start : start + count].copy()), np.tile(
            [False, True, True, False], count // 4
        )
    baseline, target = map(int, way.split("v"))
    count = baseline + target
    start = int(rng.integers(executions - count + 1))
    columns = np.arange(start, start + count) if in_a_row else rng.permutation(executions)[:count]
    return suite._replace(y=suite.y[:, columns].copy()), np.arange(count) >= baseline


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth.executions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    parser.add_argument("--runs", type=int, default=300, metavar="N", help="unchanged runs per way")
    parser.add_argument("--power", type=int, metavar="N", help="runs per planted change (as many as --runs)")
    parser.add_argument("--ways", nargs="+", default=WAYS, metavar="WAY", help="baseline and target units, as 5v5")
    parser.add_argument("--in-a-row", action="store_true", help="units as they lay in time: base, base, …, target, …")
    parser.add_argument("--peers", action="store_true", help="beside the engine what users would run instead")
    parser.add_argument("--profile", default="balanced", choices=PROFILES)
    arguments = parser.parse_args()
    suites = read_suites(arguments.corpora)
    drawn = {"runs": arguments.runs if arguments.power is None else arguments.power, "in_a_row": arguments.in_a_row}
    print("proven/suspected; worst: of the suites' shares of unchanged runs with a suspicion")
    print("| way | judge | unchanged | worst |", *(f"+{change:.0%} |" for change in CHANGES), "named |")
    for way in arguments.ways:
        product = partial(by_product, is_paired=way.endswith("r"), profile=arguments.profile)
        judges: dict[str, Judge] = {"perf-culprit": product, **(PEERS if arguments.peers else {})}
        for name, judged in judges.items():
            rates = false_calls(suites, way, judged, runs=arguments.runs, in_a_row=arguments.in_a_row)
            power = [power_of(suites, way, judged, change, **drawn) for change in CHANGES]
            named = power_of(suites, way, judged, math.nan, **drawn)[1] if name == "perf-culprit" else math.nan
            cells = [f"{rates.proven:.3f}/{rates.suspected:.3f}", f"{rates.worst:.2f}"]
            print(
                "|",
                " | ".join([way, name, *cells, *(f"{one:.2f}/{two:.2f}" for one, two in power), f"{named:.2f}"]),
                "|",
                flush=True,
            )


if __name__ == "__main__":
    main()
