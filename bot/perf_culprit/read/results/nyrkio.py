"""Nyrkiö JSON: `[{timestamp, metrics, attributes}]`, one entry per measured commit."""

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.parser import (
    VALUE,
    Parsed,
    direction_of,
    epoch_time,
    from_summary,
    full_hash,
    newest,
    unique,
)
from perf_culprit.read.results.source import JsonValue, Source, are_objects

ID = "nyrkio"
DESCRIPTION = "Nyrkiö JSON (nyrkioJson)"
EXAMPLE = "any tool that writes Nyrkiö's JSON"

DIRECTIONS = {direction.value: direction for direction in Direction}


def matches(source: Source, /) -> bool:
    return are_objects(source.json_or_none(), "timestamp", "metrics", "attributes")


def parse(source: Source, /) -> Parsed:
    if not (runs := parse_history(source)):
        raise source.root().error("holds no entry")
    return newest(runs)


def parse_history(source: Source, /) -> tuple[Parsed, ...]:
    commits: dict[object, list[JsonValue]] = {}
    entries = sorted(source.root().elements(), key=lambda entry: entry.at("timestamp").number())
    for entry in entries:
        identity = entry.at("attributes").find("git_commit")
        commits.setdefault(entry.value["timestamp"] if identity is None else identity.text(), []).append(entry)
    return tuple(_run(group) for group in commits.values())


def _run(entries: list[JsonValue]) -> Parsed:
    metrics = [(entry, metric) for entry in entries for metric in entry.at("metrics").elements()]
    first = entries[0]
    return Parsed(
        benchmarks=unique((_benchmark(entry, metric), metric.place) for entry, metric in metrics),
        commit=full_hash(first.at("attributes").peek("git_commit")),
        time=epoch_time(first.at("timestamp").number()),
    )


def _direction(metric: JsonValue) -> Direction:
    named, unit = metric.find("direction"), metric.find("unit")
    if named is not None and named.text() in DIRECTIONS:
        return DIRECTIONS[named.text()]
    return (unit is not None and direction_of(unit.text())) or Direction.UNKNOWN


def _benchmark(entry: JsonValue, metric: JsonValue) -> Benchmark:
    name, unit = metric.at("name").text(), metric.find("unit")
    test = entry.at("attributes").find("test_name")
    return from_summary(
        name if test is None else test.text(),
        metric=Metric(
            name=VALUE if test is None else name, unit="" if unit is None else unit.text(), direction=_direction(metric)
        ),
        summary=Summary(value=metric.at("value").number()),
        place=metric.place,
    )
