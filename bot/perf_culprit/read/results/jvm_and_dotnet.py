"""Benchmarks of the JVM and .NET: JMH (JSON, CSV and text) and BenchmarkDotNet."""

import re
from collections import Counter
from collections.abc import Iterator

from perf_culprit.errors import DataError
from perf_culprit.model.run import TIME, Benchmark, Direction, Environment, Metric, Summary
from perf_culprit.read.results.console import (
    NUMBER,
    SPACE,
    VALUE_GROUP,
    Lines,
    Measured,
    csv_cells,
    is_number,
    line_reader,
    number_of,
)
from perf_culprit.read.results.json_value import JsonValue, are_objects
from perf_culprit.read.results.parsed import (
    ALLOCATED,
    NANOSECOND_TIME,
    Parsed,
    ResultReader,
    components,
    from_groups,
    from_summary,
    lost,
    unique,
)
from perf_culprit.read.results.source import Source, json_object

# A suite may measure one method in several modes; each is a separate metric.
JMH_MODES = {
    "thrpt": ("throughput", Direction.HIGHER_IS_BETTER),
    "avgt": (TIME, Direction.LOWER_IS_BETTER),
    "sample": ("sample_time", Direction.LOWER_IS_BETTER),
    "ss": ("single_shot_time", Direction.LOWER_IS_BETTER),
}
# JMH's own level, fixed in its source: scoreConfidence is the 99.9% interval.
JMH_LEVEL = 0.999
LOWER_SECONDARY_UNITS = ("counts", "ms")
JMH_PERCENTILE = re.compile(r"p[01]\.[0-9]{1,20}")
JMH_WITHOUT = "secondary results without a finite value are left out"


def _read_jmh(source: Source) -> Parsed:
    """Read scores; forks are groups of samples. The direction follows the mode, never the tool's name."""
    entries = list(source.root().elements())
    primary = [(_jmh_primary(entry), entry.place) for entry in entries]
    secondary = [
        (metric, _jmh_secondary(entry, metric))
        for entry in entries
        for _, metric in entry.members_of("secondaryMetrics")
    ]
    further = [(benchmark, metric.place) for metric, benchmark in secondary if benchmark is not None]
    without = len(secondary) - len(further)
    versions = {text for entry in entries if isinstance(text := entry.peek("jdkVersion"), str)}
    return Parsed(
        benchmarks=unique(primary + further),
        environment=components(java=", ".join(sorted(versions))),
        notes=(f"{JMH_WITHOUT}: {without}",) * bool(without),
    )


def _jmh_primary(entry: JsonValue) -> Benchmark:
    score, mode = entry.at("primaryMetric"), entry.at("mode")
    if mode.text() not in JMH_MODES:
        raise mode.error("is not a known mode (thrpt, avgt, sample, ss)")
    return _jmh_benchmark(entry, score, _jmh_metric(mode.text(), "", score.at("scoreUnit").text()))


def _jmh_metric(mode: str, label: str, unit: str) -> Metric:
    """Return the metric of a score or, with a label, of a secondary result. Only rates have units such as ops/s."""
    name, direction = JMH_MODES[mode]
    if label:
        # Older versions mark profilers with a middle dot. A profiler's results differ between a method's modes.
        label, direction = label.removeprefix("·"), Direction.UNKNOWN
        name = label if mode == "thrpt" or JMH_PERCENTILE.fullmatch(label) else f"{mode}.{label}"
        if unit.startswith("ops/"):
            direction = Direction.HIGHER_IS_BETTER
        elif unit.endswith("/op") or (label.startswith("gc.") and unit in LOWER_SECONDARY_UNITS):
            direction = Direction.LOWER_IS_BETTER
    return Metric(name=name, unit=unit, direction=direction)


