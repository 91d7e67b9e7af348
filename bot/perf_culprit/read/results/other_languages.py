"""Benchmarks of Julia, Ruby, PHP, Dart and Luau, and of ReBench, which measures any language."""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from perf_culprit.errors import DataError
from perf_culprit.model.run import TIME, Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.console import (
    NAME_GROUP,
    NUMBER,
    PRINTED_NS,
    SCALES,
    SIGMA,
    SPACE,
    TIME_UNIT,
    VALUE_GROUP,
    Lines,
    Measured,
    headed,
    is_number,
    line_reader,
    nanoseconds,
    number_of,
)
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.json_value import JsonValue, are_objects
from perf_culprit.read.results.parsed import (
    MICROSECOND_TIME,
    MILLISECOND_TIME,
    NANOSECOND_TIME,
    Parsed,
    ResultReader,
    components,
    direction_of,
    from_groups,
    from_samples,
    from_summary,
    gathered,
    lost,
    unique,
    utc_time,
)
from perf_culprit.read.results.source import Source, attribute_number, has_root, parse_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

JULIA_MEMORY = Metric(name="memory", unit="B", direction=Direction.LOWER_IS_BETTER)


def _is_julia(source: Source) -> bool:
    root = source.json_or_none()
    return (
        isinstance(root, list)
        and len(root) == 2
        and isinstance(root[0], dict)
        and "BenchmarkTools" in root[0]
        and isinstance(root[1], list)
    )


def _read_julia(source: Source) -> Parsed:
    """Read nested groups of trials, in nanoseconds."""
    versions, values = _julia_pair(source.root())
    return Parsed(
        benchmarks=unique(pair for value in values.elements() for pair in _julia_tree(value)),
        environment=components(julia=versions.peek("Julia")),
    )


def _julia_pair(value: JsonValue) -> tuple[JsonValue, JsonValue]:
    """Split a value, which BenchmarkTools writes as a list of its type's name and its fields."""
    elements = list(value.elements())
    if len(elements) != 2:
        raise value.error("is not a list of two")
    return elements[0], elements[1]


def _julia_tree(value: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    pending: list[tuple[tuple[str, ...], JsonValue]] = [((), value)]
    while pending:
        path, node = pending.pop()
        kind, fields = _julia_pair(node)
        name = kind.text().removeprefix("BenchmarkTools.")
        if name == "BenchmarkGroup":
            below = [((*path, key), member) for key, member in fields.at("data").members()]
            pending.extend(reversed(below))
        elif name in ("Trial", "TrialEstimate"):
            yield from _julia_measured("/".join(path) or "trial", fields, has_samples=name == "Trial")
        else:
            raise kind.error("is not a trial, estimate or group")


def _julia_measured(name: str, fields: JsonValue, *, has_samples: bool) -> Iterator[tuple[Benchmark, str]]:
    time, memory = fields.at("times" if has_samples else "time"), fields.at("memory")
    if has_samples:
        yield from_samples(name, metric=NANOSECOND_TIME, samples=time.numbers(), place=time.place), time.place
    else:
        # The file does not state which estimate it is (minimum, median, mean).
        summary = Summary(value=time.number(), statistic="estimate")
        yield from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=time.place), time.place
    summary = Summary(value=memory.number())
    yield from_summary(name, metric=JULIA_MEMORY, summary=summary, place=memory.place), fields.place


JULIA = ResultReader(
    id="julia",
    description="BenchmarkTools.jl JSON (BenchmarkTools.save)",
    example="""julia -e 'using BenchmarkTools; BenchmarkTools.save("bench.json", run(suite))'""",
    matches=_is_julia,
    read=_read_julia,
)


JULIA_GROUP = re.compile(r"[ \t]{1,99}(?P<name>\S.{0,999}) => [0-9]{1,9}-element BenchmarkTools\.BenchmarkGroup:")
JULIA_ROW = re.compile(
    rf"[ \t]{{0,99}}(?P<name>\S.{{0,999}})(?: =>|:) Trial(?:Estimate)?\({VALUE_GROUP} (?P<unit>{TIME_UNIT})\)"
    rf"| {{1,9}}Time {{1,9}}\(mean ± {SIGMA}\): {{1,9}}(?P<mean>{NUMBER}) (?P<mean_unit>{TIME_UNIT})"
    rf" ± {{1,9}}(?P<deviation>{NUMBER}) (?P<deviation_unit>{TIME_UNIT})(?:\s.{{0,200}})?"
)


