"""A run as JSON (run v1): what `collect --json` writes and what the history stores."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType, structs

from perf_culprit.errors import DataError
from perf_culprit.model.run import (
    LONGEST_NAME,
    LONGEST_SECONDS,
    LONGEST_VALUE,
    MOST_COMPONENTS,
    MOST_EXECUTIONS,
    MOST_METRICS,
    NO_COST,
    Benchmark,
    Cost,
    CounterTable,
    Direction,
    Environment,
    Metric,
    MetricKey,
    Run,
    Summary,
    first_doubled,
)
from perf_culprit.wire.checked_json import decode_large

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


# Counter tables within a run file: a column per counter, null where a value is missing.

NEXT_STEP = "write the file again with this version of perf-culprit"


class CounterEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    unit: str = ""
    direction: Direction = Direction.UNKNOWN
    # Lists, because copying millions of numbers into tuples takes a second more.
    values: list[float | None]


class CounterTableEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    times_s: list[float]
    load: list[float | None] | UnsetType | None = UNSET
    load_name: str | UnsetType | None = UNSET
    interval_s: Annotated[float, msgspec.Meta(gt=0)] | UnsetType | None = UNSET
    counters: list[CounterEntry]


def encode_table(table: CounterTable) -> CounterTableEntry:
    return CounterTableEntry(
        name=table.name,
        times_s=table.times_s.tolist(),
        load=UNSET if table.load is None else _nullable(table.load),
        load_name=table.load_name or UNSET,
        interval_s=table.interval_s or UNSET,
        counters=[
            CounterEntry(
                name=metric.name,
                unit=metric.unit,
                direction=metric.direction,
                values=_nullable(table.values[:, column]),
            )
            for column, metric in enumerate(table.metrics)
        ],
    )


def decode_table(entry: CounterTableEntry, place: str, *, were_reduced: bool = False) -> CounterTable:
    """The table; a DataError where its parts do not fit each other.

    `were_reduced`: by a note of their run its long tables hold interval medians, and an older version, which wrote no
    `interval_s`, stored it. Then the usual step between rows is their interval; for a table that was too short to be
    reduced that is the step of its samples, which is as good.
    """
    import numpy as np

    times = np.array(entry.times_s, dtype=np.float64)
    load = None if entry.load is UNSET else entry.load
    count = len(times)
    names = [counter.name for counter in entry.counters]
    if not count or not names:
        raise DataError("needs at least one time and one counter", place=place, next_step=NEXT_STEP)
    if (np.diff(times) <= 0).any():
        raise DataError("its times do not increase", place=f"{place}.times_s", next_step=NEXT_STEP)
    if len(set(names)) != len(names):
        raise DataError("two counters have one name", place=f"{place}.counters", next_step=NEXT_STEP)
    columns = [(f"counters.{index}.values", counter.values) for index, counter in enumerate(entry.counters)]
    for part, column in [*columns, *([("load", load)] if load is not None else [])]:
        if len(column) != count:
            raise DataError(f"has {len(column)} values for {count} times", place=f"{place}.{part}", next_step=NEXT_STEP)
    values = np.empty((count, len(columns)))
    for index, (_, column) in enumerate(columns):
        values[:, index] = _floats(column)
    interval_s = entry.interval_s or None
    if interval_s is None and were_reduced and count > 1:
        interval_s = float(np.median(np.diff(times)))
    return CounterTable(
        name=entry.name,
        metrics=tuple(
            Metric(name=counter.name, unit=counter.unit, direction=counter.direction) for counter in entry.counters
        ),
        times_s=times,
        values=values,
        load=None if load is None else _floats(load),
        load_name=None if load is None else entry.load_name or None,
        interval_s=interval_s,
    )


def _floats(values: list[float | None]) -> "Floats":
    import numpy as np

    return np.array(values, dtype=np.float64)


def _nullable(values: "Floats") -> list[float | None]:
    import numpy as np

    missing = ~np.isfinite(values)
    if not missing.any():
        return list(values.tolist())
    cells = values.astype(object)
    cells[missing] = None
    return list(cells.tolist())


# A run as JSON (run v1): what `collect --json` writes, what the history stores, what an artifact carries.

RUN_FORMAT: Final = "perf-culprit-run"
SCHEMA_NAME = "run-v1"
# What a run's notes say of reduced counter tables; `{}` is the number of intervals.
REDUCED_NOTE: Final = "its counters are medians of {} equal intervals"


class SummaryEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value: float
    statistic: str = "value"
    count: int | UnsetType | None = UNSET
    standard_deviation: float | UnsetType | None = UNSET
    minimum: float | UnsetType | None = UNSET
    maximum: float | UnsetType | None = UNSET
    median: float | UnsetType | None = UNSET
    confidence_interval: tuple[float, float] | UnsetType | None = UNSET
    confidence_level: float | UnsetType | None = UNSET


class BenchmarkEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    name: str
    metric: str = "time"
    unit: str = ""
    direction: Direction = Direction.LOWER_IS_BETTER
    samples: tuple[float, ...] | UnsetType | None = UNSET
    summary: SummaryEntry | UnsetType | None = UNSET
    group_sizes: tuple[int, ...] | UnsetType | None = UNSET
    rounds: tuple[int, ...] | UnsetType | None = UNSET
    category: str | UnsetType | None = UNSET


class RunKeyEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    benchmark: str
    metric: str


class CostEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    executions: Annotated[int, msgspec.Meta(ge=1, le=MOST_EXECUTIONS)]
    seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_SECONDS)]


class RunFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-run"]
    version: Literal[1]
    benchmarks: tuple[BenchmarkEntry, ...]
    counters: tuple[CounterTableEntry, ...] | UnsetType | None = UNSET
    environment: Annotated[
        dict[
            Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)],
            Annotated[str, msgspec.Meta(max_length=LONGEST_VALUE)],
        ],
        msgspec.Meta(max_length=MOST_COMPONENTS),
    ] = {}
    commit: str | UnsetType | None = UNSET
    time: datetime | UnsetType | None = UNSET
    suite: str = "default"
    job: str | UnsetType | None = UNSET
    regressions: tuple[RunKeyEntry, ...] = ()
    confirmed: tuple[RunKeyEntry, ...] | UnsetType | None = UNSET
    looks: Annotated[int, msgspec.Meta(ge=1, le=1000)] | UnsetType | None = UNSET
    cost: CostEntry | UnsetType | None = UNSET
    notes: tuple[str, ...] = ()


def encode_run(run: Run) -> bytes:
    """The run as one line of JSON; None and empty fields are left out, floats round-trip exactly."""
    entries = tuple(
        BenchmarkEntry(
            name=benchmark.name,
            metric=benchmark.metric.name,
            unit=benchmark.metric.unit,
            direction=benchmark.metric.direction,
            samples=benchmark.samples if benchmark.summary is None else UNSET,
            summary=UNSET if benchmark.summary is None else _summary_entry(benchmark.summary),
            group_sizes=benchmark.group_sizes or UNSET,
            rounds=benchmark.rounds or UNSET,
            category=_or_unset(benchmark.category),
        )
        for benchmark in run.benchmarks
    )
    file = RunFile(
        format=RUN_FORMAT,
        version=1,
        benchmarks=entries,
        counters=tuple(map(encode_table, run.counters)) or UNSET,
        environment=dict(run.environment.bounded.components),
        commit=_or_unset(run.commit),
        time=_or_unset(run.time),
        suite=run.suite,
        job=_or_unset(run.job),
        regressions=_key_entries(run.regressions),
        confirmed=_key_entries(run.confirmed) or UNSET,
        looks=run.analyses if run.analyses > 1 else UNSET,
        cost=CostEntry(**asdict(run.cost)) if run.cost.executions else UNSET,
        notes=run.notes,
    )
    return msgspec.json.encode(file) + b"\n"


def decode_run(data: bytes, *, place: str) -> Run:
    """The run in `data`; a DataError with file and place where it is none."""
    file = decode_large(RunFile, data, place=place, what=SCHEMA_NAME)
    kinds = {(entry.metric, entry.unit, entry.direction) for entry in file.benchmarks}
    metrics = {kind: Metric(name=kind[0], unit=kind[1], direction=kind[2]) for kind in kinds}
    start, end = REDUCED_NOTE.split("{}")
    were_reduced = any(note.startswith(start) and note.endswith(end) for note in file.notes)
    run = Run(
        benchmarks=tuple(
            _benchmark(entry, metrics[entry.metric, entry.unit, entry.direction], f"{place}: benchmarks.{i}")
            for i, entry in enumerate(file.benchmarks)
        ),
        counters=tuple(
            decode_table(entry, f"{place}: counters.{i}", were_reduced=were_reduced)
            for i, entry in enumerate(file.counters or ())
        ),
        environment=Environment(components=file.environment).bounded,
        commit=file.commit or None,
        time=file.time or None,
        suite=file.suite,
        job=file.job or None,
        regressions=_keys(file.regressions),
        confirmed=_keys(file.confirmed or ()),
        analyses=file.looks or 1,
        cost=Cost(file.cost.executions, file.cost.seconds) if file.cost else NO_COST,
        notes=file.notes,
    )
    refuse_too_many(run.benchmarks, run.counters, place=place)
    return run


def refuse_too_many(benchmarks: Sequence[Benchmark], counters: Sequence[CounterTable], *, place: str) -> None:
    count = len(benchmarks) + sum(len(table.metrics) for table in counters)
    if count > MOST_METRICS:
        raise DataError(
            f"holds {count:,} metrics, and a run may have {MOST_METRICS:,}",
            place=place,
            next_step="split the benchmarks into suites, and give each its own run with `--suite NAME`",
        )


def refuse_doubled(benchmarks: Sequence[Benchmark], *, place: str) -> None:
    """Of files that strangers wrote; what is stored already is read as it is."""
    if (doubled := first_doubled(benchmarks)) is not None:
        first, second = doubled
        raise DataError(
            f"has the name and the metric of benchmarks.{first}",
            place=f"{place}: benchmarks.{second}",
            next_step="give each benchmark a name of its own",
        )


def _key_entries(keys: Sequence[MetricKey]) -> tuple[RunKeyEntry, ...]:
    return tuple(RunKeyEntry(benchmark=key.benchmark, metric=key.metric) for key in keys)


def _keys(entries: Sequence[RunKeyEntry]) -> tuple[MetricKey, ...]:
    return tuple(MetricKey(entry.benchmark, entry.metric) for entry in entries)


T = TypeVar("T")


def _or_unset(value: T | None) -> T | UnsetType:
    """What is not known is left out of the file."""
    return UNSET if value is None else value


def _summary_entry(summary: Summary) -> SummaryEntry:
    numbers = {name: getattr(summary, name) for name in SummaryEntry.__struct_fields__}
    return SummaryEntry(**{name: number for name, number in numbers.items() if number is not None})


def _summary(entry: SummaryEntry) -> Summary:
    stated: dict[str, Any] = structs.asdict(entry)
    return Summary(**{name: number for name, number in stated.items() if number is not UNSET})


def _benchmark(entry: BenchmarkEntry, metric: Metric, place: str) -> Benchmark:
    if bool(entry.samples) == bool(entry.summary):
        raise DataError(
            "needs either samples (at least one) or a summary",
            place=place,
            next_step="give the benchmark its repeated numbers as samples, or one summary",
        )
    if entry.group_sizes and (sum(entry.group_sizes) != len(entry.samples or ()) or min(entry.group_sizes) < 1):
        raise DataError("group_sizes do not add up to the number of samples", place=place, next_step="leave them out")
    if entry.rounds and len(entry.rounds) != len(entry.group_sizes or ()):
        raise DataError("rounds are not one per group", place=place, next_step="leave them out")
    return Benchmark(
        # Runs of one suite have the same names: one copy of each is enough.
        name=sys.intern(entry.name),
        metric=metric,
        samples=entry.samples or (),
        summary=_summary(entry.summary) if entry.summary else None,
        group_sizes=entry.group_sizes or (),
        rounds=entry.rounds or (),
        category=entry.category or None,
    )
