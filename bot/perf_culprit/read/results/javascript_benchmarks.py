"""JavaScript: mitata, tinybench, vitest, Deno and benchmark.js."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from perf_culprit.model.run import Benchmark, Direction, Environment, Metric, Summary
from perf_culprit.read.results.console import (
    NAME_GROUP,
    NUMBER,
    SPACE,
    TIME_UNIT,
    VALUE_GROUP,
    Lines,
    Measured,
    headed,
    line_reader,
    lines,
    nanoseconds,
    number_of,
    plain_text,
    qualified,
)
from perf_culprit.read.results.json_value import JsonValue, are_objects, mean_summary
from perf_culprit.read.results.parsed import (
    ALLOCATED,
    MILLISECOND_TIME,
    NANOSECOND_TIME,
    SECOND_TIME,
    Parsed,
    ResultReader,
    components,
    epoch_time,
    from_samples,
    from_summary,
    gathered,
    lost,
    unique,
)
from perf_culprit.read.results.source import Source, json_object


def _is_mitata(source: Source) -> bool:
    entries = source.member("benchmarks")
    return are_objects(entries, "alias", "runs") and all(isinstance(entry["runs"], list) for entry in entries)


def _read_mitata(source: Source) -> Parsed:
    root = source.root()
    runs = list(_mitata_runs(root))
    context = root.find("context") or JsonValue({}, root.file)
    now = context.find("now")
    # A benchmark that threw has an `error` instead of `stats`.
    with_stats = [(name, stats) for name, run in runs if (stats := run.find("stats")) is not None]
    failed = len(runs) - len(with_stats)
    return Parsed(
        benchmarks=unique(
            (each, stats.place) for name, stats in with_stats for each in _mitata_benchmarks(name, stats)
        ),
        environment=_mitata_environment(context),
        lost=tuple(lost(name, _error_message(run.peek("error"))) for name, run in runs if run.find("stats") is None),
        time=epoch_time(now.number() / 1000) if now is not None and now.is_finite else None,
        notes=(f"left out because they failed: {failed}",) * bool(failed),
    )


def _error_message(error: object) -> object:
    """Return an error's message; JavaScript writes errors as text or as objects."""
    return error.get("message") if isinstance(error, dict) else error