def _julia_rows(source: Source) -> Iterator[tuple[list[str], str, re.Match[str]]]:
    for number, above, line in headed(source, JULIA_GROUP):
        if (row := JULIA_ROW.fullmatch(line)) is not None:
            yield above, f"{source.place}:{number}", row


def _julia_printed(above: list[str], place: str, row: re.Match[str], file: str) -> Benchmark:
    """Read a trial. Julia prints the minimum of each trial in a group, and the mean of a single trial."""
    if row["name"]:
        least = Summary(value=nanoseconds(row["value"], row["unit"]), statistic="minimum")
        name = "/".join(key.strip('"') for key in (*above, row["name"]))
        return from_summary(name, metric=NANOSECOND_TIME, summary=least, place=place)
    mean, deviation = (nanoseconds(row[name], row[f"{name}_unit"]) for name in ("mean", "deviation"))
    summary = Summary(value=mean, statistic="mean", standard_deviation=deviation)
    return from_summary(file, metric=NANOSECOND_TIME, summary=summary, place=place)


JULIA_TEXT = ResultReader(
    id="julia_text",
    description="what Julia prints of BenchmarkTools' groups and trials",
    example="julia -e 'include(\"benchmarks.jl\"); display(run(SUITE))' | tee bench.txt",
    matches=lambda source: (
        any(mark in source.text_or_empty() for mark in ("BenchmarkTools.", " Trial("))
        and next(_julia_rows(source), None) is not None
    ),
    read=lambda source: Parsed(
        benchmarks=gathered(
            (_julia_printed(above, place, row, source.stem or "trial"), place)
            for above, place, row in _julia_rows(source)
        )
    ),
    is_console=True,
)


IPS_THROUGHPUT = Metric(name="throughput", unit="i/s", direction=Direction.HIGHER_IS_BETTER)


def _ips_benchmark(entry: JsonValue) -> Benchmark:
    """Read iterations per second, without the samples."""
    summary = Summary(value=entry.at("ips").number(), statistic="mean", standard_deviation=entry.find_number("stddev"))
    return from_summary(entry.at("name").text(), metric=IPS_THROUGHPUT, summary=summary, place=entry.place)


BENCHMARK_IPS = ResultReader(
    id="benchmark_ips",
    description="Ruby's benchmark-ips JSON (x.json!), also in an object",
    example="x.json! 'bench.json' in Benchmark.ips",
    matches=lambda source: (entries := source.results()) is not None and are_objects(entries.value, "name", "ips"),
    read=lambda source: Parsed(
        benchmarks=unique(
            (_ips_benchmark(entry), entry.place) for entry in (source.results() or source.root()).elements()
        )
    ),
)


PHPBENCH_PEAK_MEMORY = Metric(name="peak_memory", unit="B", direction=Direction.LOWER_IS_BETTER)
# The parameter set of a subject without parameters.
PHPBENCH_UNNAMED = ("", "0")
RUN_AGAIN = "run phpbench again with --dump-file"


def _read_phpbench(source: Source) -> Parsed:
    """Read all suites of a file of version 1. The run's time is the first suite's."""
    root = parse_xml(source, next_step=RUN_AGAIN)
    variants = [
        (_phpbench_name(benchmark, subject, variant), variant)
        for benchmark in root.iterfind("suite/benchmark")
        for subject in benchmark.iterfind("subject")
        for variant in subject.iterfind("variant")
    ]
    failed = [name for name, variant in variants if variant.find("errors") is not None]
    suite = root.find("suite")
    return Parsed(
        benchmarks=unique(
            (each, f"{source.place}: {shown(name)}")
            for name, variant in variants
            if variant.find("errors") is None
            for each in _phpbench_benchmarks(name, variant, place=f"{source.place}: {shown(name)}")
        ),
        time=None if suite is None else utc_time(suite.get("date")),
        lost=tuple(lost(name, variant.findtext("errors/error")) for name, variant in variants if name in failed),
        notes=tuple(f"`{shown(name)}` failed" for name in failed),
    )


