"""Google Benchmark: JSON, CSV and its console table."""

import csv
import re
from collections.abc import Iterator

from msgspec import structs

from perf_culprit.model.reason import Loss
from perf_culprit.model.run import TIME, Benchmark, Direction, Lost, Metric, Summary
from perf_culprit.read.results.console import NUMBER, is_number, lines, number_of, without_rounded
from perf_culprit.read.results.json_value import JsonValue
from perf_culprit.read.results.parsed import (
    Parsed,
    ResultReader,
    components,
    from_samples,
    from_summary,
    gathered,
    lost,
    unique,
    utc_time,
)
from perf_culprit.read.results.source import Source

GOOGLE_TIMES = {"real_time": TIME, "cpu_time": "cpu_time"}
# Rates that the library computes itself. The file does not state the direction of a user's counter.
GOOGLE_RATES = {"bytes_per_second": "bytes/s", "items_per_second": "items/s"}
# All versions have the first three; tables without repetitions hold nothing else.
GOOGLE_AGGREGATES = ("mean", "median", "stddev", "cv")
# The members of an entry that are not user counters.
GOOGLE_OWN_FIELDS = {
    *GOOGLE_TIMES,
    *GOOGLE_RATES,
    *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index"),
    *("threads", "iterations", "time_unit", "label", "aggregate_name", "aggregate_unit", "error_occurred"),
    *("error_message", "skipped", "skip_message", "cpu_coefficient", "real_coefficient", "big_o", "rms"),
}


def _is_google(source: Source) -> bool:
    root = source.json_or_none()
    if not isinstance(root, dict) or not isinstance(root.get("benchmarks"), list):
        return False
    context = root.get("context")
    return isinstance(context, dict) and ("num_cpus" in context or "library_build_type" in context)


def _read_google(source: Source) -> Parsed:
    """Read the file's entries: repetitions are samples, aggregates are left out."""
    root = source.root()
    return _read_entries(list(root.at("benchmarks").elements()), root.at("context"))


def _read_entries(entries: list[JsonValue], context: JsonValue) -> Parsed:
    """Read the entries. The library's tables hold the same ones, without a context."""
    names = frozenset(entry.at("name").text() for entry in entries)
    good = [entry for entry in entries if not (entry.peek("error_occurred") or entry.peek("skipped"))]
    # Fitted complexity has no time.
    timed = [entry for entry in good if entry.find("big_o") is None and entry.find("rms") is None]
    iterations = [entry for entry in timed if _aggregate(entry, names) is None]
    benchmarks = gathered(pair for entry in iterations for pair in _google_samples(entry))
    run_names = {benchmark.name for benchmark in benchmarks}
    # --benchmark_report_aggregates_only leaves no repetition in the file.
    aggregates = [entry for entry in timed if _aggregate(entry, names) and _run_name(entry, names) not in run_names]
    summaries = unique(_summaries(aggregates, names))
    without_mean = {_run_name(entry, names) for entry in aggregates}.difference(summary.name for summary in summaries)
    sound = {entry.at("name").text() for entry in good}
    failed = {one.benchmark: one for one in map(_google_lost, entries) if one.benchmark not in sound}
    return Parsed(
        benchmarks=benchmarks + summaries,
        environment=components(cpu_count=context.peek("num_cpus"), host=context.peek("host_name")),
        time=utc_time(context.peek("date"), local_is_unknown=True),
        lost=tuple(failed.values()),
        notes=tuple(_google_notes(context, failed=len(failed), without_mean=len(without_mean))),
    )


def _google_lost(entry: JsonValue) -> Lost:
    skipped = bool(entry.peek("skipped")) and not entry.peek("error_occurred")
    message = entry.peek("error_message") or entry.peek("skip_message")
    return lost(entry.at("name").text(), message, kind=Loss.SKIPPED if skipped else Loss.FAILED)


