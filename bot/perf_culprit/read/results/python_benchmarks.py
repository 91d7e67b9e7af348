"""Python's benchmarks: pytest-benchmark, pyperf and asv."""

import itertools
import math
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import Loss
from perf_culprit.model.run import TIME, Benchmark, Direction, Environment, Lost, Metric, Summary
from perf_culprit.read.results.console import NUMBER, PRINTED_NS, VALUE_GROUP, Lines, Measured, line_reader, nanoseconds
from perf_culprit.read.results.json_value import JsonValue, are_objects, mean_summary
from perf_culprit.read.results.parsed import (
    NANOSECOND_TIME,
    SECOND_TIME,
    VALUE,
    Parsed,
    ResultReader,
    Thinning,
    components,
    epoch_time,
    from_groups,
    from_samples,
    from_summary,
    full_hash,
    lost,
    unique,
    utc_time,
)
from perf_culprit.read.results.source import Source, json_object


def _read_pytest(source: Source) -> Parsed:
    """Read `--benchmark-json`, or saved runs with or without `--benchmark-save-data`."""
    thinning = Thinning(source)
    root = source.each_of("benchmarks", lambda entry: thinning.add(_pytest_benchmark(entry), entry.place))
    benchmarks = unique(thinning.benchmarks)
    without = sum(benchmark.summary is not None for benchmark in benchmarks)
    commit = root.find("commit_info")
    return Parsed(
        benchmarks=benchmarks,
        environment=_pytest_environment(root),
        commit=None if commit is None else _clean_commit(commit),
        time=utc_time(root.peek("datetime")),
        notes=(
            *thinning.notes(),
            *(f"stored without samples (--benchmark-save-data keeps them): {without}",) * bool(without),
        ),
    )


def _pytest_benchmark(entry: JsonValue) -> Benchmark:
    fullname = entry.find("fullname") or entry.at("name")
    stats = entry.at("stats")
    if (data := stats.find("data")) is not None and data.value != []:
        return from_samples(fullname.text(), metric=SECOND_TIME, samples=data.numbers(), place=data.place)
    rounds = stats.find_whole("rounds")
    # The tool writes 0 for one round, which has no standard deviation.
    summary = mean_summary(stats, count=rounds, deviation=None if rounds == 1 else "stddev")
    return from_summary(fullname.text(), metric=SECOND_TIME, summary=summary, place=stats.place)


def _clean_commit(commit: JsonValue) -> str | None:
    # Results of a changed working tree belong to no commit.
    identity, dirty = commit.find("id"), commit.find("dirty")
    return None if identity is None or (dirty is not None and dirty.value is True) else full_hash(identity.value)


def _pytest_environment(root: JsonValue) -> Environment:
    machine = root.at("machine_info")
    cpu = machine.find("cpu") or JsonValue({}, machine.file)
    return components(
        cpu=cpu.peek("brand_raw") or cpu.peek("brand"),
        cpu_count=cpu.peek("count"),
        architecture=machine.peek("machine"),
        os=machine.peek("system"),
        os_release=machine.peek("release"),
        host=machine.peek("node"),
        python=machine.peek("python_version"),
    )


PYTEST_BENCHMARK = ResultReader(
    id="pytest_benchmark",
    description="pytest-benchmark JSON (--benchmark-json)",
    example="pytest --benchmark-json=bench.json",
    matches=json_object(lambda root: "machine_info" in root and isinstance(root.get("benchmarks"), list)),
    read=_read_pytest,
    aliases=("pytest",),
    smaller="lower --benchmark-max-time (1 s by default)",
)


def _read_codspeed(source: Source) -> Parsed:
    """Read the times of each benchmark, summed up, in .codspeed/results_*.json."""
    root = source.root()
    python = root.find("python")
    sysconfig = None if python is None else python.find("sysconfig")
    return Parsed(
        benchmarks=unique((_codspeed_benchmark(entry), entry.place) for entry in root.at("benchmarks").elements()),
        environment=components(python=None if sysconfig is None else sysconfig.peek("py_version")),
    )


