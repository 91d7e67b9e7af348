"""What a history keeps: samples of the newest runs, summaries of older ones, medians of counters, within a size budget.

Pure functions over names and runs; `git_branch` applies them in the commit that appends a run.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.codec.run import REDUCED_NOTE, encode_run
from bot.errors import DataError
from bot.history.layout import RunFile
from bot.model.run import Benchmark, Run, Summary
from bot.stats import equal_intervals

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """`raw_runs` per suite keep their samples. `branch_bytes` bounds the files of one commit of the branch.

    A counter table of more rows than `counter_intervals` keeps the medians of as many equal intervals.
    `file_bytes` stays below the 100 MB at which GitHub refuses a push, and at its 50 MB warning.
    """

    raw_runs: int = 100
    branch_bytes: int = 200 * MEBIBYTE
    file_bytes: int = 50 * MEBIBYTE
    counter_intervals: int = 144


def runs_to_compact(files: Sequence[RunFile], retention: Retention) -> tuple[RunFile, ...]:
    """Runs with samples beyond the newest `raw_runs` of their suite."""
    suites: defaultdict[str, list[RunFile]] = defaultdict(list)
    for file in sorted(files, key=lambda file: file.age_order, reverse=True):
        suites[file.suite_slug].append(file)
    return tuple(file for runs in suites.values() for file in runs[retention.raw_runs :] if not file.compacted)


def runs_to_drop(files: Sequence[RunFile], retention: Retention, *, keep: RunFile) -> tuple[RunFile, ...]:
    """The oldest runs that must go so that the rest fits the budget. `keep`, the run being recorded, stays."""
    excess = sum(file.size for file in files) - retention.branch_bytes
    dropped = []
    for file in sorted(files, key=lambda file: file.age_order):
        if excess <= 0:
            break
        if not file.is_same_run(keep):
            dropped.append(file)
            excess -= file.size
    return tuple(dropped)


def compact(run: Run) -> Run:
    """The run with a summary for every benchmark's samples, and without counters: no detector judges by their summary.

    A run of summaries stays as it is.
    """
    return replace(
        run,
        benchmarks=tuple(_compact_benchmark(benchmark) for benchmark in run.benchmarks),
        counters=(),
        notes=(*run.notes, "its counters were dropped when it was compacted") if run.counters else run.notes,
    )


def reduce_counters(run: Run, intervals: int) -> Run:
    """The run with long counter tables as interval medians; the same object where none is long."""
    if all(len(table.times_s) <= intervals for table in run.counters):
        return run
    tables = (
        equal_intervals.reduced(table, intervals) if len(table.times_s) > intervals else table for table in run.counters
    )
    return replace(run, counters=tuple(tables), notes=(*run.notes, REDUCED_NOTE.format(intervals)))


def fit_file(run: Run, content: bytes, retention: Retention) -> tuple[bytes, bool]:
    """What to store for a run and whether it was compacted: a run that is too large for one file loses its samples.

    `content` is the run's JSON. Long counter tables are reduced first, whatever their size in bytes.
    """
    reduced = reduce_counters(run, retention.counter_intervals)
    if reduced is not run:
        run, content = reduced, encode_run(reduced)
    if len(content) <= retention.file_bytes:
        return content, False
    note = f"its samples were not stored: {len(content)} bytes are more than a history file may have"
    compacted = compact(run)
    small = encode_run(replace(compacted, notes=(*compacted.notes, note)))
    if len(small) > retention.file_bytes:
        raise DataError(
            f"the run has {len(run.benchmarks)} benchmarks; even without samples it is too large for the history",
            next_step="split the suite into several, each with its own `suite` name",
        )
    return small, True


def _compact_benchmark(benchmark: Benchmark) -> Benchmark:
    if benchmark.summary is not None:
        return benchmark
    samples = benchmark.samples
    count = len(samples)
    mean = math.fsum(samples) / count
    # hypot neither overflows nor underflows where squares would.
    spread = math.hypot(*(sample - mean for sample in samples)) / math.sqrt(count - 1) if count > 1 else None
    summary = Summary(
        value=mean,
        statistic="mean",
        count=count,
        standard_deviation=spread,
        minimum=min(samples),
        maximum=max(samples),
    )
    return replace(benchmark, samples=(), summary=summary, group_sizes=())
