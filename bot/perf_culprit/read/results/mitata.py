"""mitata (`run({ format: 'json' })`): nanoseconds per call, sorted by the tool, without the two ends on each side."""

from collections.abc import Iterator

from perf_culprit.model.run import Benchmark, Direction, Environment, Metric, Summary
from perf_culprit.read.results.parser import (
    NANOSECOND_TIME,
    Parsed,
    components,
    epoch_time,
    from_samples,
    from_summary,
    unique,
)
from perf_culprit.read.results.source import JsonValue, Source, are_objects, mean_summary

ID = "mitata"
DESCRIPTION = "mitata JSON (run({ format: 'json' }))"
EXAMPLE = "await run({ format: 'json' }), then node bench.mjs > bench.json"

ALLOCATED = Metric(name="allocated", unit="B", direction=Direction.LOWER_IS_BETTER)


def matches(source: Source, /) -> bool:
    entries = source.member("benchmarks")
    return are_objects(entries, "alias", "runs") and all(isinstance(entry["runs"], list) for entry in entries)


def parse(source: Source, /) -> Parsed:
    root = source.root()
    runs = list(_runs(root))
    context = root.find("context") or JsonValue({}, root.file)
    now = context.find("now")
    # A benchmark that threw has an `error` instead of `stats`.
    measured = [(name, stats) for name, run in runs if (stats := run.find("stats")) is not None]
    failed = len(runs) - len(measured)
    return Parsed(
        benchmarks=unique((each, stats.place) for name, stats in measured for each in _benchmarks(name, stats)),
        environment=_environment(context),
        time=epoch_time(now.number() / 1000) if now is not None and now.is_finite else None,
        notes=(f"left out because they failed: {failed}",) * bool(failed),
    )


def _runs(root: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Each run with its name, and its group's before it."""
    groups = [group.peek("name") for group in root.elements_of("layout")]
    for entry in root.at("benchmarks").elements():
        number = entry.find_whole("group")
        group = groups[number] if number is not None and number < len(groups) else None
        for run in entry.at("runs").elements():
            name = (run.find("name") or entry.at("alias")).text()
            yield f"{group} > {name}" if isinstance(group, str) and group else name, run


def _benchmarks(name: str, stats: JsonValue) -> Iterator[Benchmark]:
    if (samples := stats.find("samples")) is not None and samples.value != []:
        yield from_samples(name, metric=NANOSECOND_TIME, samples=samples.numbers(), place=samples.place)
    else:
        yield from_summary(name, metric=NANOSECOND_TIME, summary=mean_summary(stats, "avg"), place=stats.place)
    heap = stats.find("heap")
    allocated = None if heap is None else heap.find_number("avg")
    if heap is not None and allocated is not None:
        summary = Summary(value=allocated, statistic="mean", count=heap.find_whole("_"))
        yield from_summary(name, metric=ALLOCATED, summary=summary, place=heap.place)


def _environment(context: JsonValue) -> Environment:
    cpu = context.peek("cpu")
    runtime = context.peek("runtime")
    architecture, _, system = str(context.peek("arch") or "").partition("-")
    return components(
        cpu=cpu.get("name") if isinstance(cpu, dict) else None,
        architecture=architecture,
        os=system,
        node=context.peek("version") if runtime == "node" else None,
    )