def _phpbench_name(benchmark: "Element", subject: "Element", variant: "Element") -> str:
    parameters = variant.find("parameter-set")
    label = "" if parameters is None else parameters.get("name", "")
    of_class = benchmark.get("class", "").removeprefix("\\")
    name = f"{of_class}::{subject.get('name', '')}"
    return name if label in PHPBENCH_UNNAMED else f"{name} {label}"


def _phpbench_benchmarks(name: str, variant: "Element", *, place: str) -> Iterator[Benchmark]:
    """Yield the net time of every iteration, and PHP's peak memory."""
    iterations = variant.findall("iteration")
    times = [_per_revolution(iteration, place) for iteration in iterations]
    yield from_samples(name, metric=MICROSECOND_TIME, samples=times, place=place)
    peaks = [attribute_number(iteration, "mem-peak", place=place, next_step=RUN_AGAIN) for iteration in iterations]
    present = [peak for peak in peaks if peak is not None]
    if present:
        yield from_samples(name, metric=PHPBENCH_PEAK_MEMORY, samples=present, place=place)


def _per_revolution(iteration: "Element", place: str) -> float:
    net, revolutions = (
        attribute_number(iteration, attribute, place=place, next_step=RUN_AGAIN)
        for attribute in ("time-net", "time-revs")
    )
    if net is None or not revolutions:
        raise DataError("has an iteration without its net time and revolutions", place=place, next_step=RUN_AGAIN)
    return net / revolutions


# PHPBench prints the mode of each variant while it runs: a class, then its subjects with their parameter sets.
PHPBENCH_TEXT = line_reader(
    "phpbench_text",
    Lines(
        mark=" - Mo",
        title=re.compile(r"\\?(?P<name>[A-Z]\w{0,999}(?:\\\w{1,999}){0,99})"),
        row=re.compile(
            r"\s{2,9}(?P<name>[A-Za-z_]\w{0,200}(?: # .{1,200}?)?)\.{2,200}+(?:R[0-9]{1,9} )?I[0-9]{1,9} - "
            rf"Mo{VALUE_GROUP}(?P<unit>{TIME_UNIT}) \(±{NUMBER}%\).{{0,99}}"
        ),
        measures=lambda row: (Measured(metric=MICROSECOND_TIME, factor=PRINTED_NS[row["unit"]] / 1e3),),
        spelling=lambda text: text.replace(" # ", " "),
        lost=re.compile(r"\s{2,9}[A-Za-z_]\w{0,200}(?: # .{1,200}?)?\.{2,200}+ERROR.{0,200}"),
        loss="subjects that failed",
        separator="::",
    ),
    description="PHPBench's console text",
    example="phpbench run | tee bench.txt",
)
PHPBENCH = ResultReader(
    id="phpbench",
    description="PHPBench's XML (--dump-file)",
    example="phpbench run --dump-file=bench.xml",
    matches=lambda source: has_root(source, ("<phpbench ", "<phpbench>")),
    read=_read_phpbench,
    smaller="lower --iterations",
)


REBENCH_HEADER = "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\t"
# The columns that distinguish runs of one benchmark.
REBENCH_SCOPES = ("executor", "suite", "extraArgs", "cores", "inputSize", "varValue", "tag", "machine")
REBENCH_TOTAL, REBENCH_PEAK_MEMORY = "total", "MaxRSS"


