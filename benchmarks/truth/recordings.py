"""Executions of suites in which nothing changed: what every harness of real noise reads.

A corpus is a folder or file of executions that nobody changed:
    samples.csv.gz   columns system, benchmark, fork, sample_1, … (a suite per system)
    *.npz            `seconds` (benchmarks, executions, samples), padded with NaN (a suite per file); with names,
                     metrics, units and directions of `benchmarks.truth.record`; without them all are times
    *.npz            `NAME_time_secs` (executions, benchmarks) of sets of one commit (a suite per set)
"""

import csv
import gzip
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from perf_culprit.arrays import Floats
from perf_culprit.judge.derived import without_derived
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.run import CI_RUN, Benchmark, Direction, Environment, Metric, Origin, Run

TIME: Final = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
SETS: Final = "_time_secs"


class Suite(NamedTuple):
    """Log medians (benchmarks, executions), -inf for a count of zero, and the name and metric of each row.

    `samples` (benchmarks, executions, samples): as printed, padded with NaN.
    """

    y: Floats
    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    samples: Floats


def read_suites(paths: Sequence[Path]) -> dict[str, Suite]:
    """Read the suites of all files, by name."""
    files = [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    suites: dict[str, Suite] = {}
    for file in files:
        if file.suffix == ".npz":
            suites.update(_read_recording(file))
        elif file.name.endswith(".csv.gz"):
            suites.update(_read_forks(file))
    return suites


def _read_recording(file: Path) -> Iterator[tuple[str, Suite]]:
    """Read the metrics that every execution has, without derived ones, which `compare` leaves out too."""
    held = np.load(file)
    if "seconds" not in held:
        sets = {key.removesuffix(SETS): held[key].T[:, :, None] for key in held.files if key.endswith(SETS)}
        yield from ((f"{file.stem} {name}", _times(values)) for name, values in sets.items())
        return
    complete = ~np.isnan(held["seconds"][:, :, 0]).any(axis=1)
    samples = held["seconds"][complete].astype(np.float64)
    if "metrics" not in held:
        yield file.stem, _times(samples)
        return
    metrics = tuple(
        Metric(name=str(name), unit=str(unit), direction=Direction(str(direction)))
        for name, unit, direction in zip(
            *(held[key][complete] for key in ("metrics", "unit", "directions")), strict=True
        )
    )
    names = tuple(map(str, held["names"][complete]))
    suite = Suite(_log_medians(samples), names, metrics, samples)
    whole = run_of(suite, np.nanmedian(samples, axis=2))  # as printed: logarithms would lose the rounding
    baseline = Baseline(runs=(whole,), source=BaselineSource.FILES)
    kept = {entry.key for entry in without_derived(baseline, whole, keep=lambda _: False)[1].benchmarks}
    yield file.stem, rows_of(suite, [row for row, entry in enumerate(whole.benchmarks) if entry.key in kept])


def _read_forks(file: Path) -> Iterator[tuple[str, Suite]]:
    systems: dict[str, dict[str, list[list[float]]]] = {}
    with gzip.open(file, "rt") as text:
        for row in list(csv.reader(text))[1:]:
            samples = [float(sample) for sample in row[3:]]
            systems.setdefault(row[0], {}).setdefault(row[1], []).append(samples)
    return ((name, _times(np.array(list(rows.values())))) for name, rows in systems.items())


def _times(samples: Floats) -> Suite:
    names = tuple(f"b{row}" for row in range(len(samples)))
    return Suite(_log_medians(samples), names, (TIME,) * len(samples), samples)


def _log_medians(samples: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(np.nanmedian(samples, axis=2))
    return logs


def halves_of(calm: Mapping[str, Suite], loud: Mapping[str, Suite]) -> dict[str, Suite]:
    """Return suites of unlike noise: as many benchmarks of one corpus as of another, each in its order in time."""
    units = min(suite.y.shape[1] for suite in calm.values())
    stretches = (
        (f"{name} {start}", stretch_of(suite, start, units))
        for name, suite in loud.items()
        for start in range(0, suite.y.shape[1] - units + 1, units)
    )
    pairs = zip(cycle(calm.items()), stretches)
    return {
        f"{first}, {second}": _joined(stretch_of(ours, 0, units), theirs) for (first, ours), (second, theirs) in pairs
    }


def _joined(calm: Suite, loud: Suite) -> Suite:
    size = min(len(calm.names), len(loud.names))
    calm, loud = rows_of(calm, range(size)), rows_of(loud, range(size))
    most = max(calm.samples.shape[2], loud.samples.shape[2])
    return Suite(
        y=np.concatenate([calm.y, loud.y]),
        names=(*(f"calm-{name}" for name in calm.names), *(f"loud-{name}" for name in loud.names)),
        metrics=calm.metrics + loud.metrics,
        samples=np.concatenate([_padded(calm.samples, most), _padded(loud.samples, most)]),
    )


def _padded(samples: Floats, count: int) -> Floats:
    return np.pad(samples, ((0, 0), (0, 0), (0, count - samples.shape[2])), constant_values=np.nan)


def stretch_of(suite: Suite, start: int, units: int) -> Suite:
    chosen = slice(start, start + units)
    return suite._replace(y=suite.y[:, chosen], samples=suite.samples[:, chosen])


def rows_of(suite: Suite, rows: Sequence[int]) -> Suite:
    """Return the suite of these benchmarks."""
    return Suite(
        y=suite.y[rows],
        names=tuple(suite.names[row] for row in rows),
        metrics=tuple(suite.metrics[row] for row in rows),
        samples=suite.samples[rows],
    )


# Runs of an array, for harnesses that judge without files.


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


def of_jobs(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs, each measured by a job of its own."""
    jobs = (Environment(components={CI_RUN: f"baseline {number}"}) for number in range(len(runs)))
    return tuple(replace(run, environment=job) for run, job in zip(runs, jobs, strict=True))


def files_of(suite: Suite, values: Floats) -> Run:
    """The target's files (benchmarks, files) as `compare` joins them, each of a job of its own."""
    count = values.shape[1]
    run = run_of(suite, values, rounds=tuple(range(1, count + 1)))
    return replace(run, origins=tuple(Origin((None, None, f"target {number}"), None) for number in range(count)))
