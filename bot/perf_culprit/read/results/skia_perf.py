"""Skia Perf JSON, version 1: keyed results with one or several measurements."""

from collections.abc import Iterator

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.parser import (
    TIME_UNITS,
    VALUE,
    Parsed,
    components,
    direction_of,
    from_summary,
    full_hash,
    unique,
)
from perf_culprit.read.results.source import JsonValue, Source

ID = "skia_perf"
DESCRIPTION = "Skia Perf JSON, version 1"
EXAMPLE = "nanobench --outResultsFile bench.json"

TEST = "test"
UNITS = ("units", "unit")
IMPROVEMENT = "improvement_direction"
DIRECTIONS = {"up": Direction.HIGHER_IS_BETTER, "down": Direction.LOWER_IS_BETTER}


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and "git_hash" in root and isinstance(root.get("results"), list) and "version" in root


def parse(source: Source, /) -> Parsed:
    root = source.root()
    shared = _keys(root)
    values = [value for result in root.at("results").elements() for value in _values(result, shared)]
    return Parsed(
        benchmarks=unique((_benchmark(*value), value[-1].place) for value in values),
        environment=components(cpu=shared.get("cpu"), architecture=shared.get("arch"), os=shared.get("os")),
        commit=full_hash(root.at("git_hash").value),
    )


def _keys(value: JsonValue) -> dict[str, str]:
    return {name: member.text() for name, member in value.members_of("key")}


def _values(result: JsonValue, shared: dict[str, str]) -> Iterator[tuple[dict[str, str], str, JsonValue]]:
    """Keys, the metric's name and the number: each is a trace of Skia Perf."""
    keys = {**shared, **_keys(result)}
    if (groups := result.find("measurements")) is None:
        yield keys, VALUE, result.at("measurement")
        return
    for group, entries in groups.members():
        # Some files name the group by its unit, others name it `stat`.
        unit = {UNITS[0]: group} if group in TIME_UNITS else {}
        for entry in entries.elements():
            yield {**unit, **keys}, entry.at("value").text(), entry.at("measurement")


def _benchmark(keys: dict[str, str], metric_name: str, number: JsonValue) -> Benchmark:
    unit = next((keys[name] for name in UNITS if name in keys), "")
    direction = DIRECTIONS.get(keys.get(IMPROVEMENT, "")) or direction_of(unit) or Direction.UNKNOWN
    rest = {name: text for name, text in keys.items() if name not in (TEST, IMPROVEMENT, *UNITS)}
    words = [keys[TEST]] if TEST in keys else []
    name = " ".join([*words, *(f"{key}={rest[key]}" for key in sorted(rest))])
    metric = Metric(name=metric_name, unit=unit, direction=direction)
    return from_summary(name, metric=metric, summary=Summary(value=number.number()), place=number.place)