def _read_rebench(source: Source) -> Parsed:
    """Read a row per invocation, iteration and criterion; an invocation is a group of samples."""
    columns: list[str] = []
    values: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for number, line in enumerate(source.text().splitlines(), start=1):
        if line.startswith(REBENCH_HEADER):
            columns = line.split("\t")
        elif columns and line and not line.startswith("#"):
            row = dict(zip(columns, line.split("\t"), strict=False))
            invocation, value = row["invocation"], row.get("value", "")
            if not (invocation.isdecimal() and len(invocation) < 10 and is_number(value) and row.get("benchmark")):
                raise source.error("is not a row of ReBench", "check this row, or leave it out", line=number)
            name = " ".join(filter(None, (row["benchmark"], *(row.get(scope, "") for scope in REBENCH_SCOPES))))
            key = (name, row["criterion"], row["unit"])
            values.setdefault(key, []).append((int(invocation), number_of(value)))
    benchmarks = []
    for (name, criterion, unit), entries in values.items():
        entries.sort(key=itemgetter(0))
        groups = [[value for _, value in group] for _, group in groupby(entries, key=itemgetter(0))]
        lower = criterion == REBENCH_PEAK_MEMORY or direction_of(unit) is Direction.LOWER_IS_BETTER
        metric = Metric(
            name=TIME if criterion == REBENCH_TOTAL else criterion,
            unit=unit,
            direction=Direction.LOWER_IS_BETTER if lower else Direction.UNKNOWN,
        )
        benchmarks.append(from_groups(name, metric=metric, groups=groups, place=source.place))
    return Parsed(benchmarks=tuple(benchmarks))


REBENCH = ResultReader(
    id="rebench",
    description="ReBench data file",
    example="rebench rebench.conf",
    matches=lambda source: "\n" + REBENCH_HEADER in "\n" + source.head(),
    read=_read_rebench,
)


# The level of bench.py if SciPy is installed. Otherwise it prints the standard deviation, wider from 7 executions on.
LUAU_LEVEL = 0.95


BENCHMARK_IPS_TEXT = line_reader(
    "benchmark_ips_text",
    Lines(
        mark=" i/s - ",
        row=re.compile(
            rf"\s{{0,99}}{NAME_GROUP}{SPACE}{VALUE_GROUP}(?P<scale>[kMBT]?)\s\(±\s?(?P<error>{NUMBER})%\)\si/s\s.{{0,999}}"
        ),
        measures=lambda row: (
            Measured(
                metric=Metric(name="throughput", unit="i/s", direction=Direction.HIGHER_IS_BETTER),
                factor=SCALES[row["scale"]],
            ),
        ),
        summary=lambda row, value: Summary(
            value=value, statistic="mean", standard_deviation=value * number_of(row["error"]) / 100.0
        ),
    ),
    description="Ruby's benchmark-ips text",
    example="ruby bench.rb | tee bench.txt",
)


DART = line_reader(
    "dart",
    Lines(
        mark="(Run",
        # Custom emitters omit the full stop or repeat the time after it. Flutter's log has a prefix.
        row=re.compile(
            rf"(?:(?:I/)?flutter(?: \([ 0-9]{{1,9}}\))?: )?{NAME_GROUP}\(Run[Tt]ime(?:Raw)?\): {VALUE_GROUP} "
            rf"(?P<unit>{TIME_UNIT})\.?(?: \|.{{0,999}})?\s{{0,9}}"
        ),
        measures=lambda row: (Measured(metric=MICROSECOND_TIME, factor=PRINTED_NS[row["unit"]] / 1e3),),
        summary=lambda _, value: Summary(value=value, statistic="mean"),
    ),
    description="Dart's benchmark_harness text",
    example="dart run benchmark/main.dart | tee bench.txt",
)


def _luau_interval(row: re.Match[str], value: float) -> Summary:
    error = value * number_of(row["error"]) / 100.0
    return Summary(
        value=value,
        statistic="mean",
        confidence_interval=(value - error, value + error) if error else None,
        confidence_level=LUAU_LEVEL if error else None,
    )


LUAU_TEXT = line_reader(
    "luau_text",
    Lines(
        mark="SUCCESS: ",
        row=re.compile(
            rf"SUCCESS: (?P<name>\S{{1,200}}(?: \S{{1,200}}){{0,20}}) {{0,60}}: {{0,20}}{VALUE_GROUP}ms "
            rf"\+/- {{0,9}}(?P<error>{NUMBER})% on .{{0,999}}"
        ),
        measures=lambda _: (Measured(metric=MILLISECOND_TIME),),
        summary=_luau_interval,
    ),
    description="Luau's bench/bench.py text",
    example="python3 bench/bench.py --vm ./luau | tee bench.txt",
    aliases=("benchmarkluau",),
)
