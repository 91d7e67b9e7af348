"""github-action-benchmark: its custom JSON, and its stored data.js."""

import re
from collections.abc import Iterator
from functools import partial

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import TIME, Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.console import PRINTED_NS, csv_cells, is_number, number_of, qualified
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.json_value import JsonValue, are_objects
from perf_culprit.read.results.parsed import (
    NAMED_DIRECTIONS,
    SECOND_TIME,
    VALUE,
    Parsed,
    ResultReader,
    direction_of,
    epoch_time,
    from_summary,
    full_hash,
    gathered,
    newest,
    unique,
    utc_time,
    writable,
)
from perf_culprit.read.results.source import Source


def _is_custom(source: Source) -> bool:
    return are_objects(source.json_or_none(), "name", "unit", "value")


def _read_custom(source: Source, *, direction: Direction | None) -> Parsed:
    """Read the entries. If the tool's name states no direction, units that are certainly times or rates do."""
    entries = list(source.root().elements())
    ranges = any(entry.find("range") is not None for entry in entries)
    return Parsed(
        benchmarks=unique((_custom_benchmark(entry, direction), entry.place) for entry in entries),
        notes=("`range` is free text and left out",) * ranges,
    )


def _custom_benchmark(entry: JsonValue, direction: Direction | None) -> Benchmark:
    name, unit = entry.at("name").text(), entry.at("unit").text()
    metric = Metric(name=VALUE, unit=unit, direction=direction or direction_of(unit) or Direction.UNKNOWN)
    summary = Summary(value=_custom_number(entry.at("value")))
    return from_summary(name, metric=metric, summary=summary, place=entry.place)


def _custom_number(value: JsonValue) -> float:
    """Read a number; like github-action-benchmark, also accept one that is written as text."""
    if not isinstance(value.value, str):
        return value.number()
    try:
        number = float(value.value) if len(value.value) <= FILE_LIMITS.number_characters else None
    except ValueError:
        number = None
    if number is None:
        raise value.error("is text that is not a number")
    return JsonValue(number, value.file, value.path).number()


CSV_COLUMNS = ("test_name", "metric_name", "unit", "value", "direction")


def _csv_benchmark(place: str, row: dict[str, str]) -> tuple[Benchmark, str]:
    """Read a row of the same entries as CSV, where a column states the direction."""
    if not is_number(row["value"]):
        raise DataError(f"`{shown(row['value'])}` is not a number", place=place, next_step="write a number there")
    stated = row["direction"].strip()
    directions = {direction.value: direction for direction in Direction}
    metric = Metric(name=row["metric_name"], unit=row["unit"], direction=directions.get(stated, Direction.UNKNOWN))
    summary = Summary(value=number_of(row["value"]))
    return from_summary(row["test_name"], metric=metric, summary=summary, place=place), place


CUSTOM_CSV = ResultReader(
    id="custom_csv",
    description=f"CSV {','.join(CSV_COLUMNS)}",
    example="./bench > bench.csv",
    matches=lambda source: source.text_or_empty().lstrip("\ufeff").startswith(",".join(CSV_COLUMNS)),
    read=lambda source: Parsed(
        benchmarks=gathered(_csv_benchmark(place, row) for place, row in csv_cells(source, tool="the benchmark"))
    ),
)
CUSTOM_BENCHMARK = ResultReader(
    id="custom_benchmark",
    description="custom JSON of github-action-benchmark, direction by its units",
    example="any tool that writes [{name, unit, value}]",
    matches=_is_custom,
    read=partial(_read_custom, direction=None),
)
CUSTOM_SMALLER, CUSTOM_BIGGER = (
    ResultReader(
        id=f"custom_{way}_is_better",
        description=f"custom JSON of github-action-benchmark, {way} is better",
        example=f"any tool, with --tool custom_{way}_is_better",
        matches=_is_custom,
        read=partial(_read_custom, direction=direction),
        is_named_only=True,
        aliases=(f"custom{way.capitalize()}IsBetter",),
    )
    for way, direction in NAMED_DIRECTIONS.items()
)


ASSIGNMENT = re.compile(r"\s{0,99}window\.BENCHMARK_DATA\s{0,99}=")
# The two custom tools state the direction in their name. For the others it follows from the unit, or else from what
# they measure.
CUSTOM_TOOLS = {"customSmallerIsBetter": Direction.LOWER_IS_BETTER, "customBiggerIsBetter": Direction.HIGHER_IS_BETTER}
OTHER_TOOLS = {
    "benchmarkdotnet": Direction.LOWER_IS_BETTER,
    "benchmarkjs": Direction.HIGHER_IS_BETTER,
    "benchmarkluau": Direction.LOWER_IS_BETTER,
    "cargo": Direction.LOWER_IS_BETTER,
    "catch2": Direction.LOWER_IS_BETTER,
    "go": Direction.LOWER_IS_BETTER,
    "googlecpp": Direction.LOWER_IS_BETTER,
    "julia": Direction.LOWER_IS_BETTER,
    "pytest": Direction.HIGHER_IS_BETTER,
}
COLUMNS_VERSION = 2
# It stores pytest-benchmark's rate, the inverse of the mean time that our reader returns.
PYTEST_RATE = ("pytest", "iter/sec")