def _mitata_runs(root: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield each run with its name, prefixed by its group's."""
    groups = [group.peek("name") for group in root.elements_of("layout")]
    for entry in root.at("benchmarks").elements():
        number = entry.find_whole("group")
        group = groups[number] if number is not None and number < len(groups) else None
        for run in entry.at("runs").elements():
            name = (run.find("name") or entry.at("alias")).text()
            yield f"{group} > {name}" if isinstance(group, str) and group else name, run


def _mitata_benchmarks(name: str, stats: JsonValue) -> Iterator[Benchmark]:
    """Yield the time, in ns per call. The tool sorts samples and drops the two extremes on each side."""
    if (samples := stats.find("samples")) is not None and samples.value != []:
        yield from_samples(name, metric=NANOSECOND_TIME, samples=samples.numbers(), place=samples.place)
    else:
        yield from_summary(name, metric=NANOSECOND_TIME, summary=mean_summary(stats, "avg"), place=stats.place)
    heap = stats.find("heap")
    allocated = None if heap is None else heap.find_number("avg")
    if heap is not None and allocated is not None:
        summary = Summary(value=allocated, statistic="mean", count=heap.find_whole("_"))
        yield from_summary(name, metric=ALLOCATED, summary=summary, place=heap.place)


def _mitata_environment(context: JsonValue) -> Environment:
    cpu = context.peek("cpu")
    runtime = context.peek("runtime")
    architecture, _, system = str(context.peek("arch") or "").partition("-")
    return components(
        cpu=cpu.get("name") if isinstance(cpu, dict) else None,
        architecture=architecture,
        os=system,
        node=context.peek("version") if runtime == "node" else None,
    )


MITATA = ResultReader(
    id="mitata",
    description="mitata JSON (run({ format: 'json' }))",
    example="await run({ format: 'json' }), then node bench.mjs > bench.json",
    matches=_is_mitata,
    read=_read_mitata,
)


# The rule below a group's name belongs to it; any other rule ends the group.
MITATA_HEADING = re.compile(r"(• [^\n]{1,999}\n)(?:\x1b\[[0-9;]{0,16}m)?-{20,2000}[^\n]{0,99}")
MITATA_LINES = Lines(
    mark="(min … ",
    title=re.compile(r"• (?P<name>.{1,999})|-{20,2000} -{20,99}"),
    # A name that is cut off ends with two full stops.
    row=re.compile(
        rf"{NAME_GROUP}(?<!\s)(?<!\.\.)\s{{1,1000}}(?P<value>[0-9']{{1,40}}(?:\.[0-9]{{1,40}})?) "
        rf"(?P<unit>{TIME_UNIT})/iter"
        r"(?:\s(?!\(\+/-).{0,999})?"
    ),
    measures=lambda row: (Measured(metric=NANOSECOND_TIME, factor=nanoseconds("1", row["unit"])),),
    # Up to version 0.1 an apostrophe groups thousands.
    number=lambda text: float(text.replace("'", "")),
    summary=lambda _, value: Summary(value=value, statistic="mean"),
    lost=re.compile(r"\S.{0,999}/iter \s{0,9}[0-9].{0,999}|\S.{0,999} error: .{0,9999}"),
    loss="benchmarks that failed or whose names are cut off",
    separator=" > ",
)


def _read_mitata_text(source: Source) -> Parsed:
    """Read the average per call, which has about three digits."""
    text = MITATA_HEADING.sub(r"\1", source.text())
    return MITATA_LINES.read(dataclasses.replace(source, data=text.encode()))


MITATA_TEXT = ResultReader(
    id="mitata_text",
    description="mitata's console text",
    example="node bench.mjs | tee bench.txt",
    matches=MITATA_LINES.matches,
    read=_read_mitata_text,
    is_console=True,
)


# The margin of error uses the 95% quantile of the t distribution, fixed in tinybench's source.
TINYBENCH_LEVEL = 0.95
RESULT_MEMBERS = frozenset({"latency", "state", "hz", "error"})
SPREAD_MEMBERS = frozenset({"latency", "state"})


def _is_tinybench(source: Source) -> bool:
    tasks = source.results()
    return tasks is not None and are_objects(tasks.value, "name") and all(map(_is_task, tasks.value))


def _read_tinybench(source: Source) -> Parsed:
    """Read `[{name, result}]` or `[{name, ...result}]`: milliseconds per call."""
    tasks = list((source.results() or source.root()).elements())
    with_stats = [(task, statistics) for task in tasks if (statistics := _tinybench_statistics(task)) is not None]
    failed = len(tasks) - len(with_stats)
    return Parsed(
        benchmarks=unique(
            (_tinybench_benchmark(task.at("name").text(), measures), task.place) for task, measures in with_stats
        ),
        lost=tuple(
            lost(task.at("name").text(), _error_message((task.find("result") or task).peek("error")))
            for task in tasks
            if task not in [one for one, _ in with_stats]
        ),
        notes=(f"left out because they failed or did not run: {failed}",) * bool(failed),
    )


def _is_task(task: dict[str, Any]) -> bool:
    if not isinstance(task["name"], str):
        return False
    result = task.get("result")
    return bool(result.keys() & RESULT_MEMBERS if isinstance(result, dict) else task.keys() & SPREAD_MEMBERS)


def _tinybench_statistics(task: JsonValue) -> JsonValue | None:
    """Return the statistics of the time, under `latency` since version 3 and at the top before; None if missing."""
    result = task.find("result") or task
    latency = result.find("latency") or result
    return latency if latency.find("mean") is not None else None


def _tinybench_benchmark(name: str, statistics: JsonValue) -> Benchmark:
    """Read the samples if they were kept, else their mean. vitest writes the same statistics."""
    if (samples := statistics.find("samples")) is not None and samples.value != []:
        return from_samples(name, metric=MILLISECOND_TIME, samples=samples.numbers(), place=samples.place)
    mean, margin = statistics.at("mean").number(), statistics.find_number("moe")
    count = statistics.find_whole("samplesCount") or statistics.find_whole("sampleCount")
    summary = replace(
        mean_summary(statistics, deviation="sd", count=count),
        confidence_interval=None if margin is None else (mean - margin, mean + margin),
        confidence_level=None if margin is None else TINYBENCH_LEVEL,
    )
    return from_summary(name, metric=MILLISECOND_TIME, summary=summary, place=statistics.place)


TINYBENCH = ResultReader(
    id="tinybench",
    description="tinybench tasks as JSON ([{name, result}]), also in an object",
    example="JSON.stringify(bench.tasks.map(({ name, result }) => ({ name, result })))",
    matches=_is_tinybench,
    read=_read_tinybench,
)


def _is_benchmarkjs(source: Source) -> bool:
    entries = source.results()
    if entries is None or not are_objects(entries.value, "name", "hz"):
        return False
    stats = [entry.get("stats", entry) for entry in entries.value]
    return all(isinstance(one, dict) and "deviation" in one for one in stats)


def _read_benchmarkjs(source: Source) -> Parsed:
    """Read `stats` of each benchmark in seconds, which scripts often copy to its top."""
    entries = [(entry, entry.find("stats") or entry) for entry in (source.results() or source.root()).elements()]
    # A benchmark that threw has no rate.
    with_stats = [(entry, stats) for entry, stats in entries if entry.at("hz").value]
    failed = tuple(
        lost(entry.at("name").text(), entry.peek("error")) for entry, _ in entries if not entry.at("hz").value
    )
    return Parsed(
        benchmarks=unique(
            (_benchmarkjs_benchmark(entry.at("name").text(), stats), entry.place) for entry, stats in with_stats
        ),
        lost=failed,
        notes=(f"left out because they failed: {len(failed)}",) * bool(failed),
    )


def _benchmarkjs_benchmark(name: str, stats: JsonValue) -> Benchmark:
    samples = stats.find("sample") or stats.find("samples")
    if samples is not None and isinstance(samples.value, list) and samples.value:
        return from_samples(name, metric=SECOND_TIME, samples=samples.numbers(), place=samples.place)
    summary = mean_summary(stats, deviation="deviation", count=stats.find_whole("samples"))
    return from_summary(name, metric=SECOND_TIME, summary=summary, place=stats.place)


BENCHMARKJS_JSON = ResultReader(
    id="benchmarkjs_json",
    description="benchmark.js as JSON ([{name, hz, stats}])",
    example="JSON.stringify(suite.map(({ name, hz, stats }) => ({ name, hz, stats })))",
    matches=_is_benchmarkjs,
    read=_read_benchmarkjs,
)


def _is_vitest(source: Source) -> bool:
    files = source.member("files")
    of_suites = are_objects(files, "filepath", "groups") and all(isinstance(file["groups"], list) for file in files)
    return of_suites or _is_of_tests(source.member("testResults"))


def _is_of_tests(files: Any) -> bool:
    """Whether the tests hold benchmarks, unlike those in Jest's similar files."""
    tests = (
        test
        for file in (files if isinstance(files, list) else ())
        for test in (file.get("assertionResults") or () if isinstance(file, dict) else ())
    )
    return any(isinstance(test, dict) and isinstance(test.get("benchmarks"), list) for test in tests)


def _read_vitest(source: Source) -> Parsed:
    """Read tinybench's statistics by file and suite, as `--outputJson` wrote them up to version 4.

    From version 5 on, benchmarks are parts of tests in the JSON reporter's file, which has absolute paths.
    """
    root = source.root()
    entries = list(_of_suites(root) if root.find("files") is not None else _of_tests(root))
    # A benchmark that threw has a name but no measurements.
    with_mean = [(name, entry) for name, entry in entries if entry.find("mean") is not None]
    failed = tuple(lost(name, _failure(entry)) for name, entry in entries if entry.find("mean") is None)
    return Parsed(
        benchmarks=unique((_tinybench_benchmark(name, entry), entry.place) for name, entry in with_mean),
        lost=failed,
        notes=(f"left out because they failed: {len(failed)}",) * bool(failed),
    )


def _of_suites(root: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield each benchmark with its full name, as vitest shows it: `file > suite > name`."""
    for file in root.at("files").elements():
        for group in file.at("groups").elements():
            for entry in group.at("benchmarks").elements():
                yield f"{group.at('fullName').text()} > {entry.at('name').text()}", entry


def _of_tests(root: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield each task's latency, and each failed test. Results that vitest read from an earlier file are skipped."""
    for file in root.at("testResults").elements():
        name = PurePath(file.at("name").text()).name
        for test in file.at("assertionResults").elements():
            if test.at("status").text() == "failed":
                titles = [title.text() for title in test.at("ancestorTitles").elements()]
                yield " > ".join([name, *titles, test.at("title").text()]), test
            for group in test.at("benchmarks").elements():
                for task in group.at("tasks").elements():
                    if task.find("fromStore") is None:
                        yield f"{name} > {group.at('name').text()} > {task.at('name').text()}", task.at("latency")


def _failure(entry: JsonValue) -> str | None:
    """Return a failed test's message, without the stack below it. Benchmarks of earlier versions have none."""
    messages = entry.peek("failureMessages")
    first = messages[0] if isinstance(messages, list) and messages else None
    return first.partition("\n    at ")[0] if isinstance(first, str) else None


VITEST = ResultReader(
    id="vitest",
    description="vitest bench JSON (--reporter=json, up to version 4 --outputJson)",
    example="vitest bench --run --reporter=json --outputFile=bench.json",
    matches=_is_vitest,
    read=_read_vitest,
)


def _vitest_summary(row: re.Match[str], mean: float) -> Summary:
    """Summarize a row. For fast benchmarks the mean is the rate's inverse, which version 4 prints more precisely."""
    rate = number_of(row["rate"])
    return _mean_with_error(row, 1000.0 / rate if rate > 1000.0 else mean)


def _mean_with_error(row: re.Match[str], mean: float) -> Summary:
    error = number_of(row["error"]) / 100.0
    return Summary(
        value=mean,
        statistic="mean",
        count=int(row["count"]),
        confidence_interval=(mean * (1.0 - error), mean * (1.0 + error)),
        confidence_level=TINYBENCH_LEVEL,
    )


VITEST_ROW = (
    rf"{NAME_GROUP}{SPACE}(?P<rate>{NUMBER}){SPACE}{NUMBER}{SPACE}{NUMBER}{SPACE}{VALUE_GROUP}"
    rf"(?:{SPACE}{NUMBER}){{4}}{SPACE}±(?P<error>{NUMBER})%{SPACE}(?P<count>[0-9]{{1,15}})(?:\s.{{0,99}})?"
)
VITEST_TEXT = line_reader(
    "vitest_text",
    Lines(
        # Version 5 has no dots before the rows.
        mark=" RUN  v",
        title=re.compile(r" \S (?P<name>\S.{0,999}?) [0-9.]{1,20}m?s"),
        row=re.compile(rf"\s{{1,9}}· {VITEST_ROW}"),
        measures=lambda _: (Measured(metric=MILLISECOND_TIME),),
        summary=_vitest_summary,
        # vitest prints no table for a suite with a benchmark that threw.
        lost=re.compile(r"\s{1,9}· .{1,1999}|\s{1,9}NaNx faster than .{1,999}"),
        loss="benchmarks that failed, with their suites",
        separator=" > ",
        is_printed_twice=True,
    ),
    description="vitest bench's console text, up to version 4",
    example="vitest bench --run | tee bench.txt",
)


VITEST_5_MARK = " RUN  v5."
# Only four digits after the point are printed.
VITEST_ROUGH_MS = 0.01
VITEST_5_FAILURE = "\N{MULTIPLICATION SIGN}"
VITEST_5_HEADING = re.compile(
    rf" {{1,99}}[✓\N{{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}}{VITEST_5_FAILURE}] "
    r"(?:\|bench\| (?:\S{0,999}/)?)?(?P<name>\S.{0,999}?)(?: \([0-9]{1,9}[^)]{0,99}\))?(?: [0-9.]{1,20}m?s)?"
)
VITEST_5_ROW = re.compile(rf" {{1,99}}(?!·){VITEST_ROW}")
VITEST_5_FAILED = re.compile(rf" {{1,99}}{VITEST_5_FAILURE} .{{1,999}}")


def _vitest_5_rows(source: Source) -> Iterator[tuple[str, str, re.Match[str]]]:
    """Yield the rows of the tables below a test, with the headings for files, suites and tests above them."""
    for number, above, line in headed(source, VITEST_5_HEADING):
        if above and (row := VITEST_5_ROW.fullmatch(line)) is not None:
            yield " > ".join([*above, row["name"]]), f"{source.place}:{number}", row


def _read_vitest_5(source: Source) -> Parsed:
    """Read the printed means. Since version 5 the rate is a separate mean, not the mean's inverse."""
    failed = sum(VITEST_5_FAILED.fullmatch(line) is not None for _, line in lines(source))
    placed = []
    for name, place, row in _vitest_5_rows(source):
        summary = _mean_with_error(row, number_of(row["value"]))
        placed.append((from_summary(name, metric=MILLISECOND_TIME, summary=summary, place=place), place))
    rough = sum(benchmark.value < VITEST_ROUGH_MS for benchmark, _ in placed)
    notes = (f"left out because they failed: {failed}",) * bool(failed)
    return Parsed(
        benchmarks=gathered(placed),
        notes=(*notes, *(f"means printed with fewer than three digits, which the JSON has: {rough}",) * bool(rough)),
    )


VITEST_5_TEXT = ResultReader(
    id="vitest_5_text",
    description="vitest bench's console text, version 5",
    example="vitest bench --run | tee bench.txt",
    matches=lambda source: VITEST_5_MARK in plain_text(source) and next(_vitest_5_rows(source), None) is not None,
    read=_read_vitest_5,
    is_console=True,
)


def _read_deno(source: Source) -> Parsed:
    """Read nanoseconds per call, without samples and without their spread."""
    root = source.root()
    benches = list(root.at("benches").elements())
    results = [(_deno_key(bench), result) for bench in benches for result in bench.at("results").elements()]
    names = qualified((key for key, _ in results), separator=" > ")
    with_result = [(key, ok) for key, result in results if (ok := result.find("ok")) is not None]
    failed = len(results) - len(with_result)
    return Parsed(
        benchmarks=gathered((_deno_benchmark(names[key], ok), ok.place) for key, ok in with_result),
        lost=tuple(lost(names[key], _error_message(bad.value)) for key, one in results if (bad := one.find("failed"))),
        environment=components(cpu=root.peek("cpu"), **dict(_deno_target(root.peek("runtime")))),
        notes=(f"left out because they failed: {failed}",) * bool(failed),
    )


def _deno_key(bench: JsonValue) -> tuple[str, str]:
    """Return the scope and name of a benchmark. The group, or else the file's name, distinguishes equal names."""
    origin = bench.peek("origin")
    group = bench.find("group")
    file = origin.rpartition("/")[2] if isinstance(origin, str) else ""
    return (file if group is None else group.text()), bench.at("name").text()


def _deno_benchmark(name: str, ok: JsonValue) -> Benchmark:
    summary = mean_summary(ok, "avg", count=ok.find_whole("n"))
    return from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=ok.place)


def _deno_target(runtime: object) -> Iterator[tuple[str, str]]:
    """Yield the build's architecture and system from text such as `Deno/2.9.6 x86_64-unknown-linux-gnu`."""
    target = str(runtime or "").partition(" ")[2].split("-")
    if len(target) > 2:
        yield "architecture", target[0]
        yield "os", target[2]


DENO = ResultReader(
    id="deno",
    description="deno bench --json",
    example="deno bench --json > bench.json",
    matches=json_object(lambda root: isinstance(root.get("benches"), list) and "runtime" in root),
    read=_read_deno,
)


# benchmark.js computes the margin of error with the t distribution at 95%, fixed in its source.
BENCHMARK_JS_LEVEL = 0.95
BENCHMARK_JS_RATE = Measured(metric=Metric(name="throughput", unit="ops/sec", direction=Direction.HIGHER_IS_BETTER))


def _inverted_error(row: re.Match[str], value: float) -> Summary:
    """Summarize a row. The rate is the inverse of the mean time, and the error is the time's: invert both ends."""
    error = number_of(row["error"]) / 100.0
    return Summary(
        value=value,
        statistic="mean",
        count=int(row["count"]),
        confidence_interval=(value / (1.0 + error), value / (1.0 - error)) if error < 1.0 else None,
        confidence_level=BENCHMARK_JS_LEVEL if error < 1.0 else None,
    )


BENCHMARKJS_TEXT = line_reader(
    "benchmarkjs_text",
    Lines(
        mark=" ops/sec ",
        row=re.compile(
            rf"\s{{0,99}}{NAME_GROUP}\s x\s{VALUE_GROUP}\sops/sec\s(?:±|\+-|\+/-)\s?(?P<error>{NUMBER})%\s"
            r"\((?P<count>[0-9]{1,15})\sruns?\ssampled\)\s{0,99}",
            re.VERBOSE,
        ),
        measures=lambda _: (BENCHMARK_JS_RATE,),
        summary=_inverted_error,
    ),
    description="benchmark.js text",
    example="node bench.js | tee bench.txt",
    aliases=("benchmarkjs",),
)
