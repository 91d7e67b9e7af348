"""tinybench's tasks as JSON, `[{name, result}]`: milliseconds per call. Its `results` alone have no names."""

from typing import Any

from msgspec.structs import replace

from perf_culprit.model.run import Benchmark, Direction, Metric
from perf_culprit.read.results.parser import TIME, Parsed, from_samples, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects, mean_summary

ID = "tinybench"
DESCRIPTION = "tinybench tasks as JSON ([{name, result}])"
EXAMPLE = "JSON.stringify(bench.tasks.map(({ name, result }) => ({ name, result })))"

MILLISECONDS = Metric(name=TIME, unit="ms", direction=Direction.LOWER_IS_BETTER)
# The quantile that makes the margin of error is of the t distribution at 95%, fixed in tinybench's source.
CONFIDENCE_LEVEL = 0.95
RESULT_MEMBERS = frozenset({"latency", "state", "hz", "error"})


def matches(source: Source, /) -> bool:
    tasks = source.json_or_none()
    return are_objects(tasks, "name", "result") and all(map(_is_task, tasks))


def parse(source: Source, /) -> Parsed:
    tasks = list(source.root().elements())
    measured = [(task, statistics) for task in tasks if (statistics := _statistics(task)) is not None]
    failed = len(tasks) - len(measured)
    return Parsed(
        benchmarks=unique((benchmark(task.at("name").text(), measures), task.place) for task, measures in measured),
        notes=(f"left out because they failed or did not run: {failed}",) * bool(failed),
    )


def _is_task(task: dict[str, Any]) -> bool:
    name, result = task["name"], task["result"]
    return isinstance(name, str) and isinstance(result, dict) and bool(result.keys() & RESULT_MEMBERS)


def _statistics(task: JsonValue) -> JsonValue | None:
    """Those of the time: under `latency` since version 3, at the top before."""
    result = task.at("result")
    latency = result.find("latency") or result
    return latency if latency.find("mean") is not None else None


def benchmark(name: str, statistics: JsonValue) -> Benchmark:
    """The samples where they were kept, else their mean; vitest writes the same statistics."""
    if (samples := statistics.find("samples")) is not None and samples.value != []:
        return from_samples(name, metric=MILLISECONDS, samples=samples.numbers(), place=samples.place)
    mean, margin = statistics.at("mean").number(), statistics.find_number("moe")
    count = statistics.find_whole("samplesCount") or statistics.find_whole("sampleCount")
    summary = replace(
        mean_summary(statistics, deviation="sd", count=count),
        confidence_interval=None if margin is None else (mean - margin, mean + margin),
        confidence_level=None if margin is None else CONFIDENCE_LEVEL,
    )
    return from_summary(name, metric=MILLISECONDS, summary=summary, place=statistics.place)
