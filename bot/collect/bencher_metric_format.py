"""Bencher Metric Format: `{benchmark: {measure: {value}}}`, alone or between the lines of a command's output."""

import json
from collections.abc import Iterator
from typing import Any

from bot.collect.json_value import JsonValue
from bot.collect.parser import TIME, Parsed, from_summary, unique
from bot.collect.source import DuplicateMemberError, Source, unique_members
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Summary

ID = "bencher_metric_format"
DESCRIPTION = "Bencher Metric Format JSON, also within text"
EXAMPLE = "bencher mock > bench.json"
DOCS = "bencher_metric_format"

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
# Every attempt may read to the end of the text, so there are few.
MAX_ATTEMPTS = 100


def matches(source: Source, /) -> bool:
    return bool(_reports(source))


def parse(source: Source, /) -> Parsed:
    reports = _reports(source)
    if not reports:
        source.json()  # its error says where JSON ends
        raise source.root().error("holds no Bencher Metric Format: {benchmark: {measure: {value}}}")
    if source.json_or_none() is None:
        _check_members(source)
    values = [
        (name, measure, value)
        for report in reports
        for name, measures in report.members()
        for measure, value in measures.members()
    ]
    unknown = sorted({measure for _, measure, _ in values if measure not in MEASURES})
    bounds = any("lower_value" in value.value or "upper_value" in value.value for _, _, value in values)
    return Parsed(
        benchmarks=unique(
            (_benchmark(name, measure, value), value.place) for name, measure, value in values if measure in MEASURES
        ),
        notes=tuple(_notes(unknown=len(unknown), bounds=bounds)),
    )


def _benchmark(name: str, measure: str, value: JsonValue) -> Benchmark:
    summary = Summary(value=value.at("value").number())
    return from_summary(name, metric=MEASURES[measure], summary=summary, place=value.place)


def _notes(*, unknown: int, bounds: bool) -> Iterator[str]:
    if unknown:
        yield f"measures of your own left out because the file does not say which way is good: {unknown}"
    if bounds:
        yield "lower_value and upper_value are left out: the format does not say what they bound"


def _reports(source: Source) -> list[JsonValue]:
    whole = source.json_or_none()
    if whole is not None:
        return [JsonValue(whole, source.place)] if _is_report(whole) else []
    return [JsonValue(found, source.place) for _, found in _embedded(source.text_or_empty()) if _is_report(found)]


def _check_members(source: Source) -> None:
    """A DataError where a report between lines holds a name twice: `_embedded` keeps the last one only."""
    text = source.text()
    strict = json.JSONDecoder(object_pairs_hook=unique_members)
    for start, found in _embedded(text):
        if _is_report(found):
            try:
                strict.raw_decode(text, start)
            except DuplicateMemberError as error:
                raise error.at(f"{source.place}:{text.count(chr(10), 0, start) + 1}") from None


def _embedded(text: str) -> Iterator[tuple[int, Any]]:
    """JSON objects that start a line of some other output, each with where it starts."""
    decoder = json.JSONDecoder()
    start, attempts = 0 if text.startswith("{") else text.find("\n{") + 1, 0
    while (start or text.startswith("{")) and attempts < MAX_ATTEMPTS:
        attempts += 1
        try:
            found, end = decoder.raw_decode(text, start)
            yield start, found
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("\n{", end) + 1
        if not start:
            return


def _is_report(value: object) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            isinstance(measures, dict)
            and bool(measures)
            and all(isinstance(entry, dict) and "value" in entry for entry in measures.values())
            for measures in value.values()
        )
    )
