"""Ruby's benchmark-ips as JSON (`x.json! FILE`): iterations per second, without the samples."""

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.parser import Parsed, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects

ID = "benchmark_ips"
DESCRIPTION = "Ruby's benchmark-ips JSON (x.json!)"
EXAMPLE = "x.json! 'bench.json' in Benchmark.ips"

THROUGHPUT = Metric(name="throughput", unit="i/s", direction=Direction.HIGHER_IS_BETTER)


def matches(source: Source, /) -> bool:
    return are_objects(source.json_or_none(), "name", "ips")


def parse(source: Source, /) -> Parsed:
    return Parsed(benchmarks=unique((_benchmark(entry), entry.place) for entry in source.root().elements()))


def _benchmark(entry: JsonValue) -> Benchmark:
    summary = Summary(value=entry.at("ips").number(), statistic="mean", standard_deviation=entry.find_number("stddev"))
    return from_summary(entry.at("name").text(), metric=THROUGHPUT, summary=summary, place=entry.place)