def _read_data_js(source: Source) -> Parsed:
    """Read the newest entry of each suite. The commit is set only if all suites agree on it."""
    root = _data_js_root(source)
    if root.peek("version") == COLUMNS_VERSION:
        return newest(list(_column_runs(root)))
    latest = {suite: entries[-1] for suite, entries in _data_js_suites(root).items() if entries}
    runs = {suite: _data_js_run(suite, entry) for suite, entry in latest.items()}
    if len(runs) == 1:
        return next(iter(runs.values()))
    names = qualified(((suite, b.name) for suite, run in runs.items() for b in run.benchmarks), separator="/")
    commits = {run.commit for run in runs.values()}
    return Parsed(
        benchmarks=tuple(
            Benchmark.of(name=names[suite, b.name], metric=b.metric, samples=b.samples, summary=b.summary)
            for suite, run in runs.items()
            for b in run.benchmarks
        ),
        commit=commits.pop() if len(commits) == 1 else None,
        time=max((run.time for run in runs.values() if run.time is not None), default=None),
        notes=tuple(note for run in runs.values() for note in run.notes)
        + ("the newest entries of the suites are of several commits",) * (len(commits) > 1),
    )


def _read_data_js_history(source: Source) -> tuple[Parsed, ...]:
    """Read all entries of all suites by date. Each is a separate run that names its suite."""
    root = _data_js_root(source)
    if root.peek("version") == COLUMNS_VERSION:
        return tuple(_column_runs(root))
    dated = [
        (entry.at("date").number(), suite, entry)
        for suite, entries in _data_js_suites(root).items()
        for entry in entries
    ]
    return tuple(_data_js_run(suite, entry) for _, suite, entry in sorted(dated, key=lambda item: item[0]))


def _data_js_root(source: Source) -> JsonValue:
    text = source.text()
    if (assignment := ASSIGNMENT.match(text)) is None:
        raise source.error("does not begin with `window.BENCHMARK_DATA =`", "give the stored data.js")
    # Spaces instead of the assignment keep the line and column of JSON errors correct.
    spaces = re.sub(r"[^\n]", " ", assignment.group())
    bare = Source(source.name, (spaces + text[assignment.end() :].rstrip().removesuffix(";")).encode())
    return bare.root()


def _data_js_suites(root: JsonValue) -> dict[str, list[JsonValue]]:
    """Return the entries of each suite, sorted by date."""
    suites = root.at("entries").members()
    return {name: sorted(entries.elements(), key=lambda entry: entry.at("date").number()) for name, entries in suites}


def _column_runs(root: JsonValue) -> Iterator[Parsed]:
    """Read the form that some Go projects publish (`version` 2): a row per series, with a cell per run in order."""
    series = [
        (name.text(), unit.text(), list(row.elements()))
        for name, unit, row in zip(*(root.at(key).elements() for key in ("names", "units", "values")), strict=False)
    ]
    for index, run in enumerate(root.at("runs").elements()):
        benches = [
            JsonValue({"name": name, "unit": unit, "value": row[index].value}, row[index].file, row[index].path)
            for name, unit, row in series
            if index < len(row) and row[index].value is not None
        ]
        pairs = [(bench, _data_js_metric("go", bench.find("unit"))) for bench in benches]
        yield Parsed(
            benchmarks=gathered(_data_js_benchmarks(pairs)),
            commit=full_hash(run.peek("id")),
            time=utc_time(run.peek("timestamp")),
        )


def _data_js_run(suite: str, entry: JsonValue) -> Parsed:
    commit, tool = entry.at("commit"), entry.at("tool").text()
    pairs = [(bench, _data_js_metric(tool, bench.find("unit"))) for bench in entry.at("benches").elements()]
    return Parsed(
        benchmarks=gathered(_data_js_benchmarks(pairs)),
        commit=full_hash(commit.peek("id")),
        time=epoch_time(entry.at("date").number() / 1000.0),
        suite=writable(suite),
    )


def _data_js_benchmarks(pairs: list[tuple[JsonValue, Metric]]) -> Iterator[tuple[Benchmark, str]]:
    for bench, metric in pairs:
        # `range` is free text whose meaning depends on the tool.
        summary = Summary(value=_data_js_value(bench, metric))
        yield from_summary(bench.at("name").text(), metric=metric, summary=summary, place=bench.place), bench.place


def _data_js_metric(tool: str, unit_value: JsonValue | None) -> Metric:
    unit = "" if unit_value is None else unit_value.text()
    direction = CUSTOM_TOOLS.get(tool) or direction_of(unit) or OTHER_TOOLS.get(tool, Direction.UNKNOWN)
    # Use the spelling of our readers of the same tools, so that an imported history continues.
    cost, _, per = unit.partition("/")
    if (tool, unit) == PYTEST_RATE:
        return SECOND_TIME
    if tool in CUSTOM_TOOLS or cost not in PRINTED_NS or per not in ("", "iter", "op"):
        return Metric(name=VALUE, unit=unit, direction=direction)
    spelling = {"jmh": unit, "catch2": "ns"}.get(tool, cost)
    return Metric(name=TIME, unit=spelling, direction=direction)


def _data_js_value(bench: JsonValue, metric: Metric) -> float:
    """Convert a value to the metric's unit. Catch2's text varies its unit with the size; our reader always uses ns."""
    value, unit = bench.at("value").number(), bench.peek("unit")
    if metric == SECOND_TIME:
        if value <= 0:
            raise DataError(f"is a rate of {value:g}", place=bench.at("value").place, next_step="delete this entry")
        return 1 / value
    return value * PRINTED_NS[unit] if isinstance(unit, str) and unit in PRINTED_NS and metric.unit == "ns" else value


GAB_DATA_JS = ResultReader(
    id="gab_data_js",
    description="github-action-benchmark's data.js",
    example="git show gh-pages:dev/bench/data.js > data.js",
    matches=lambda source: ASSIGNMENT.match(source.text_or_empty()) is not None,
    read=_read_data_js,
    read_history=_read_data_js_history,
)
