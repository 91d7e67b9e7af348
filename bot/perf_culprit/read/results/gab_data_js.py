"""github-action-benchmark's store `data.js`: `window.BENCHMARK_DATA = {...}`, the way in for an existing history."""

import re
from collections.abc import Iterator

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.console import NANOSECONDS, qualified
from perf_culprit.read.results.parser import (
    SECOND_TIME,
    TIME,
    VALUE,
    Parsed,
    direction_of,
    epoch_time,
    from_summary,
    full_hash,
    gathered,
    writable,
)
from perf_culprit.read.results.source import JsonValue, Source

ID = "gab_data_js"
DESCRIPTION = "github-action-benchmark's data.js"
EXAMPLE = "git show gh-pages:dev/bench/data.js > data.js"

ASSIGNMENT = re.compile(r"\s{0,99}window\.BENCHMARK_DATA\s{0,99}=")
# The two custom tools say the direction by their name, the others by unit or, without one that says it, by what they
# measure.
CUSTOM = {"customSmallerIsBetter": Direction.LOWER_IS_BETTER, "customBiggerIsBetter": Direction.HIGHER_IS_BETTER}
TOOLS = {
    "benchmarkdotnet": Direction.LOWER_IS_BETTER,
    "benchmarkjs": Direction.HIGHER_IS_BETTER,
    "benchmarkluau": Direction.LOWER_IS_BETTER,
    "cargo": Direction.LOWER_IS_BETTER,
    "catch2": Direction.LOWER_IS_BETTER,
    "go": Direction.LOWER_IS_BETTER,
    "googlecpp": Direction.LOWER_IS_BETTER,
    "julia": Direction.LOWER_IS_BETTER,
    "pytest": Direction.HIGHER_IS_BETTER,
}
# It stores pytest-benchmark's rate, which is the inverse of the mean of the times that our reader gives.
PYTEST_RATE = ("pytest", "iter/sec")


def matches(source: Source, /) -> bool:
    return ASSIGNMENT.match(source.text_or_empty()) is not None


def parse(source: Source, /) -> Parsed:
    """The newest entry of each suite; a commit only where all suites agree on it."""
    newest = {suite: entries[-1] for suite, entries in _suites(source).items() if entries}
    runs = {suite: _run(suite, entry) for suite, entry in newest.items()}
    if len(runs) == 1:
        return next(iter(runs.values()))
    names = qualified(((suite, b.name) for suite, run in runs.items() for b in run.benchmarks), separator="/")
    commits = {run.commit for run in runs.values()}
    return Parsed(
        benchmarks=tuple(
            Benchmark.of(name=names[suite, b.name], metric=b.metric, samples=b.samples, summary=b.summary)
            for suite, run in runs.items()
            for b in run.benchmarks
        ),
        commit=commits.pop() if len(commits) == 1 else None,
        time=max((run.time for run in runs.values() if run.time is not None), default=None),
        notes=tuple(note for run in runs.values() for note in run.notes)
        + ("the newest entries of the suites are of several commits",) * (len(commits) > 1),
    )


def parse_history(source: Source, /) -> tuple[Parsed, ...]:
    """All entries of all suites by date, each a run of its own that names its suite."""
    dated = [
        (entry.at("date").number(), suite, entry) for suite, entries in _suites(source).items() for entry in entries
    ]
    return tuple(_run(suite, entry) for _, suite, entry in sorted(dated, key=lambda item: item[0]))


def _suites(source: Source) -> dict[str, list[JsonValue]]:
    """Suites by name, entries by date."""
    text = source.text()
    if (assignment := ASSIGNMENT.match(text)) is None:
        raise source.error("does not begin with `window.BENCHMARK_DATA =`", "give the stored data.js")
    # Blanks in place of the assignment keep the JSON error's line and column true.
    spaces = re.sub(r"[^\n]", " ", assignment.group())
    bare = Source(source.name, (spaces + text[assignment.end() :].rstrip().removesuffix(";")).encode())
    suites = bare.root().at("entries").members()
    return {name: sorted(entries.elements(), key=lambda entry: entry.at("date").number()) for name, entries in suites}


def _run(suite: str, entry: JsonValue) -> Parsed:
    commit, tool = entry.at("commit"), entry.at("tool").text()
    measured = [(bench, _metric(tool, bench.find("unit"))) for bench in entry.at("benches").elements()]
    return Parsed(
        benchmarks=gathered(_benchmarks(measured)),
        commit=full_hash(commit.peek("id")),
        time=epoch_time(entry.at("date").number() / 1000.0),
        suite=writable(suite),
    )


def _benchmarks(measured: list[tuple[JsonValue, Metric]]) -> Iterator[tuple[Benchmark, str]]:
    for bench, metric in measured:
        # `range` is free text that means something else with each tool.
        summary = Summary(value=_value(bench, metric))
        yield from_summary(bench.at("name").text(), metric=metric, summary=summary, place=bench.place), bench.place


def _metric(tool: str, unit_value: JsonValue | None) -> Metric:
    unit = "" if unit_value is None else unit_value.text()
    direction = CUSTOM.get(tool) or direction_of(unit) or TOOLS.get(tool, Direction.UNKNOWN)
    # The spelling of our readers of the same tools, so that an imported history continues.
    cost, _, per = unit.partition("/")
    if (tool, unit) == PYTEST_RATE:
        return SECOND_TIME
    if tool in CUSTOM or cost not in NANOSECONDS or per not in ("", "iter", "op"):
        return Metric(name=VALUE, unit=unit, direction=direction)
    spelling = {"jmh": unit, "catch2": "ns"}.get(tool, cost)
    return Metric(name=TIME, unit=spelling, direction=direction)


def _value(bench: JsonValue, metric: Metric) -> float:
    """In the metric's unit: Catch2's text changes its unit with the size of the number; our reader always gives ns."""
    value, unit = bench.at("value").number(), bench.peek("unit")
    if metric == SECOND_TIME:
        if value <= 0:
            raise DataError(f"is a rate of {value:g}", place=bench.at("value").place, next_step="delete this entry")
        return 1 / value
    return value * NANOSECONDS[unit] if isinstance(unit, str) and unit in NANOSECONDS and metric.unit == "ns" else value
