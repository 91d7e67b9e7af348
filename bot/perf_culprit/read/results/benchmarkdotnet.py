"""BenchmarkDotNet JSON: the full exporter keeps its iterations, the brief one only statistics."""

from collections import Counter
from collections.abc import Iterator

from perf_culprit.model.run import Benchmark, Direction, Environment, Metric, Summary
from perf_culprit.read.results.parser import NANOSECOND_TIME, Parsed, components, from_groups, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source

ID = "benchmarkdotnet"
DESCRIPTION = "BenchmarkDotNet JSON (full or brief exporter)"
EXAMPLE = "dotnet run -c Release -- --exporters fulljson, then BenchmarkDotNet.Artifacts/results/"

ALLOCATED = Metric(name="allocated", unit="B", direction=Direction.LOWER_IS_BETTER)
# The enumeration's number for its default, 99.9%; other levels are left out rather than guessed.
DEFAULT_LEVEL, DEFAULT_CONFIDENCE = 12, 0.999


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and "HostEnvironmentInfo" in root and isinstance(root.get("Benchmarks"), list)


def parse(source: Source, /) -> Parsed:
    root = source.root()
    entries = list(root.at("Benchmarks").elements())
    measured = [entry for entry in entries if entry.find("Statistics") is not None]
    failed = len(entries) - len(measured)
    names = [_full_name(entry) for entry in measured]
    counts = Counter(names)
    return Parsed(
        benchmarks=unique(
            pair
            for entry, name in zip(measured, names, strict=True)
            # The same method under several jobs (runtimes) differs only in what is displayed.
            for pair in _metrics(entry, entry.at("DisplayInfo").text() if counts[name] > 1 else name)
        ),
        environment=_environment(root),
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
    yield _times(entry, name), entry.place
    memory = entry.find("Memory")
    allocated = None if memory is None else memory.find_number("BytesAllocatedPerOperation")
    if memory is not None and allocated is not None:
        yield from_summary(name, metric=ALLOCATED, summary=Summary(value=allocated), place=memory.place), memory.place


def _times(entry: JsonValue, name: str) -> Benchmark:
    if launches := _launches(entry):
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


def _launches(entry: JsonValue) -> list[list[float]]:
    """Nanoseconds per operation of the results (overhead removed), by launch of the process."""
    launches: dict[int, list[float]] = {}
    for row in entry.elements_of("Measurements"):
        if row.at("IterationMode").value == "Workload" and row.at("IterationStage").value == "Result":
            operations = row.at("Operations").number()
            if operations <= 0:
                raise row.error("has no operations")
            launch = launches.setdefault(row.at("LaunchIndex").whole(), [])
            launch.append(row.at("Nanoseconds").number() / operations)
    return [launches[index] for index in sorted(launches)]


def _environment(root: JsonValue) -> Environment:
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
