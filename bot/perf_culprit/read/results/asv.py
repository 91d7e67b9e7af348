"""asv result files, version 2 (rows with `result_columns`) and version 1 (plain `results`)."""

import itertools
import math
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from perf_culprit.model.run import LONGEST_NAME, Benchmark, Direction, Environment, Metric, Summary
from perf_culprit.read.results.parser import (
    TIME,
    VALUE,
    Parsed,
    components,
    epoch_time,
    from_samples,
    from_summary,
    full_hash,
    unique,
)
from perf_culprit.read.results.source import JsonValue, Source

ID = "asv"
DESCRIPTION = "asv result file (.asv/results/MACHINE/COMMIT-ENV.json)"
EXAMPLE = "asv run --record-samples, then .asv/results/MACHINE/COMMIT-ENV.json"

# The result file has no units: asv's kind of benchmark, the start of its method's name, says them. asv compares every
# kind as "less is better".
KINDS = {"time": (TIME, "s"), "timeraw": (TIME, "s"), "mem": ("memory", "B"), "peakmem": ("peak_memory", "B")}
# What asv found in the suite, beside the machines' folders; only there are the units of tracked values.
SUITE = "../benchmarks.json"
COLUMNS = ("samples", "stats_ci_99_a", "stats_ci_99_b", "stats_repeat")
CONFIDENCE_LEVEL = 0.99
LARGEST = sys.float_info.max
MAX_PARAMETER_COMBINATIONS = 100_000


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and "commit_hash" in root and isinstance(root.get("results"), dict)


def parse(source: Source, /) -> Parsed:
    root = source.root()
    rows = [(name, row) for name, value in root.at("results").members() if (row := _row(root, value)) is not None]
    suite = _suite(source.beside(SUITE))
    outcomes = [outcome for name, row in rows for outcome in _outcomes(name, row, _metric(name, suite.peek(name)))]
    failed = sum(benchmark is None for benchmark, _ in outcomes) + len(root.at("results").value) - len(rows)
    starts = [start for _, row in rows if (start := row.get("started_at")) is not None and start.is_finite]
    return Parsed(
        benchmarks=unique((benchmark, place) for benchmark, place in outcomes if benchmark is not None),
        environment=_environment(root),
        commit=full_hash(root.at("commit_hash").value),
        time=epoch_time(min(start.number() for start in starts) / 1000) if starts else None,
        notes=(f"left out because they failed or were skipped: {failed}",) * bool(failed),
    )


@lru_cache(maxsize=1)
def _suite(beside: Source | None) -> JsonValue:
    """What is beside the machines' folders: the same for each of thousands of files."""
    return JsonValue(None if beside is None else beside.json_or_none(), SUITE)


def _row(root: JsonValue, value: JsonValue) -> dict[str, JsonValue] | None:
    """The columns of one benchmark by name, or None where it failed as a whole."""
    if isinstance(value.value, dict):
        return dict(value.members())
    if (columns := root.find("result_columns")) is None or not isinstance(value.value, list):
        # Version 1 writes an unparametrised result as a bare number.
        return None if value.value is None else {"result": value}
    names = [column.text() for column in columns.elements()]
    # Trailing columns without a value are not written.
    return dict(zip(names, value.elements(), strict=False))


def _outcomes(name: str, row: dict[str, JsonValue], metric: Metric) -> Iterator[tuple[Benchmark | None, str]]:
    if (result := row.get("result")) is None or result.value is None:
        yield None, name
        return
    values = list(result.elements()) if isinstance(result.value, list) else [result]
    names = _names(name, row.get("params"), result, count=len(values))
    columns = [_cells(row, column, len(values)) for column in COLUMNS]
    version = _version(row.get("version"))
    for i, (full_name, value, samples, *statistics) in enumerate(zip(names, values, *columns, strict=True)):
        place = value.place
        # None where the combination failed (null) or was skipped (NaN).
        if value.value is None or (isinstance(value.value, float) and math.isnan(value.value)):
            yield None, place
        elif samples is not None and samples != []:
            repeated = JsonValue(samples, value.file, f"{row['samples'].path}[{i}]")
            numbers = repeated.numbers()
            measured = from_samples(full_name, metric=metric, samples=numbers, place=repeated.place)
            yield replace(measured, version=version), place
        else:
            summary = _summary(value, metric, *statistics)
            measured = from_summary(full_name, metric=metric, summary=summary, place=place)
            yield replace(measured, version=version), place


def _version(cell: JsonValue | None) -> str | None:
    """The hash of the benchmark's source that asv compares, or what its author states instead."""
    value = None if cell is None else cell.value
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable() else None


def _summary(value: JsonValue, metric: Metric, low: Any, high: Any, count: Any) -> Summary:
    # Too few samples leave the interval open: -Infinity to Infinity, or null.
    is_closed = all(type(bound) in (int, float) and -LARGEST <= bound <= LARGEST for bound in (low, high))
    return Summary(
        value=value.number(),
        statistic="median" if metric.name == TIME else "value",
        count=JsonValue(count, value.file, f"{value.path}: stats_repeat").whole() if type(count) is int else None,
        confidence_interval=(float(low), float(high)) if is_closed else None,
        confidence_level=CONFIDENCE_LEVEL if is_closed else None,
    )


def _cells(row: dict[str, JsonValue], column: str, count: int) -> list[Any]:
    """What one column says of each combination of parameters, None where it says nothing."""
    cells = row.get(column)
    values = cells.value[:count] if cells is not None and isinstance(cells.value, list) else []
    return values + [None] * (count - len(values))


def _names(name: str, params: JsonValue | None, result: JsonValue, *, count: int) -> list[str]:
    """One name per combination of parameters, in the order of itertools.product, as asv shows them."""
    given = () if params is None or params.value is None else params.elements()
    axes = [[str(value.value) for value in axis.elements()] for axis in given]
    if count > MAX_PARAMETER_COMBINATIONS or math.prod(len(axis) for axis in axes) != count:
        raise result.error("has another number of results than its parameters have combinations")
    if not axes:
        return [name]
    return [f"{name}({', '.join(values)})" for values in itertools.product(*axes)]


def _metric(name: str, described: object) -> Metric:
    kind = name.rpartition(".")[2].partition("_")[0].lower()
    tracked = described.get("unit") if isinstance(described, dict) else None
    # "unit" is what asv writes where the suite names none.
    unit = tracked if isinstance(tracked, str) and tracked != "unit" else ""
    metric_name, unit = KINDS.get(kind, (VALUE, unit))
    return Metric(name=metric_name, unit=unit, direction=Direction.LOWER_IS_BETTER)


def _environment(root: JsonValue) -> Environment:
    params = root.peek("params")
    facts = params if isinstance(params, dict) else {}
    # `existing:` environments name the interpreter's path instead of its version.
    python = str(root.peek("python") or facts.get("python"))
    system, _, release = str(facts.get("os") or "").partition(" ")
    return components(
        cpu=facts.get("cpu"),
        cpu_count=facts.get("num_cpu"),
        architecture=facts.get("arch"),
        memory=facts.get("ram"),
        os=system,
        os_release=release,
        host=facts.get("machine"),
        python=python if python[:1].isdigit() else None,
    )
