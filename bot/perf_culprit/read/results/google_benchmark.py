"""Google Benchmark JSON (`--benchmark_format=json`): repetitions are samples, aggregates are left out."""

from collections.abc import Iterator

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.parser import (
    TIME,
    Parsed,
    components,
    from_samples,
    from_summary,
    gathered,
    unique,
    utc_time,
)
from perf_culprit.read.results.source import JsonValue, Source

ID = "google_benchmark"
DESCRIPTION = "Google Benchmark JSON (--benchmark_format=json)"
EXAMPLE = "./bench --benchmark_repetitions=10 --benchmark_out=bench.json --benchmark_out_format=json"

TIMES = {"real_time": TIME, "cpu_time": "cpu_time"}
# Rates that the library computes itself. The direction of a user's counter is nowhere written.
RATES = {"bytes_per_second": "bytes/s", "items_per_second": "items/s"}
# The first three have always been there; tables without repetitions hold nothing else.
AGGREGATES = ("mean", "median", "stddev", "cv")
# Everything of an entry that is no user counter.
OWN_FIELDS = {
    *TIMES,
    *RATES,
    *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index"),
    *("threads", "iterations", "time_unit", "label", "aggregate_name", "aggregate_unit", "error_occurred"),
    *("error_message", "skipped", "skip_message", "cpu_coefficient", "real_coefficient", "big_o", "rms"),
}


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    if not isinstance(root, dict) or not isinstance(root.get("benchmarks"), list):
        return False
    context = root.get("context")
    return isinstance(context, dict) and ("num_cpus" in context or "library_build_type" in context)


def parse(source: Source, /) -> Parsed:
    root = source.root()
    return read(list(root.at("benchmarks").elements()), root.at("context"))


def read(entries: list[JsonValue], context: JsonValue) -> Parsed:
    """What the entries say; the library's tables hold the same ones, without a context."""
    names = frozenset(entry.at("name").text() for entry in entries)
    good = [entry for entry in entries if not (entry.peek("error_occurred") or entry.peek("skipped"))]
    # Fitted complexity has no time of its own.
    timed = [entry for entry in good if entry.find("big_o") is None and entry.find("rms") is None]
    iterations = [entry for entry in timed if _aggregate(entry, names) is None]
    benchmarks = gathered(pair for entry in iterations for pair in _samples(entry))
    measured = {benchmark.name for benchmark in benchmarks}
    # --benchmark_report_aggregates_only leaves no repetition in the file.
    aggregates = [entry for entry in timed if _aggregate(entry, names) and _run_name(entry, names) not in measured]
    summaries = unique(_summaries(aggregates, names))
    without_mean = {_run_name(entry, names) for entry in aggregates}.difference(summary.name for summary in summaries)
    failed = names.difference(entry.at("name").text() for entry in good)
    return Parsed(
        benchmarks=benchmarks + summaries,
        environment=components(cpu_count=context.peek("num_cpus"), host=context.peek("host_name")),
        time=utc_time(context.peek("date"), local_is_unknown=True),
        notes=tuple(_notes(context, failed=len(failed), without_mean=len(without_mean))),
    )


def _aggregate(entry: JsonValue, names: frozenset[str]) -> str | None:
    """Which aggregate this is; None for a measurement. Files before `run_type` tell it by the name only."""
    if (run_type := entry.find("run_type")) is not None and run_type.value != "aggregate":
        return None
    if (named := entry.find("aggregate_name")) is not None:
        return named.text()
    stem, _, suffix = entry.at("name").text().rpartition("_")
    if run_type is not None:
        return suffix  # of any name: `ComputeStatistics` adds aggregates of the user's own
    all_there = names.issuperset(f"{stem}_{name}" for name in AGGREGATES[:3])
    return suffix if suffix in AGGREGATES and (stem in names or all_there) else None


def _run_name(entry: JsonValue, names: frozenset[str]) -> str:
    named = entry.find("run_name")
    name = entry.at("name").text()
    aggregate = _aggregate(entry, names)
    return name.removesuffix(f"_{aggregate}") if named is None else named.text()


def _samples(entry: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    name = entry.at("name").text()
    for metric, value in _values(entry):
        yield from_samples(name, metric=metric, samples=(value.number(),), place=value.place), value.place


def _values(entry: JsonValue) -> Iterator[tuple[Metric, JsonValue]]:
    unit = entry.find("time_unit")
    for field, name in TIMES.items():
        # Files before `time_unit` hold nanoseconds.
        metric = Metric(name=name, unit="ns" if unit is None else unit.text(), direction=Direction.LOWER_IS_BETTER)
        yield metric, entry.at(field)
    for field, rate_unit in RATES.items():
        if (value := entry.find(field)) is not None:
            yield Metric(name=field, unit=rate_unit, direction=Direction.HIGHER_IS_BETTER), value
    for field, value in entry.members():
        if field not in OWN_FIELDS and value.is_finite:
            yield Metric(name=field, unit="", direction=Direction.UNKNOWN), value


def _summaries(aggregates: list[JsonValue], names: frozenset[str]) -> Iterator[tuple[Benchmark, str]]:
    deviations = {_run_name(entry, names): entry for entry in aggregates if _aggregate(entry, names) == "stddev"}
    for entry in aggregates:
        if _aggregate(entry, names) != "mean":
            continue
        name = _run_name(entry, names)
        spread = dict(_values(deviations[name])) if name in deviations else {}
        for metric, value in _values(entry):
            summary = Summary(
                value=value.number(),
                statistic="mean",
                count=entry.find_whole("repetitions"),
                standard_deviation=spread[metric].number() if metric in spread else None,
            )
            yield from_summary(name, metric=metric, summary=summary, place=value.place), value.place


def _notes(context: JsonValue, *, failed: int, without_mean: int) -> Iterator[str]:
    if failed:
        yield f"left out because they failed or were skipped: {failed}"
    if without_mean:
        yield f"left out because neither a repetition nor a mean is in the file: {without_mean}"
    if context.peek("library_build_type") == "debug":
        yield "Google Benchmark was built as debug: its times are not to be trusted"
    if context.peek("cpu_scaling_enabled") is True:
        yield "CPU frequency scaling was on while measuring"
