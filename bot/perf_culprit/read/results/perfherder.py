"""Perfherder artifacts (Mozilla): suites and subtests, replicates as samples."""

from collections.abc import Iterator

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.parser import Parsed, from_samples, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source

ID = "perfherder"
DESCRIPTION = "Perfherder JSON (PERFHERDER_DATA)"
EXAMPLE = "the JSON after PERFHERDER_DATA: in a log"


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and "framework" in root and isinstance(root.get("suites"), list)


def parse(source: Source, /) -> Parsed:
    return Parsed(benchmarks=unique(pair for suite in source.root().at("suites").elements() for pair in _suite(suite)))


def _suite(suite: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    name = " ".join([suite.at("name").text(), *(option.text() for option in suite.elements_of("extraOptions"))])
    if suite.find("value") is not None:
        yield _benchmark(name, suite), suite.place
    for subtest in suite.at("subtests").elements():
        yield _benchmark(f"{name} / {subtest.at('name').text()}", subtest), subtest.place


def _benchmark(name: str, entry: JsonValue) -> Benchmark:
    unit, replicates = entry.find("unit"), entry.find("replicates")
    lower = entry.find("lowerIsBetter")
    # The schema's readers take a missing lowerIsBetter as true.
    direction = Direction.LOWER_IS_BETTER if lower is None or lower.value is True else Direction.HIGHER_IS_BETTER
    metric = Metric(name="value", unit="" if unit is None else unit.text(), direction=direction)
    if replicates is not None and replicates.value != []:
        return from_samples(name, metric=metric, samples=replicates.numbers(), place=replicates.place)
    return from_summary(name, metric=metric, summary=Summary(value=entry.at("value").number()), place=entry.place)