def _codspeed_benchmark(entry: JsonValue) -> Benchmark:
    stats = entry.at("stats")
    rounds = stats.find_whole("rounds")
    summary = Summary(
        value=stats.at("mean_ns").number(),
        statistic="mean",
        count=rounds,
        standard_deviation=None if rounds == 1 else stats.find_number("stdev_ns"),
        minimum=stats.find_number("min_ns"),
        maximum=stats.find_number("max_ns"),
        median=stats.find_number("median_ns"),
    )
    # Outside of git the path is the checkout's, which differs between two commits, so only the file's name is used.
    uri = entry.at("uri").text()
    name = uri.rpartition("/")[2] if uri.startswith("/") else uri
    return from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=stats.place)


CODSPEED = ResultReader(
    id="codspeed",
    description="pytest-codspeed's results outside of CodSpeed (.codspeed/)",
    example="pytest --codspeed, then .codspeed/",
    matches=json_object(lambda root: "instrument" in root and isinstance(root.get("benchmarks"), list)),
    read=_read_codspeed,
)


# pyperf compares every unit as "less is faster".
PYPERF_UNITS = {"second": (TIME, "s"), "byte": ("memory", "B"), "integer": ("value", "")}


def _is_pyperf(source: Source) -> bool:
    entries = source.member("benchmarks")
    return are_objects(entries, "runs") and all(_is_runs(entry["runs"]) for entry in entries)


def _read_pyperf(source: Source) -> Parsed:
    """Read each worker process as a group of samples; calibrations and warm-ups are left out."""
    root = source.root()
    shared = _pyperf_metadata(root)
    entries = list(root.at("benchmarks").elements())
    groups = [(entry, list(_pyperf_groups(entry))) for entry in entries]
    with_runs = [(_pyperf_benchmark(entry, runs, shared), entry.place) for entry, runs in groups if runs]
    empty = len(groups) - len(with_runs)
    return Parsed(
        benchmarks=unique(with_runs),
        environment=_pyperf_environment({**_first_run(entries), **shared}),
        notes=(f"left out because they hold only calibration runs: {empty}",) * bool(empty),
    )


def _is_runs(runs: object) -> bool:
    return isinstance(runs, list) and all(
        isinstance(run, dict) and run.keys() & {"values", "warmups", "metadata"} for run in runs
    )


def _pyperf_metadata(value: JsonValue) -> dict[str, object]:
    return {name: member.value for name, member in value.members_of("metadata")}


def _pyperf_groups(entry: JsonValue) -> Iterator[tuple[float, ...]]:
    for run in entry.at("runs").elements():
        if (values := run.find("values")) is not None and values.value != []:
            yield values.numbers()


def _pyperf_benchmark(entry: JsonValue, groups: list[tuple[float, ...]], shared: dict[str, object]) -> Benchmark:
    # Metadata that all benchmarks of a file share is only at the top.
    metadata = {**shared, **_pyperf_metadata(entry)}
    name, unit = metadata.get("name"), metadata.get("unit", "second")
    if not isinstance(name, str):
        raise entry.error("has no name in its metadata")
    if not isinstance(unit, str) or unit not in PYPERF_UNITS:
        raise entry.error("has a unit that pyperf does not know")
    metric_name, symbol = PYPERF_UNITS[unit]
    metric = Metric(name=metric_name, unit=symbol, direction=Direction.LOWER_IS_BETTER)
    return from_groups(name, metric=metric, groups=groups, place=entry.place)


def _first_run(entries: list[JsonValue]) -> dict[str, object]:
    """Return the metadata of the first run for all runs. Facts about the machine may be at any level."""
    for entry in entries:
        for run in entry.at("runs").elements():
            return {**_pyperf_metadata(run), **_pyperf_metadata(entry)}
    return {}


def _pyperf_environment(metadata: dict[str, object]) -> Environment:
    platform = str(metadata.get("platform") or "")
    return components(
        cpu=metadata.get("cpu_model_name"),
        cpu_count=metadata.get("cpu_count"),
        host=metadata.get("hostname"),
        # "3.11.7 (64-bit)": other tools omit the word size, and the Python is the same.
        python=str(metadata.get("python_version") or "").partition(" ")[0],
        os=platform.partition("-")[0],
        os_release=platform,
    )


PYPERF = ResultReader(
    id="pyperf",
    description="pyperf JSON (-o)",
    example="python -m pyperf timeit -o bench.json STATEMENT",
    matches=_is_pyperf,
    read=_read_pyperf,
    smaller="lower --processes or --values",
)


