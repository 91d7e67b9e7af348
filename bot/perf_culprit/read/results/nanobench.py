"""nanobench's JSON (`render(templates::json(), out)`): seconds per iteration of every epoch, and counts of `perf`."""

from collections.abc import Iterator

from perf_culprit.model.run import Benchmark, Direction, Metric
from perf_culprit.read.results.console import qualified
from perf_culprit.read.results.parser import TIME, Parsed, from_samples, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects

ID = "nanobench"
DESCRIPTION = "nanobench JSON (templates::json())"
EXAMPLE = "bench.render(ankerl::nanobench::templates::json(), out)"

ELAPSED = "elapsed"
METRICS = {
    ELAPSED: Metric(name=TIME, unit="s", direction=Direction.LOWER_IS_BETTER),
    "instructions": Metric(name="instructions", unit="instructions", direction=Direction.LOWER_IS_BETTER),
}


def matches(source: Source, /) -> bool:
    return are_objects(source.member("results"), "measurements", "epochs", "name")


def parse(source: Source, /) -> Parsed:
    results = list(source.root().at("results").elements())
    keys = [(str(entry.peek("title") or ""), entry.at("name").text()) for entry in results]
    names = qualified(keys, separator="/")
    groups = (_benchmarks(names[key], entry) for key, entry in zip(keys, results, strict=True))
    return Parsed(benchmarks=unique((one, entry) for pairs in groups for one, entry in pairs))


def _benchmarks(name: str, entry: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    """Where the kernel gave no counters nanobench writes zeros."""
    measurements = entry.at("measurements")
    for member, metric in METRICS.items():
        samples = [one.at(member).number() for one in measurements.elements()]
        if member == ELAPSED or any(samples):
            benchmark = from_samples(name, metric=metric, samples=samples, place=f"{measurements.place}[].{member}")
            yield benchmark, entry.place
