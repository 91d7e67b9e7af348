"""The retention of a history (samples of the newest runs, summaries of older ones), and a writer's retries.

All but the retries are pure functions over names and runs; `git_branch` applies them in the commit that appends a run.
"""

import math
import statistics
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from msgspec.structs import replace

from perf_culprit.errors import DataError, InfrastructureError
from perf_culprit.model.run import Benchmark, Run, Summary
from perf_culprit.model.run_file import encode_run
from perf_culprit.progress import doing
from perf_culprit.stats import common_rate
from perf_culprit.store.run_names import RunFile

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """Limits of the retries, in attempts and time."""

    attempts: int = 30
    seconds: float = 180.0
    first_pause_seconds: float = 0.1
    longest_pause_seconds: float = 5.0

    def pause_seconds(self, attempt: int, random: Random) -> float:
        """Return a pause with full jitter: writers that collided once are unlikely to collide again."""
        return random.uniform(0, min(self.longest_pause_seconds, self.first_pause_seconds * 2 ** min(attempt, 16)))

    def persist(
        self,
        action: Callable[[], _T],
        *,
        is_transient: Callable[[InfrastructureError], bool],
        failure: str,
        place: str,
        writes: bool,
        random: Random,
        sleep: Callable[[float], None] = time.sleep,
    ) -> _T:
        """Retry `action` while its error is transient, and return its result. The last error has `failure` and `place`.

        With `writes`, an attempt that seemed to fail may have succeeded: repeating it stores nothing twice.
        """
        deadline = time.monotonic() + self.seconds
        attempt = 0
        while True:
            attempt += 1
            try:
                return action()
            except InfrastructureError as error:
                if not is_transient(error):
                    raise
                pause_seconds = self.pause_seconds(attempt, random)
                if attempt >= self.attempts or time.monotonic() + pause_seconds > deadline:
                    attempts = "one attempt" if attempt == 1 else f"{attempt} attempts; the last one"
                    step = error.next_step or "run the job again"
                    raise InfrastructureError(
                        f"{failure} after {attempts}: {error.message}",
                        place=place,
                        next_step=f"{step}; doing it twice does no harm" if writes else step,
                    ) from None
            doing(f"trying {place} again, attempt {attempt + 1}")
            sleep(pause_seconds)


MEBIBYTE = 1024 * 1024
# The rest of the budget is for the branch's earlier contents.
FILES_SHARE: Final = 0.75
# The number of old runs kept per doubling of the age: the first that fits the budget is used.
RUNS_PER_AGE: Final = (4096, 3072, 2304, 1728, 1296, 972, 729, 547, 410, 308, 231, 173, 130, 97, 73, 55, 41, 31, 23, 17)


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """`raw_runs` per suite keep their samples. `branch_bytes` limits the branch's packed size, including its past.

    With `keeps_past` the branch never starts over, however large its past. A counter table with more than
    `counter_intervals` rows keeps the medians of `counter_intervals` equal intervals. `file_bytes` equals GitHub's 50
    MB warning, below the 100 MB at which it refuses a push.
    """

    raw_runs: int = 100
    branch_bytes: int = 200 * MEBIBYTE
    file_bytes: int = 50 * MEBIBYTE
    counter_intervals: int = 144
    keeps_past: bool = False

    @property
    def files_bytes(self) -> float:
        return self.branch_bytes * FILES_SHARE

    @property
    def past_bytes(self) -> float:
        return math.inf if self.keeps_past else self.branch_bytes - self.files_bytes


def runs_to_compact(files: Sequence[RunFile], retention: Retention) -> tuple[RunFile, ...]:
    """Return the runs with samples beyond the newest `raw_runs` of their suite."""
    old = (file for runs in _suites(files) for file in runs[retention.raw_runs :])
    return tuple(file for file in old if not file.compacted)


