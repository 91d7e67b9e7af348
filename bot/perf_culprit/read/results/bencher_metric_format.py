"""Bencher Metric Format: `{benchmark: {measure: {value}}}`."""

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.parser import TIME, Parsed, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects

ID = "bencher_metric_format"
DESCRIPTION = "Bencher Metric Format JSON, also within text"
EXAMPLE = "bencher mock > bench.json"
BOUNDS_LEFT_OUT = "lower_value and upper_value are left out: the format does not say what they bound"

_LOWER, _HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER
# The measures that Bencher itself defines; what a user's own measure means is not in the file.
MEASURES = {
    "latency": Metric(name=TIME, unit="ns", direction=_LOWER),
    "throughput": Metric(name="throughput", unit="ops/s", direction=_HIGHER),
    "instructions": Metric(name="instructions", unit="", direction=_LOWER),
    "estimated-cycles": Metric(name="estimated-cycles", unit="", direction=_LOWER),
    "total-cycles": Metric(name="total-cycles", unit="", direction=_LOWER),
    "build-time": Metric(name="build_time", unit="s", direction=_LOWER),
    "file-size": Metric(name="file-size", unit="B", direction=_LOWER),
}


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    benchmarks = root.values() if isinstance(root, dict) else ()
    is_measured = (isinstance(one, dict) and are_objects([*one.values()], "value") for one in benchmarks)
    return bool(benchmarks) and all(is_measured)


def parse(source: Source, /) -> Parsed:
    reports = source.root().members()
    values = [(name, measure, value) for name, measures in reports for measure, value in measures.members()]
    return Parsed(
        benchmarks=unique((_benchmark(name, measure, value), value.place) for name, measure, value in values),
        notes=(BOUNDS_LEFT_OUT,) * any(has_bounds(value) for _, _, value in values),
    )


def has_bounds(value: JsonValue) -> bool:
    return value.find("lower_value") is not None or value.find("upper_value") is not None


def _benchmark(name: str, measure: str, value: JsonValue) -> Benchmark:
    metric = MEASURES.get(measure) or Metric(name=measure, unit="", direction=Direction.UNKNOWN)
    summary = Summary(value=value.at("value").number())
    return from_summary(name, metric=metric, summary=summary, place=value.place)