def _jmh_secondary(entry: JsonValue, score: JsonValue) -> Benchmark | None:
    """Read a profiler's or an auxiliary counter's result; None if it has no value."""
    label = score.path.partition(".secondaryMetrics.")[2]
    try:
        return _jmh_benchmark(entry, score, _jmh_metric(entry.at("mode").text(), label, score.at("scoreUnit").text()))
    except DataError:
        # A profiler without results writes "NaN". The times are kept nevertheless.
        return None


def _jmh_benchmark(entry: JsonValue, score: JsonValue, metric: Metric) -> Benchmark:
    name = _jmh_name(entry)
    if forks := _jmh_forks(score):
        return from_groups(name, metric=metric, groups=forks, place=score.place)
    interval = score.find("scoreConfidence")
    bounds = interval.value if interval is not None else None
    bounded = isinstance(bounds, list) and len(bounds) == 2 and all(isinstance(bound, int | float) for bound in bounds)
    low_high = interval.numbers() if interval is not None and bounded else None
    summary = Summary(
        value=score.at("score").number(),
        statistic="mean",
        confidence_interval=None if low_high is None else (low_high[0], low_high[1]),
        confidence_level=None if low_high is None else JMH_LEVEL,
    )
    return from_summary(name, metric=metric, summary=summary, place=score.place)


def _jmh_forks(score: JsonValue) -> list[tuple[float, ...]]:
    """Return each fork's values, one per iteration. In sample mode it is the mean of the iteration's histogram."""
    if (raw := score.find("rawData")) is not None:
        forks = [fork.numbers() for fork in raw.elements()]
    else:
        if (histogram := score.find("rawDataHistogram")) is None:
            return []
        forks = [tuple(_histogram_mean(iteration) for iteration in fork.elements()) for fork in histogram.elements()]
    return [fork for fork in forks if fork]


def _histogram_mean(iteration: JsonValue) -> float:
    total = weight = 0.0
    for bucket in iteration.elements():
        pair = bucket.numbers()
        if len(pair) != 2 or pair[1] < 0:
            raise bucket.error("is not a pair of value and count")
        total += pair[0] * pair[1]
        weight += pair[1]
    if not weight:
        raise iteration.error("is an empty histogram")
    return total / weight


def _jmh_name(entry: JsonValue) -> str:
    name = entry.at("benchmark").text()
    parameters = entry.listed("params")
    return f"{name}({parameters})" if parameters else name


JMH = ResultReader(
    id="jmh",
    description="JMH JSON (-rf json)",
    example="java -jar benchmarks.jar -rf json -rff bench.json",
    matches=lambda source: are_objects(source.json_or_none(), "primaryMetric", "mode"),
    read=_read_jmh,
    smaller="lower -f (forks) or -i (iterations)",
)


JMH_CSV_HEADER = re.compile(r'\ufeff?"Benchmark"(?P<delimiter>[,;])"Mode"[,;]"Threads"[,;]"Samples"[,;]"Score"[,;]')
JMH_PARAMETER = "Param: "


def _read_jmh_csv(source: Source) -> Parsed:
    """Read the same scores without samples, with numbers in the machine's locale."""
    header = JMH_CSV_HEADER.match(source.text())
    placed: list[tuple[Benchmark, str]] = []
    without = 0
    for place, row in csv_cells(source, tool="JMH", delimiter="," if header is None else header["delimiter"]):
        if (benchmark := _jmh_row(row, place)) is None:
            without += 1
        else:
            placed.append((benchmark, place))
    return Parsed(benchmarks=unique(placed), notes=(f"{JMH_WITHOUT}: {without}",) * bool(without))