def runs_to_drop(files: Sequence[RunFile], retention: Retention, *, keep: RunFile | None = None) -> tuple[RunFile, ...]:
    """Return the runs to remove so that the rest fits the budget. `keep`, the run being recorded, stays.

    Runs beyond the newest `raw_runs` of their suite are thinned out, older ones more. If that is not enough, the oldest
    are removed.
    """
    excess = _packed_bytes(files) - retention.files_bytes
    if excess <= 0:
        return ()
    suites = [[(file.second, file) for file in runs] for runs in _suites(files)]

    def crowded(runs_per_age: int) -> dict[RunFile, None]:
        of_suites = (_crowded_runs(runs, newest=retention.raw_runs, runs_per_age=runs_per_age) for runs in suites)
        return {file: None for of_suite in of_suites for file in of_suite if not _is(file, keep)}

    step = bisect_left(RUNS_PER_AGE, excess, key=lambda runs_per_age: _packed_bytes(crowded(runs_per_age)))
    dropped = crowded(RUNS_PER_AGE[min(step, len(RUNS_PER_AGE) - 1)])
    excess -= _packed_bytes(dropped)
    for file in sorted(files, key=lambda file: file.age_order):
        if excess <= 0:
            break
        if file not in dropped and not _is(file, keep):
            dropped[file] = None
            excess -= file.packed_size
    return tuple(dropped)


def _suites(files: Sequence[RunFile]) -> list[list[RunFile]]:
    """Return the files of each suite, newest first."""
    suites: defaultdict[str, list[RunFile]] = defaultdict(list)
    for file in sorted(files, key=lambda file: file.age_order, reverse=True):
        suites[file.suite_slug].append(file)
    return list(suites.values())


def _packed_bytes(files: Iterable[RunFile]) -> int:
    return sum(file.packed_size for file in files)


def _is(file: RunFile, other: RunFile | None) -> bool:
    return other is not None and file.is_same_run(other)


def _crowded_runs(runs: Sequence[tuple[int, RunFile]], *, newest: int, runs_per_age: int) -> list[RunFile]:
    """Return the runs beyond the `newest` that share an interval with a newer run. `runs` is one suite, newest first.

    Keep the newest run of each interval. An interval's length is its runs' age divided by `runs_per_age`, rounded down
    to a power of two seconds. So intervals nest: a run kept under a tight budget is also kept under a looser one.
    Gradual thinning therefore gives nearly the same result as thinning once. Age counts from the oldest of the
    `newest`, so one run with a clock years ahead does not age the others.
    """
    crowded, intervals = [], set()
    for second, file in runs[newest:]:
        age = max(runs[newest - 1][0] - second, 0)
        length = 1 << max((age // runs_per_age).bit_length() - 1, 0)
        interval = (length, second // length)
        if interval in intervals:
            crowded.append(file)
        intervals.add(interval)
    return crowded


def compact(run: Run) -> Run:
    """Replace every benchmark's samples by a summary, and drop counters: no detector judges by their summary.

    A run of summaries is unchanged.
    """
    return replace(
        run,
        benchmarks=tuple(_compact_benchmark(benchmark) for benchmark in run.benchmarks),
        counters=(),
        notes=(*run.notes, "its counters were dropped when it was compacted") if run.counters else run.notes,
    )


def reduce_counters(run: Run, intervals: int) -> Run:
    """Reduce long counter tables to interval medians. Return the same object if no table is long."""
    if all(len(table.times_s) <= intervals for table in run.counters):
        return run
    tables = (
        common_rate.reduced(table, intervals) if len(table.times_s) > intervals else table for table in run.counters
    )
    note = f"its counters are medians of {intervals} equal intervals"
    return replace(run, counters=tuple(tables), notes=(*run.notes, note))


def fit_file(run: Run, content: bytes, retention: Retention) -> tuple[bytes, bool]:
    """Return the content to store for a run, and whether it was compacted because it is too large for one file.

    `content` is the run's JSON. Long counter tables are reduced first, whatever their size in bytes.
    """
    if (reduced := reduce_counters(run, retention.counter_intervals)) is not run:
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
        median=statistics.median(samples),
    )
    return replace(benchmark, samples=(), summary=summary, group_sizes=(), rounds=())
