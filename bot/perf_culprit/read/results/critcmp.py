"""critcmp's export of Criterion results (`critcmp --export NAME`): estimates without samples."""

from perf_culprit.model.run import Benchmark
from perf_culprit.read.results.criterion import mean_of
from perf_culprit.read.results.parser import NANOSECOND_TIME, Parsed, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects

ID = "critcmp"
DESCRIPTION = "critcmp --export JSON"
EXAMPLE = "critcmp --export new > bench.json"

ESTIMATES = "criterion_estimates_v1"


def matches(source: Source, /) -> bool:
    benchmarks = source.member("benchmarks")
    return isinstance(benchmarks, dict) and are_objects([*benchmarks.values()], ESTIMATES)


def parse(source: Source, /) -> Parsed:
    entries = source.root().at("benchmarks").members()
    return Parsed(benchmarks=unique((_benchmark(key, entry), entry.place) for key, entry in entries))


def _benchmark(key: str, entry: JsonValue) -> Benchmark:
    described = entry.find("criterion_benchmark_v1")
    full_id = None if described is None else described.find("full_id")
    name = key if full_id is None else full_id.text()
    return from_summary(name, metric=NANOSECOND_TIME, summary=mean_of(entry.at(ESTIMATES)), place=entry.place)
