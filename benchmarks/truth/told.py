"""Tell what a reader is told of recorded executions: by `compare` of files, and by `record` of stored runs."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.truth.memory import branch_in_memory, unchanging_repository
from benchmarks.truth.recordings import Suite
from benchmarks.truth.verbs import perf_culprit
from benchmarks.truth.with_history import report_of, repository
from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.flows.render import report_headline, report_json
from perf_culprit.model.run import HOST, Benchmark, Environment, Run
from perf_culprit.model.run_file import encode_run

PROVEN: Final = frozenset({"regression", "improvement"})
WARNED: Final = PROVEN | {"suspected"}
BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
EXECUTION: Final = timedelta(seconds=20)
BETWEEN_JOBS: Final = timedelta(hours=3)


class Told(NamedTuple):
    """The report that a command wrote. Arrays (B,) are in the order of the suite's benchmarks.

    `is_warned`: a benchmark is proven or suspected, or all moved together. `visible`: the change that would have been
    suspected, NaN if none is stated. `holds_no_change`: the interval contains 0, NaN without an interval.
    """

    conclusion: str
    headline: str
    is_warned: bool
    proven: Booleans
    suspected: Booleans
    visible: Floats
    holds_no_change: Floats


def told(report: dict[str, Any], sentence: str, suite: Suite) -> Told:
    findings = {(one["benchmark"], one["metric"]): one for one in report["findings"]}
    rows = [findings.get((name, metric.name), {}) for name, metric in zip(suite.names, suite.metrics, strict=True)]
    verdicts = [row.get("verdict") for row in rows]
    suspected = np.array([verdict in WARNED for verdict in verdicts])
    intervals = [row.get("confidence_interval") for row in rows]
    return Told(
        conclusion=report["conclusion"],
        headline=sentence,
        is_warned=bool(suspected.any()) or report["conclusion"] == "suspected",
        proven=np.array([verdict in PROVEN for verdict in verdicts]),
        suspected=suspected,
        visible=np.array([_number(row.get("detectable_effect")) for row in rows]),
        holds_no_change=np.array([np.nan if not one else float(one["low"] <= 0 <= one["high"]) for one in intervals]),
    )


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def by_files(suite: Suite, is_target: Booleans, block: Integers | None, folder: Path) -> Told:
    """Write a file per execution and compare them.

    `block` (U,) is the job of each execution, on a machine and at a time of its own. With None, files hold no fact.
    """
    sides: dict[bool, list[str]] = {False: [], True: []}
    for unit, side in enumerate(is_target.tolist()):
        path = folder / f"{'head' if side else 'base'}-{unit:02}.json"
        path.write_bytes(encode_run(run_of_unit(suite, unit, None if block is None else int(block[unit]))))
        sides[side].append(str(path))
    out = folder / "report.json"
    printed = perf_culprit("compare", "--baseline", *sides[False], "--target", *sides[True], "--json", str(out))
    return told(json.loads(out.read_bytes()), printed.partition("\n")[0], suite)


def run_of_unit(suite: Suite, unit: int, job: int | None) -> Run:
    benchmarks = tuple(
        Benchmark.of(name=name, metric=metric, samples=tuple(samples[~np.isnan(samples)].tolist()))
        for name, metric, samples in zip(suite.names, suite.metrics, suite.samples[:, unit], strict=True)
    )
    if job is None:
        return Run(benchmarks=benchmarks)
    machine = Environment(components={HOST: f"runner-{job}"})
    return Run(benchmarks=benchmarks, environment=machine, time=BEGINNING + job * BETWEEN_JOBS + unit * EXECUTION)


class Life(NamedTuple):
    """A run of a suite's life: the number of runs stored before it, and what the reader is told.

    `planted` has an entry for each change that was tried on this run, which is stored without it.
    """

    stored: int
    told: Told
    planted: Sequence[Told]


def lived(suite: Suite, changes: Sequence[tuple[Booleans, float]], *, least: int, folder: Path) -> Iterator[Life]:
    """Judge all executions in their order, as the action judges pushes, and store each.

    `changes`: rows (B,) and logarithms, each tried on every run with `least` stored ones.
    """
    with ExitStack() as stack:
        stack.enter_context(unchanging_repository())
        stack.enter_context(branch_in_memory())
        for stored, commit in enumerate(repository().commits[: suite.samples.shape[1]]):
            tried = changes if stored >= least else ()
            planted = [_judged(slower(suite, rows, change, stored), stored, commit, folder) for rows, change in tried]
            yield Life(stored, _judged(suite, stored, commit, folder, record=True), planted)


def slower(suite: Suite, rows: Booleans, change: float, units: int | Booleans) -> Suite:
    """Return the suite with `rows` larger by the logarithm `change` in these units."""
    samples = suite.samples.copy()
    samples[np.ix_(rows, np.atleast_1d(np.arange(samples.shape[1])[units]))] *= np.exp(change)
    return suite._replace(samples=samples)


def _judged(suite: Suite, unit: int, commit: str, folder: Path, *, record: bool = False) -> Told:
    file = folder / "head.json"
    file.write_bytes(encode_run(run_of_unit(suite, unit, None)))
    report = report_of(str(file), commit, record=record)
    return told(json.loads(report_json(report)), report_headline(report), suite)