def _jmh_row(row: dict[str, str], place: str) -> Benchmark | None:
    method, _, label = row.get("Benchmark", "").partition(":")
    mode, score, count = (row.get(name, "") for name in ("Mode", "Score", "Samples"))
    error = next((cell.replace(",", ".") for name, cell in row.items() if name.startswith("Score Error (99")), "")
    # JMH does not group thousands.
    score = score.replace(",", ".")
    if label and not is_number(score):
        return None
    if mode not in JMH_MODES or not is_number(score):
        raise DataError("has no known mode or no score", place=place, next_step="check this row")
    parameters = {
        key.removeprefix(JMH_PARAMETER): row[key] for key in row if key.startswith(JMH_PARAMETER) and row[key]
    }
    return from_summary(
        _jmh_name(JsonValue({"benchmark": method, "params": parameters}, place)),
        metric=_jmh_metric(mode, label, row.get("Unit", "")),
        summary=_jmh_summary(score, error, count),
        place=place,
    )


def _jmh_summary(score: str, error: str, count: str) -> Summary:
    value, half = number_of(score), number_of(error) if is_number(error) else None
    return Summary(
        value=value,
        statistic="mean",
        count=int(count) if count.isdecimal() and len(count) < 16 else None,
        confidence_interval=None if half is None else (value - half, value + half),
        confidence_level=None if half is None else JMH_LEVEL,
    )


JMH_CSV = ResultReader(
    id="jmh_csv",
    description="JMH CSV (-rf csv or scsv)",
    example="java -jar benchmarks.jar -rf csv -rff bench.csv",
    matches=lambda source: JMH_CSV_HEADER.match(source.text_or_empty()) is not None,
    read=_read_jmh_csv,
)


JMH_LABEL = re.compile(r"(?P<method>[^\s:]{1,999}):(?P<label>\S{1,999})")


def _jmh_measures(row: re.Match[str]) -> tuple[Measured]:
    label = JMH_LABEL.match(row["name"])
    return (Measured(metric=_jmh_metric(row["mode"], "" if label is None else label["label"], row["unit"])),)


def _jmh_text_name(name: str) -> str:
    """Clean a name: remove a secondary result's label, and parameters that the benchmark does not have."""
    return " ".join(word for word in re.sub(r"^([^\s:]{1,999}):\S{1,999}", r"\1", name).split() if word != "N/A")


JMH_TEXT = line_reader(
    "jmh_text",
    Lines(
        mark=" Mode ",
        row=re.compile(
            rf"(?P<name>\S{{1,999}}(?:{SPACE}\S{{1,200}}){{0,20}}?){SPACE}(?P<mode>thrpt|avgt|sample|ss)"
            rf"(?:{SPACE}(?P<count>[0-9]{{1,15}}))?{SPACE}(?:≈\s)?{VALUE_GROUP}"
            rf"(?:{SPACE}±{SPACE}(?P<error>{NUMBER}))?{SPACE}(?P<unit>\S{{1,20}}/\S{{1,20}}|counts|ms)\s{{0,9}}"
        ),
        measures=_jmh_measures,
        spelling=_jmh_text_name,
        summary=lambda row, _: _jmh_summary(row["value"], row["error"] or "", row["count"] or ""),
        lost=re.compile(r"\S{1,999} .{0,999} (?:thrpt|avgt|sample|ss) .{1,99}≈ 10⁻.{1,99}"),
        loss="scores that the text only names by their power of ten, which -rf json has",
    ),
    description="JMH console text",
    example="java -jar benchmarks.jar | tee bench.txt",
)


# The enumeration's number for its default, 99.9%. Other levels are left out, because they would be guesses.
DEFAULT_LEVEL, DEFAULT_CONFIDENCE = 12, 0.999


def _read_dotnet(source: Source) -> Parsed:
    """Read JSON: the full exporter keeps its iterations, the brief one only statistics."""
    root = source.root()
    entries = list(root.at("Benchmarks").elements())
    with_stats = [entry for entry in entries if entry.find("Statistics") is not None]
    failed = len(entries) - len(with_stats)
    names = [_full_name(entry) for entry in with_stats]
    counts = Counter(names)
    return Parsed(
        benchmarks=unique(
            pair
            for entry, name in zip(with_stats, names, strict=True)
            # The same method under several jobs (runtimes) differs only in its DisplayInfo.
            for pair in _metrics(entry, entry.at("DisplayInfo").text() if counts[name] > 1 else name)
        ),
        environment=_dotnet_environment(root),
        lost=tuple(lost(_full_name(entry)) for entry in entries if entry.find("Statistics") is None),
        notes=(f"left out because they failed: {failed}",) * bool(failed),
    )


