"""A run as JSON (run v1): what `collect --json` writes, what the history stores, what an artifact carries."""

from dataclasses import field
from datetime import datetime
from functools import cache
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass

from bot.codec.counters import CounterTableEntry, decode_table, encode_table
from bot.codec.wire import WIRE_CONFIG, decode
from bot.errors import DataError
from bot.model.environment import Environment
from bot.model.metric import Direction, Metric, MetricKey
from bot.model.run import Benchmark, Run, Summary

RUN_FORMAT: Final = "perf-culprit-run"
SCHEMA_NAME = "run-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SummaryEntry:
    value: float
    statistic: str = "value"
    count: int | None = None
    standard_deviation: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    confidence_interval: tuple[float, float] | None = None
    confidence_level: float | None = None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BenchmarkEntry:
    name: str
    metric: str = "time"
    unit: str = ""
    direction: Direction = Direction.LOWER_IS_BETTER
    samples: tuple[float, ...] | None = None
    summary: SummaryEntry | None = None
    group_sizes: tuple[int, ...] | None = None
    category: str | None = None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class KeyEntry:
    benchmark: str
    metric: str


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class RunFile:
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-run"]
    version: Literal[1]
    benchmarks: tuple[BenchmarkEntry, ...]
    counters: tuple[CounterTableEntry, ...] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    commit: str | None = None
    time: datetime | None = None
    suite: str = "default"
    job: str | None = None
    regressions: tuple[KeyEntry, ...] = ()
    looks: Annotated[int, Field(ge=1, le=1000)] | None = None
    notes: tuple[str, ...] = ()


@cache
def run_adapter() -> TypeAdapter[RunFile]:
    """Built on first use: building a validator costs milliseconds that `--help` need not pay."""
    return TypeAdapter(RunFile)


def encode_run(run: Run) -> bytes:
    """The run as one line of JSON; None and empty fields are left out, floats round-trip exactly."""
    entries = tuple(
        BenchmarkEntry(
            name=benchmark.name,
            metric=benchmark.metric.name,
            unit=benchmark.metric.unit,
            direction=benchmark.metric.direction,
            samples=benchmark.samples if benchmark.summary is None else None,
            summary=_summary_entry(benchmark.summary),
            group_sizes=benchmark.group_sizes or None,
            category=benchmark.category,
        )
        for benchmark in run.benchmarks
    )
    file = RunFile(
        format=RUN_FORMAT,
        version=1,
        benchmarks=entries,
        counters=tuple(map(encode_table, run.counters)) or None,
        environment=dict(run.environment.components),
        commit=run.commit,
        time=run.time,
        suite=run.suite,
        job=run.job,
        regressions=tuple(KeyEntry(benchmark=key.benchmark, metric=key.metric) for key in run.regressions),
        looks=run.looks if run.looks > 1 else None,
        notes=run.notes,
    )
    return run_adapter().dump_json(file, exclude_none=True) + b"\n"


def decode_run(data: bytes, *, place: str) -> Run:
    """The run in `data`; a DataError with file and place where it is none."""
    file = decode(run_adapter(), data, place=place, what=SCHEMA_NAME)
    kinds = {(entry.metric, entry.unit, entry.direction) for entry in file.benchmarks}
    metrics = {kind: Metric(name=kind[0], unit=kind[1], direction=kind[2]) for kind in kinds}
    return Run(
        benchmarks=tuple(
            _benchmark(entry, metrics[entry.metric, entry.unit, entry.direction], f"{place}: benchmarks.{i}")
            for i, entry in enumerate(file.benchmarks)
        ),
        counters=tuple(decode_table(entry, f"{place}: counters.{i}") for i, entry in enumerate(file.counters or ())),
        environment=Environment(components=file.environment),
        commit=file.commit,
        time=file.time,
        suite=file.suite,
        job=file.job,
        regressions=tuple(MetricKey(entry.benchmark, entry.metric) for entry in file.regressions),
        looks=file.looks or 1,
        notes=file.notes,
    )


def _summary_entry(summary: Summary | None) -> SummaryEntry | None:
    if summary is None:
        return None
    return SummaryEntry(
        value=summary.value,
        statistic=summary.statistic,
        count=summary.count,
        standard_deviation=summary.standard_deviation,
        minimum=summary.minimum,
        maximum=summary.maximum,
        confidence_interval=summary.confidence_interval,
        confidence_level=summary.confidence_level,
    )


def _benchmark(entry: BenchmarkEntry, metric: Metric, place: str) -> Benchmark:
    if bool(entry.samples) == (entry.summary is not None):
        raise DataError(
            "needs either samples (at least one) or a summary",
            place=place,
            next_step="give the benchmark its repeated numbers as samples, or one summary",
        )
    if entry.group_sizes and (sum(entry.group_sizes) != len(entry.samples or ()) or min(entry.group_sizes) < 1):
        raise DataError("group_sizes do not add up to the number of samples", place=place, next_step="leave them out")
    summary = entry.summary
    return Benchmark(
        name=entry.name,
        metric=metric,
        samples=entry.samples or (),
        summary=None
        if summary is None
        else Summary(
            value=summary.value,
            statistic=summary.statistic,
            count=summary.count,
            standard_deviation=summary.standard_deviation,
            minimum=summary.minimum,
            maximum=summary.maximum,
            confidence_interval=summary.confidence_interval,
            confidence_level=summary.confidence_level,
        ),
        group_sizes=entry.group_sizes or (),
        category=entry.category,
    )