# The result file has no units. They follow from the kind of benchmark, the start of its method's name. asv compares
# every kind as "less is better".
ASV_KINDS = {"time": (TIME, "s"), "timeraw": (TIME, "s"), "mem": ("memory", "B"), "peakmem": ("peak_memory", "B")}
# asv's description of the suite, next to the machines' folders. Only this file has the units of tracked values.
ASV_SUITE = "../benchmarks.json"
ASV_COLUMNS = ("samples", "stats_ci_99_a", "stats_ci_99_b", "stats_repeat")
ASV_LEVEL = 0.99
LARGEST = sys.float_info.max


def _read_asv(source: Source) -> Parsed:
    """Read a result file of version 2 (rows with `result_columns`) or version 1 (plain `results`)."""
    root = source.root()
    rows = [(name, _asv_row(root, value)) for name, value in root.at("results").members()]
    suite = _asv_suite(source.beside(ASV_SUITE))
    outcomes = [
        outcome for name, row in rows for outcome in _asv_outcomes(name, row, _asv_metric(name, suite.peek(name)))
    ]
    failed = tuple(one for one, _ in outcomes if isinstance(one, Lost))
    starts = [start for _, row in rows if (start := row.get("started_at")) is not None and start.is_finite]
    return Parsed(
        benchmarks=unique((one, place) for one, place in outcomes if isinstance(one, Benchmark)),
        environment=_asv_environment(root),
        commit=full_hash(root.at("commit_hash").value),
        time=epoch_time(min(start.number() for start in starts) / 1000) if starts else None,
        lost=failed,
        notes=(f"left out because they failed or were skipped: {len(failed)}",) * bool(failed),
    )


@lru_cache(maxsize=1)
def _asv_suite(beside: Source | None) -> JsonValue:
    """Load the suite's description, which is the same for each of thousands of files."""
    return JsonValue(None if beside is None else beside.json_or_none(), ASV_SUITE)


def _asv_row(root: JsonValue, value: JsonValue) -> dict[str, JsonValue]:
    """Return the columns of one benchmark by name; none if it failed as a whole."""
    if isinstance(value.value, dict):
        return dict(value.members())
    if (columns := root.find("result_columns")) is None or not isinstance(value.value, list):
        # Version 1 writes an unparametrised result as a bare number.
        return {} if value.value is None else {"result": value}
    names = [column.text() for column in columns.elements()]
    # Trailing columns without a value are not written.
    return dict(zip(names, value.elements(), strict=False))


def _asv_outcomes(name: str, row: dict[str, JsonValue], metric: Metric) -> Iterator[tuple[Benchmark | Lost, str]]:
    names = _asv_names(name, row.get("params"))
    if (result := row.get("result")) is None or result.value is None:
        yield from ((lost(one), one) for one in names or [name])
        return
    values = list(result.elements()) if isinstance(result.value, list) else [result]
    if len(names) != len(values):
        raise result.error("has another number of results than its parameters have combinations")
    columns = [_asv_cells(row, column, len(values)) for column in ASV_COLUMNS]
    version = _asv_version(row.get("version"))
    for i, (full_name, value, samples, *statistics) in enumerate(zip(names, values, *columns, strict=True)):
        place = value.place
        # The combination failed (null) or was skipped (NaN).
        if value.value is None or (isinstance(value.value, float) and math.isnan(value.value)):
            yield lost(full_name, kind=Loss.FAILED if value.value is None else Loss.SKIPPED), place
        elif samples is not None and samples != []:
            repeated = JsonValue(samples, value.file, f"{row['samples'].path}[{i}]")
            numbers = repeated.numbers()
            outcome = from_samples(full_name, metric=metric, samples=numbers, place=repeated.place)
            yield replace(outcome, version=version), place
        else:
            summary = _asv_summary(value, metric, *statistics)
            outcome = from_summary(full_name, metric=metric, summary=summary, place=place)
            yield replace(outcome, version=version), place


def _asv_version(cell: JsonValue | None) -> str | None:
    """Return the hash of the benchmark's source, which asv compares, or the version that its author states."""
    value = None if cell is None else cell.value
    return (
        value
        if isinstance(value, str) and 0 < len(value) <= FILE_LIMITS.component_characters and value.isprintable()
        else None
    )


