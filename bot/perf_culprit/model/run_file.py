"""A run as JSON (run v1): the output of `collect --json` and the content of the history and artifacts."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.json_files import WRITE_AGAIN, decode, encode, explicit_default
from perf_culprit.model.run import (
    NO_COST,
    YEARS,
    Benchmark,
    Cost,
    CounterTable,
    Direction,
    Metric,
    MetricKey,
    Run,
    first_doubled,
    in_utc,
)

if TYPE_CHECKING:
    from perf_culprit.arrays import Floats


class StoredCounter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of a table of counters. A missing value is null."""

    name: str
    unit: str = ""
    direction: Direction = Direction.UNKNOWN
    # Lists, because copying millions of numbers into tuples takes another second.
    values: list[float | None]


class StoredTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of counters. With `interval_s`, each row holds medians of an interval of this many seconds."""

    name: str
    times_s: list[float]
    load: list[float | None] | None = None
    load_name: str | None = None
    interval_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    counters: list[StoredCounter]

    def __post_init__(self) -> None:
        if not self.times_s or not self.counters:
            raise ValueError("needs at least one time and one counter")
        if len({counter.name for counter in self.counters}) != len(self.counters):
            raise ValueError("counters: two counters have one name")
        columns = [(f"counters.{index}.values", counter.values) for index, counter in enumerate(self.counters)]
        for part, column in [*columns, *([("load", self.load)] if self.load is not None else [])]:
            if len(column) != len(self.times_s):
                raise ValueError(f"{part}: has {len(column)} values for {len(self.times_s)} times")


class StoredRun(
    Run,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag="perf-culprit-run",
):
    """Everything measured for one commit in one environment at one time.

    `commit` is a full hash; null outside version control. `time` is in UTC; null if unknown. `job` names the job that
    measured: runs of the same job were interleaved on one machine (paired). `regressions` are the metrics in which this
    run was judged a regression. `confirmed` are those that a second measurement showed, too. `looks` is how
    often the run may have been judged during measurement, to stop early; error rates are divided by it. `notes` are
    remarks on the data's quality. `lost` are benchmarks that failed. `part` is set if other parts of the suite are
    missing. `unreached` is the suite, or the packages, without a measurement, because no change reaches them.
    `executions` are `measure`'s, in their order. `seed` gave the order within the rounds. `methods` has the methods
    that each benchmark runs, if this run was traced for it. `format` and `version` identify the file.
    """

    version: Literal[1] = explicit_default(1)
    benchmarks: tuple[Benchmark, ...]
    counters: tuple[StoredTable, ...] | None = None  # type: ignore[assignment]  # arrays are stored by column
    suite: str = explicit_default("default")
    regressions: tuple[MetricKey, ...] = explicit_default(())
    notes: tuple[str, ...] = explicit_default(())
    is_separate: Literal[False] = False  # of earlier versions
    origins: tuple[()] = ()
    cost: Cost | None = None  # type: ignore[assignment]  # omitted if unknown


def encode_run(run: Run) -> bytes:
    """Encode the run as one line of JSON; None and empty fields are omitted, floats round-trip exactly."""
    held = structs.asdict(run)
    tables = tuple(map(_stored_table, run.counters)) or None
    return encode(StoredRun(**held | {"counters": tables, "cost": run.cost or None, "origins": ()}))


def decode_run(data: bytes, *, place: str) -> Run:
    """Return the run in `data`; raise a DataError with file and place if it is invalid."""
    file = decode(StoredRun, data, place=place)
    if file.time is not None and in_utc(file.time) is None:
        years = f"between {YEARS[0]} and {YEARS[-1]}"
        raise DataError(f"time is not {years}", place=place, next_step="give the time of the measurement, or none")
    for index, benchmark in enumerate(file.benchmarks):
        _check(benchmark, place=f"{place}: benchmarks.{index}")
        # Runs of one suite share their names: one copy of each is enough.
        for name in ("name", "metric_name", "unit"):
            structs.force_setattr(benchmark, name, sys.intern(getattr(benchmark, name)))
    held = structs.asdict(file)
    held["counters"] = tuple(
        _table(table, f"{place}: counters.{index}") for index, table in enumerate(file.counters or ())
    )
    held["cost"] = file.cost or NO_COST
    del held["version"], held["is_separate"]
    run = Run(**held)
    refuse_too_many(run.benchmarks, run.counters, place=place)
    return run


def _check(benchmark: Benchmark, *, place: str) -> None:
    samples, group_sizes = benchmark.samples, benchmark.group_sizes
    if bool(samples) == (benchmark.summary is not None):
        raise DataError(
            "needs either samples (at least one) or a summary",
            place=place,
            next_step="give the benchmark its repeated numbers as samples, or one summary",
        )
    if group_sizes and (sum(group_sizes) != len(samples) or min(group_sizes) < 1):
        raise DataError("group_sizes do not add up to the number of samples", place=place, next_step="leave them out")
    if benchmark.rounds and len(benchmark.rounds) != len(group_sizes):
        raise DataError("rounds are not one per group", place=place, next_step="leave them out")


def refuse_too_many(benchmarks: Sequence[Benchmark], counters: Sequence[CounterTable], *, place: str) -> None:
    count = len(benchmarks) + sum(len(table.metrics) for table in counters)
    if count > FILE_LIMITS.metrics:
        raise DataError(
            f"holds {count:,} metrics, and a run may have {FILE_LIMITS.metrics:,}",
            place=place,
            next_step="split the benchmarks into suites, and give each its own run with `--suite NAME`",
        )


def refuse_doubled(benchmarks: Sequence[Benchmark], *, place: str) -> None:
    """Refuse duplicate benchmarks in untrusted files; stored runs are read unchanged."""
    if (doubled := first_doubled(benchmarks)) is not None:
        first, second = doubled
        raise DataError(
            f"has the name and the metric of benchmarks.{first}",
            place=f"{place}: benchmarks.{second}",
            next_step="give each benchmark a name of its own",
        )


def _stored_table(table: CounterTable) -> StoredTable:
    return StoredTable(
        name=table.name,
        times_s=table.times_s.tolist(),
        load=None if table.load is None else _nullable(table.load),
        load_name=table.load_name,
        interval_s=table.interval_s,
        counters=[
            StoredCounter(
                name=metric.name,
                unit=metric.unit,
                direction=metric.direction,
                values=_nullable(table.values[:, column]),
            )
            for column, metric in enumerate(table.metrics)
        ],
    )


def _table(stored: StoredTable, place: str) -> CounterTable:
    """The table; a DataError if its times do not increase."""
    import numpy as np

    times = np.array(stored.times_s, dtype=np.float64)
    if (np.diff(times) <= 0).any():
        raise DataError("its times do not increase", place=f"{place}.times_s", next_step=WRITE_AGAIN)
    values = np.empty((len(times), len(stored.counters)))
    for index, counter in enumerate(stored.counters):
        values[:, index] = np.array(counter.values, dtype=np.float64)
    return CounterTable(
        name=stored.name,
        metrics=tuple(
            Metric(name=counter.name, unit=counter.unit, direction=counter.direction) for counter in stored.counters
        ),
        times_s=times,
        values=values,
        load=None if stored.load is None else np.array(stored.load, dtype=np.float64),
        load_name=None if stored.load is None else stored.load_name or None,
        interval_s=stored.interval_s,
    )


def _nullable(values: "Floats") -> list[float | None]:
    import numpy as np

    missing = ~np.isfinite(values)
    if not missing.any():
        return list(values.tolist())
    cells = values.astype(object)
    cells[missing] = None
    return list(cells.tolist())