def _full_name(entry: JsonValue) -> str:
    if (full_name := entry.find("FullName")) is not None:
        return full_name.text()
    parts = [part.text() for key in ("Namespace", "Type", "Method") if (part := entry.find(key)) is not None]
    parameters = entry.find("Parameters")
    suffix = f"({parameters.text()})" if parameters is not None and parameters.value else ""
    return ".".join(part for part in parts if part) + suffix


def _metrics(entry: JsonValue, name: str) -> Iterator[tuple[Benchmark, str]]:
    yield _dotnet_times(entry, name), entry.place
    memory = entry.find("Memory")
    allocated = None if memory is None else memory.find_number("BytesAllocatedPerOperation")
    if memory is not None and allocated is not None:
        yield (
            from_summary(name, metric=ALLOCATED, summary=Summary(value=allocated), place=memory.place),
            memory.place,
        )


def _dotnet_times(entry: JsonValue, name: str) -> Benchmark:
    if launches := _dotnet_launches(entry):
        return from_groups(name, metric=NANOSECOND_TIME, groups=launches, place=entry.place)
    statistics = entry.at("Statistics")
    count = statistics.find_whole("N")
    interval = statistics.find("ConfidenceInterval")
    bounds = None
    if interval is not None and interval.peek("Level") == DEFAULT_LEVEL and count != 1:
        bounds = (interval.at("Lower").number(), interval.at("Upper").number())
    summary = Summary(
        value=statistics.at("Mean").number(),
        statistic="mean",
        count=count,
        standard_deviation=None if count == 1 else statistics.find_number("StandardDeviation"),
        minimum=statistics.find_number("Min"),
        maximum=statistics.find_number("Max"),
        confidence_interval=bounds,
        confidence_level=None if bounds is None else DEFAULT_CONFIDENCE,
    )
    return from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=statistics.place)


def _dotnet_launches(entry: JsonValue) -> list[list[float]]:
    """Return the results' nanoseconds per operation (overhead removed), by launch of the process."""
    launches: dict[int, list[float]] = {}
    for row in entry.elements_of("Measurements"):
        if row.at("IterationMode").value == "Workload" and row.at("IterationStage").value == "Result":
            operations = row.at("Operations").number()
            if operations <= 0:
                raise row.error("has no operations")
            launch = launches.setdefault(row.at("LaunchIndex").whole(), [])
            launch.append(row.at("Nanoseconds").number() / operations)
    return [launches[index] for index in sorted(launches)]


def _dotnet_environment(root: JsonValue) -> Environment:
    host = root.at("HostEnvironmentInfo")
    if not isinstance(host.value, dict):
        raise host.error("is not an object")
    return components(
        cpu=host.peek("ProcessorName"),
        cpu_count=host.peek("LogicalCoreCount"),
        architecture=host.peek("Architecture"),
        os_release=host.peek("OsVersion"),
        dotnet=host.peek("RuntimeVersion"),
    )


BENCHMARKDOTNET = ResultReader(
    id="benchmarkdotnet",
    description="BenchmarkDotNet JSON (full or brief exporter)",
    example="dotnet run -c Release -- --exporters fulljson, then BenchmarkDotNet.Artifacts/results/",
    matches=json_object(lambda root: "HostEnvironmentInfo" in root and isinstance(root.get("Benchmarks"), list)),
    read=_read_dotnet,
    smaller="use --exporters briefjson, or lower --iterationCount",
)