def _asv_summary(value: JsonValue, metric: Metric, low: Any, high: Any, count: Any) -> Summary:
    # Too few samples leave the interval open: -Infinity to Infinity, or null.
    is_closed = all(type(bound) in (int, float) and -LARGEST <= bound <= LARGEST for bound in (low, high))
    return Summary(
        value=value.number(),
        statistic="median" if metric.name == TIME else "value",
        count=JsonValue(count, value.file, f"{value.path}: stats_repeat").whole() if type(count) is int else None,
        confidence_interval=(float(low), float(high)) if is_closed else None,
        confidence_level=ASV_LEVEL if is_closed else None,
    )


def _asv_cells(row: dict[str, JsonValue], column: str, count: int) -> list[Any]:
    """Return a column's value for each combination of parameters, None if missing."""
    cells = row.get(column)
    values = cells.value[:count] if cells is not None and isinstance(cells.value, list) else []
    return values + [None] * (count - len(values))


def _asv_names(name: str, params: JsonValue | None) -> list[str]:
    """Return one name per combination of parameters, in the order of itertools.product, as asv shows them.

    Return none if there are too many combinations.
    """
    axis_lists = () if params is None or params.value is None else params.elements()
    axes = [[str(value.value) for value in axis.elements()] for axis in axis_lists]
    if math.prod(len(axis) for axis in axes) > FILE_LIMITS.parameter_combinations:
        return []
    if not axes:
        return [name]
    return [f"{name}({', '.join(values)})" for values in itertools.product(*axes)]


def _asv_metric(name: str, described: object) -> Metric:
    kind = name.rpartition(".")[2].partition("_")[0].lower()
    tracked = described.get("unit") if isinstance(described, dict) else None
    # asv writes "unit" if the suite names no unit.
    unit = tracked if isinstance(tracked, str) and tracked != "unit" else ""
    metric_name, unit = ASV_KINDS.get(kind, (VALUE, unit))
    return Metric(name=metric_name, unit=unit, direction=Direction.LOWER_IS_BETTER)


def _asv_environment(root: JsonValue) -> Environment:
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


ASV = ResultReader(
    id="asv",
    description="asv result file (.asv/results/MACHINE/COMMIT-ENV.json)",
    example="asv run --record-samples, then .asv/results/MACHINE/COMMIT-ENV.json",
    matches=json_object(lambda root: "commit_hash" in root and isinstance(root.get("results"), dict)),
    read=_read_asv,
    smaller="leave out --record-samples",
)


# The number is the best of the repetitions for timeit, and the mean for pyperf. Neither prints what it timed.
TIMEIT_UNITS = {"nsec": "ns", "usec": "us", "msec": "ms", "sec": "s"}
TIMEIT = line_reader(
    "timeit",
    Lines(
        mark=" per loop",
        row=re.compile(
            rf"[0-9]{{1,15}} loops?, best of [0-9]{{1,9}}: {VALUE_GROUP} (?P<unit>{'|'.join(TIMEIT_UNITS)}) per loop"
        ),
        measures=lambda row: (Measured(metric=NANOSECOND_TIME, factor=PRINTED_NS[TIMEIT_UNITS[row["unit"]]]),),
        summary=lambda _, value: Summary(value=value, statistic="minimum"),
    ),
    description="python -m timeit",
    example="python -m timeit STATEMENT | tee bench.txt",
)


def _pyperf_spread(row: re.Match[str], value: float) -> Summary:
    deviation = nanoseconds(row["deviation"], PYPERF_PRINTED[row["deviation_unit"]])
    return Summary(value=value, statistic="mean", standard_deviation=deviation)


PYPERF_PRINTED = {"ns": "ns", "us": "us", "ms": "ms", "sec": "s"}
PYPERF_TEXT = line_reader(
    "pyperf_text",
    Lines(
        mark="Mean +- std dev: ",
        row=re.compile(
            rf"(?:(?P<name>\S.{{0,999}}): )?Mean \+- std dev: {VALUE_GROUP} (?P<unit>{'|'.join(PYPERF_PRINTED)}) "
            rf"\+- (?P<deviation>{NUMBER}) (?P<deviation_unit>{'|'.join(PYPERF_PRINTED)})\s{{0,9}}"
        ),
        measures=lambda row: (Measured(metric=NANOSECOND_TIME, factor=PRINTED_NS[PYPERF_PRINTED[row["unit"]]]),),
        summary=_pyperf_spread,
    ),
    description="python -m pyperf timeit, and pyperf's scripts",
    example="python -m pyperf timeit STATEMENT | tee bench.txt",
)