def _aggregate(entry: JsonValue, names: frozenset[str]) -> str | None:
    """Return the aggregate's name; None for a measurement. Files before `run_type` show it only in the name."""
    if (run_type := entry.find("run_type")) is not None and run_type.value != "aggregate":
        return None
    if (named := entry.find("aggregate_name")) is not None:
        return named.text()
    stem, _, suffix = entry.at("name").text().rpartition("_")
    if run_type is not None:
        return suffix  # any name: `ComputeStatistics` adds user-defined aggregates
    all_there = names.issuperset(f"{stem}_{name}" for name in GOOGLE_AGGREGATES[:3])
    return suffix if suffix in GOOGLE_AGGREGATES and (stem in names or all_there) else None


def _run_name(entry: JsonValue, names: frozenset[str]) -> str:
    named = entry.find("run_name")
    name = entry.at("name").text()
    aggregate = _aggregate(entry, names)
    return name.removesuffix(f"_{aggregate}") if named is None else named.text()


def _google_samples(entry: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    name = entry.at("name").text()
    for metric, value in _google_values(entry):
        yield from_samples(name, metric=metric, samples=(value.number(),), place=value.place), value.place


def _google_values(entry: JsonValue) -> Iterator[tuple[Metric, JsonValue]]:
    unit = entry.find("time_unit")
    for field, name in GOOGLE_TIMES.items():
        # Files before `time_unit` hold nanoseconds.
        metric = Metric(name=name, unit="ns" if unit is None else unit.text(), direction=Direction.LOWER_IS_BETTER)
        yield metric, entry.at(field)
    for field, rate_unit in GOOGLE_RATES.items():
        if (value := entry.find(field)) is not None:
            yield Metric(name=field, unit=rate_unit, direction=Direction.HIGHER_IS_BETTER), value
    for field, value in entry.members():
        if field not in GOOGLE_OWN_FIELDS and value.is_finite:
            yield Metric(name=field, unit="", direction=Direction.UNKNOWN), value


def _summaries(aggregates: list[JsonValue], names: frozenset[str]) -> Iterator[tuple[Benchmark, str]]:
    deviations = {_run_name(entry, names): entry for entry in aggregates if _aggregate(entry, names) == "stddev"}
    for entry in aggregates:
        if _aggregate(entry, names) != "mean":
            continue
        name = _run_name(entry, names)
        spread = dict(_google_values(deviations[name])) if name in deviations else {}
        for metric, value in _google_values(entry):
            summary = Summary(
                value=value.number(),
                statistic="mean",
                count=entry.find_whole("repetitions"),
                standard_deviation=spread[metric].number() if metric in spread else None,
            )
            yield from_summary(name, metric=metric, summary=summary, place=value.place), value.place


def _google_notes(context: JsonValue, *, failed: int, without_mean: int) -> Iterator[str]:
    if failed:
        yield f"left out because they failed or were skipped: {failed}"
    if without_mean:
        yield f"left out because neither a repetition nor a mean is in the file: {without_mean}"
    if context.peek("library_build_type") == "debug":
        yield "Google Benchmark was built as debug: its times are not to be trusted"
    if context.peek("cpu_scaling_enabled") is True:
        yield "CPU frequency scaling was on while measuring"


GOOGLE_BENCHMARK = ResultReader(
    id="google_benchmark",
    description="Google Benchmark JSON (--benchmark_format=json)",
    example="./bench --benchmark_repetitions=10 --benchmark_out=bench.json --benchmark_out_format=json",
    matches=_is_google,
    read=_read_google,
    aliases=("googlecpp",),
    smaller="lower --benchmark_repetitions, or select benchmarks with --benchmark_filter",
)


CSV_HEADER = "name,iterations,real_time,cpu_time,time_unit,"
LEAST_CSV_CELLS = 10
CSV_TEXTS = ("name", "time_unit", "label", "error_message")


def _csv_entries(source: Source) -> Iterator[JsonValue]:
    """Yield the rows as entries of the JSON, without the machine's facts."""
    names: list[str] = []
    for number, line in enumerate(source.text().splitlines(), start=1):
        # Other output may be in between, such as the machine's facts, which some users redirect to the same file.
        if line.startswith(CSV_HEADER):
            names = line.split(",")
            continue
        try:
            cells = next(csv.reader([line]), [])
        except csv.Error:
            continue
        # A failed benchmark's row ends before the user counters.
        if names and LEAST_CSV_CELLS <= len(cells) <= len(names):
            row = {name.strip('"'): cell for name, cell in zip(names, cells, strict=False) if cell}
            numbers = {name: number_of(row[name]) for name in row if name not in CSV_TEXTS and is_number(row[name])}
            yield JsonValue(row | numbers, f"{source.place}:{number}")


GOOGLE_BENCHMARK_CSV = ResultReader(
    id="google_benchmark_csv",
    description="Google Benchmark CSV (--benchmark_format=csv)",
    example="./bench --benchmark_repetitions=10 --benchmark_format=csv > bench.csv",
    matches=lambda source: any(line.startswith(CSV_HEADER) for line in source.text_or_empty().splitlines()),
    read=lambda source: _read_entries(list(_csv_entries(source)), JsonValue({}, source.place)),
    is_console=True,
    aliases=("googlecpp",),
    smaller="lower --benchmark_repetitions",
)


TEXT_HEADER = re.compile(r"Benchmark {1,1000}Time {1,40}CPU {1,40}Iterations")
TEXT_ROW = re.compile(
    rf"(?P<name>\S{{1,1000}}) {{1,1000}}(?P<real_time>{NUMBER}) (?P<time_unit>ns|us|ms|s) {{1,40}}"
    rf"(?P<cpu_time>{NUMBER}) (?:ns|us|ms|s) {{1,40}}[0-9]{{1,20}}(?P<counters>| .{{0,5000}})"
)
TEXT_FAILED = re.compile(
    r"(?P<name>\S{1,1000}) {1,1000}(?:ERROR OCCURRED|(?P<skipped>SKIPPED)): (?P<message>.{0,5000})"
)
TEXT_RATE = re.compile(rf"(?P<name>bytes_per_second|items_per_second)=(?P<value>{NUMBER})(?P<prefix>[kMGT]?)i?/s")
# The library scales bytes by 1024, whether written as "Gi/s" (since 1.8) or "G/s", and everything else by 1000.
RATE_BASES = {"bytes_per_second": 1024.0, "items_per_second": 1000.0}
RATE_PREFIXES = ("", "k", "M", "G", "T")


def _is_google_text(source: Source) -> bool:
    text = source.text_or_empty()
    return "Iterations" in text and TEXT_HEADER.search(text) is not None


def _text_entries(source: Source) -> Iterator[JsonValue]:
    for number, line in lines(source):
        place = f"{source.place}:{number}"
        row = TEXT_ROW.fullmatch(line.rstrip())
        failed = None if row else TEXT_FAILED.fullmatch(line.rstrip())
        if row is not None:
            times = {name: number_of(row[name]) for name in ("real_time", "cpu_time")}
            yield JsonValue(
                {"name": row["name"], "time_unit": row["time_unit"], **times, **dict(_rates(row["counters"]))}, place
            )
        elif failed is not None:
            message, is_skipped = failed["message"].strip("'"), failed["skipped"] is not None
            outcome = {"skipped": True, "skip_message": message} if is_skipped else {"error_message": message}
            yield JsonValue({"name": failed["name"], "error_occurred": not is_skipped} | outcome, place)


def _rates(counters: str) -> Iterator[tuple[str, float]]:
    for rate in TEXT_RATE.finditer(counters):
        scale = RATE_BASES[rate["name"]] ** RATE_PREFIXES.index(rate["prefix"])
        yield rate["name"], number_of(rate["value"]) * scale


def _read_google_text(source: Source) -> Parsed:
    parsed = _read_entries(list(_text_entries(source)), JsonValue({}, source.place))
    benchmarks, notes = without_rounded(parsed.benchmarks)
    return structs.replace(parsed, benchmarks=benchmarks, notes=(*parsed.notes, *notes))


GOOGLE_BENCHMARK_TEXT = ResultReader(
    id="google_benchmark_text",
    description="Google Benchmark's console table",
    example="./bench --benchmark_repetitions=10 | tee bench.txt",
    matches=_is_google_text,
    read=_read_google_text,
    is_console=True,
    aliases=("googlecpp",),
    smaller="lower --benchmark_repetitions",
)
